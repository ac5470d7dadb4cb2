"""What an answer to the same question has that the last one had not, and how soon it was there.

Compares two lists of hits by their passages, and times of saving with times of showing.
Pure but for the clock that it is given.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from kebab_tui.domain.hit import SearchHit
    from kebab_tui.domain.ids import ChunkId
    from kebab_tui.indexing.status import LastChange


Novelty = Literal["new", "changed"]
_SHOWN_KEPT = 16
_SECOND_NS = 1_000_000_000
_STAMP_NS = 10_000_000


@dataclass(frozen=True, slots=True)
class HitDiff:
    """Which hits are not as before; a passage whose text changed is the successor of one that went."""

    fresh: dict[ChunkId, Novelty] = field(default_factory=dict)
    gone: int = 0

    def __str__(self) -> str:
        kinds = list(self.fresh.values())
        counts = (("new", kinds.count("new")), ("changed", kinds.count("changed")), ("gone", self.gone))
        return ", ".join(f"{count} {name}" for name, count in counts if count)


def diff_hits(before: Sequence[SearchHit], after: Sequence[SearchHit]) -> HitDiff:
    """Compare two answers to one question."""
    old, present = ({hit.chunk_id for hit in hits} for hits in (before, after))
    went = [hit.doc_id for hit in before if hit.chunk_id not in present]
    fresh: dict[ChunkId, Novelty] = {}
    for hit in after:
        if hit.chunk_id not in old:
            fresh[hit.chunk_id] = "changed" if hit.doc_id in went else "new"
            if hit.doc_id in went:
                went.remove(hit.doc_id)
    return HitDiff(fresh, len(went))


def successor(of: SearchHit, hits: Sequence[SearchHit], fresh: Container[ChunkId] = ()) -> int | None:
    """Where the passage is that stands in the place of one that changed: the nearest of the same note.

    One that was not there before comes before those that were beside it.
    """
    line = of.citation.span.first
    near = [
        (hit.chunk_id not in fresh, abs(hit.citation.span.first - line), place)
        for place, hit in enumerate(hits)
        if hit.doc_id == of.doc_id
    ]
    return min(near)[2] if near else None


class Latency:
    """How long after a note was saved its change stood on the screen."""

    def __init__(
        self,
        clock_ns: Callable[[], int] = time.time_ns,
        steady_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """`clock_ns` is the one that files are stamped with, and may be set anew; the other is not."""
        self._clock_ns = clock_ns
        self._steady_ns = steady_ns
        self._apart = clock_ns() - steady_ns()
        self._began = self._asked = clock_ns()
        self._shown: deque[tuple[int, int]] = deque(maxlen=_SHOWN_KEPT)

    def asked(self) -> None:
        """A question is asked: what is committed from now on need not be in its answer."""
        self._asked = self._now()

    def shown(self) -> None:
        """The answer to what was asked last is on the screen now."""
        now = self._now()
        self._shown.append((self._asked, now))

    def of(self, change: LastChange) -> float | None:
        """Seconds from saving to showing; None where it was not seen, or happened before."""
        self._now()
        if change.saved_ns is None or change.saved_ns < self._began or change.committed_ns < self._began:
            return None
        if change.saved_ns > change.committed_ns + _STAMP_NS:
            return None  # a time that somebody set, or of another clock
        # Whoever commits looks at the clock a moment later.
        known = change.committed_ns - _STAMP_NS
        at = next((shown for asked, shown in self._shown if asked >= known), None)
        return None if at is None else max(0, at - change.saved_ns) / _SECOND_NS

    def _now(self) -> int:
        """The time of files; what was noted before their clock was set anew is forgotten."""
        now = self._clock_ns()
        apart = now - self._steady_ns()
        if abs(apart - self._apart) > _SECOND_NS:
            self._began = self._asked = now
            self._shown.clear()
        self._apart = apart
        return now
