"""A long verb while it runs: a bar on a terminal, nothing elsewhere, and ctrl+c to stop it.

rich is imported only when a bar is drawn. Everything goes to stderr.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from kebab_tui.cli.interrupt import Interrupt
from kebab_tui.cli.output import field, say
from kebab_tui.cli.terminal import detect
from kebab_tui.workspace import Callbacks

if TYPE_CHECKING:
    from kebab_tui.indexing.report import IngestReport, Progress
    from kebab_tui.storage.lock import Holder
    from kebab_tui.workspace import Workspace


def tell_waiting(holder: Holder | None) -> None:
    """Say whose writing has to end first."""
    who = field(str(holder)) if holder else "another process"
    say(f"waiting for {who}, which is writing the index; ctrl+c gives up")


def tell_notice(text: str) -> None:
    say(field(text))


def ingest_watched(workspace: Workspace, folders: Sequence[str], *, quiet: bool) -> IngestReport:
    """Ingest under the eyes of the user, who may stop it."""
    with progress_bar(quiet=quiet) as show, Interrupt() as interrupt:

        def watch(progress: Progress) -> None:
            interrupt.work_began()
            show(progress)

        return workspace.ingest(
            folders,
            Callbacks(
                watch, interrupt.requested, tell_waiting, notice=tell_notice, stopping=interrupt.requested
            ),
        )


@contextlib.contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """Give what shows progress: one bar for each source, gone when the work is done."""
    if quiet or not detect(sys.stderr, os.environ).tty:
        yield lambda _: None
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TextColumn("{task.fields[chunks]} passages", markup=False),
        rich.TimeElapsedColumn(),
    )
    bars: dict[str, rich.TaskID] = {}
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as screen:

        def show(progress: Progress) -> None:
            name = field(progress.source)
            if name not in bars:
                bars[name] = screen.add_task(name, total=None, chunks="0")
            total = progress.total or None
            screen.update(bars[name], completed=progress.done, total=total, chunks=f"{progress.chunks:,}")

        yield show
