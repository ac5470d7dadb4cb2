"""Metrics are trec_eval's: by hand where that is easy, against `ir-measures` on random lists everywhere."""

from __future__ import annotations

from math import log2

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import RR, R, Success, nDCG

from kebab_tui.evaluation.measure import METRICS, measured

ITEMS = [f"d{number}" for number in range(130)]
THEIRS = {
    "ndcg@10": nDCG @ 10,
    "recall@10": R @ 10,
    "recall@100": R @ 100,
    "mrr@10": RR @ 10,
    "hit@1": Success @ 1,
    "hit@3": Success @ 3,
    "hit@5": Success @ 5,
    "hit@10": Success @ 10,
}

lists = st.lists(st.sampled_from(ITEMS), unique=True, max_size=len(ITEMS))
judgements = st.dictionaries(st.sampled_from(ITEMS), st.integers(1, 4), min_size=1, max_size=30)


def test_every_metric_equals_that_of_ir_measures() -> None:
    assert set(THEIRS) == set(METRICS)


@settings(deadline=None)  # its first call imports
@given(lists, judgements)
def test_the_values_are_those_of_ir_measures(ranked: list[str], relevant: dict[str, int]) -> None:
    qrels = [ir_measures.Qrel("q", item, grade) for item, grade in relevant.items()]
    run = [ir_measures.ScoredDoc("q", item, -float(place)) for place, item in enumerate(ranked)]
    # A query without a list stays unmeasured there: a list of one irrelevant item is as good as none.
    run = run or [ir_measures.ScoredDoc("q", "nothing", 0.0)]
    theirs = ir_measures.calc_aggregate(list(THEIRS.values()), qrels, run)
    ours = measured(ranked, relevant, 100)
    assert ours == pytest.approx({name: theirs[metric] for name, metric in THEIRS.items()}, abs=1e-9)


def test_ndcg_counts_grades_as_they_are() -> None:
    best, given_order = 3 / log2(2) + 1 / log2(3), 1 / log2(2) + 3 / log2(3)
    values = measured(["one", "three"], {"one": 1, "three": 3}, 10)
    assert values["ndcg@10"] == pytest.approx(given_order / best)


def test_ndcg_is_whole_when_ten_of_many_fill_the_list() -> None:
    assert measured(ITEMS[:10], dict.fromkeys(ITEMS, 1), 10)["ndcg@10"] == 1.0


def test_the_eleventh_place_counts_for_recall_at_100_only() -> None:
    values = measured(ITEMS[:11], {ITEMS[10]: 1}, 100)
    assert values.pop("recall@100") == 1.0
    assert set(values.values()) == {0.0}


def test_a_short_list_is_not_asked_for_places_it_does_not_have() -> None:
    assert "recall@100" not in measured(ITEMS, {ITEMS[0]: 1}, 99)
    assert "recall@10" in measured(ITEMS, {ITEMS[0]: 1}, 10)
