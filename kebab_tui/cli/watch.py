"""`kebab watch`: keeps the index in step with the folders, and says what changes, until it is stopped.

Runs in a terminal or under a service manager. One line of stdout for each note that
changed; what is worth knowing besides goes to stderr.
"""

from __future__ import annotations

import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

import click

from kebab_tui.cli.context import Invocation, pass_invocation, shared_options
from kebab_tui.cli.interrupt import Interrupt
from kebab_tui.cli.output import field, plural, say, write, write_json
from kebab_tui.domain.errors import UsageError
from kebab_tui.workspace import WatchCallbacks, Workspace

if TYPE_CHECKING:
    from kebab_tui.indexing.report import NoteChange
    from kebab_tui.indexing.status import FolderState, LiveState, WatchSummary
    from kebab_tui.storage.lock import Holder

_SEEN_LIVE_NS = 60_000_000_000
"""A note that was saved longer ago was not waited for: there is no time to tell."""


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(readable=False), metavar="[FOLDER…]")
@click.option("--json", "as_json", is_flag=True, help="Each change as a watch_event.v1 object on one line.")
@click.option("--quiet", is_flag=True, help="Only the changes, and what goes wrong.")
@shared_options
@pass_invocation
def command(invocation: Invocation, folders: tuple[str, ...], as_json: bool, quiet: bool) -> int:
    """Keep the index up to date with the notes of every FOLDER and of all known sources.

    A new folder becomes a source. Every change is one line: the time, what happened, the
    note, its passages added, removed and kept, and the time from saving to being found.
    ctrl+c stops; nothing is lost, also not by a kill. While another process keeps watch
    over the same index, this one waits and takes over when that ends.
    """
    if "" in folders:
        raise UsageError("a folder has an empty name", "is a variable of your shell not set?")
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace, Interrupt() as interrupt:
        interrupt.work_began()
        if not (folders or invocation.settings.sources or workspace.sources()):
            raise UsageError(
                "there is no folder to watch yet", "run `kebab watch FOLDER` with the folder of your notes"
            )
        narrator = _Narrator(quiet=quiet)
        callbacks = WatchCallbacks(
            interrupt.asked, _json_told if as_json else _line_told, narrator.state, narrator.following
        )
        summary = workspace.watch(folders, callbacks, "kebab watch")
    if not quiet:
        say(_summed(summary))
    return 0


class _Narrator:
    """Says on stderr what is different from last time."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._said: dict[str, tuple[str, str]] = {}
        self._error = ""

    def state(self, state: LiveState) -> None:
        for folder in state.folders:
            said = (folder.kind, folder.reason)
            if self._said.get(folder.root) != said:
                self._said[folder.root] = said
                if folder.kind != "live" or not self._quiet:
                    say(_watching(folder))
        error = state.error.message if state.error else ""
        if error != self._error:
            self._error = error
            say(f"cannot go on: {field(error)}; trying again" if error else "goes on again")

    def following(self, holder: Holder | None) -> None:
        if not self._quiet:
            who = field(str(holder)) if holder else "another process"
            say(f"following {who}, which writes the index; takes over when that ends")


def _watching(folder: FolderState) -> str:
    name, reason = f"{field(folder.source)} ({field(folder.root)})", field(folder.reason)
    match folder.kind:
        case "live":
            return f"watching {name}: {plural(folder.directories, 'folder')}"
        case "paused":
            return f"paused {name}: {reason}"
    return f"watching {name}, {folder.kind}: {reason}"


def _line_told(change: NoteChange) -> None:
    clock = time.strftime("%H:%M:%S", time.localtime(change.committed_ns / 1e9))
    passages = f"+{change.chunks_added} -{change.chunks_removed} ={change.chunks_kept}"
    waited = _waited_ms(change)
    time_taken = "" if waited is None else f"{waited} ms"
    write(
        f"{clock}  {change.outcome:<8} {field(change.path)}"
        f"{_detail(change)}  {passages}  {time_taken}".rstrip()
    )
    _flush()


def _detail(change: NoteChange) -> str:
    return f" ({field(change.detail)})" if change.detail else ""


def _json_told(change: NoteChange) -> None:
    from kebab_tui.wire.reports import watch_event

    write_json(watch_event(change, _waited_ms(change)))
    _flush()


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()  # whoever reads a pipe wants each line when it is news


def _waited_ms(change: NoteChange) -> int | None:
    """From saving to being found; None for a note that is gone, or was saved before anybody watched."""
    if change.saved_ns is None or not 0 <= change.committed_ns - change.saved_ns < _SEEN_LIVE_NS:
        return None
    return (change.committed_ns - change.saved_ns) // 1_000_000


def _summed(summary: WatchSummary) -> str:
    counted = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(summary.counts.items()))
    passages = f"{summary.chunks_added:,} passages added, {summary.chunks_removed:,} removed"
    return f"watched for {_duration(summary.seconds)}: {counted or 'no changes'}; {passages}"


def _duration(seconds: float) -> str:
    from kebab_tui.cli.embedding import duration

    return duration(seconds)
