"""What the index holds at one moment: a large base, the rows of it that are gone, and what is fresh.

Frozen: a change makes new contents that share the base. So a search that has taken hold
of some contents is never disturbed, and a file is written of one moment. A row that is
added again is gone in the base and stands in `fresh`; at most one of its vectors is alive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from kebab_tui.domain.ids import ChunkRow
from kebab_tui.search.ports import Near, Vector
from kebab_tui.vectors.arrays import Codes, Rows, Slots, exact_cosines
from kebab_tui.vectors.segment import Passing, Segment

_GONE_MOST, _GONE_SHARE = 256, 20
_FRESH_MOST, _FRESH_SHARE = 4_096, 32
_BLOCK = 8_192


@dataclass(frozen=True, slots=True)
class Filter:
    """Allowed rows as slots of both segments."""

    base: Passing | None
    fresh: Passing | None


@dataclass(frozen=True, slots=True)
class Contents:
    base: Segment
    alive: Passing | None
    """Which slots of the base still count; None is all of them."""
    fresh: Segment

    @property
    def dims(self) -> int:
        return self.base.dims

    @property
    def gone(self) -> int:
        return 0 if self.alive is None else len(self.base) - self.alive.count

    @property
    def count(self) -> int:
        return len(self.base) - self.gone + len(self.fresh)

    def allowing(self, rows: Rows | None) -> Filter:
        if rows is None:
            return Filter(self.alive, None)
        base = self.base.holding(rows)
        if self.alive is not None:
            base &= self.alive.mask
        return Filter(Passing(base), Passing(self.fresh.holding(rows)))

    def nearest(self, query: Vector, k: int, among: Filter) -> list[Near]:
        of_base = self.base.best(query, k, among.base)
        of_fresh = self.fresh.best(query, k, among.fresh)
        rows = np.concatenate([self.base.rows[of_base], self.fresh.rows[of_fresh]])
        cosines = exact_cosines(self._codes(of_base, of_fresh), query)
        order = np.lexsort((rows, -cosines))[:k]
        pairs = zip(rows[order].tolist(), cosines[order].tolist(), strict=True)
        return [Near(ChunkRow(row), cosine) for row, cosine in pairs]

    def cosines(self, query: Vector, rows: Rows) -> dict[ChunkRow, float]:
        of_base, of_fresh = self._slots(rows)
        known = np.concatenate([rows[of_base >= 0], rows[of_fresh >= 0]])
        found = exact_cosines(self._codes(of_base[of_base >= 0], of_fresh[of_fresh >= 0]), query)
        return dict(zip(map(ChunkRow, known.tolist()), found.tolist(), strict=True))

    def vectors(self, rows: Rows) -> dict[int, bytes]:
        """The codes of given rows as the store would give them; absent rows have none."""
        of_base, of_fresh = self._slots(rows)
        known = np.concatenate([rows[of_base >= 0], rows[of_fresh >= 0]])
        codes = self._codes(of_base[of_base >= 0], of_fresh[of_fresh >= 0])
        return {row: code.tobytes() for row, code in zip(known.tolist(), codes, strict=True)}

    def live_rows(self) -> Rows:
        """Every row that has a vector, in order."""
        return np.sort(np.concatenate([self.base.rows[self._live_slots()], self.fresh.rows]))

    def changed(self, rows: Rows, codes: Codes, removed: Rows) -> Contents:
        """Without `removed`, then with `rows`, in place of what they had; each named once."""
        gone = np.concatenate([removed, rows])
        kept = ~np.isin(self.fresh.rows, gone)
        fresh_rows = np.concatenate([self.fresh.rows[kept], rows])
        order = np.argsort(fresh_rows)
        fresh = Segment(fresh_rows[order], self.dims)
        fresh.codes[:] = np.concatenate([self.fresh.codes[kept], codes])[order]
        return Contents(self.base, self._without(gone), fresh)

    def needs_order(self) -> bool:
        """Whether so much is gone or fresh that one segment in order would be searched faster."""
        size = len(self.base)
        too_many_gone = self.gone > max(_GONE_MOST, size // _GONE_SHARE)
        return too_many_gone or len(self.fresh) > max(_FRESH_MOST, size // _FRESH_SHARE)

    def in_order(self, exact_up_to: int, stopped: Callable[[], bool]) -> Contents | None:
        """The same vectors as one segment with nothing gone; None when told to stop."""
        base = Segment(self.live_rows(), self.dims)
        slots = self._live_slots()
        places = base.find(self.base.rows[slots])
        for begin in range(0, len(slots), _BLOCK):
            if stopped():
                return None
            block = slice(begin, begin + _BLOCK)
            base.codes[places[block]] = self.base.codes[slots[block]]
        base.codes[base.find(self.fresh.rows)] = self.fresh.codes
        if len(base) > exact_up_to and not base.make_coarse(stopped):
            return None
        return Contents(base, None, Segment(np.empty(0, np.int64), self.dims))

    def _without(self, gone: Rows) -> Passing | None:
        slots = self.base.find(gone)
        slots = slots[slots >= 0]
        if not len(slots):
            return self.alive
        mask = np.ones(len(self.base), bool) if self.alive is None else self.alive.mask.copy()
        mask[slots] = False
        return Passing(mask)

    def _live_slots(self) -> Slots:
        return np.arange(len(self.base)) if self.alive is None else np.flatnonzero(self.alive.mask)

    def _slots(self, rows: Rows) -> tuple[Slots, Slots]:
        of_base = self.base.find(rows)
        if self.alive is not None:
            of_base[(of_base >= 0) & ~self.alive.mask[of_base]] = -1
        return of_base, self.fresh.find(rows)

    def _codes(self, of_base: Slots, of_fresh: Slots) -> Codes:
        return np.concatenate([self.base.codes[of_base], self.fresh.codes[of_fresh]])


def contents_of(blocks: Iterable[tuple[Rows, Codes]], dims: int, exact_up_to: int) -> Contents:
    """Made anew from blocks of rows, in any order."""
    taken = list(blocks)
    nothing = np.empty(0, np.int64)
    base = Segment(_different(np.concatenate([rows for rows, _ in taken] or [nothing])), dims)
    while taken:  # each block is let go as it is copied, so that nothing is held twice
        rows, codes = taken.pop()
        base.codes[base.find(rows)] = codes
    if len(base) > exact_up_to:
        base.make_coarse(lambda: False)
    return Contents(base, None, Segment(nothing, dims))


def _different(rows: Rows) -> Rows:
    """In order, each once: a damaged store names one twice, and a slot that nobody fills holds anything."""
    ordered = np.sort(rows)
    first = np.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]
