"""Fusion and reranking, in numbers that add up."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.query import SearchQuery
from kebab_tui.search.limits import HybridOptions
from kebab_tui.search.ranking import (
    NEAR_ENOUGH,
    ONE_WORD_KEYWORD,
    OTHER_SCRIPT_SHARE,
    Evidence,
    Fused,
    FusionSettings,
    fuse,
    rescore,
)

PURE = FusionSettings(rerank=False)


def an_evidence(
    row: int, lexical: int | None = None, vector: int | None = None, other_script: bool = False
) -> Evidence:
    strength = None if lexical is None else 10.0 / lexical
    cosine = None if vector is None else 0.9 - vector / 1_000
    return Evidence(ChunkRow(row), lexical, strength, vector, cosine, other_script)


def rows(fused: list[Fused]) -> list[int]:
    return [int(one.evidence.row) for one in fused]


def only(evidence: Evidence, settings: FusionSettings = PURE) -> Fused:
    (fused,) = fuse([evidence], settings)
    return fused


@pytest.mark.parametrize(
    ("lexical", "vector", "raw", "normalised"),
    [
        (1, 1, 1 / 61 + 1 / 61, 1.0),
        (1, 2, 1 / 61 + 1 / 62, 0.9919),
        (2, 5, 1 / 62 + 1 / 65, 0.9612),
        (1, None, 1 / 61, 0.5),
        (None, 1, 1 / 61, 0.5),
        (None, 7, 1 / 67, 61 / 67 / 2),
    ],
)
def test_a_rank_counts_one_over_60_more(
    lexical: int | None, vector: int | None, raw: float, normalised: float
) -> None:
    fused = only(an_evidence(1, lexical, vector))
    assert fused.rrf_raw == pytest.approx(raw, abs=1e-12)
    assert fused.rrf_raw == fused.lexical_part + fused.vector_part
    assert fused.score == fused.fusion_score == pytest.approx(normalised, abs=5e-5)
    assert fused.rerank_score is None


def test_second_and_fifth_beat_any_place_in_a_single_list() -> None:
    both = only(an_evidence(1, 2, 5))
    assert both.rrf_raw == pytest.approx(0.0315, abs=5e-5)
    assert both.rrf_raw > only(an_evidence(1, 1)).rrf_raw


def test_a_weight_counts_in_the_sum_and_in_the_best_possible_sum() -> None:
    settings = replace(PURE, rrf_k=10, vector_weight=0.35)
    fused = only(an_evidence(1, 3, 4), settings)
    assert fused.lexical_part == 1 / 13
    assert fused.vector_part == 0.35 / 14
    assert fused.fusion_score == pytest.approx((1 / 13 + 0.35 / 14) / (1.35 / 11))
    assert only(an_evidence(1, 1, 1), settings).fusion_score == 1.0


def test_without_weights_nothing_is_divided_by_nothing() -> None:
    fused = only(an_evidence(1, 1, 1), replace(PURE, lexical_weight=0.0, vector_weight=0.0))
    assert (fused.rrf_raw, fused.fusion_score) == (0.0, 0.0)


def test_equal_scores_go_by_lexical_rank_and_then_by_row() -> None:
    by_meaning, by_words = an_evidence(1, None, 1), an_evidence(2, 1)
    assert rows(fuse([by_meaning, by_words], PURE)) == [2, 1]
    assert rows(fuse([an_evidence(9, None, 3), an_evidence(4, None, 3)], PURE)) == [4, 9]


def test_the_pure_order_is_that_of_the_sums_whatever_the_script() -> None:
    """No place is kept: a list that says it is ordered by fusion is."""
    own = [an_evidence(row, row) for row in range(1, 9)]
    others = [an_evidence(100 + row, None, 40 + row, other_script=True) for row in range(1, 4)]
    fused = fuse(own + others, PURE)
    assert rows(fused) == [*range(1, 9), 101, 102, 103]
    assert [one.rank for one in fused] == [one.fusion_rank for one in fused] == list(range(1, 12))


# Reranking


def test_a_rerank_score_is_a_share_of_the_best_bm25_and_a_share_of_the_cosine() -> None:
    best = Evidence(ChunkRow(1), 1, 8.0, None, 0.0)
    second = Evidence(ChunkRow(2), 2, 4.0, 1, 0.6)
    scores = {int(one.evidence.row): one for one in fuse([best, second], FusionSettings())}
    assert scores[1].rerank_score == pytest.approx(0.3 * 1.0 / 1.2)
    assert scores[2].rerank_keyword == pytest.approx(0.3 * 4 / 8)
    assert scores[2].rerank_semantic == pytest.approx(0.7 * 0.6)
    assert scores[2].score == pytest.approx((0.3 * 4 / 8 + 0.7 * 0.6) / 1.2)


def test_a_passage_without_a_vector_does_not_sink_for_that() -> None:
    unread = Evidence(ChunkRow(1), 1, 8.0, None, None)
    weaker = Evidence(ChunkRow(2), 2, 4.0, 1, 0.6)
    first, second = fuse([unread, weaker], FusionSettings())
    assert first.evidence.row == 1
    assert first.assumed_cosine == pytest.approx(0.6)
    assert first.rerank_score == pytest.approx((0.3 + 0.7 * 0.6) / 1.2)
    assert second.assumed_cosine is None


def test_a_cosine_below_nothing_counts_as_nothing() -> None:
    fused = only(Evidence(ChunkRow(1), 1, 8.0, None, -0.4), FusionSettings())
    assert fused.rerank_score == pytest.approx(0.3 / 1.2)


def test_the_other_script_has_no_fair_bm25_so_the_better_of_both_scores_counts() -> None:
    own = Evidence(ChunkRow(1), 1, 10.0, 1, 0.1)
    near = Evidence(ChunkRow(2), 2, 1.0, 1, 0.8, other_script=True)
    worded = Evidence(ChunkRow(3), 3, 9.0, 2, 0.1, other_script=True)
    scores = {int(one.evidence.row): one for one in fuse([own, near, worded], FusionSettings())}
    assert scores[2].rerank_keyword == 0.0
    assert scores[2].rerank_score == pytest.approx(OTHER_SCRIPT_SHARE * 0.8 / 1.2)
    assert scores[3].rerank_score == pytest.approx((0.3 * 0.9 + 0.7 * 0.1) / 1.2)


def test_the_best_of_the_fusion_stand_first_and_then_the_others_each_by_the_rerank_score() -> None:
    evidence = [Evidence(ChunkRow(row), row, 1.0, None, row / 100) for row in range(1, 91)]
    fused = fuse(evidence, FusionSettings())
    assert rows(fused) == [*range(75, 0, -1), *range(90, 75, -1)]
    assert [one.rerank_rank for one in fused] == [*range(1, 76), *[None] * 15]
    assert all(one.score == one.rerank_score for one in fused)


# Places for the other script


def own_and_others(own: int, others: int, cosine: float) -> list[Evidence]:
    """Own hits that all score better than those in the other script."""
    mine = [Evidence(ChunkRow(row), row, 50.0 - row, None, 0.99) for row in range(1, own + 1)]
    return mine + [
        Evidence(ChunkRow(1_000 + n), None, None, n, cosine, other_script=True) for n in range(1, others + 1)
    ]


def test_one_place_in_three_from_the_fourth_on_is_kept() -> None:
    fused = fuse(own_and_others(9, 3, 0.4), FusionSettings())
    assert rows(fused) == [1, 2, 3, 1001, 4, 5, 1002, 6, 7, 1003, 8, 9]
    assert [one.rank for one in fused if one.kept_place] == [4, 7, 10]


def test_no_place_is_kept_for_distant_hits() -> None:
    assert rows(fuse(own_and_others(5, 1, NEAR_ENOUGH), FusionSettings()))[3] == 1001
    far = fuse(own_and_others(5, 1, NEAR_ENOUGH - 0.001), FusionSettings())
    assert rows(far) == [1, 2, 3, 4, 5, 1001]
    assert not any(one.kept_place for one in far)


def test_a_well_ranked_hit_needs_no_kept_place() -> None:
    fused = fuse([*own_and_others(3, 0, 0), an_evidence(9, 1, 1, other_script=True)], FusionSettings())
    assert not any(one.kept_place for one in fused)


# Names


def named_fifth(**name: float) -> list[Evidence]:
    """Five notes of which the third and the fifth have a name; the fifth has two passages."""
    found = [Evidence(ChunkRow(row), row, 50.0 - row, None, 0.9 - row / 10) for row in range(1, 7)]
    return [one._replace(**name) if one.row in (5, 6) else one for one in found]  # type: ignore[arg-type]


def test_a_similar_name_adds_its_share_to_every_passage_of_the_note() -> None:
    without, with_name = (fuse(named_fifth(name=match), FusionSettings()) for match in (0.0, 0.5))
    scores = {one.evidence.row: one.score for one in without}
    for one in with_name:
        added = 0.2 * 0.5 / 1.2 if one.evidence.row in (5, 6) else 0.0
        assert one.score == pytest.approx(scores[one.evidence.row] + added)
    assert rows(without) == [1, 2, 3, 4, 5, 6]


def test_the_best_passage_of_a_note_whose_name_is_the_query_comes_first() -> None:
    fused = fuse(named_fifth(name=1.0, exact_name=1), FusionSettings())
    assert rows(fused)[0] == 5
    assert [one.named for one in fused] == [True, *[False] * 5]
    assert fused[0].score == 1.0
    assert fused[0].rerank_score == pytest.approx(next(one for one in fused if one.rerank_rank == 4).score, 1)
    assert sorted(rows(fused)) == [1, 2, 3, 4, 5, 6]


def test_notes_of_one_name_come_in_the_order_of_their_numbers() -> None:
    evidence = named_fifth()
    evidence[3] = evidence[3]._replace(name=1.0, exact_name=1)
    evidence[0] = evidence[0]._replace(name=1.0, exact_name=2)
    assert rows(fuse(evidence, FusionSettings())) == [4, 1, 2, 3, 5, 6]


def test_a_part_of_a_name_is_in_the_first_three_behind_the_exact_ones() -> None:
    partial = named_fifth(name=0.7, partial_name=1)
    fused = fuse([one._replace(name=0.0) for one in partial], FusionSettings())
    assert rows(fused) == [1, 2, 5, 3, 4, 6]
    assert [one.rank for one in fused if one.name_place] == [3]
    partial[1] = partial[1]._replace(exact_name=1)
    assert rows(fuse([one._replace(name=0.0) for one in partial], FusionSettings()))[:3] == [2, 1, 5]


def test_a_well_ranked_note_needs_no_place_for_its_name() -> None:
    evidence = named_fifth()
    evidence[1] = evidence[1]._replace(partial_name=1)
    fused = fuse(evidence, FusionSettings())
    assert rows(fused) == [1, 2, 3, 4, 5, 6]
    assert not any(one.name_place for one in fused)


def test_a_similar_name_is_reranked_however_far_behind_in_the_fusion() -> None:
    evidence = [Evidence(ChunkRow(row), row, 1.0, None, row / 100) for row in range(1, 91)]
    evidence.append(Evidence(ChunkRow(99), cosine=0.95, name=0.9))
    assert rows(fuse(evidence, FusionSettings()))[0] == 99


def test_names_do_not_count_without_reranking() -> None:
    assert rows(fuse(named_fifth(name=1.0, exact_name=1, partial_name=1), PURE)) == [1, 2, 3, 4, 5, 6]


def test_for_one_word_a_passage_that_has_it_beats_one_that_is_near() -> None:
    has_it = Evidence(ChunkRow(1), 1, 8.0, None, 0.1)
    near = Evidence(ChunkRow(2), None, None, 1, 0.6)
    other = Evidence(ChunkRow(3), None, None, 1, 0.6, other_script=True)
    assert rows(fuse([has_it, near, other], FusionSettings())) == [3, 2, 1]
    one_word = FusionSettings(rerank_keyword=ONE_WORD_KEYWORD)
    assert rows(fuse([has_it, near, other], one_word)) == [1, 3, 2]


RANK = st.none() | st.integers(1, 40)
ONE = st.builds(
    Evidence,
    row=st.integers(1, 10**6).map(ChunkRow),
    lexical_rank=RANK,
    strength=st.none() | st.floats(0, 50),
    vector_rank=RANK,
    cosine=st.none() | st.floats(-1, 1),
    other_script=st.booleans(),
    name=st.just(0.0) | st.floats(0, 1),
    exact_name=st.just(0) | st.integers(0, 3),
    partial_name=st.just(0) | st.integers(0, 3),
)
EVIDENCE = st.lists(ONE, max_size=120, unique_by=lambda one: one.row)
SETTINGS = st.builds(
    FusionSettings,
    rrf_k=st.integers(1, 200),
    vector_weight=st.floats(0, 10),
    rerank=st.booleans(),
    rerank_depth=st.integers(0, 80),
    rerank_keyword=st.sampled_from([0.3, 0.6]),
)


@given(EVIDENCE, SETTINGS)
def test_places_take_nothing_away_and_leave_each_script_in_its_order(
    evidence: list[Evidence], settings: FusionSettings
) -> None:
    kept = fuse(evidence, settings)
    one_script = fuse([one._replace(other_script=False) for one in evidence], settings)
    assert sorted(rows(kept)) == sorted(int(one.row) for one in evidence)
    assert [one.rank for one in kept] == list(range(1, len(evidence) + 1))
    assert all(one.evidence.other_script and one.rank >= 4 for one in kept if one.kept_place)
    assert all((one.evidence.cosine or 0) >= NEAR_ENOUGH for one in kept if one.kept_place)
    # Of a note whose name is the query one passage goes first, maybe another one where there is one script.
    of_names = {one.evidence.row for one in kept if one.name_place or one.evidence.exact_name}
    own = [one for one in kept if not one.evidence.other_script and one.evidence.row not in of_names]
    if settings.rerank_depth >= len(evidence):
        mine = {one.evidence.row for one in own}
        assert rows(own) == [int(one.evidence.row) for one in one_script if one.evidence.row in mine]


@given(EVIDENCE, SETTINGS)
def test_every_number_adds_up(evidence: list[Evidence], settings: FusionSettings) -> None:
    strongest = max((one.strength or 0.0 for one in evidence), default=0.0)
    for one in fuse(evidence, settings):
        assert one.rrf_raw == one.lexical_part + one.vector_part
        best = (settings.lexical_weight + settings.vector_weight) / (settings.rrf_k + 1)
        assert one.fusion_score == pytest.approx(one.rrf_raw / best)
        if settings.rerank:
            words = (one.evidence.strength or 0.0) / strongest if strongest else 0.0
            assert (one.assumed_cosine is None) == (one.evidence.cosine is not None)
            cosine = max(one.evidence.cosine or one.assumed_cosine or 0.0, 0.0)
            share = settings.rerank_keyword
            score = share * words + (1 - share) * cosine
            alone = OTHER_SCRIPT_SHARE * cosine * (1 - share) / 0.7
            wanted = max(score, alone) if one.evidence.other_script else score
            parts = (one.rerank_keyword or 0.0, one.rerank_semantic or 0.0)
            assert sum(parts) == pytest.approx(wanted)
            assert one.rerank_name == 0.2 * one.evidence.name
            assert one.rerank_score == (sum(parts) + (one.rerank_name or 0.0)) / 1.2
            assert one.score == (1.0 if one.named else one.rerank_score)
            assert -1e-9 <= one.score <= 1 + 1e-9


@given(EVIDENCE, SETTINGS, st.randoms())
def test_the_order_of_the_evidence_means_nothing(
    evidence: list[Evidence], settings: FusionSettings, dice: object
) -> None:
    shuffled = sorted(evidence, key=lambda one: hash((one.row, repr(dice))))
    assert repr(fuse(evidence, settings)) == repr(fuse(shuffled, settings))


@given(EVIDENCE, SETTINGS, st.integers(1, 300), st.floats(0, 10))
def test_a_what_if_equals_a_fusion_with_those_settings(
    evidence: list[Evidence], settings: FusionSettings, rrf_k: int, weight: float
) -> None:
    asked = rescore(fuse(evidence, settings), settings, rrf_k=rrf_k, vector_weight=weight)
    assert asked == fuse(evidence, replace(settings, rrf_k=rrf_k, vector_weight=weight))
    assert rescore(fuse(evidence, settings), settings) == fuse(evidence, settings)


@given(st.permutations(range(1, 12)), st.permutations(range(1, 12)))
def test_the_scale_of_bm25_does_not_change_the_pure_order(words: list[int], meaning: list[int]) -> None:
    evidence = [
        Evidence(ChunkRow(n), rank, 100.0 / rank, near, 1.0 / near)
        for n, (rank, near) in enumerate(zip(words, meaning, strict=True), 1)
    ]
    squared = [one._replace(strength=(one.strength or 0) ** 2) for one in evidence]
    assert rows(fuse(evidence, PURE)) == rows(fuse(squared, PURE))


# Options


def test_a_query_in_hangul_has_its_own_weight() -> None:
    options = HybridOptions(vector_weight=2.0, vector_weight_hangul=0.5)
    assert options.fusion("포트 충돌", SearchQuery("포트 충돌")).vector_weight == 0.5
    assert options.fusion("port", SearchQuery("port")).vector_weight == 2.0
    long_filter = SearchQuery("path:infrastructure/notes/kubernetes/** 충돌")
    assert options.fusion("충돌", long_filter).vector_weight == 0.5


def test_a_query_may_choose_reranking_against_the_settings() -> None:
    assert HybridOptions(rerank=False).fusion("a", SearchQuery("a", rerank=True)).rerank
    assert not HybridOptions().fusion("a", SearchQuery("a", rerank=False)).rerank
    assert HybridOptions().fusion("a", SearchQuery("a")).rerank
