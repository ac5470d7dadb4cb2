"""A long text has several vectors, of which the nearest and the sum of all decide."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kebab_tui.domain.ids import ChunkRow
from kebab_tui.search.ports import Vector
from kebab_tui.vectors.faiss_index import FaissIndex, by_row
from kebab_tui.vectors.file import Saved, read, write
from kebab_tui.vectors.segment import decoded, rows_of
from tests.vectors.making import (
    DIMS,
    EXACT,
    MODEL,
    DictStore,
    Floats,
    brute,
    chunk_rows,
    clustered,
    codes,
    follower_of,
    only,
    resolved,
    rows_in,
    unit,
)
from tests.vectors.test_faiss_index import wait_for_compaction


def long_texts(count: int, dims: int = DIMS, seed: int = 1) -> dict[int, Floats]:
    """Every fifth text has two to six parts, which resemble each other."""
    dice = np.random.default_rng(seed)
    made = {}
    for row, beginning in enumerate(clustered(count, seed, dims), 1):
        rest = unit(int(dice.integers(1, 6)) if row % 5 == 0 else 0, seed + row, dims)
        near = beginning + 0.7 * rest
        made[row] = np.concatenate(
            [beginning[np.newaxis], near / np.linalg.norm(near, axis=1, keepdims=True)]
        )
    return made


def cosine_of(parts: Floats, query: Vector) -> float:
    whole = parts.sum(axis=0)
    return 0.65 * float((parts @ query).max()) + 0.35 * float(whole @ query / np.linalg.norm(whole))


def indexed(texts: dict[int, Floats], exact_up_to: int = EXACT) -> FaissIndex:
    from kebab_tui.vectors.faiss_index import snapshot_of

    dims = texts[1].shape[1]
    blobs = [codes(parts).tobytes() for parts in texts.values()]
    rows, stored, invalid = decoded(rows_of(list(texts)), blobs, dims)
    assert not len(invalid)
    return FaissIndex(snapshot_of([(rows, stored)], dims, exact_up_to), exact_up_to, resolved)


@pytest.mark.parametrize("count", [300, 6_000])
def test_the_cosine_is_that_of_the_nearest_part_and_of_all_together(count: int) -> None:
    texts = long_texts(count)
    index = indexed(texts)
    assert index.count == count
    for query in unit(5, 9):
        expected = {row: cosine_of(codes(parts).astype(np.float32), query) for row, parts in texts.items()}
        assert index.cosines(query, chunk_rows(texts)) == pytest.approx(expected, abs=2e-3)
        best = sorted(expected, key=lambda row: -expected[row])[:5]
        assert set(rows_in(index.nearest(query, 10))) >= set(best)


def test_its_parts_are_told_and_make_it_up() -> None:
    texts = long_texts(100)
    index = indexed(texts)
    (query,) = unit(1, 9)
    for row, parts in texts.items():
        told = index.parts(query, ChunkRow(row))
        assert told is not None
        assert told.parts == pytest.approx((parts @ query).tolist(), abs=3e-3)
        (cosine,) = index.cosines(query, chunk_rows([row])).values()
        assert 0.65 * max(told.parts) + 0.35 * told.whole == pytest.approx(cosine, rel=1e-12)
        if len(parts) == 1:
            assert told == ((cosine,), cosine)
    assert index.parts(query, ChunkRow(999)) is None


def test_a_row_is_found_once_and_as_many_rows_as_are_asked() -> None:
    """All parts of the nearest texts are nearer than any other text."""
    beginning = unit(1, 5)[0]
    near = np.repeat(beginning[np.newaxis], 60, axis=0)
    texts = {row: near if row < 40 else unit(1, row) for row in range(1, 4_001)}
    found = rows_in(indexed(texts).nearest(beginning, 50))
    assert found[:39] == list(range(1, 40))
    assert len(found) == len(set(found)) == 50


@pytest.mark.parametrize("share", [0.005, 0.3, 0.9])
def test_a_filter_is_exact(share: float) -> None:
    texts = long_texts(5_000)
    index = indexed(texts)
    held = {row: decoded(rows_of([row]), [codes(parts).tobytes()], DIMS)[1] for row, parts in texts.items()}
    dice = np.random.default_rng(3)
    for query in unit(5, 9):
        allowed = [row for row in texts if dice.random() < share]
        assert rows_in(index.nearest(query, 20, only(allowed))) == brute(held, query, 20, allowed)


def test_rows_far_apart_are_filtered_as_well() -> None:
    texts = {row * 1_000: parts for row, parts in long_texts(300).items()}
    blobs = [codes(parts).tobytes() for parts in texts.values()]
    index = indexed({1: unit(1)})
    index.change(*decoded(rows_of(list(texts)), blobs, DIMS)[:2], [])
    wait_for_compaction()
    (query,) = unit(1, 9)
    assert set(rows_in(index.nearest(query, 300, only([5_000, 10_000])))) == {5_000, 10_000}


def test_replacing_and_removing_takes_all_parts() -> None:
    texts = long_texts(3_000)
    index = indexed(texts)
    index.change([5, 10, 10], unit(3, 44), [15])
    assert index.count == 2_999
    (query,) = unit(1, 9)
    assert len(index.parts(query, ChunkRow(5)).parts) == 1  # type: ignore[union-attr]
    assert len(index.parts(query, ChunkRow(10)).parts) == 2  # type: ignore[union-attr]
    assert index.parts(query, ChunkRow(15)) is None
    assert 15 not in rows_in(index.nearest(query, 3_000))
    compacted = index.snapshot.compacted(EXACT, lambda: False)
    assert compacted is not None
    rows = index.snapshot.live_rows()
    assert compacted.codes_of(rows) == index.snapshot.codes_of(rows)
    assert compacted.count == 2_999


def test_the_file_has_all_parts(tmp_path: Path) -> None:
    index = indexed(long_texts(3_000))
    index.change([5, 10, 10], unit(3, 44), [15])
    write(str(tmp_path / "vectors"), MODEL, Saved(index.snapshot, 3))
    saved = read(str(tmp_path / "vectors"), MODEL, DIMS).snapshot
    rows = index.snapshot.live_rows()
    assert saved.codes_of(rows) == index.snapshot.codes_of(rows)
    assert saved.count == index.count
    assert saved.live_rows().tolist() == rows.tolist()


def test_a_text_with_one_bad_part_has_no_vector(tmp_path: Path) -> None:
    store = DictStore()
    parts = codes(unit(3))
    bad = codes(unit(3) * np.array([[1], [2], [1]], np.float32))
    store.save({1: parts.tobytes(), 2: bad.tobytes(), 3: parts.tobytes()[:-2], 4: parts[:1].tobytes()})
    follower = follower_of(store, tmp_path)
    follower.open()
    assert follower.index.snapshot.live_rows().tolist() == [1, 4]
    store.save({4: bad.tobytes()})
    follower.catch_up()
    assert follower.index.snapshot.live_rows().tolist() == [1]


def test_a_part_that_is_opposite_to_the_others_is_valid() -> None:
    (one,) = codes(unit(1))
    rows, mixed, invalid = decoded(rows_of([1]), [np.stack([one, -one]).tobytes()], DIMS)
    assert (rows.tolist(), len(invalid)) == ([1, 1], 0)
    index = indexed({1: unit(1)})
    index.change(rows, mixed, [])
    assert index.count == 1


@pytest.mark.slow
def test_the_coarse_index_finds_nearly_all() -> None:
    texts = long_texts(12_000, dims=128)
    index = indexed(texts, exact_up_to=5_000)
    assert index.snapshot.base.is_coarse
    exact = indexed(texts)
    hits = sum(
        len(set(rows_in(index.nearest(query, 10))) & set(rows_in(exact.nearest(query, 10))))
        for query in clustered(40, 77)
    )
    assert hits >= 0.95 * 400


def test_equal_parts_are_stored_as_they_are() -> None:
    stored = codes(unit(2))
    assert by_row(*decoded(rows_of([7, 8]), [one.tobytes() for one in stored], DIMS)[:2]) == {
        7: stored[0].tobytes(),
        8: stored[1].tobytes(),
    }
