"""ctrl+c and SIGTERM: what they do to a run, and to work that must not be cut in two.

Has no effect outside the main thread, where signals do not arrive. A signal that the run was
started to ignore stays ignored, as ctrl+c is by a job in the background.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from types import FrameType
from typing import Any

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
