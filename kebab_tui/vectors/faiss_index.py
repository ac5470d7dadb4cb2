"""The vector index of a process: implements `search.ports.VectorIndex` over FAISS.

A search takes the reference to the present snapshot and needs no lock, so it waits neither for a
change nor for a compaction, which runs in its own thread and ends by swapping the reference. The
only lock, `_changing`, guards that swap.

A snapshot is frozen: a large base, a mask of its deleted rows, and a small delta. A change makes a
new snapshot with the same base. A replaced row is deleted in the base and added to the delta, so
its vectors are all alive in one of the two. Stored blobs that are not valid vectors are skipped.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kebab_tui.domain.errors import VectorError
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.search.ports import Among, Near, PartCosines, Vector
from kebab_tui.vectors.segment import (
    Codes,
    FaissSegment,
    Rows,
    SlotMask,
    Slots,
    are_codes,
    decoded,
    exact_cosines,
    part_cosines,
    rows_of,
    validated_query,
)
from kebab_tui.vectors.sync import VectorLog

Resolve: TypeAlias = Callable[[Among], Sequence[ChunkRow]]
"""Lists the chunks; the same object as long as they do not change."""
Room: TypeAlias = Callable[[int, int], Codes]
"""Makes room for so many codes of so many numbers."""
COMPACTION_THREAD = "kebab-vectors-compaction"

_DELETED_MOST, _DELETED_SHARE = 256, 20
_DELTA_MOST, _DELTA_SHARE = 4_096, 32
"""A compaction starts above both the number and one part in `_SHARE` of the base."""
_BLOCK = 8_192
_CACHED_FILTERS = 8
_READ_BLOCK = 4_096
_BLOCKS_IN_A_ROOM = 16
_SAMPLED = 64


def in_memory(count: int, dims: int) -> Codes:
    return np.empty((count, dims), np.float16)


class FaissIndex:
    """Any number of threads may search while one changes.

    A filter is resolved to rows in the thread that asks, so that they belong to its snapshot of the corpus.
    """

    def __init__(self, snapshot: VectorSnapshot, exact_up_to: int, resolve: Resolve) -> None:
        self._snapshot = snapshot
        self._exact_up_to = exact_up_to
        self._resolve = resolve
        self._changing = threading.Lock()
        self._since_compaction: list[_Change] | None = None
        """Changes since the running compaction began; None if none is running."""
        self._compaction: threading.Thread | None = None
        self._closing = threading.Event()
        self._filters: tuple[_CachedFilter, ...] = ()
        self._threads = ThreadPoolExecutor(thread_name_prefix="kebab-vectors")
        """Starts a thread if none is idle."""

    @property
    def snapshot(self) -> VectorSnapshot:
        """The present state, frozen."""
        return self._snapshot

    @property
    def count(self) -> int:
        return self._snapshot.count

    def nearest(self, query: Vector, k: int, among: Among | None = None) -> list[Near]:
        return self._searching(query, k, [among])()[0]

    def begin(self, query: Vector, k: int, among: Sequence[Among | None]) -> Callable[[], list[list[Near]]]:
        return self._threads.submit(self._searching(query, k, among)).result

    def _searching(
        self, query: Vector, k: int, among: Sequence[Among | None]
    ) -> Callable[[], list[list[Near]]]:
        snapshot = self._snapshot
        valid = validated_query(query, snapshot.base.dims)
        allowed = [None if one is None else self._resolve(one) for one in among]
        return lambda: [
            snapshot.nearest(valid, k, self._filter(snapshot, rows)) if k > 0 else [] for rows in allowed
        ]

    def cosines(self, query: Vector, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, float]:
        snapshot = self._snapshot
        valid = validated_query(query, snapshot.base.dims)
        known, codes = snapshot.find(rows_of(rows))
        found: dict[ChunkRow, float] = {}
        for row, cosine in zip(known.tolist(), exact_cosines(codes, valid).tolist(), strict=True):
            found[row] = max(cosine, found.get(row, -1.0))
        return found

    def parts(self, query: Vector, row: ChunkRow) -> PartCosines | None:
        snapshot = self._snapshot
        _, codes = snapshot.find(rows_of([row]))
        return part_cosines(codes, validated_query(query, snapshot.base.dims)) if len(codes) else None

    def change(
        self, rows: Sequence[int] | Rows, codes: npt.NDArray[np.floating], removed: Sequence[int] | Rows
    ) -> None:
        """Delete `removed`, then add or replace the codes of `rows`; all or nothing.

        A row that is repeated has several parts.
        """
        added, dims = rows_of(rows), self._snapshot.base.dims
        if codes.dtype not in (np.float16, np.float32) or codes.shape != (len(added), dims):
            given = f"{codes.dtype}{codes.shape}"
            raise VectorError(f"expected {len(added)} vectors of {dims} numbers, not {given}")
        if not are_codes(codes).all():
            raise VectorError("a vector must be finite and of length 1")
        change = _Change(added, codes.astype(np.float16), rows_of(removed))
        with self._changing:
            if self._since_compaction is not None:
                self._since_compaction.append(change)
            self._swap(_apply(self._snapshot, change))
            is_idle = self._since_compaction is None and not self._closing.is_set()
            if is_idle and self._snapshot.needs_compaction():
                self._since_compaction = []
                self._compaction = threading.Thread(
                    target=self._compact,
                    args=(self._snapshot, self._since_compaction),
                    name=COMPACTION_THREAD,
                )
                self._compaction.start()

    def replace(self, snapshot: VectorSnapshot) -> None:
        """Replace the whole index."""
        with self._changing:
            self._since_compaction = None
            self._swap(snapshot)

    def close(self) -> None:
        """Stop a running compaction; searches still work."""
        self._closing.set()
        if self._compaction is not None:
            self._compaction.join()

    def _compact(self, before: VectorSnapshot, since: list[_Change]) -> None:
        after: VectorSnapshot | None = None
        try:
            after = before.compacted(self._exact_up_to, self._closing.is_set)
        finally:  # if memory runs out, the present snapshot stays in use
            with self._changing:
                if self._since_compaction is since:
                    self._since_compaction = None
                    if after is not None:
                        self._swap(functools.reduce(_apply, since, after))

    def _swap(self, snapshot: VectorSnapshot) -> None:
        self._snapshot = snapshot
        self._filters = ()

    def _filter(self, snapshot: VectorSnapshot, allowed: Sequence[ChunkRow] | None) -> Filter:
        """Cached by the identity of `allowed`. An int64 array is its fastest form."""
        if allowed is None:
            return snapshot.allowing(None)
        cached = self._filters
        for known in cached:
            if known.allowed is allowed and known.snapshot is snapshot:
                return known.filter
        made = snapshot.allowing(rows_of(allowed))
        if snapshot is self._snapshot:  # a cached filter must not keep a replaced base in memory
            self._filters = (_CachedFilter(snapshot, allowed, made), *cached[: _CACHED_FILTERS - 1])
        return made


@dataclass(frozen=True, slots=True)
class _Change:
    rows: Rows
    codes: Codes
    removed: Rows


@dataclass(frozen=True, slots=True)
class Filter:
    """Allowed rows as slots of base and delta."""

    base: SlotMask | None
    delta: SlotMask | None


@dataclass(frozen=True, slots=True)
class _CachedFilter:
    snapshot: VectorSnapshot
    allowed: Sequence[ChunkRow]
    filter: Filter


def _apply(snapshot: VectorSnapshot, change: _Change) -> VectorSnapshot:
    return snapshot.changed(change.rows, change.codes, change.removed)


@dataclass(frozen=True, slots=True)
class VectorSnapshot:
    base: FaissSegment
    alive: SlotMask | None
    """The slots of the base that are not deleted; None for all."""
    delta: FaissSegment

    @property
    def deleted(self) -> int:
        return 0 if self.alive is None else len(self.base) - self.alive.count

    @property
    def private_slots(self) -> int:
        """The number of vectors in memory of this process alone."""
        return self.base.private_slots + self.delta.private_slots

    @property
    def count(self) -> int:
        """The number of rows."""
        firsts = self.base.firsts
        in_base = np.count_nonzero(firsts if self.alive is None else firsts & self.alive.mask)
        return int(in_base) + self.delta.row_count

    def allowing(self, rows: Rows | None) -> Filter:
        if rows is None:
            return Filter(self.alive, None)
        base = self.base.mask_of(rows)
        if self.alive is not None:
            base &= self.alive.mask
        return Filter(SlotMask(base), SlotMask(self.delta.mask_of(rows)))

    def nearest(self, query: Vector, k: int, among: Filter) -> list[Near]:
        in_base = self.base.best(query, k, among.base)
        in_delta = self.delta.best(query, k, among.delta)
        rows = np.concatenate([self.base.rows[in_base], self.delta.rows[in_delta]])
        cosines = exact_cosines(self._codes(in_base, in_delta), query)
        order = np.lexsort((rows, -cosines))
        _, best = np.unique(rows[order], return_index=True)  # the best slot of each row
        order = order[np.sort(best)[:k]]
        pairs = zip(rows[order].tolist(), cosines[order].tolist(), strict=True)
        return [Near(ChunkRow(row), cosine) for row, cosine in pairs]

    def codes_of(self, rows: Rows) -> dict[int, bytes]:
        """The codes of those rows that have any."""
        return by_row(*self.find(rows))

    def some_rows(self) -> list[int]:
        """Some rows with a vector, sorted, and the last ones; looks at no others."""
        base, delta, size = self.base.rows, self.delta.rows, len(self.base)
        slots = np.concatenate(
            [np.arange(0, size, max(1, size // _SAMPLED)), np.arange(max(0, size - _SAMPLED), size)]
        )
        if self.alive is not None:
            slots = slots[self.alive.mask[slots]]
        # Sets, because `np.union1d` loads `np.ma`: 5 ms of a first search.
        return sorted(
            {
                *base[slots].tolist(),
                *delta[:: max(1, len(delta) // _SAMPLED)].tolist(),
                *delta[-_SAMPLED:].tolist(),
            }
        )

    def live_rows(self) -> Rows:
        """Every row with a vector, sorted."""
        return np.unique(np.concatenate([self.base.rows[self._live_slots()], self.delta.rows]))

    def changed(self, rows: Rows, codes: Codes, removed: Rows) -> VectorSnapshot:
        """Without `removed`, then with new codes for `rows`."""
        deleted = np.concatenate([removed, rows])
        kept = ~np.isin(self.delta.rows, deleted)
        delta_rows = np.concatenate([self.delta.rows[kept], rows])
        order = np.argsort(delta_rows, kind="stable")
        delta = FaissSegment(delta_rows[order], self.base.dims)
        delta.codes[:] = np.concatenate([self.delta.codes[kept], codes])[order]
        alive, slots = self.alive, self.base.slots_of(np.unique(deleted))
        if len(slots):
            mask = np.ones(len(self.base), bool) if alive is None else alive.mask.copy()
            mask[slots] = False
            alive = SlotMask(mask)
        return VectorSnapshot(self.base, alive, delta)

    def needs_compaction(self) -> bool:
        """Whether deleted rows or the delta slow down a search."""
        size = len(self.base)
        too_many_deleted = self.deleted > max(_DELETED_MOST, size // _DELETED_SHARE)
        return too_many_deleted or len(self.delta) > max(_DELTA_MOST, size // _DELTA_SHARE)

    def compacted(
        self, exact_up_to: int, stopped: Callable[[], bool], room: Room = in_memory
    ) -> VectorSnapshot | None:
        """The same vectors in one base without deleted rows; None if stopped."""
        slots = self._live_slots()
        base, places = _arranged([self.base.rows[slots], self.delta.rows], self.base.dims, room)
        for begin in range(0, len(slots), _BLOCK):
            if stopped():
                return None
            block = slots[begin : begin + _BLOCK]
            base.codes[places[begin : begin + len(block)]] = self.base.codes[block]
        base.codes[places[len(slots) :]] = self.delta.codes
        if len(base) > exact_up_to and not base.make_coarse(stopped):
            return None
        return VectorSnapshot(base, None, FaissSegment(np.empty(0, np.int64), self.base.dims))

    def _live_slots(self) -> Slots:
        return np.arange(len(self.base)) if self.alive is None else np.flatnonzero(self.alive.mask)

    def find(self, rows: Rows) -> tuple[Rows, Codes]:
        """The codes of those rows that have any, each with its row."""
        in_base, in_delta = self.base.slots_of(rows), self.delta.slots_of(rows)
        if self.alive is not None:
            in_base = in_base[self.alive.mask[in_base]]
        known = np.concatenate([self.base.rows[in_base], self.delta.rows[in_delta]])
        return known, self._codes(in_base, in_delta)

    def _codes(self, in_base: Slots, in_delta: Slots) -> Codes:
        return np.concatenate([self.base.codes[in_base], self.delta.codes[in_delta]])


def snapshot_of(
    blocks: Iterable[tuple[Rows, Codes]], dims: int, exact_up_to: int, room: Room = in_memory
) -> VectorSnapshot:
    """A new snapshot from blocks of rows in any order."""
    taken = list(blocks if room is in_memory else _moved(blocks, room))
    nothing = np.empty(0, np.int64)
    base, places = _arranged([nothing, *(rows for rows, _ in taken)], dims, room)
    while taken:  # free each block once it is copied, to keep one copy in memory
        _, codes = taken.pop()
        base.codes[places[len(places) - len(codes) :]] = codes
        places = places[: len(places) - len(codes)]
    if len(base) > exact_up_to:
        base.make_coarse(lambda: False)
    return VectorSnapshot(base, None, FaissSegment(nothing, dims))


def _moved(blocks: Iterable[tuple[Rows, Codes]], room: Room) -> Iterator[tuple[Rows, Codes]]:
    """The same in fewer blocks, each in a room of its own."""
    rest = iter(blocks)
    while some := list(itertools.islice(rest, _BLOCKS_IN_A_ROOM)):
        codes = np.concatenate([codes for _, codes in some])
        there = room(*codes.shape)
        there[:] = codes
        yield np.concatenate([rows for rows, _ in some]), there


def _arranged(rows: Sequence[Rows], dims: int, room: Room) -> tuple[FaissSegment, Slots]:
    """A segment for these rows, and the slot of each; its codes are not set yet."""
    together = np.concatenate(rows)
    order = np.argsort(together, kind="stable")
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return FaissSegment(together[order], dims, room(len(order), dims)), places


def stored_vectors(log: VectorLog, dims: int) -> Iterator[tuple[Rows, Codes]]:
    """All valid vectors of the store in blocks."""
    pairs = log.all()
    while block := list(itertools.islice(pairs, _READ_BLOCK)):
        rows, codes, _ = decoded(rows_of([row for row, _ in block]), [blob for _, blob in block], dims)
        yield rows, codes


def decoded_changes(
    added: Sequence[tuple[int, bytes]], removed: Sequence[int], dims: int
) -> tuple[Rows, Codes, Rows]:
    """Rows with their new codes, and rows that have no valid vector any more."""
    rows, codes, invalid = decoded(rows_of([row for row, _ in added]), [blob for _, blob in added], dims)
    return rows, codes, np.concatenate([rows_of(removed), invalid])


def by_row(rows: Rows, codes: Codes) -> dict[int, bytes]:
    """The codes of each row."""
    found: dict[int, bytes] = {}
    for row, code in zip(rows.tolist(), codes, strict=True):
        found[row] = found.get(row, b"") + code.tobytes()
    return found


def matches_store(snapshot: VectorSnapshot, log: VectorLog) -> bool:
    """Compare samples of both sides: the revisions of a restored or rebuilt store start again."""
    sampled = snapshot.some_rows()
    newest = sampled[-1] if sampled else 0
    sampled += range(newest + 1, newest + 1 + _SAMPLED)  # rows that only a longer store has
    stored = dict(log.vectors(sampled)) | dict(itertools.islice(log.all(), _SAMPLED))
    known, codes, _ = decoded(rows_of(list(stored)), list(stored.values()), snapshot.base.dims)
    return snapshot.codes_of(rows_of(sorted({*sampled, *stored}))) == by_row(known, codes)
