"""Writes the page of file formats from the registry and the documentation of the parsers.

python docs/formats.py          writes docs/formats.md
"""

from __future__ import annotations

import ast
import sys
from importlib.util import find_spec
from pathlib import Path

from kebab_tui.formats.child import MEMORY_MB
from kebab_tui.formats.registry import FORMATS, Format
from kebab_tui.settings.settings import ReadingSettings

_PAGE = Path(__file__).with_name("formats.md")
_HEAD = f"""# File formats

`make formats` writes this page from `kebab_tui/formats/registry.py` and the parsers.

| type | files that end in | cited by | opened in | largest file | CPU time | parsed in | setting |
|---|---|---|---|---|---|---|---|
{{rows}}

The type is a filter (`type:pdf`). A file that is larger, or takes longer than its CPU time and one second
more a megabyte, is listed with the reason (`kebab list --state failed --state skipped`), and stops no other.
A format has a version of its own: when it changes, only its files are read again.

A parser in a child process cannot harm the program. The child has at most {MEMORY_MB} MB of memory, the CPU
time above, by the clock half as much again and ten seconds more; no files, no terminal and no variables. A
file that kills it is a failed document. The clock and the size of the answer are limited on every system; CPU
time and memory only where the system can do so (macOS ignores the limit of memory, Windows both). Tested on
Linux.
"""


def text() -> str:
    rows = "\n".join(map(_row, FORMATS.values()))
    parts = [_HEAD.format(rows=rows)]
    for known in FORMATS.values():
        spec = find_spec(known.module)
        assert spec is not None
        assert spec.origin is not None
        # Not imported: the parser of an isolated format loads its library.
        documented = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8")))
        parts.append(f"## {known.id}\n\n{documented}\n")
    return "\n".join(parts)


def _row(known: Format) -> str:
    settings = ReadingSettings()
    own = f"max_{known.id}_mb"
    limit = getattr(settings, own, 0) or (known.max_bytes or 0) >> 20 or settings.max_file_mb
    limited_by = f"`{own}`" if hasattr(settings, own) else "" if known.max_bytes else "`max_file_mb`"
    names = [f"`{known.id}`" + " (off)" * known.opt_in] if hasattr(settings, known.id) else []
    child = "the program, its grammars in a child process" if known.id == "code" else "the program"
    cells = (
        f"`{known.id}`",
        " ".join(f"`{ending}`" for ending in (*known.extensions, *known.names)),
        "page: `path#p=4`" if known.paged else "lines: `path:L12-L34`",
        "a viewer" if known.paged else "the editor",
        f"{limit} MB",
        f"{known.cpu_seconds:g} s",
        "a child process" if known.isolated else child,
        ", ".join([*names, *filter(None, [limited_by])]),
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    _PAGE.write_text(text(), encoding="utf-8")
    sys.stdout.write(f"{_PAGE}: {len(FORMATS)} formats\n")


if __name__ == "__main__":
    main()
