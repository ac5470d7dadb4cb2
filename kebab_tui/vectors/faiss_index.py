"""The vector index that searches hold: `search.ports.VectorIndex` over FAISS.

A search takes the reference to the present contents and asks nobody else, so it waits
neither for a change nor for the putting in order, which goes on in a thread of its own
and ends with the reference swapped. The one lock, `_changing`, is held by whoever
replaces the reference, never by a search.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kebab_tui.domain.errors import VectorError
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.search.ports import Near, Vector
from kebab_tui.vectors.segment import (
    Codes,
    FaissSegment,
    Passing,
    Rows,
    Slots,
    decoded,
    exact_cosines,
    rows_of,
    sound_query,
    sound_vectors,
)
from kebab_tui.vectors.sync import Changes, VectorLog

# What the index holds at one moment: a large base, the rows of it that are gone, and what is fresh.
#
# Frozen: a change makes new contents that share the base. So a search that has taken hold
# of some contents is never disturbed, and a file is written of one moment. A row that is
# added again is gone in the base and stands in `fresh`; at most one of its vectors is alive.

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
    base: FaissSegment
    alive: Passing | None
    """Which slots of the base still count; None is all of them."""
    fresh: FaissSegment

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
        fresh = FaissSegment(fresh_rows[order], self.dims)
        fresh.codes[:] = np.concatenate([self.fresh.codes[kept], codes])[order]
        return Contents(self.base, self._without(gone), fresh)

    def needs_order(self) -> bool:
        """Whether so much is gone or fresh that one segment in order would be searched faster."""
        size = len(self.base)
        too_many_gone = self.gone > max(_GONE_MOST, size // _GONE_SHARE)
        return too_many_gone or len(self.fresh) > max(_FRESH_MOST, size // _FRESH_SHARE)

    def in_order(self, exact_up_to: int, stopped: Callable[[], bool]) -> Contents | None:
        """The same vectors as one segment with nothing gone; None when told to stop."""
        base = FaissSegment(self.live_rows(), self.dims)
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
        return Contents(base, None, FaissSegment(np.empty(0, np.int64), self.dims))

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
    base = FaissSegment(_different(np.concatenate([rows for rows, _ in taken] or [nothing])), dims)
    while taken:  # each block is let go as it is copied, so that nothing is held twice
        rows, codes = taken.pop()
        base.codes[base.find(rows)] = codes
    if len(base) > exact_up_to:
        base.make_coarse(lambda: False)
    return Contents(base, None, FaissSegment(nothing, dims))


def _different(rows: Rows) -> Rows:
    """In order, each once: a damaged store names one twice, and a slot that nobody fills holds anything."""
    ordered = np.sort(rows)
    first = np.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


_REMEMBERED_FILTERS = 8
ORDER_THREAD = "kebab-vectors-order"


@dataclass(frozen=True, slots=True)
class _Change:
    rows: Rows
    codes: Codes
    removed: Rows


@dataclass(frozen=True, slots=True)
class _Remembered:
    contents: Contents
    allowed: Sequence[ChunkRow]
    filter: Filter


class FaissIndex:
    """Any number of threads may search while one changes."""

    def __init__(self, contents: Contents, exact_up_to: int) -> None:
        self._contents = contents
        self._exact_up_to = exact_up_to
        self._changing = threading.Lock()
        self._missed: list[_Change] | None = None  # by the ordering that is under way
        self._ordering: threading.Thread | None = None
        self._closing = threading.Event()
        self._recent: tuple[_Remembered, ...] = ()

    @property
    def contents(self) -> Contents:
        """What a search would see now; frozen."""
        return self._contents

    @property
    def count(self) -> int:
        return self._contents.count

    def nearest(self, query: Vector, k: int, allowed: Sequence[ChunkRow] | None = None) -> list[Near]:
        """As the port says. `allowed` is remembered by identity: who gives it does not change it later.

        An array of int64 is the fastest to give.
        """
        contents = self._contents
        sound = sound_query(query, contents.dims)
        return contents.nearest(sound, k, self._filter(contents, allowed)) if k > 0 else []

    def cosines(self, query: Vector, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, float]:
        contents = self._contents
        return contents.cosines(sound_query(query, contents.dims), rows_of(rows))

    def change(
        self, rows: Sequence[int] | Rows, vectors: npt.NDArray[np.floating], removed: Sequence[int] | Rows
    ) -> None:
        """Forget `removed`, then take the vectors of `rows`, in place of any they had; all or nothing."""
        change = _sound_change(rows_of(rows), vectors, rows_of(removed), self._contents.dims)
        with self._changing:
            if self._missed is not None:
                self._missed.append(change)
            self._show(_apply(self._contents, change))
            if self._contents.needs_order() and self._missed is None and not self._closing.is_set():
                self._missed = []
                self._ordering = threading.Thread(
                    target=self._order, args=(self._contents, self._missed), name=ORDER_THREAD
                )
                self._ordering.start()

    def replace(self, contents: Contents) -> None:
        """Show something else from now on."""
        with self._changing:
            self._missed = None
            self._show(contents)

    def close(self) -> None:
        """End the ordering that may be under way; searches still work."""
        self._closing.set()
        if self._ordering is not None:
            self._ordering.join()

    def _order(self, before: Contents, missed: list[_Change]) -> None:
        after: Contents | None = None
        try:
            after = before.in_order(self._exact_up_to, self._closing.is_set)
        finally:  # without memory for a second copy the present one still answers
            with self._changing:
                if self._missed is missed:
                    self._missed = None
                    if after is not None:
                        self._show(functools.reduce(_apply, missed, after))

    def _show(self, contents: Contents) -> None:
        self._contents = contents
        self._recent = ()

    def _filter(self, contents: Contents, allowed: Sequence[ChunkRow] | None) -> Filter:
        if allowed is None:
            return contents.allowing(None)
        recent = self._recent
        for known in recent:
            if known.allowed is allowed and known.contents is contents:
                return known.filter
        made = contents.allowing(rows_of(allowed))
        if contents is self._contents:  # a filter must not keep a replaced base in memory
            self._recent = (_Remembered(contents, allowed, made), *recent[: _REMEMBERED_FILTERS - 1])
        return made


def _apply(contents: Contents, change: _Change) -> Contents:
    return contents.changed(change.rows, change.codes, change.removed)


def _sound_change(rows: Rows, vectors: npt.NDArray[np.floating], removed: Rows, dims: int) -> _Change:
    if vectors.dtype not in (np.float16, np.float32) or vectors.shape != (len(rows), dims):
        given = f"{vectors.dtype}{vectors.shape}"
        raise VectorError(f"{len(rows)} vectors of {dims} numbers expected, not {given}")
    if not sound_vectors(vectors).all():
        raise VectorError("a vector must be finite and of length 1")
    told, last = np.unique(rows[::-1], return_index=True)  # a row told twice: the later word holds
    return _Change(told, vectors[::-1][last].astype(np.float16), removed)


# From what the store says to arrays. A blob that is no sound vector is as good as none.

_READ_BLOCK = 4_096
_SAMPLED = 64


def everything(log: VectorLog, dims: int) -> Iterator[tuple[Rows, Codes]]:
    """All vectors of the store in blocks."""
    pairs = log.all()
    while block := list(itertools.islice(pairs, _READ_BLOCK)):
        codes, sound = decoded([vector for _, vector in block], dims)
        yield rows_of([row for row, _ in block])[sound], codes


def news(changes: Changes, dims: int) -> tuple[Rows, Codes, Rows]:
    """Rows with their vectors, and rows that have none any more."""
    added: Sequence[int] = [each.row for each in changes.added]
    codes, sound = decoded([each.vector for each in changes.added], dims)
    rows = rows_of(added)
    return rows[sound], codes, np.concatenate([rows_of(changes.removed), rows[~sound]])


def agrees(contents: Contents, log: VectorLog) -> bool:
    """Whether samples of both sides are the same: a restored or remade store counts its revisions anew."""
    rows = contents.live_rows()
    newest = int(rows[-1]) if len(rows) else 0
    # Sets, since `np.union1d` loads `np.ma`: 5 ms of a first search.
    sampled = sorted({*rows[:: max(1, len(rows) // _SAMPLED)].tolist(), *rows[-_SAMPLED:].tolist()})
    sampled += range(newest + 1, newest + 1 + _SAMPLED)  # has the store gone on where we end?
    theirs = dict(log.vectors(sampled)) | dict(itertools.islice(log.all(), _SAMPLED))
    _, sound = decoded(list(theirs.values()), contents.dims)
    sound_ones = dict(itertools.compress(theirs.items(), sound))
    return contents.vectors(rows_of(sorted({*sampled, *theirs}))) == sound_ones
