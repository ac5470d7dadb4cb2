"""`kebab find`: finds notes by name and prints their paths, one a line, as `fd` and `fzf` do.

Exit code 0 with notes, 1 without. A path is relative if its file is below the working folder, else absolute.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from kebab_tui.cli.edge import Invocation, pass_invocation, shared_options
from kebab_tui.cli.options import filter_options, filters_from, page_options
from kebab_tui.cli.output import Style, detect, field, notify, plural, write, write_json, write_null
from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.names import stem_of
from kebab_tui.domain.text import sanitize

if TYPE_CHECKING:
    from kebab_tui.search.find_names import FoundNote


@click.command()
@click.argument("words", nargs=-1, metavar="[NAME…]")
@page_options("-n", "--limit", most=10_000, otherwise="default: 20")
@click.option("-0", "--null", is_flag=True, help="End each path with a null character, for `xargs -0`.")
@click.option("--json", "as_json", is_flag=True, help="Print a found_note_list.v1 object.")
@filter_options
@shared_options
@pass_invocation
def find_command(invocation: Invocation, /, words: tuple[str, ...], **given: Any) -> int:
    """Find notes by name: file name, alias or title.

    A few letters of NAME are enough, in any order of its words, even with a typo. Korean is found
    by unfinished syllables and initial consonants (ㅎㅇ finds 회의). infra/kub also looks at folders.
    Without NAME: the notes that changed last.
    """
    if given["null"] and given["as_json"]:
        raise UsageError("--json and --null exclude each other", "leave one of them out")
    typed = " ".join(words)
    with closing(invocation.open_index()) as workspace:
        filters = filters_from(given, workspace)
        found = workspace.find(typed, given["limit"] or 20, given["offset"], filters)
    if given["as_json"]:
        from kebab_tui.wire.encode import found_notes

        write_json(found_notes(typed, found))
    else:
        _write_paths(found, null=given["null"])
    if not found and typed:
        notify(
            f"no note has a name like {field(typed)}; "
            "`kebab find` finds notes by name; for text use `kebab search`"
        )
    return 0 if found else 1


def _write_paths(found: list[FoundNote], *, null: bool) -> None:
    """Write one path a line; a terminal also gets the name that matched, and no control characters."""
    here, style = os.getcwd().rstrip("/") + "/", Style(detect(sys.stdout, os.environ))
    left_out = 0
    for note in found:
        location = note.location
        path = location.removeprefix(here)
        path = f"./{path}" if path.startswith("-") else path
        valid = path.encode("utf-8", "replace").decode()  # invalid UTF-8 is written unchanged
        if style.terminal.tty:
            name = note.matched.text if note.matched and note.matched.kind != "path" else ""
            shown = style.file_link(field(valid), os.fsencode(location))
            is_stem = name in ("", note.document.name, stem_of(note.document.path))
            write(shown if is_stem else f"{shown}  {style.dim(field(name))}")
        elif null:
            write_null(path)
        elif sanitize(valid) != valid or "\n" in valid:
            left_out += 1
        else:
            write(path)
    if left_out:
        notify(f"left out {plural(left_out, 'note')}: control characters in the path; use --null")
