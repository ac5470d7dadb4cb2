"""Progress bars, Ctrl+C and SIGTERM, and the long operations that use them.

Bars appear on a terminal only; rich is imported only for a bar. Everything is written to stderr. Signals
arrive in the main thread only, so the handlers do nothing in other threads; an ignored signal stays ignored,
as Ctrl+C for a background job.
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

from kebab_tui.cli.output import detect, field, notify, plural
from kebab_tui.domain.errors import ModelError
from kebab_tui.domain.text import duration
from kebab_tui.workspace import Callbacks

if TYPE_CHECKING:
    from kebab_tui.doctor import Pending
    from kebab_tui.indexing.embed import EmbeddingProgress, EmbeddingReport
    from kebab_tui.indexing.report import IngestReport, Progress
    from kebab_tui.storage.lock import Holder
    from kebab_tui.workspace import Workspace

_AGAIN_S = 0.01

ShowProgress = Callable[[str, int, int | None, str], None]
"""Takes the name of a bar, the work done, the total (None: unknown), and a text."""


def ingest_with_progress(workspace: Workspace, folders: Sequence[str], *, quiet: bool) -> IngestReport:
    """Ingest with a bar for each source; Ctrl+C stops and keeps what was done."""
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
    """Compute the missing vectors with a bar, and report the result; Ctrl+C stops and keeps what was done."""
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
            notify(f"cancelled; {made}, all of them kept; {report.pending:,} to go: `kebab index --embed`")
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
            notify(f"{field(error.message)}: searches go by words only; see `kebab doctor`")
        return None
    if found.passages and not quiet:
        estimate = "" if found.seconds is None else f", in {estimated(found.seconds)}"
        notify(
            f"still without a vector: {plural(found.passages, 'passage')}, found by words only; "
            f"`kebab index --embed` makes the rest{estimate}"
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


class CtrlC:
    """The SIGINT handler of a whole run: raises KeyboardInterrupt and sets `pressed`.

    The exception can get lost: an import in a class body and a callback of SQLite turn it into another
    error, and the interpreter only reports it from a callback of the garbage collector. In the last case,
    it is raised again a moment later.
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
    """Inside the block, the first ctrl+c or SIGTERM requests a safe stop, the second ends the run.

    Before `work_began` (for example while waiting for another process) the first one ends the run.
    """

    def __init__(self) -> None:
        self._working = False
        self._asked = False
        self._reported = False
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
        """From now on, the first signal only requests a stop."""
        self._working = True

    def asked(self) -> bool:
        """Whether to stop."""
        return self._asked

    def requested(self) -> bool:
        """Whether to stop; the first time, report on stderr that the work is stopping."""
        if self._asked and not self._reported:
            self._reported = True
            notify("stopping; press Ctrl+C again to end at once")
        return self._asked

    def _pressed(self, number: int, frame: FrameType | None) -> None:
        if not self._working or self._asked:
            outer = self._before[0][1]  # the handler of SIGINT: the run must notice SIGTERM too
            if callable(outer):
                outer(number, frame)
            raise KeyboardInterrupt
        self._asked = True  # `requested` reports it: a signal handler must not write to a stream


def _press_again() -> None:
    again = threading.Timer(_AGAIN_S, _thread.interrupt_main)
    again.daemon = True
    again.start()


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
