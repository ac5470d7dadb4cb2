"""Vectors for tests, brute-force search, and a store of vectors in a dictionary."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from kebab_tui.domain.ids import ChunkRow, DocId
from kebab_tui.domain.query import SearchFilters
from kebab_tui.search.ports import Among, Near, Vector
from kebab_tui.vectors.faiss_index import FaissIndex, by_row, snapshot_of
from kebab_tui.vectors.segment import Codes, Rows, decoded, rows_of
from kebab_tui.vectors.sync import VectorFollower

DIMS = 16
MODEL = "vec-test-16-00000000"
EXACT = 1_000_000

Floats = npt.NDArray[np.float32]


def unit(count: int, seed: int = 1, dims: int = DIMS) -> Floats:
    vectors = np.random.default_rng(seed).standard_normal((count, dims)).astype(np.float32)
    return normal(vectors)


def normal(vectors: Floats) -> Floats:
    lengths: Floats = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / lengths).astype(np.float32)


def clustered(count: int, seed: int = 1, dims: int = 128, centres: int = 200) -> Floats:
    """Vectors in clusters, like embeddings."""
    dice = np.random.default_rng(seed)
    middle = unit(centres, 99, dims)[dice.integers(0, centres, count)]
    return normal(
        (middle + unit(count, seed + 1, dims) * dice.uniform(0.3, 0.9, (count, 1))).astype(np.float32)
    )


def codes(vectors: Floats) -> Codes:
    return vectors.astype(np.float16)


def index_of(rows: Sequence[int] | Rows, vectors: Floats, exact_up_to: int = EXACT) -> FaissIndex:
    """An index as a rebuild makes it."""
    made = snapshot_of([(rows_of(rows), codes(vectors))], vectors.shape[1], exact_up_to)
    return FaissIndex(made, exact_up_to, resolved)


_ROWS: dict[Among, Sequence[ChunkRow] | Rows] = {}


def only(rows: Iterable[int] | Rows) -> Among:
    """A filter that passes these rows."""
    among = Among(SearchFilters(doc_ids=(DocId(str(len(_ROWS))),)))
    _ROWS[among] = rows if isinstance(rows, np.ndarray) else [ChunkRow(row) for row in rows]
    return among


def resolved(among: Among) -> Sequence[ChunkRow]:
    return cast("Sequence[ChunkRow]", _ROWS[among])


def brute(
    held: Mapping[int, npt.NDArray[np.floating]], query: Vector, k: int, allowed: Iterable[int] | None = None
) -> list[int]:
    """The rows of highest cosine by numpy alone, ties by row; `held` has one code or several for each row."""
    rows = np.array(sorted(held if allowed is None else set(held) & set(allowed)), np.int64)
    if not len(rows):
        return []
    held = {row: np.atleast_2d(held[row]) for row in rows.tolist()}
    matrix = np.concatenate(list(held.values())).astype(np.float16).astype(np.float64)
    products = (matrix * query.astype(np.float64)).sum(axis=1).astype(np.float32)
    first = np.cumsum([0, *map(len, held.values())])[:-1]
    cosines = np.maximum.reduceat(products, first)
    found: list[int] = rows[np.lexsort((rows, -cosines))][:k].tolist()
    return found


def rows_in(found: Sequence[Near]) -> list[int]:
    return [each.row for each in found]


def chunk_rows(rows: Iterable[int]) -> list[ChunkRow]:
    return [ChunkRow(int(row)) for row in rows]


@dataclass
class DictStore:
    """Implements the protocol `VectorStore` with a dictionary."""

    held: dict[int, bytes] = field(default_factory=dict)
    log: list[tuple[int, int, bool]] = field(default_factory=list)
    now: int = 0
    floor: int = 0
    last_row: int = 0

    @contextlib.contextmanager
    def vectors(self, model: str) -> Iterator[DictLog]:
        assert model == MODEL
        yield DictLog(self)

    def rows(self, among: Among) -> Sequence[ChunkRow]:
        return resolved(among)

    def save(self, added: Mapping[int, bytes], removed: Iterable[int] = ()) -> None:
        self.now += 1
        for row in removed:
            self.held.pop(row, None)
            self.log.append((self.now, row, False))
        for row, vector in added.items():
            self.held[row] = vector
            self.log.append((self.now, row, True))
            self.last_row = max(self.last_row, row)

    def add(self, vectors: Floats) -> list[int]:
        """New rows for new vectors, as the store gives them out."""
        rows = list(range(self.last_row + 1, self.last_row + 1 + len(vectors)))
        self.save({row: code.tobytes() for row, code in zip(rows, codes(vectors), strict=True)})
        return rows

    def add_long(self, vectors: Sequence[Floats]) -> list[int]:
        """New rows for texts of several parts."""
        rows = list(range(self.last_row + 1, self.last_row + 1 + len(vectors)))
        self.save({row: codes(parts).tobytes() for row, parts in zip(rows, vectors, strict=True)})
        return rows

    def forget_log(self) -> None:
        self.floor = self.now
        self.log.clear()


class DictLog:
    def __init__(self, store: DictStore) -> None:
        self._store = store

    def revision(self) -> int:
        return self._store.now

    def all(self) -> Iterator[tuple[int, bytes]]:
        yield from self._store.held.items()

    def change_count(self, revision: int) -> int | None:
        store = self._store
        if not store.floor <= revision <= store.now:
            return None
        return sum(at > revision for at, _, _ in store.log)

    def changes_after(self, revision: int) -> tuple[list[tuple[int, bytes]], list[int]] | None:
        store = self._store
        if not store.floor <= revision <= store.now:
            return None
        changes = [(row, added) for at, row, added in store.log if at > revision]
        rows = sorted({row for row, added in changes if added and row in store.held})
        removed = sorted({row for row, added in changes if not added})
        return [(row, store.held[row]) for row in rows], removed

    def vectors(self, rows: Sequence[int]) -> dict[int, bytes]:
        return {row: self._store.held[row] for row in rows if row in self._store.held}


def follower_of(store: DictStore, folder: Path | str, exact_up_to: int = EXACT) -> VectorFollower:
    return VectorFollower(store, str(folder), MODEL, DIMS, may_save=lambda: True, exact_up_to=exact_up_to)


def holds(index: FaissIndex, store: DictStore) -> bool:
    """Whether the index has exactly the vectors of the store, to the bit."""
    rows = index.snapshot.live_rows()
    stored, codes, _ = decoded(rows_of(list(store.held)), list(store.held.values()), DIMS)
    return index.snapshot.codes_of(rows) == by_row(stored, codes) and index.count == len(store.held)
