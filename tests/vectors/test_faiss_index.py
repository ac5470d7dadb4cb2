"""The results of a vector search equal those of brute force in numpy."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kebab_tui.domain.errors import VectorError
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.search.ports import Among
from kebab_tui.vectors.faiss_index import COMPACTION_THREAD, FaissIndex, Filter, VectorSnapshot
from kebab_tui.vectors.segment import Rows, rows_of
from tests.vectors.making import Floats, brute, chunk_rows, clustered, index_of, only, resolved, rows_in, unit

SHARES = (0.001, 0.01, 0.1, 0.24, 0.26, 0.5, 0.9)


def wait_for_compaction() -> None:
    for thread in threading.enumerate():
        if thread.name == COMPACTION_THREAD:
            thread.join()


class Held:
    """An index and the dictionary it must agree with."""

    def __init__(self, count: int, seed: int = 1) -> None:
        self.vectors = clustered(count, seed)
        self.rows = np.sort(np.random.default_rng(seed).choice(count * 50, count, replace=False))
        self.by_row = dict(zip(self.rows.tolist(), self.vectors, strict=True))
        self.index = index_of(self.rows, self.vectors)

    def change(self, rows: list[int], vectors: Floats, removed: list[int]) -> None:
        self.index.change(rows, vectors, removed)
        for row in removed:
            self.by_row.pop(row, None)
        self.by_row.update(zip(rows, vectors, strict=True))

    def agrees(self, seed: int = 5, k: int = 10) -> bool:
        dice = np.random.default_rng(seed)
        for query in clustered(6, seed):
            if rows_in(self.index.nearest(query, k)) != brute(self.by_row, query, k):
                return False
            for share in SHARES:
                allowed = self.rows[dice.random(len(self.rows)) < share].tolist()
                found = self.index.nearest(query, k, only(allowed))
                if rows_in(found) != brute(self.by_row, query, k, allowed):
                    return False
        return True


def test_the_nearest_are_exactly_those_of_brute_force_under_every_filter() -> None:
    assert Held(3_000).agrees()


def test_they_are_with_rows_removed_replaced_and_added() -> None:
    held = Held(3_000)
    some = held.rows[::30].tolist()
    new = list(range(200_000, 200_080))
    held.change(some[:40] + new, clustered(120, 7), some[40:])
    assert held.index.snapshot.deleted == len(some)
    assert held.agrees()


def test_they_are_after_most_rows_were_deleted() -> None:
    held = Held(2_000)
    held.change([], clustered(0), held.rows[:1_900].tolist())
    assert held.agrees()
    wait_for_compaction()
    assert held.agrees()


def test_they_are_when_all_that_is_near_has_been_removed() -> None:
    held = Held(2_000)
    query = clustered(1, 5)[0]
    held.change([], clustered(0), brute(held.by_row, query, 200))
    assert rows_in(held.index.nearest(query, 10)) == brute(held.by_row, query, 10)


def test_a_filter_whose_rows_are_all_far_is_still_answered_in_full() -> None:
    held = Held(2_000)
    query = clustered(1, 5)[0]
    far = brute(held.by_row, query, 2_000)[800:]
    assert rows_in(held.index.nearest(query, 10, only(far))) == far[:10]


def test_a_row_added_again_is_found_by_its_new_vector_only() -> None:
    vectors = unit(50)
    index = index_of(range(1, 51), vectors[:50])
    index.change([7], -vectors[6:7], [])
    assert rows_in(index.nearest(vectors[6], 50)).count(7) == 1
    assert rows_in(index.nearest(vectors[6], 50))[-1] == 7
    assert index.count == 50


def test_a_repeated_row_has_several_parts() -> None:
    index = index_of([1], unit(1))
    parts = unit(2, seed=3)
    index.change([5, 5], parts, [])
    for part in parts:
        assert index.cosines(part, chunk_rows([5]))[chunk_rows([5])[0]] == pytest.approx(1, abs=1e-3)
    assert index.count == 2


def test_equal_vectors_come_in_the_order_of_their_rows_however_many_they_are() -> None:
    same = np.repeat(unit(1), 3_000, axis=0)
    rows = np.random.default_rng(3).permutation(9_000)[:3_000] + 1
    index = index_of(rows, same)
    index.change([20_000, 10_000], same[:2], [])
    assert rows_in(index.nearest(same[0], 25)) == np.sort(rows)[:25].tolist()
    assert rows_in(index.nearest(same[0], 25, only(np.sort(rows)[100:]))) == np.sort(rows)[100:125].tolist()


def test_more_than_there_are_gives_all_there_are() -> None:
    index = index_of(range(1, 31), unit(30))
    assert len(index.nearest(unit(1)[0], 10_000)) == 30
    assert rows_in(index.nearest(unit(1)[0], 10_000, only([4, 99]))) == [4]


def test_nothing_is_found_where_nothing_is() -> None:
    index = index_of([], unit(0))
    assert (index.count, index.nearest(unit(1)[0], 10), index.cosines(unit(1)[0], chunk_rows([1]))) == (
        0,
        [],
        {},
    )
    full = index_of([1, 2], unit(2))
    assert full.nearest(unit(1)[0], 10, only([])) == []
    assert full.nearest(unit(1)[0], 0) == []
    full.change([], unit(0), [1, 2])
    assert full.nearest(unit(1)[0], 10) == []


def test_rows_may_be_far_apart() -> None:
    rows = [3, 2**40, 2**61]
    index = index_of(rows, unit(3))
    assert sorted(rows_in(index.nearest(unit(1)[0], 5))) == rows
    assert rows_in(index.nearest(unit(1)[0], 5, only([2**61]))) == [2**61]


def test_a_cosine_is_the_same_whether_searched_or_asked_for() -> None:
    held = Held(2_000)
    held.change(held.rows[:10].tolist(), clustered(10, 3), held.rows[10:20].tolist())
    query = clustered(1, 9)[0]
    found = held.index.nearest(query, 50)
    asked = held.index.cosines(
        query, [each.row for each in found] + chunk_rows([int(held.rows[11]), 999_999])
    )
    assert asked == {each.row: each.cosine for each in found}
    best = held.by_row[found[0].row].astype(np.float16).astype(np.float64)
    assert found[0].cosine == pytest.approx(float(best @ query.astype(np.float64)), abs=1e-7)


def test_the_answer_does_not_depend_on_how_the_vectors_arrived() -> None:
    held = Held(600)
    piecemeal = FaissIndex(index_of([], clustered(0)).snapshot, 10_000, resolved)
    for begin in range(580, -1, -20):
        rows = held.rows[begin : begin + 20]
        piecemeal.change(rows, held.vectors[begin : begin + 20], [])
    query = clustered(1, 3)[0]
    assert piecemeal.nearest(query, 600) == held.index.nearest(query, 600)


def test_a_filter_given_again_is_not_worked_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    index = index_of(range(1, 101), unit(100))
    among, query, made = only(range(1, 50)), unit(1)[0], []
    real = VectorSnapshot.allowing

    def counted(snapshot: VectorSnapshot, rows: Rows | None) -> Filter:
        made.append(1)
        return real(snapshot, rows)

    monkeypatch.setattr(VectorSnapshot, "allowing", counted)
    first = index.nearest(query, 5, among)
    assert index.nearest(query, 5, among) == first
    assert len(made) == 1
    index.change([], unit(0), [first[0].row])
    assert rows_in(index.nearest(query, 5, among))[:4] == rows_in(first)[1:]


def nan(vector: Floats) -> Floats:
    vector[3] = np.nan
    return vector


BAD: dict[str, Callable[[Floats], Any]] = {
    "too short": lambda v: v[:-1],
    "too long": lambda v: np.append(v, v[:1]),
    "a matrix": lambda v: v[np.newaxis],
    "fp64": lambda v: v.astype(np.float64),
    "whole numbers": lambda v: v.astype(np.int32),
    "a list": lambda v: v.tolist(),
    "NaN": nan,
    "infinite": lambda v: v * np.float32(np.inf),
    "not of length 1": lambda v: v * np.float32(1.5),
    "zero": lambda v: v * np.float32(0),
}


@pytest.mark.parametrize("bad", BAD)
def test_an_invalid_query_vector_is_rejected(bad: str) -> None:
    index = index_of([1, 2], unit(2))
    query = BAD[bad](unit(1, seed=4)[0])
    with pytest.raises(VectorError):
        index.nearest(query, 1)
    with pytest.raises(VectorError):
        index.cosines(query, chunk_rows([1]))


@pytest.mark.parametrize(
    "bad", ["too short", "too long", "fp64", "NaN", "infinite", "not of length 1", "zero"]
)
def test_a_change_with_an_invalid_vector_changes_nothing(bad: str) -> None:
    index = index_of([1, 2], unit(2))
    vectors: Floats = np.stack([BAD[bad](unit(1, seed=4)[0])])
    with pytest.raises(VectorError):
        index.change([3], vectors, [1])
    assert index.snapshot.live_rows().tolist() == [1, 2]


def test_vectors_are_validated_without_assertions() -> None:
    script = (
        "from tests.vectors import test_faiss_index as t\n"
        "for bad in t.BAD: t.test_an_invalid_query_vector_is_rejected(bad)\n"
        "print('refused', __debug__)"
    )
    argv, root = [sys.executable, "-O", "-c", script], Path(__file__).parents[2]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=root)
    assert done.stdout == "refused False\n", done.stderr


def test_many_deleted_rows_are_compacted_in_the_background() -> None:
    held = Held(2_000)
    held.change([], clustered(0), held.rows[:400].tolist())
    wait_for_compaction()
    assert held.index.snapshot.deleted == 0
    assert len(held.index.snapshot.base) == 1_600
    assert held.agrees()


def test_few_deleted_rows_are_not_compacted() -> None:
    held = Held(2_000)
    held.change([], clustered(0), held.rows[:200].tolist())
    wait_for_compaction()
    assert held.index.snapshot.deleted == 200


def test_a_change_during_a_compaction_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(2_000)
    copied, changed = threading.Event(), threading.Event()
    real = VectorSnapshot.compacted

    def slow(
        snapshot: VectorSnapshot, exact_up_to: int, stopped: Callable[[], bool]
    ) -> VectorSnapshot | None:
        made = real(snapshot, exact_up_to, stopped)
        copied.set()
        assert changed.wait(10)
        return made

    monkeypatch.setattr(VectorSnapshot, "compacted", slow)
    held.change([], clustered(0), held.rows[:400].tolist())
    assert copied.wait(10)
    before = held.index.nearest(held.vectors[500], 5)
    assert rows_in(before) == brute(held.by_row, held.vectors[500], 5), "searches do not wait"
    held.change([int(held.rows[900]), 500_000], clustered(2, 8), held.rows[400:450].tolist())
    changed.set()
    wait_for_compaction()
    assert len(held.index.snapshot.base) == 1_600
    assert held.agrees()


def test_closing_stops_a_compaction_and_searches_still_work() -> None:
    held = Held(2_000)
    held.change([], clustered(0), held.rows[:400].tolist())
    held.index.close()
    assert not [thread for thread in threading.enumerate() if thread.name == COMPACTION_THREAD]
    assert held.agrees()


def test_searches_in_many_threads_see_whole_changes_only() -> None:
    """Every change moves one pair of rows between two places: a search sees both moved or neither."""
    here, there = unit(2, seed=11)
    index = index_of(range(1, 3_001), np.concatenate([unit(2_998, 12), np.stack([here, here])]))
    torn, done = [], threading.Event()

    def search() -> None:
        while not done.is_set():
            found = rows_in(index.nearest(here, 2))
            if (2_999 in found) != (3_000 in found):
                torn.append(found)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(300):
        place = there if turn % 2 == 0 else here
        index.change([2_999, 3_000], np.stack([place, place]), [turn + 1, turn + 301])
    done.set()
    for thread in threads:
        thread.join()
    index.close()
    assert torn == []
    assert index.count == 2_400


def test_rows_may_be_given_as_an_array() -> None:
    index = index_of(range(1, 101), unit(100))
    query, as_array = unit(1, seed=2)[0], only(rows_of(range(10, 40)))
    assert index.nearest(query, 5, as_array) == index.nearest(query, 5, only(range(10, 40)))


def test_several_searches_beside_other_work_find_the_same() -> None:
    held = Held(600)
    query, some = held.vectors[3], only(held.rows[::7])
    found = held.index.begin(query, 12, [None, some, only([])])
    assert found() == [held.index.nearest(query, 12), held.index.nearest(query, 12, some), []]


def test_a_filter_is_resolved_in_the_thread_that_asks() -> None:
    asked: list[int] = []

    def resolve(among: Among) -> list[ChunkRow]:
        asked.append(threading.get_ident())
        return chunk_rows([2])

    index = FaissIndex(index_of(range(1, 9), unit(8)).snapshot, 10_000, resolve)
    assert rows_in(index.begin(unit(1)[0], 3, [Among()])()[0]) == [2]
    assert asked == [threading.get_ident()]


def test_a_search_that_fails_in_its_thread_fails_for_the_one_who_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = index_of(range(1, 9), unit(8))

    def fail(*_: object) -> None:
        raise VectorError("broken")

    monkeypatch.setattr(VectorSnapshot, "nearest", fail)
    found = index.begin(unit(1)[0], 3, [None])
    with pytest.raises(VectorError, match="broken"):
        found()
