"""Making vectors under the eyes of the user: a bar on a terminal, ctrl+c, and what is still missing.

rich is imported only when a bar is drawn. Everything goes to stderr.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kebab_tui.cli.interrupt import Interrupt
from kebab_tui.cli.output import field, plural, say
from kebab_tui.cli.progress import tell_notice, tell_waiting
from kebab_tui.cli.terminal import detect
from kebab_tui.domain.errors import ModelError
from kebab_tui.workspace import Callbacks

if TYPE_CHECKING:
    from kebab_tui.doctor import Pending
    from kebab_tui.indexing.embed import EmbeddingProgress, EmbeddingReport
    from kebab_tui.workspace import Workspace

_MINUTE, _HOUR = 60, 3600


def embed_watched(workspace: Workspace, *, quiet: bool) -> EmbeddingReport:
    """Make the vectors that are missing; the user may stop it and loses nothing that was made."""
    with _bar(quiet=quiet) as show, Interrupt() as interrupt:

        def watch(progress: EmbeddingProgress) -> None:
            interrupt.work_began()
            show(progress)

        report = workspace.embed(
            Callbacks(
                cancelled=interrupt.requested, waiting=tell_waiting, notice=tell_notice, embedding=watch
            )
        )
    if not quiet:
        say(_told(report))
    if report.not_saved:
        say(f"warning: {field(report.not_saved)}; searches take the vectors from the database, more slowly")
        say("free some space and run `kebab index --embed` again")
    return report


def pending_told(workspace: Workspace, *, quiet: bool) -> Pending | None:
    """Say which passages have no vector yet, and what makes it; None where the model cannot be used."""
    try:
        found = workspace.pending()
    except ModelError as error:
        if not quiet:
            say(f"{field(error.message)}: searches go by words only; `kebab doctor` says more")
        return None
    if found.passages and not quiet:
        estimate = "" if found.seconds is None else f", in {estimated(found.seconds)}"
        say(
            f"still without a vector: {plural(found.passages, 'passage')}, found by words only; "
            f"`kebab index --embed` makes the rest{estimate}"
        )
    return found


def duration(seconds: float) -> str:
    """As much precision as an estimate has: `under 1 s`, `40 s`, `12 min`, `2.5 h`."""
    if seconds < 1:
        return "under 1 s"
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min" if seconds < 2 * _HOUR else f"{seconds / _HOUR:.1f} h"


def estimated(seconds: float) -> str:
    """`under 1 s`, `about 12 min`."""
    return duration(seconds) if seconds < 1 else f"about {duration(seconds)}"


def _told(report: EmbeddingReport) -> str:
    rate = f" ({report.embedded / report.seconds:.0f} a second)" if report.embedded else ""
    made = f"{plural(report.embedded, 'vector')} made in {report.seconds:.1f} s{rate}"
    if report.cancelled:
        return f"cancelled; {made}, all of them kept; {report.pending:,} to go: `kebab index --embed`"
    return made if report.embedded else "every passage has its vector"


@contextlib.contextmanager
def _bar(*, quiet: bool) -> Iterator[Callable[[EmbeddingProgress], None]]:
    """Give what shows progress; the bar is gone when the work is done."""
    if quiet or not detect(sys.stderr, os.environ).tty:
        yield lambda _: None
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (
        rich.TextColumn("vectors", markup=False),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TextColumn("{task.fields[rate]}", markup=False),
    )
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as screen:
        task = screen.add_task("vectors", total=None, rate="")
        yield lambda progress: screen.update(
            task, completed=progress.done, total=progress.total, rate=rate_text(progress)
        )


def rate_text(progress: EmbeddingProgress) -> str:
    """Of the whole run so far: a rate of the last moment would promise too much and too little in turns."""
    left = progress.seconds_left
    if left is None:
        return "opening the model"
    return f"{progress.rate:.0f} passages/s, {duration(left)} left"
