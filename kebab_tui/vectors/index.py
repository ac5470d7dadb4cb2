"""The vector index that searches hold: `search.ports.VectorIndex` over FAISS.

A search takes the reference to the present contents and asks nobody else, so it waits
neither for a change nor for the putting in order, which goes on in a thread of its own
and ends with the reference swapped. The one lock, `_changing`, is held by whoever
replaces the reference, never by a search.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kebab_tui.domain.errors import VectorError
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.search.ports import Near, Vector
from kebab_tui.vectors.arrays import Codes, Rows, rows_of, sound_query, sound_vectors
from kebab_tui.vectors.contents import Contents, Filter

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
