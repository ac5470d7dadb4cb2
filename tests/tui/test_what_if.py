"""What-ifs: the same candidates in another order, and the moves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kebab_tui.domain.ids import ChunkRow
from kebab_tui.search.explanation import ExplainedResponse
from kebab_tui.tui.explain.what_if import (
    RRF_K_STEPS,
    WEIGHT_STEPS,
    Keys,
    next_step,
    place_change,
    places_moved,
    strip_rows,
    with_more_meaning,
)
from kebab_tui.tui.widgets.segments import row_text, row_width
from kebab_tui.workspace import Workspace
from tests.tui.explaining import explained


@pytest.mark.parametrize(
    ("present", "up", "expected"),
    [(60, False, 50), (60, True, 80), (65, False, 60), (65, True, 80), (1, False, 1), (1000, True, 1000)],
)
def test_rrf_k_goes_step_by_step_and_stops_at_the_ends(present: int, up: bool, expected: int) -> None:
    assert next_step(RRF_K_STEPS, present, up) == expected


@pytest.mark.parametrize(
    ("present", "up", "expected"),
    [(0.35, True, 0.4), (0.35, False, 0.3), (0.0, False, 0.0), (10.0, True, 10.0)],
)
def test_the_weight_of_meaning_goes_step_by_step_and_stops_at_the_ends(
    present: float, up: bool, expected: float
) -> None:
    assert next_step(WEIGHT_STEPS, present, up) == expected


def test_steps_rise_and_stay_within_what_the_settings_allow() -> None:
    for steps, least, most in ((RRF_K_STEPS, 1, 1000), (WEIGHT_STEPS, 0, 10)):
        assert list(steps) == sorted(set(steps))
        assert (steps[0], steps[-1]) == (least, most)


@pytest.fixture(scope="module")
def base(embedded_sample: Workspace) -> ExplainedResponse:
    return explained(embedded_sample, "port conflict")


def turned(base: ExplainedResponse, **changed: Any) -> ExplainedResponse:
    assert base.fusion is not None
    return Workspace.rescore(base, replace(base.fusion, **changed))


def order(now: ExplainedResponse) -> list[ChunkRow]:
    return [one.evidence.row for one in now.candidates]


def test_the_present_settings_give_the_answer_back(base: ExplainedResponse) -> None:
    now = turned(base)
    assert now == base
    assert places_moved(base, now) == {}


def test_a_what_if_gives_the_order_that_the_engine_would(
    base: ExplainedResponse, embedded_sample: Workspace
) -> None:
    asked = explained(embedded_sample, "port conflict", rerank=False)
    now = turned(base, rerank=False)
    assert order(now) == order(asked)
    assert places_moved(base, now), "the rerank moves a hit of this response"


def test_changes_count_the_places_moved_up(base: ExplainedResponse) -> None:
    now = turned(base, rrf_k=1, vector_weight=10.0, rerank=False)
    before = {row: rank for rank, row in enumerate(order(base), 1)}
    after = {row: rank for rank, row in enumerate(order(now), 1)}
    moves = {row: before[row] - after[row] for row in before if before[row] != after[row]}
    assert places_moved(base, now) == moves
    assert sum(moves.values()) == 0


def test_hits_are_explained_by_the_numbers_of_the_what_if(base: ExplainedResponse) -> None:
    now = turned(base, rrf_k=1, vector_weight=10.0, rerank=False)
    places = {row: rank for rank, row in enumerate(order(now), 1)}
    for hit in now.hits:
        assert hit.fused is not None
        assert hit.fused.rerank_score is None
        assert hit.fused.rank == places[hit.hit.row]
        assert hit.tree.children[0].label == "fused"
        assert hit.tree.value == pytest.approx(hit.fused.fusion_score)


def strip(
    base: ExplainedResponse, now: ExplainedResponse, width: int = 120, keys: Keys | None = None
) -> list[str]:
    rows = list(strip_rows(base, now, places_moved(base, now), width, keys or Keys()))
    assert all(row_width(row) <= width for row in rows)
    return [row_text(row) for row in rows]


def test_the_strip_shows_every_setting_with_its_key_and_value(base: ExplainedResponse) -> None:
    knobs, hint = strip(base, base)
    assert knobs == "what if  { } meaning 70 %  [ ] rrf_k 60  | re-ranking on"
    assert hint == (
        "{ } sets the order. Re-ranking is on, so [ ] only affects which 75 are considered."
        " Press | to turn it off."
    )


def test_the_strip_shows_the_changes_and_how_many_hits_move(base: ExplainedResponse) -> None:
    now = turned(base, rrf_k=20, vector_weight=1.5, rerank=False)
    knobs, summary, hint = strip(base, now)
    assert knobs == "what if  { } meaning weight 1→1.5  [ ] rrf_k 60→20  | re-ranking on→off  = reset"
    assert hint == "{ } and [ ] set the order. Press | for re-ranking."
    changes = places_moved(base, now)
    moved = [changes[hit.hit.row] for hit in base.hits if hit.hit.row in changes]
    up = sum(change > 0 for change in moved)
    assert summary == f"{len(moved)} of {len(base.hits)} hits move: {up} ▲ {len(moved) - up} ▼"


def test_a_setting_that_moves_no_hit_says_so(base: ExplainedResponse) -> None:
    lines = strip(base, turned(base, rrf_k=50))
    assert lines[1] == f"none of {len(base.hits)} hits moves"
    assert "only affects which 75 are considered" in lines[2]


def test_the_share_of_meaning_orders_the_reranked_hits(base: ExplainedResponse) -> None:
    assert base.fusion is not None
    settings = with_more_meaning(base.fusion, up=True)
    assert settings.rerank_keyword == pytest.approx(0.2)
    settings = with_more_meaning(with_more_meaning(settings, up=True), up=True)
    assert with_more_meaning(settings, up=True) == settings, "it stops at the whole score"
    now = Workspace.rescore(base, settings)
    assert places_moved(base, now)
    assert len(now.hits) == len(base.hits)
    assert len(now.candidates) == len(base.candidates)
    one_word = replace(base.fusion, rerank_keyword=0.6)
    assert with_more_meaning(one_word, up=False).rerank_keyword == pytest.approx(0.7)
    plain = replace(base.fusion, rerank=False)
    assert with_more_meaning(plain, up=True) == replace(plain, vector_weight=1.1)


def test_the_strip_names_the_keys_that_the_user_chose(base: ExplainedResponse) -> None:
    assert strip(base, base, keys=Keys("< >"))[0].startswith("what if  < > meaning 70 %")


def test_a_response_without_fusion_has_no_strip(embedded_sample: Workspace) -> None:
    by_words = explained(embedded_sample, "port conflict", mode="lexical")
    assert strip(by_words, by_words) == []


@pytest.mark.parametrize("width", [30, 40, 55, 90])
def test_the_strip_keeps_to_the_width(base: ExplainedResponse, width: int) -> None:
    assert strip(base, turned(base, rrf_k=20, vector_weight=1.5), width)


def test_a_moved_hit_shows_its_old_and_new_rank(base: ExplainedResponse) -> None:
    row = base.hits[0].hit.row
    assert place_change(row, 3, {row: 2}) == "5→3 ▲2"
    assert place_change(row, 5, {row: -1}) == "4→5 ▼1"
    assert place_change(row, 1, {}) == ""
