"""ctrl+c in two steps: the first asks the work to stop where nothing is lost, the second ends it.

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
    """Holds the handler while the `with` block lasts. `after`: what is still finished when asked to stop."""

    def __init__(self, after: str = " after this file") -> None:
        self._after = after
        self._working = False
        self._asked = False
        self._told = False
        self._before: Any = None

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._pressed)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def work_began(self) -> None:
        """From here on there is something that must not be cut in two."""
        self._working = True

    def requested(self) -> bool:
        """Whether to stop; the work asks where it can be cut."""
        if self._asked and not self._told:
            self._told = True
            say(f"stopping{self._after}; ctrl+c once more ends at once")
        return self._asked

    def _pressed(self, _number: int, _frame: FrameType | None) -> None:
        if not self._working or self._asked:
            raise KeyboardInterrupt
        self._asked = True  # said by `requested`: a handler must not write to a stream that is being written
