"""Above a number of vectors a coarse index is searched before the exact one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kebab_tui.vectors.faiss_index import FaissIndex
from kebab_tui.vectors.file import Saved, read, write
from tests.vectors.making import EXACT, MODEL, Floats, clustered, index_of, only, resolved, rows_in
from tests.vectors.test_faiss_index import wait_for_compaction

pytestmark = pytest.mark.slow

DIMS, COUNT, K = 128, 12_000, 10


def large() -> FaissIndex:
    return index_of(range(1, COUNT + 1), clustered(COUNT), exact_up_to=5_000)


def recall(index: FaissIndex, held: dict[int, Floats], allowed: list[int] | None = None) -> float:
    queries = clustered(40, 77)
    looked_at = np.array(list(held) if allowed is None else allowed)
    cosines = queries @ np.stack([held[row] for row in looked_at.tolist()]).T
    hits = 0
    for query, row in zip(queries, cosines, strict=True):
        found = index.nearest(query, K, None if allowed is None else only(allowed))
        assert len(found) == K
        hits += len(set(rows_in(found)) & set(looked_at[np.argsort(-row)[:K]].tolist()))
    return hits / (K * len(queries))


def test_it_finds_nearly_all_that_the_exact_one_does() -> None:
    index = large()
    held = dict(enumerate(clustered(COUNT), 1))
    assert index.snapshot.base.is_coarse
    assert recall(index, held) >= 0.95


def test_it_does_with_filters_of_any_width() -> None:
    index = large()
    held = dict(enumerate(clustered(COUNT), 1))
    dice = np.random.default_rng(5)
    for share in (0.001, 0.01, 0.1, 0.5, 0.9):
        allowed = [row for row in held if dice.random() < share]
        assert len(allowed) >= K
        assert recall(index, held, allowed) >= 0.95, share


def test_it_does_after_changes_and_cosines_stay_exact() -> None:
    index = large()
    held = dict(enumerate(clustered(COUNT), 1))
    gone, new = list(range(1, 500)), clustered(700, 6)
    index.change(range(11_900, 12_600), new, gone)
    for row in gone:
        del held[row]
    held.update(zip(range(11_900, 12_600), new, strict=True))
    assert recall(index, held) >= 0.95
    query = clustered(1, 3)[0]
    found = index.nearest(query, K)
    assert dict(index.cosines(query, [each.row for each in found])) == {e.row: e.cosine for e in found}


def test_growing_over_the_limit_brings_it_and_shrinking_takes_it_away() -> None:
    index = FaissIndex(index_of(range(1, 4_001), clustered(4_000)).snapshot, 5_000, resolved)
    seen = [index.snapshot.base.is_coarse]
    index.change(range(5_000, 10_000), clustered(5_000, 4), [])
    wait_for_compaction()
    seen.append(index.snapshot.base.is_coarse)
    index.change([], clustered(0), range(5_000, 10_000))
    wait_for_compaction()
    seen.append(index.snapshot.base.is_coarse)
    assert seen == [False, True, False]
    assert index.count == 4_000


def test_closing_stops_the_building_of_it() -> None:
    index = FaissIndex(index_of(range(1, 4_001), clustered(4_000)).snapshot, 5_000, resolved)
    index.change(range(5_000, 10_000), clustered(5_000, 4), [])
    index.close()
    assert index.count == 9_000
    assert rows_in(index.nearest(clustered(1, 4)[0], 1)) == [5_000]


def test_it_is_in_the_file(tmp_path: Path) -> None:
    index, path = large(), str(tmp_path / "file")
    index.change([20_000], clustered(1, 9), [5, 6])
    write(path, MODEL, Saved(index.snapshot, 3))
    again = FaissIndex(read(path, MODEL, DIMS).snapshot, EXACT, resolved)
    assert again.snapshot.base.is_coarse
    for query in clustered(10, 8):
        assert again.nearest(query, K) == index.nearest(query, K)


def test_each_list_is_the_beginning_of_a_longer_one() -> None:
    """Pages fit: also where the exact order continues behind what the coarse index is sure of."""
    parts = np.random.default_rng(8).integers(1, 4, COUNT // 2)
    rows = np.repeat(np.arange(1, len(parts) + 1), parts)
    index = index_of(rows, clustered(len(rows)), exact_up_to=5_000)
    assert index.snapshot.base.is_coarse
    for among in (None, only(np.flatnonzero(np.arange(len(parts)) % 5 != 0) + 1)):
        for query in clustered(4, 78):
            longest = index.nearest(query, 3_000, among)
            assert len({each.row for each in longest}) == len(longest) == 3_000
            assert [each.cosine for each in longest] == sorted((e.cosine for e in longest), reverse=True)
            for k in (1, 10, 20, 300, 500, 700, 1_500, 2_999):
                assert index.nearest(query, k, among) == longest[:k], k


def test_many_candidates_are_refined_however_few_are_asked_for() -> None:
    """With noisy copies of few vectors the coarse index alone hardly tells neighbours apart."""
    dice = np.random.default_rng(9)
    real = clustered(60, 5)
    copies = np.repeat(real, 200, axis=0)
    copies = copies + dice.standard_normal(copies.shape).astype(np.float32) * np.float32(0.4 / DIMS**0.5)
    copies /= np.linalg.norm(copies, axis=1, keepdims=True)
    index = index_of(range(1, len(copies) + 1), copies, exact_up_to=5_000)
    for query in real[:20]:
        best = np.argsort(-(copies @ query))[:K] + 1
        assert len(set(rows_in(index.nearest(query, K))) & set(best.tolist())) >= K - 1
