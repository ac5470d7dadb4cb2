"""Two runs side by side: wins, losses, regressions, the greatest loss first."""

from __future__ import annotations

import pytest

from kebab_tui.domain.errors import UsageError
from kebab_tui.evaluation.summary import compared
from tests.evaluation.runs_made import a_run


def test_each_query_has_its_outcome_and_losses_come_first() -> None:
    before = a_run(lexical={"gone": 1, "worse": 1, "lost": 10, "same": 2, "better": 4, "new": None})
    now = a_run(lexical={"gone": None, "worse": 3, "lost": 11, "same": 2, "better": 1, "new": 1})
    (found,) = compared(before, now).modes
    assert [(change.query, change.outcome) for change in found.changes] == [
        ("gone", "regression"),
        ("worse", "loss"),
        ("lost", "regression"),
        ("same", "draw"),
        ("better", "win"),
        ("new", "win"),
    ]
    assert found.counts == {"regression": 2, "loss": 1, "win": 2, "draw": 1}
    assert (found.difference.wins, found.difference.losses, found.difference.draws) == (2, 3, 1)
    assert found.changes[0].gain == -1.0


def test_moving_below_the_tenth_place_and_below_is_no_difference() -> None:
    (found,) = compared(a_run(lexical={"a": 11}), a_run(lexical={"a": 15})).modes
    assert found.counts["draw"] == 1


def test_only_queries_that_both_asked_in_the_same_words_are_compared() -> None:
    (found,) = compared(a_run(lexical={"a": 1, "b": 1}), a_run(lexical={"b": 1, "c": 1, "d": 1})).modes
    assert [change.query for change in found.changes] == ["b"]
    assert found.unmatched == 3


def test_every_mode_of_both_runs_is_compared() -> None:
    before, now = a_run(lexical={"a": 1}, hybrid={"a": 1}), a_run(hybrid={"a": 1}, vector={"a": 1})
    assert [found.mode for found in compared(before, now).modes] == ["hybrid"]


def test_another_set_is_noticed() -> None:
    assert compared(a_run("d1", lexical={"a": 1}), a_run("d1", lexical={"a": 1})).same_set
    assert not compared(a_run("d1", lexical={"a": 1}), a_run("d2", lexical={"a": 1})).same_set


def test_runs_with_nothing_in_common_are_refused() -> None:
    with pytest.raises(UsageError, match="no mode in common"):
        compared(a_run(lexical={"a": 1}), a_run(vector={"a": 1}))
    with pytest.raises(UsageError, match="no lexical query in common"):
        compared(a_run(lexical={"a": 1}), a_run(lexical={"b": 1}))
