"""The summary of a run: means, groups, and a warning if hybrid is worse than lexical."""

from __future__ import annotations

import pytest

from kebab_tui.evaluation.summary import reported
from tests.evaluation.runs_made import Ranks, a_run

KOREAN = [f"질문 {number}" for number in range(40)]
ENGLISH = [f"question {number}" for number in range(40)]


def all_at(place: int | None, *queries: str) -> Ranks:
    return dict.fromkeys(queries, place)


def test_a_mean_is_that_of_its_queries_and_of_each_language() -> None:
    report = reported(a_run(lexical={"가": 1, "나": 2, "word": None}))
    (lexical,) = report.modes
    assert lexical.all.queries == 3
    assert lexical.all.means["mrr@10"] == pytest.approx(0.5)
    assert {lang: part.means["mrr@10"] for lang, part in lexical.by_lang.items()} == {"ko": 0.75, "en": 0.0}
    assert lexical.by_probe == {}
    low, high = lexical.all.intervals["mrr@10"]
    assert low <= 0.5 <= high


def test_modes_stand_in_the_order_of_all_modes_and_beside_lexical() -> None:
    queries = {"a": 2, "b": 2}
    report = reported(a_run(hybrid={"a": 1, "b": 1}, lexical=queries))
    assert [found.mode for found in report.modes] == ["lexical", "hybrid"]
    lexical, hybrid = report.modes
    assert lexical.all.against is None
    assert hybrid.all.against is not None
    assert hybrid.all.against["mrr@10"].mean == pytest.approx(0.5)
    assert hybrid.all.against["hit@1"].wins == 2


def test_without_lexical_nothing_stands_beside_it() -> None:
    (hybrid,) = reported(a_run(hybrid={"a": 1})).modes
    assert hybrid.all.against is None


def test_hybrid_that_is_worse_beyond_luck_is_warned_of() -> None:
    report = reported(a_run(lexical=all_at(1, *ENGLISH), hybrid=all_at(2, *ENGLISH)))
    (warning,) = report.notices
    assert (warning.code, warning.level) == ("hybrid_worse", "warning")
    assert "search.mode = lexical" in warning.text


def test_harm_to_one_language_only_is_warned_of_by_name() -> None:
    before = all_at(3, *KOREAN, *ENGLISH)
    report = reported(a_run(lexical=before, hybrid={**all_at(4, *KOREAN), **all_at(1, *ENGLISH)}))
    (warning,) = report.notices
    assert "queries in ko" in warning.text


@pytest.mark.parametrize("place", [1, 2])
def test_equal_or_better_hybrid_is_not_warned_of(place: int) -> None:
    assert not reported(a_run(lexical=all_at(2, *ENGLISH), hybrid=all_at(place, *ENGLISH))).notices


def test_one_worse_query_may_be_luck() -> None:
    before = all_at(1, *ENGLISH)
    assert not reported(a_run(lexical=before, hybrid={**before, ENGLISH[0]: 9})).notices
