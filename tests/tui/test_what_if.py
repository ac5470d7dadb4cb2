"""What-ifs: the same candidates in another order, and the moves."""

from __future__ import annotations

import pytest

from kebab_tui.domain.ids import ChunkRow
from kebab_tui.search.explanation import ExplainedResponse
from kebab_tui.search.ranking import FusionSettings, fuse
from kebab_tui.search.ranking import rescore as fused_again
from kebab_tui.tui.explain.what_if import (
    RRF_K_STEPS,
    WEIGHT_STEPS,
    Keys,
    WhatIf,
    WhatIfResult,
    outcome,
    place_change,
    strip_rows,
)
from kebab_tui.tui.widgets.segments import row_text, row_width
from kebab_tui.workspace import Workspace
from tests.tui.explaining import explained

START = WhatIf(60, 0.35, rerank=True)


@pytest.mark.parametrize(
    ("turned", "expected"),
    [
        (START.step_rrf_k(up=False), 50),
        (START.step_rrf_k(up=True), 80),
        (WhatIf(65, 1.0, True).step_rrf_k(up=False), 60),
        (WhatIf(65, 1.0, True).step_rrf_k(up=True), 80),
        (WhatIf(1, 1.0, True).step_rrf_k(up=False), 1),
        (WhatIf(1000, 1.0, True).step_rrf_k(up=True), 1000),
    ],
)
def test_rrf_k_goes_step_by_step_and_stops_at_the_ends(turned: WhatIf, expected: int) -> None:
    assert turned.rrf_k == expected


def test_the_weight_of_meaning_goes_step_by_step_and_stops_at_the_ends() -> None:
    assert START.step_vector_weight(up=True).vector_weight == 0.4
    assert START.step_vector_weight(up=False).vector_weight == 0.3
    assert WhatIf(60, 0.0, True).step_vector_weight(up=False).vector_weight == 0
    assert WhatIf(60, 10.0, True).step_vector_weight(up=True).vector_weight == 10


def test_steps_rise_and_stay_within_what_the_settings_allow() -> None:
    for steps, least, most in ((RRF_K_STEPS, 1, 1000), (WEIGHT_STEPS, 0, 10)):
        assert list(steps) == sorted(set(steps))
        assert (steps[0], steps[-1]) == (least, most)


def test_switching_the_rerank_twice_changes_nothing() -> None:
    assert START.toggle_rerank().toggle_rerank() == START


@pytest.fixture(scope="module")
def base(embedded_sample: Workspace) -> ExplainedResponse:
    return explained(embedded_sample, "port conflict")


def present(base: ExplainedResponse) -> WhatIf:
    assert base.fusion is not None
    return WhatIf.of(base.fusion)


def turned(base: ExplainedResponse, what_if: WhatIf) -> WhatIfResult:
    now = outcome(what_if, base, Workspace.rescore)
    assert now is not None
    return now


def order(now: WhatIfResult) -> tuple[ChunkRow, ...]:
    return tuple(one.evidence.row for one in now.answer.candidates)


def test_the_present_settings_give_the_answer_back(base: ExplainedResponse) -> None:
    now = turned(base, present(base))
    assert now.answer is base
    assert now.changes == {}
    assert order(now) == tuple(one.evidence.row for one in base.candidates)


def test_a_what_if_gives_the_order_that_the_engine_would(
    base: ExplainedResponse, embedded_sample: Workspace
) -> None:
    asked = explained(embedded_sample, "port conflict", rerank=False)
    now = turned(base, present(base).toggle_rerank())
    assert order(now) == tuple(one.evidence.row for one in asked.candidates)
    assert now.changes, "the rerank moves a hit of this response"


def test_the_workspace_orders_as_the_fusion_does(base: ExplainedResponse) -> None:
    settings = FusionSettings(rrf_k=5, vector_weight=3.0, rerank=False)
    assert Workspace.rescore(base.candidates, settings) == fused_again(base.candidates, settings)
    assert Workspace.rescore(base.candidates, settings) == fuse(
        [one.evidence for one in base.candidates], settings
    )


def test_changes_count_the_places_moved_up(base: ExplainedResponse) -> None:
    now = turned(base, WhatIf(1, 10.0, rerank=False))
    before = {one.evidence.row: one.rank for one in base.candidates}
    after = {row: rank for rank, row in enumerate(order(now), 1)}
    moves = {row: before[row] - after[row] for row in before if before[row] != after[row]}
    assert now.changes == moves
    assert sum(moves.values()) == 0


def test_hits_are_explained_by_the_figures_of_the_what_if(base: ExplainedResponse) -> None:
    now = turned(base, WhatIf(1, 10.0, rerank=False))
    places = {row: rank for rank, row in enumerate(order(now), 1)}
    for hit in now.answer.hits:
        assert hit.fused is not None
        assert hit.fused.rerank_score is None
        assert hit.fused.rank == places[hit.hit.row]


def test_a_response_without_fusion_has_no_what_if(embedded_sample: Workspace) -> None:
    by_words = explained(embedded_sample, "port conflict", mode="lexical")
    assert outcome(START, by_words, Workspace.rescore) is None


def strip(base: ExplainedResponse, what_if: WhatIf, width: int = 120, keys: Keys | None = None) -> list[str]:
    rows = strip_rows(base, turned(base, what_if), width, keys or Keys())
    return [row_text(row) for row in rows]


def test_the_strip_shows_every_setting_with_its_key_and_value(base: ExplainedResponse) -> None:
    assert strip(base, present(base)) == ["what if  [ ] rrf_k 60  { } meaning weight 1  | rerank on"]


def test_the_strip_shows_the_changes_and_how_many_hits_move(base: ExplainedResponse) -> None:
    what_if = WhatIf(20, 1.5, rerank=False)
    knobs, summary = strip(base, what_if)
    assert knobs == "what if  [ ] rrf_k 60→20  { } meaning weight 1→1.5  | rerank on→off  = reset"
    changes = turned(base, what_if).changes
    moved = [changes[hit.hit.row] for hit in base.hits if hit.hit.row in changes]
    up = sum(change > 0 for change in moved)
    assert summary == f"{len(moved)} of {len(base.hits)} hits move: {up} ▲ {len(moved) - up} ▼"


def test_the_strip_explains_a_change_that_the_rerank_hides(base: ExplainedResponse) -> None:
    lines = strip(base, WhatIf(50, 1.0, rerank=True))
    assert lines[1] == f"none of {len(base.hits)} hits moves"
    assert lines[2].startswith("the rerank orders the best 75")
    assert "(| turns it off)" in lines[2]


def test_the_strip_names_the_keys_that_the_user_chose(base: ExplainedResponse) -> None:
    assert strip(base, present(base), keys=Keys("< >"))[0].startswith("what if  < > rrf_k 60")


@pytest.mark.parametrize("width", [30, 40, 55, 90])
def test_the_strip_keeps_to_the_width(base: ExplainedResponse, width: int) -> None:
    now = turned(base, WhatIf(20, 1.5, rerank=True))
    assert all(row_width(row) <= width for row in strip_rows(base, now, width, Keys()))


def test_a_moved_hit_shows_its_old_and_new_rank(base: ExplainedResponse) -> None:
    row = base.hits[0].hit.row
    assert place_change(row, 3, {row: 2}) == "5→3 ▲2"
    assert place_change(row, 5, {row: -1}) == "4→5 ▼1"
    assert place_change(row, 1, {}) == ""
