"""Compares two responses to one query by their passages, and measures how soon an edit is shown.

Pure but for the injected clocks.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.ids import ChunkId

if TYPE_CHECKING:
    from kebab_tui.indexing.status import LastChange

Novelty = Literal["new", "changed"]

_RESPONSES_KEPT = 16
_SECOND_NS = 1_000_000_000
_FILE_CLOCK_NS = 10_000_000
"""How far a file's time may lag behind the clock."""


@dataclass(frozen=True, slots=True)
class HitDiff:
    """The hits that differ; a changed passage counts as the successor of a missing one."""

    fresh: dict[ChunkId, Novelty] = field(default_factory=dict)
    gone: int = 0

    def __str__(self) -> str:
        kinds = list(self.fresh.values())
        counts = (("new", kinds.count("new")), ("changed", kinds.count("changed")), ("gone", self.gone))
        return ", ".join(f"{count} {name}" for name, count in counts if count)


def diff_hits(before: Sequence[SearchHit], after: Sequence[SearchHit]) -> HitDiff:
    """Compare two responses to one query."""
    old, present = ({hit.chunk_id for hit in hits} for hits in (before, after))
    missing = [hit.doc_id for hit in before if hit.chunk_id not in present]
    fresh: dict[ChunkId, Novelty] = {}
    for hit in after:
        if hit.chunk_id not in old:
            fresh[hit.chunk_id] = "changed" if hit.doc_id in missing else "new"
            if hit.doc_id in missing:
                missing.remove(hit.doc_id)
    return HitDiff(fresh, len(missing))


def successor(of: SearchHit, hits: Sequence[SearchHit], fresh: Container[ChunkId] = ()) -> int | None:
    """The index of the hit that replaces a changed one: the nearest of the same note, fresh ones first."""
    span = of.citation.span
    page, line = span.page or 0, span.first
    near = [
        (
            hit.chunk_id not in fresh,
            abs((hit.citation.span.page or 0) - page),
            abs(hit.citation.span.first - line),
            place,
        )
        for place, hit in enumerate(hits)
        if hit.doc_id == of.doc_id
    ]
    return min(near)[3] if near else None


class Latency:
    """Time from saving a note until the screen shows the change."""

    def __init__(
        self,
        clock_ns: Callable[[], int] = time.time_ns,
        steady_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """`clock_ns` stamps files and may be set anew; `steady_ns` is monotonic."""
        self._clock_ns = clock_ns
        self._steady_ns = steady_ns
        self._apart = clock_ns() - steady_ns()
        self._began = self._asked = clock_ns()
        self._shown: deque[tuple[int, int]] = deque(maxlen=_RESPONSES_KEPT)

    def asked(self) -> None:
        """A query was sent: its response may miss later commits."""
        self._asked = self._now()

    def shown(self) -> None:
        """The response to the last query is on the screen."""
        now = self._now()
        self._shown.append((self._asked, now))

    def of(self, change: LastChange) -> float | None:
        """Seconds from saving to showing; None if unknown or before the start."""
        self._now()
        if change.saved_ns is None or change.saved_ns < self._began or change.committed_ns < self._began:
            return None
        if change.saved_ns > change.committed_ns + _FILE_CLOCK_NS:
            return None  # a file time set by hand, or from another clock
        # The time of a commit is read shortly after it.
        known = change.committed_ns - _FILE_CLOCK_NS
        at = next((shown for asked, shown in self._shown if asked >= known), None)
        return None if at is None else max(0, at - change.saved_ns) / _SECOND_NS

    def _now(self) -> int:
        """The present time of `clock_ns`. After a clock change, earlier times are forgotten."""
        now = self._clock_ns()
        apart = now - self._steady_ns()
        if abs(apart - self._apart) > _SECOND_NS:
            self._began = self._asked = now
            self._shown.clear()
        self._apart = apart
        return now
