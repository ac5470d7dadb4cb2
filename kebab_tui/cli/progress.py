"""A long verb while it runs: a bar on a terminal, nothing elsewhere, and ctrl+c to stop it.

rich is imported only when a bar is drawn. Everything goes to stderr.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from kebab_tui.cli.output import detect, field, plural, say
from kebab_tui.domain.errors import ModelError
from kebab_tui.workspace import Callbacks

if TYPE_CHECKING:
    from kebab_tui.doctor import Pending
    from kebab_tui.indexing.embed import EmbeddingProgress, EmbeddingReport
    from kebab_tui.indexing.report import IngestReport, Progress
    from kebab_tui.storage.lock import Holder
    from kebab_tui.workspace import Workspace


# ctrl+c and SIGTERM: what they do to a run, and to work that must not be cut in two.
#
# Has no effect outside the main thread, where signals do not arrive. A signal that the run was
# started to ignore stays ignored, as ctrl+c is by a job in the background.

_AGAIN_S = 0.01


class CtrlC:
    """The handler of a whole run: ctrl+c raises KeyboardInterrupt, and `pressed` remembers it.

    The exception can get lost: an import makes an error of its own of one that meets it in a class,
    SQLite of one that meets a function which it calls, and the interpreter only reports one that
    meets a callback of the garbage collector. The last is raised again a moment later.
    """

    def __init__(self) -> None:
        self.pressed = False
        self._in_hook = False
        self._before: Any = None

    def __enter__(self) -> CtrlC:
        before = signal.getsignal(signal.SIGINT)
        if callable(before) and _in_main_thread():
            self._before = before
            self._hook, sys.unraisablehook = sys.unraisablehook, self._unraisable
            signal.signal(signal.SIGINT, self)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            sys.unraisablehook = self._hook

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        self.pressed = True
        if not self._in_hook:
            raise KeyboardInterrupt
        _press_again()

    def _unraisable(self, lost: sys.UnraisableHookArgs) -> None:
        if lost.exc_type is not KeyboardInterrupt:
            self._hook(lost)
            return
        self._in_hook = True
        _press_again()
        self._in_hook = False


class Interrupt:
    """While it lasts, the first one asks the work to stop where nothing is lost, the second ends it.

    Before the work has begun (while waiting for another process, say) the first one ends it at once.
    """

    def __init__(self) -> None:
        self._working = False
        self._asked = False
        self._told = False
        self._before: list[tuple[int, Any]] = []

    def __enter__(self) -> Interrupt:
        if _in_main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before.append((number, signal.signal(number, self._pressed)))
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before:
            signal.signal(number, before)

    def work_began(self) -> None:
        """From here on there is something that must not be cut in two."""
        self._working = True

    def asked(self) -> bool:
        """Whether to stop; the work asks where it can be cut."""
        return self._asked

    def requested(self) -> bool:
        """The same, and the user is told that it was heard."""
        if self._asked and not self._told:
            from kebab_tui.cli.output import say

            self._told = True
            say("stopping; ctrl+c once more ends at once")
        return self._asked

    def _pressed(self, number: int, frame: FrameType | None) -> None:
        if not self._working or self._asked:
            outer = self._before[0][1]  # of ctrl+c: the run must know, whichever signal it was
            if callable(outer):
                outer(number, frame)
            raise KeyboardInterrupt
        self._asked = True  # said by `requested`: a handler must not write to a stream that is being written


def _press_again() -> None:
    again = threading.Timer(_AGAIN_S, _thread.interrupt_main)
    again.daemon = True
    again.start()


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


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


# Making vectors under the eyes of the user: a bar on a terminal, ctrl+c, and what is still missing.
#
# rich is imported only when a bar is drawn. Everything goes to stderr.

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
