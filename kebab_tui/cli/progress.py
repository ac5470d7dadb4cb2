"""Long operations with progress bars, on stderr.

Bars appear on a terminal only; rich is imported only for a bar.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from kebab_tui.cli.interrupt import Interrupt
from kebab_tui.cli.output import detect, field, notify, plural
from kebab_tui.domain.errors import ModelError
from kebab_tui.domain.text import duration
from kebab_tui.workspace import Callbacks

if TYPE_CHECKING:
    from kebab_tui.doctor import Pending
    from kebab_tui.indexing.embed import EmbeddingProgress, EmbeddingReport
    from kebab_tui.indexing.report import IngestReport, Progress
    from kebab_tui.storage.ports import Holder
    from kebab_tui.workspace import Workspace

ShowProgress = Callable[[str, int, int | None, str], None]
"""Takes the name of a bar, the work done, the total (None: unknown), and a text."""


def ingest_with_progress(workspace: Workspace, folders: Sequence[str], *, quiet: bool) -> IngestReport:
    """Ingest with a bar for each source; Ctrl+C stops and keeps finished work."""
    with progress_bars(quiet=quiet) as show, Interrupt() as interrupt:

        def watch(progress: Progress) -> None:
            interrupt.work_began()
            total, chunks = progress.total or None, f"{progress.chunks:,} passages"
            show(field(progress.source), progress.done, total, chunks)

        return workspace.ingest(
            folders,
            Callbacks(
                watch, interrupt.requested, print_waiting, notice=print_notice, stopping=interrupt.requested
            ),
        )


def embed_with_progress(workspace: Workspace, *, quiet: bool) -> EmbeddingReport:
    """Compute the missing vectors with a bar, and report the result; Ctrl+C stops and keeps finished work."""
    with progress_bars(quiet=quiet) as show, Interrupt() as interrupt:

        def watch(progress: EmbeddingProgress) -> None:
            interrupt.work_began()
            show("vectors", progress.done, progress.total, rate_text(progress))

        report = workspace.embed(
            Callbacks(
                cancelled=interrupt.requested, waiting=print_waiting, notice=print_notice, embedding=watch
            )
        )
    if not quiet:
        rate = f" ({report.embedded / report.seconds:.0f} a second)" if report.embedded else ""
        made = f"{plural(report.embedded, 'vector')} made in {report.seconds:.1f} s{rate}"
        if report.cancelled:
            notify(f"cancelled; {made} and kept; {report.pending:,} to go: run `kebab index --embed`")
        else:
            notify(made if report.embedded else "every passage has its vector")
    if report.not_saved:
        notify(
            f"warning: {field(report.not_saved)}; searches read the vectors from the database, more slowly"
        )
        notify("free some space and run `kebab index --embed` again")
    return report


def report_pending(workspace: Workspace, *, quiet: bool) -> Pending | None:
    """Print how many passages have no vector; None if the model cannot be used."""
    try:
        found = workspace.pending()
    except ModelError as error:
        if not quiet:
            notify(f"{field(error.message)}: keyword search only; see `kebab doctor`")
        return None
    if found.passages and not quiet:
        estimate = "" if found.seconds is None else f" ({estimated(found.seconds)})"
        notify(
            f"{plural(found.passages, 'passage')} without a vector, found by keyword only; "
            f"run `kebab index --embed`{estimate}"
        )
    elif found.outdated and not quiet:
        notify(
            f"{plural(found.outdated, 'vector')} of an earlier version: `kebab index --embed` reads "
            "the rest of the long ones"
        )
    return found


def print_waiting(holder: Holder | None) -> None:
    who = field(str(holder)) if holder else "another process"
    notify(f"waiting for {who}, which is writing the index; Ctrl+C gives up")


def print_notice(text: str) -> None:
    notify(field(text))


def estimated(seconds: float) -> str:
    """`under 1 s`, `about 12 min`."""
    return duration(seconds) if seconds < 1 else f"about {duration(seconds)}"


def rate_text(progress: EmbeddingProgress) -> str:
    """The rate over the whole run: the current rate would vary too much."""
    left = progress.seconds_left
    if left is None:
        return "opening the model"
    return f"{progress.rate:.0f} passages/s, {duration(left)} left"


@contextlib.contextmanager
def progress_bars(*, quiet: bool = False) -> Iterator[ShowProgress]:
    """Yield a function that shows progress: one bar for each name, removed at the end."""
    if quiet or not detect(sys.stderr, os.environ).tty:
        yield lambda _name, _done, _total, _text: None
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TextColumn("{task.fields[text]}", markup=False),
        rich.TimeElapsedColumn(),
    )
    bars: dict[str, rich.TaskID] = {}
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as screen:

        def show(name: str, done: int, total: int | None, text: str) -> None:
            if name not in bars:
                bars[name] = screen.add_task(name, total=None, text="")
            screen.update(bars[name], completed=done, total=total, text=text)

        yield show
