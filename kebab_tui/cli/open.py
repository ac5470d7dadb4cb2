"""`kebab open`: the cited lines in the user's editor, where they stand by now."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import click

from kebab_tui.cli.context import Invocation, pass_invocation, shared_options
from kebab_tui.cli.output import field, say, write
from kebab_tui.domain.citation import Citation
from kebab_tui.domain.errors import NotFoundError
from kebab_tui.editor import EditorError, choose, line_hint, open_note
from kebab_tui.workspace import Workspace

if TYPE_CHECKING:
    from kebab_tui.indexing.lookup import CitedPlace

_ESCAPED = re.compile(r"[\\']")


@click.command()
@click.argument("target", metavar="CITATION|CHUNK_ID|PATH")
@click.option("--print", "print_only", is_flag=True, help="Print the command instead, quoted for a shell.")
@shared_options
@pass_invocation
def command(invocation: Invocation, target: str, print_only: bool) -> None:
    """Open the lines that a citation names in your editor.

    The lines are looked for in the file as it is now, and what became of them is said
    where they moved or changed. The editor: the setting `command` under [editor], else
    KEBAB_EDITOR, VISUAL or EDITOR, else nvim, vim, nano or vi.
    """
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        place = workspace.locate_citation(target)
    if place.located.state == "gone":
        raise NotFoundError(f"{place.path} is no longer there", "`kebab ingest` takes it out of the index")
    editor = choose(invocation.settings.editor, os.environ, shutil.which)
    made = editor.at(place.path, place.located.span.first)
    if fate := _fate(place):
        say(fate)
    if print_only:
        write(_quoted(made.argv))
        return
    outcome = open_note(made, place.path)
    if outcome.interrupted:
        raise KeyboardInterrupt
    if not outcome.ok:
        raise EditorError(outcome.message, f"this editor comes from {editor.named_by}")
    if hint := line_hint(made):
        say(field(hint))


def _fate(place: CitedPlace) -> str:
    """What became of the cited lines; empty where they are what and where they were."""
    located = place.located
    present = field(str(Citation(place.citation.path, located.span)))
    if located.state == "moved":
        return f"moved {located.shift:+}: now {present}"
    if located.state == "changed":
        return f"changed since it was indexed; most like it: {present}"
    return ""


def _quoted(argv: Sequence[str]) -> str:
    """One line that a shell reads back as these words, and in which a terminal finds nothing to obey."""
    return " ".join(shlex.quote(word) if word.isprintable() else _escaped(word) for word in argv)


def _escaped(word: str) -> str:
    shown = "".join(
        _ESCAPED.sub(r"\\\g<0>", letter) if letter.isprintable() else _bytes(letter) for letter in word
    )
    return f"$'{shown}'"


def _bytes(letter: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(letter))
