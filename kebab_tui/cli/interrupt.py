"""Ctrl+C and SIGTERM during a run.

Signals arrive in the main thread only, so the handlers do nothing in other threads; an ignored signal stays
ignored, as Ctrl+C for a background job. Loaded before everything else, so it imports little.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_AGAIN_S = 0.01


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
        self._wake: Callable[[], None] = lambda: None

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

    def then(self, wake: Callable[[], None]) -> None:
        """What to call when a stop is requested; it may be called within a signal handler."""
        self._wake = wake

    def asked(self) -> bool:
        """Whether to stop."""
        return self._asked

    def requested(self) -> bool:
        """Whether to stop; the first time, report on stderr that the work is stopping."""
        if self._asked and not self._reported:
            self._reported = True
            from kebab_tui.cli.output import notify  # only here: the handler must stand before much is loaded

            notify("stopping; press Ctrl+C again to end at once")
        return self._asked

    def _pressed(self, number: int, frame: FrameType | None) -> None:
        if not self._working or self._asked:
            outer = self._before[0][1]  # the handler of SIGINT: the run must notice SIGTERM too
            if callable(outer):
                outer(number, frame)
            raise KeyboardInterrupt
        self._asked = True  # `requested` reports it: a signal handler must not write to a stream
        self._wake()


def _press_again() -> None:
    again = threading.Timer(_AGAIN_S, _thread.interrupt_main)
    again.daemon = True
    again.start()


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
