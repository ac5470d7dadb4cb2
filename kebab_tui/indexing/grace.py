"""Files that are missing, but perhaps only for a moment.

Editors save by moving the old file away before the new one is there, sync tools and moves
across folders take their time: a note goes only when its file has been missing for a
while. Until then it also counts as what a new file elsewhere may have been before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from kebab_tui.domain.ids import SourceId
from kebab_tui.storage.sqlite.catalogue import KnownFile

GRACE_S = 0.45
"""On top of the settle that a deletion has waited already: 600 ms in all."""


class Grace:
    """Remembers since when each file has been missing."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, seconds: float = GRACE_S) -> None:
        self._clock = clock
        self._seconds = seconds
        self._until: dict[SourceId, dict[bytes, float]] = {}

    def waiting(self, source: SourceId) -> tuple[bytes, ...]:
        """Which paths of a source are missing and not yet given up."""
        return tuple(self._until.get(source, ()))

    def given_up(self, source: SourceId, missing: Mapping[bytes, KnownFile]) -> dict[bytes, KnownFile]:
        """Of all that is missing, what has been so for long enough; what is back is forgotten."""
        now = self._clock()
        before = self._until.get(source, {})
        until = {path: before.get(path, now + self._seconds) for path in missing}
        self._until[source] = {path: end for path, end in until.items() if end > now}
        return {path: file for path, file in missing.items() if until[path] <= now}

    def left(self, source: SourceId) -> float:
        """In how many seconds the last of them is to be looked at again."""
        ends = self._until.get(source, {}).values()
        return max(0.0, max(ends) - self._clock()) if ends else 0.0

    def forget(self, source: SourceId) -> None:
        self._until.pop(source, None)
