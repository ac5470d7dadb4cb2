"""After any history the index equals the store, and its results equal brute force."""

from __future__ import annotations

import tempfile

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kebab_tui.search.ports import Vector
from kebab_tui.vectors.segment import decoded, rows_of
from tests.vectors.making import (
    DIMS,
    DictStore,
    brute,
    codes,
    follower_of,
    holds,
    normal,
    only,
    rows_in,
    unit,
)
from tests.vectors.test_faiss_index import wait_for_compaction

SEEDS = st.integers(0, 10_000)


class History(RuleBasedStateMachine):
    """One process saves and reopens; a second one only follows."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = DictStore()
        self.first = follower_of(self.store, self.folder.name)
        self.second = follower_of(self.store, self.folder.name)
        self.first.open()
        self.second.open()

    def teardown(self) -> None:
        self.first.index.close()
        self.second.index.close()
        self.folder.cleanup()

    @rule(count=st.integers(1, 400), seed=SEEDS, equal=st.booleans())
    def add(self, count: int, seed: int, equal: bool) -> None:
        self.store.add(np.repeat(unit(1, seed), count, axis=0) if equal else unit(count, seed))

    @rule(counts=st.lists(st.integers(1, 6), min_size=1, max_size=60), seed=SEEDS)
    def add_long_texts(self, counts: list[int], seed: int) -> None:
        self.store.add_long([unit(count, seed + place) for place, count in enumerate(counts)])

    @precondition(lambda self: self.store.held)
    @rule(share=st.floats(0.01, 1), seed=SEEDS)
    def remove(self, share: float, seed: int) -> None:
        self.store.save({}, removed=self.some(share, seed))

    @precondition(lambda self: self.store.held)
    @rule(share=st.floats(0.01, 0.5), seed=SEEDS)
    def replace(self, share: float, seed: int) -> None:
        rows = self.some(share, seed)
        vectors = codes(unit(len(rows), seed))
        self.store.save({row: code.tobytes() for row, code in zip(rows, vectors, strict=True)})

    @rule()
    def forget_the_log(self) -> None:
        self.store.forget_log()

    @rule()
    def reopen(self) -> None:
        assert self.first.close() == ""
        self.first = follower_of(self.store, self.folder.name)
        self.first.open()

    @rule()
    def let_the_order_be_made(self) -> None:
        wait_for_compaction()

    @invariant()
    def both_hold_what_the_store_holds(self) -> None:
        for follower in (self.first, self.second):
            follower.catch_up()
            assert follower.revision == self.store.now
            assert holds(follower.index, self.store)

    @rule(seed=SEEDS, k=st.integers(1, 60), share=st.sampled_from([0.01, 0.1, 0.3, 0.6, 0.95, None]))
    def search(self, seed: int, k: int, share: float | None) -> None:
        near = self.some(0.001, seed) if self.store.held else []
        query = self.vector(near[0]) if near and seed % 2 else unit(1, seed)[0]
        allowed = None if share is None else self.some(share, seed)
        held = {
            row: decoded(rows_of([row]), [blob], DIMS)[1] for row, blob in sorted(self.store.held.items())
        }
        found = self.second.index.nearest(query, k, None if allowed is None else only(allowed))
        assert rows_in(found) == brute(held, query, k, allowed)
        assert self.first.index.nearest(query, k, None if allowed is None else only(allowed)) == found

    def some(self, share: float, seed: int) -> list[int]:
        rows = sorted(self.store.held)
        count = min(len(rows), 1 + int(share * len(rows)))
        dice = np.random.default_rng(seed)
        return [] if not rows else dice.choice(np.array(rows), count, replace=False).tolist()

    def vector(self, row: int) -> Vector:
        stored = np.frombuffer(self.store.held[row], np.float16)[:DIMS]
        return normal(stored[np.newaxis].astype(np.float32)).reshape(-1)


TestHistory = History.TestCase
TestHistory.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
