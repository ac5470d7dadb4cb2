"""Tells by `stat` alone whether files may have changed, so that nobody reads them again for nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

_COARSEST_S = 2.5
"""A file system's clock may tick this rarely, and two changes within a tick look like one."""

Stamp = tuple[int, int, int]


class ChangeCheck:
    """Asked before each reading, says whether to read: yes at first and while it is not sure."""

    def __init__(self, *paths: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._paths = paths
        self._clock = clock
        self._stamps: list[Stamp | None] | None = None
        self._first_seen = 0.0
        self._sure = False

    def may_have_changed(self) -> bool:
        """Whether something was written, made, replaced or removed since it was last asked."""
        stamps, now = [stamp_of(path) for path in self._paths], self._clock()
        if stamps != self._stamps:
            self._stamps, self._first_seen, self._sure = stamps, now, False
            return True
        was_sure, self._sure = self._sure, now - self._first_seen >= _COARSEST_S
        return not was_sure


def stamp_of(path: str) -> Stamp | None:
    """None where nothing is."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
