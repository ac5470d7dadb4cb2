"""Intervals and tests: always the same dice, right where the answer is known."""

from __future__ import annotations

import random

import pytest

from kebab_tui.evaluation.summary import PERMUTATIONS, difference, intervals


def test_the_same_values_give_the_same_interval() -> None:
    values = [random.Random(4).random() for _ in range(50)]
    assert intervals({"m": values}) == intervals({"m": values})


def test_an_interval_holds_the_mean_and_shrinks_with_more_queries() -> None:
    dice = random.Random(5)
    few, many = [dice.random() for _ in range(30)], [dice.random() for _ in range(3000)]
    spans = []
    for values in (few, many):
        low, high = intervals({"m": values})["m"]
        assert low < sum(values) / len(values) < high
        spans.append(high - low)
    assert spans[1] < spans[0] / 5


def test_an_interval_is_near_the_normal_one_where_that_is_known() -> None:
    values = [0.0, 1.0] * 200
    low, high = intervals({"m": values})["m"]
    assert (low, high) == pytest.approx((0.5 - 1.96 * 0.025, 0.5 + 1.96 * 0.025), abs=0.006)


def test_equal_values_have_an_empty_interval() -> None:
    assert intervals({"m": [0.25] * 7}) == {"m": (0.25, 0.25)}


def test_the_interval_of_a_metric_does_not_depend_on_its_company() -> None:
    a, b = [0.1, 0.9, 0.4], [0.3, 0.3, 0.8]
    assert intervals({"a": a, "b": b})["b"] == intervals({"b": b})["b"]


def test_no_difference_is_luck_for_sure() -> None:
    found = difference([0.3, 0.6], [0.3, 0.6])
    assert (found.mean, found.p, found.wins, found.losses, found.draws) == (0.0, 1.0, 0, 0, 2)


def test_a_small_test_agrees_with_all_swaps_counted() -> None:
    found = difference([0.0] * 5, [0.2] * 5)
    assert found.mean == pytest.approx(0.2)
    assert found.p == pytest.approx(2 / 2**5, abs=0.01)  # only "all up" and "all down" do as much


def test_a_constant_gain_over_many_queries_is_no_luck() -> None:
    assert difference([0.1] * 100, [0.2] * 100).p == pytest.approx(1 / (PERMUTATIONS + 1))


def test_noise_is_luck() -> None:
    dice = random.Random(6)
    first = [dice.random() for _ in range(200)]
    second = [value + dice.gauss(0, 0.1) for value in first]
    assert difference(first, second).p > 0.05


def test_swapping_the_sides_turns_the_sign_and_keeps_the_chance() -> None:
    first, second = [0.1, 0.5, 0.7, 0.2], [0.4, 0.6, 0.1, 0.9]
    there, back = difference(first, second), difference(second, first)
    assert there.mean == -back.mean
    assert there.p == back.p
    assert (there.wins, there.losses) == (back.losses, back.wins)
