"""ctrl+c and SIGTERM: the first asks the work to stop where nothing is lost, the second ends it.

Before the work has begun (while waiting for another process, say) the first one ends it
at once. Has no effect outside the main thread, where signals do not arrive.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

from kebab_tui.cli.output import say


class Interrupt:
    """Holds the handlers while the `with` block lasts."""

    def __init__(self) -> None:
        self._working = False
        self._asked = False
        self._told = False
        self._before: list[tuple[int, Any]] = []

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before.append((number, signal.signal(number, self._pressed)))
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before:
            signal.signal(number, before)

    def work_began(self) -> None:
        """From here on there is something that must not be cut in two."""
        self._working = True

    def requested(self) -> bool:
        """Whether to stop; the work asks where it can be cut."""
        if self._asked and not self._told:
            self._told = True
            say("stopping; ctrl+c once more ends at once")
        return self._asked

    def _pressed(self, _number: int, _frame: FrameType | None) -> None:
        if not self._working or self._asked:
            raise KeyboardInterrupt
        self._asked = True  # said by `requested`: a handler must not write to a stream that is being written
