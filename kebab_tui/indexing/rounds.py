"""When all folders are to be looked at though nothing was heard of them.

After the machine has slept, because nobody told what happened meanwhile; and now and
then, because no way of hearing is perfect.
"""

from __future__ import annotations

import time
from collections.abc import Callable

EVERY_S = 600.0
_ASLEEP_S = 1.0


def _asleep() -> float:
    """Seconds that the machine has slept since it was started, as far as it tells."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return 0.0 if clock is None else time.clock_gettime(clock) - time.monotonic()


class Rounds:
    def __init__(
        self, clock: Callable[[], float] = time.monotonic, asleep: Callable[[], float] = _asleep
    ) -> None:
        self._clock = clock
        self._asleep = asleep
        self._slept = asleep()
        self._last = clock()

    def due(self) -> str:
        """Why everything is to be looked at now; empty: it is not."""
        now, slept = self._clock(), self._asleep()
        if slept - self._slept > _ASLEEP_S:
            self._slept, self._last = slept, now
            return "the machine was asleep"
        if now - self._last >= EVERY_S:
            self._last = now
            return "a look now and then"
        return ""
