"""`kebab find`: finds notes by name and prints their paths, one a line, as `fd` and `fzf` do.

Exit code 0 with notes, 1 without. A path is relative if its file is below the working folder, else absolute.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from kebab_tui.cli.command import command, option
from kebab_tui.cli.edge import Invocation, pass_invocation, shared_options
from kebab_tui.cli.options import (
    OUTPUT,
    filter_options,
    filters_from,
    page_options,
    scope_here,
    scope_option,
    within,
)
from kebab_tui.cli.output import Style, detect, field, notify, write_json
from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.names import stem_of

if TYPE_CHECKING:
    from kebab_tui.search.find_names import FoundNote

_EXAMPLES = (
    ("kebab find kubrnetes", "a typo is fine"),
    ("kebab find ㅎㅇ", "initial consonants: 회의"),
    ("kebab find -0 weekly plan | xargs -0 ls -l", "paths for other programs"),
)


@command(examples=_EXAMPLES)
@click.argument("words", nargs=-1, metavar="[NAME…]")
@scope_option
@filter_options
@page_options(default="20", most=10_000)
@option(
    "-0", "--null", is_flag=True, group=OUTPUT, help="End each path with a null character, for `xargs -0`."
)
@option("--json", "as_json", is_flag=True, group=OUTPUT, help="Print a found_note_list.v1 object.")
@shared_options
@pass_invocation
def find_command(invocation: Invocation, /, words: tuple[str, ...], **given: Any) -> int:
    """Find notes by name: file name, alias or title.

    A few letters of NAME are enough, in any order of its words, even with a typo. Korean is found
    by unfinished syllables and initial consonants (ㅎㅇ finds 회의). infra/kub also looks at folders.
    Without NAME: the most recently changed notes. In a folder of notes only its source is searched.
    """
    if given["null"] and given["as_json"]:
        raise UsageError("--json and --null cannot be combined", "use one of them")
    typed = " ".join(words)
    with closing(invocation.open_index()) as workspace:
        scope = scope_here(given, workspace)
        filters = within(filters_from(given, workspace), scope)
        found = workspace.find(typed, given["limit"] or 20, given["offset"], filters)
    if given["as_json"]:
        from kebab_tui.wire.encode import found_notes

        write_json(found_notes(typed, found))
    else:
        from kebab_tui.cli.line_formats import write_paths

        style = Style(detect(sys.stdout, os.environ))
        write_paths({note.location: _other_name(note) for note in found}, style, null=given["null"])
    if not found and typed:
        notify(
            f"no note{f' in {field(scope)}' if scope else ''} has a name like {field(typed)}; "
            f"{'--all looks in all sources; ' if scope else ''}for text use `kebab search`"
        )
    return 0 if found else 1


def _other_name(note: FoundNote) -> str:
    """The name that matched, if it is not that of the file."""
    name = note.matched.text if note.matched and note.matched.kind != "path" else ""
    return "" if name in (note.document.name, stem_of(note.document.path)) else name
