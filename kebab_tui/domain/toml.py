"""Parses TOML and finds the line of every value, for configuration files and model cards.

Knows no key. Every error names the file and the line.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from kebab_tui.domain.errors import KebabError

_MOST_PARSED = 16 << 20
"""Characters, about half a second."""

Path = tuple[str | int, ...]
"""Names and list positions that lead to a value."""


@dataclass(frozen=True, slots=True)
class TomlFile:
    """A parsed file, with its text for the line numbers in error messages."""

    path: str
    text: str
    values: dict[str, Any]

    def where(self, *spellings: Path) -> str:
        """`path:line` of a value; with several spellings of its key, of the last one in the file."""
        return f"{self.path}:{max(line_of(self.text, spelling) for spelling in spellings)}"


def parse(data: bytes, path: str, error_type: type[KebabError]) -> TomlFile:
    """Parse the content of the file at `path`; raises `error_type`."""
    import tomllib  # only here: `kebab --help` must not pay for it

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise error_type(f"{path}:{line}: not UTF-8 text", "save the file as UTF-8") from None
    try:
        return TomlFile(path, text, tomllib.loads(text))
    except (ValueError, RecursionError) as error:
        reason, line = str(error), 1
        if found := re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", reason):
            reason, line = f"{found[1]} (column {found[3]})", int(found[2])
        elif "end of document" in reason:
            line = text.count("\n") + 1
        raise error_type(
            f"{path}:{line}: not TOML: {reason}", 'write `key = value`, text in "quotes"'
        ) from None


def line_of(text: str, path: Path) -> int:
    """The 1-based line of the statement that sets `path`, or its closest existing ancestor.

    Finds the shortest beginning of the text that parses and holds the path. This is exact for
    multi-line strings, arrays and tables. A beginning that ends inside a long one does not parse, so
    the attempts are bounded; then the first line that begins with the name has to do.
    """
    import tomllib

    lines = text.split("\n")
    wanted = _depth(tomllib.loads(text), path)
    parsed = 0

    def holds(count: int) -> bool:
        nonlocal parsed
        for end in range(count, len(lines) + 1):
            beginning = "\n".join(lines[:end])
            parsed += len(beginning)
            if parsed > _MOST_PARSED:
                raise TimeoutError
            try:
                return _depth(tomllib.loads(beginning), path) >= wanted
            except ValueError:
                continue
        return True

    try:
        return max(1, bisect_left(range(len(lines) + 1), True, key=holds))
    except TimeoutError:
        names = [str(step) for step in path if isinstance(step, str)] or [""]
        begins = re.compile(rf"[\s\[\"']*{re.escape(names[-1])}\b")
        return next((number for number, line in enumerate(lines, 1) if begins.match(line)), 1)


def _depth(tree: Any, path: Path) -> int:
    """How many steps of `path` exist in the tree."""
    for count, step in enumerate(path):
        try:
            tree = tree[step]
        except (KeyError, IndexError, TypeError):
            return count
    return len(path)
