"""Hybrid search: one list, whose pages fit together and which has every candidate of both legs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.search import match_tree
from kebab_tui.search.engine import SearchEngine, SearchOptions
from kebab_tui.search.limits import HybridOptions
from kebab_tui.search.match import Match
from kebab_tui.search.query_language import Leaf, Node, parse
from kebab_tui.search.ranking import rescore
from kebab_tui.search.words import Completion
from kebab_tui.workspace import Workspace
from tests.meaning import FLOOR, NOW, Chosen, codes

GOLDEN: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[2] / "fixtures" / "golden.yaml").read_text("utf-8")
)
BEYOND_THIS_MODEL = {
    "semantic-sour-bread-ko": "the model puts the note 26th: it does not relate 발효종 to sourdough",
    "semantic-crash-loop": "the model puts the note 21st: it does not relate 죽었다가 켜지는 to crashing",
}
EASY = [golden for golden in GOLDEN if golden["id"] not in BEYOND_THIS_MODEL]


@pytest.fixture
def chosen(tmp_path: Path) -> Iterator[Chosen]:
    made = Chosen(tmp_path)
    yield made
    made.close()


# The sample vault, with the real model


@pytest.mark.parametrize("golden", EASY, ids=[golden["id"] for golden in EASY])
def test_a_golden_query_finds_its_note_among_the_first_ten(
    embedded_sample: Workspace, golden: dict[str, Any]
) -> None:
    hits = embedded_sample.search(SearchQuery(golden["query"])).hits
    wanted = {expected["note"] for expected in golden["expect"]}
    assert wanted & {hit.path for hit in hits}, [f"{hit.citation} {hit.heading_path}" for hit in hits]


def test_results_beyond_the_model_are_listed_by_name() -> None:
    assert set(BEYOND_THIS_MODEL) < {golden["id"] for golden in GOLDEN if golden["probes"] == "semantic"}


QUERIES = st.sampled_from(
    ["git 브랜치", "포트 충돌", "how do I undo", "docker -compose", "법", "tag:ops 백업"]
)


@settings(max_examples=60, deadline=None)
@given(QUERIES, st.integers(1, 100), st.integers(0, 100), st.booleans())
def test_pages_fit_together(embedded_sample: Workspace, text: str, k: int, offset: int, rerank: bool) -> None:
    def page(k: int, offset: int) -> list[tuple[int, int, float]]:
        query = SearchQuery(text, k=k, offset=offset, rerank=rerank)
        return [(hit.rank, hit.row, hit.score) for hit in embedded_sample.search(query).hits]

    both = page(k, offset) + page(k, offset + k)
    assert both == page(2 * k, offset)
    assert [rank for rank, *_ in both] == list(range(offset + 1, offset + 1 + len(both)))


@pytest.fixture(scope="module")
def thousands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chosen]:
    """2,000 passages, more of which match than a pool holds: by words, by meaning, and by both."""
    made = Chosen(tmp_path_factory.mktemp("thousands"))
    dice = random.Random(3)
    for note in range(20):
        passages: dict[str, float | None] = {}
        for n in range(100):
            text = "포트" if n % 10 == 0 else " ".join(dice.choices(["alpha", "beta", "filler", "more"], k=6))
            passages[f"{text} {note} {n}"] = dice.choice([-0.2, 0.1, 0.25, 0.4, 0.6, 0.6])
        made.add(f"{note}.md", passages)
    yield made
    made.close()


def rows(chosen: Chosen, text: str, k: int, offset: int = 0, **query: Any) -> list[tuple[int, int, float]]:
    hits = chosen.ask(text, k=k, offset=offset, **query).hits
    return [(hit.rank, hit.row, hit.score) for hit in hits]


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
@pytest.mark.parametrize(
    ("text", "typing"),
    [("alpha", False), ("alpha beta", False), ("alph", True), ("alpha", True), ("alpha beta", True)],
)
def test_there_is_one_order_whatever_the_page(thousands: Chosen, mode: str, text: str, typing: bool) -> None:
    whole = rows(thousands, text, 2_000, mode=mode, typing=typing)
    by_words = thousands.ask(text, mode="lexical", typing=typing).total_matches
    assert len(whole) >= by_words > 900
    for k in (10, 60, 299, 450, 600):
        first = thousands.ask(text, k=k, mode=mode, typing=typing)
        assert (first.total_matches, first.next_offset) == (len(whole), k)
        assert rows(thousands, text, k, mode=mode, typing=typing) == whole[:k]
        assert rows(thousands, text, k, k, mode=mode, typing=typing) == whole[k : 2 * k]
    followed: list[int] = []
    offset: int | None = 0
    while offset is not None:
        page = thousands.ask(text, k=350, offset=offset, mode=mode, typing=typing)
        followed += [hit.row for hit in page.hits]
        offset = page.next_offset
    assert followed == [row for _, row, _ in whole]
    assert len(followed) == len(set(followed))


def test_hits_behind_the_pool_are_marked_as_further_keyword_matches(thousands: Chosen) -> None:
    hits = thousands.ask("alpha", k=2_000).hits
    pool = [hit for hit in hits if not hit.further]
    further = hits[len(pool) :]
    assert further
    assert all(hit.further and hit.score_kind == "bm25" for hit in further)
    assert [hit.score for hit in further] == sorted((hit.score for hit in further), reverse=True)
    assert [hit.retrieval.lexical_rank for hit in further] == list(range(301, 301 + len(further)))
    assert all(hit.retrieval.rrf_raw == 1 / (60 + (hit.retrieval.lexical_rank or 0)) for hit in further)


@pytest.mark.parametrize(
    "limit", [{"min_score": 0.3}, {"min_score": 0.62}, {"threshold": 1 / 400}, {"threshold": 0.01}]
)
def test_a_limit_cuts_every_page_alike(thousands: Chosen, limit: Any) -> None:
    whole = rows(thousands, "alpha", 2_000, **limit)
    for k in (7, 150, 400):
        assert thousands.ask("alpha", k=k, **limit).total_matches == len(whole)
        assert rows(thousands, "alpha", k, k, **limit) == whole[k : 2 * k]


@pytest.mark.parametrize("text", ["alpha -beta", "'(alpha beta)'", '"alpha beta" gamma* OR delta'])
@pytest.mark.parametrize("typing", [False, True])
def test_a_match_tree_is_built_once_for_a_query(
    chosen: Chosen, monkeypatch: pytest.MonkeyPatch, text: str, typing: bool
) -> None:
    chosen.add("a.md", {"alpha gamma": 0.5})
    built: list[Mapping[Leaf, Completion]] = []
    strict = match_tree._found

    def counted(
        node: Node | None, completions: Mapping[Leaf, Completion], narrow: bool = False
    ) -> Match | None:
        if node == parse(text, NOW).terms:
            built.append(completions)
        return strict(node, completions, narrow)

    monkeypatch.setattr(match_tree, "_found", counted)
    chosen.ask(text, typing=typing)
    assert len(built) == (0 if text.startswith("'") else 1)


def test_equal_scores_stand_in_the_order_of_their_chunk_ids(chosen: Chosen) -> None:
    for name in "abcdef":
        chosen.add(f"{name}.md", {"same words": 0.5, "포트": 0.5})
    hits = chosen.ask("question", k=20).hits
    for one, following in pairwise(hits):
        if one.score == following.score:
            assert one.chunk_id < following.chunk_id


def test_a_printed_figure_is_a_limit_that_keeps_its_hit(embedded_sample: Workspace) -> None:
    for rerank in (False, True):
        for hit in embedded_sample.search(SearchQuery("백업 disk", k=40, rerank=rerank)).hits:
            raw = hit.retrieval.rrf_raw
            assert raw is not None
            for limits in ({"min_score": round(hit.score, 6)}, {"threshold": round(raw, 6)}):
                query = SearchQuery("백업 disk", k=40, rerank=rerank, **limits)  # type: ignore[arg-type]
                assert hit.row in {kept.row for kept in embedded_sample.search(query).hits}


@pytest.mark.parametrize("text", ["포트 충돌", "how do I undo a commit", "git 브랜치"])
def test_the_same_question_gets_the_same_answer_to_the_byte(embedded_sample: Workspace, text: str) -> None:
    first, again = (embedded_sample.search(SearchQuery(text, k=50)) for _ in range(2))
    assert repr(first.hits) == repr(again.hits)


@settings(max_examples=25, deadline=None)
@given(QUERIES.filter(lambda text: "tag:" not in text), st.integers(1, 200), st.floats(0, 10), st.booleans())
def test_a_what_if_equals_a_search_with_those_settings(
    embedded_sample: Workspace, text: str, rrf_k: int, weight: float, rerank: bool
) -> None:
    """Of the same notes, under another configuration."""
    query = SearchQuery(text, rerank=rerank)
    explained = embedded_sample.explain(query)
    assert explained.fusion is not None
    asked = rescore(explained.candidates, explained.fusion, rrf_k=rrf_k, vector_weight=weight)
    options = SearchOptions(hybrid=HybridOptions(rrf_k, weight, weight))
    other = SearchEngine(
        embedded_sample._parts.index.reader,
        lambda _: "same",
        options,
        embedded_sample._parts.semantics,
        lambda: NOW,
    )
    assert tuple(asked) == other.explain(query).candidates


# What a leg finds is found


def test_recall_is_at_least_that_of_the_better_leg(chosen: Chosen) -> None:
    chosen.add("words.md", {f"alpha number {n}": 0.0 for n in range(5)})
    chosen.add("meaning.md", {f"other text {n}": 0.5 + n / 100 for n in range(5)})
    lexical = set(chosen.texts("alpha", mode="lexical"))
    vector = set(chosen.texts("alpha", mode="vector", k=5))
    assert len(lexical | vector) == 10
    assert set(chosen.texts("alpha", k=10)) == lexical | vector
    assert set(chosen.texts("alpha", k=10, rerank=False)) == lexical | vector


def test_a_hit_of_one_leg_has_nothing_of_the_other(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha": None, "other text": 0.8})
    by_text = {hit.text: hit.retrieval for hit in chosen.ask("alpha").hits}
    words, meaning = by_text["alpha"], by_text["other text"]
    chosen.add("far.md", {"alpha far": 0.1})
    far = next(hit.retrieval for hit in chosen.ask("alpha").hits if hit.text == "alpha far")
    assert (far.vector_rank, far.vector_score) == (None, None)
    assert (words.vector_rank, words.vector_score) == (None, None)
    assert (meaning.lexical_rank, meaning.lexical_score) == (None, None)
    assert words.fusion_score == meaning.fusion_score == 0.5


def test_a_cosine_below_the_floor_of_the_model_is_no_hit(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha": FLOOR - 0.01, "beta": FLOOR + 0.01})
    assert chosen.texts("qwertz") == ["beta"]


def test_the_floor_yields_where_nothing_else_is_found(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha": FLOOR - 0.01, "beta": 0.1})
    response = chosen.ask("qwertz")
    assert [hit.text for hit in response.hits] == ["alpha", "beta"]
    assert "distant" in codes(response)
    assert chosen.texts("beta") == ["beta"]


# Filters and exclusions hold in both legs


@pytest.mark.parametrize("mode", ["vector", "hybrid"])
def test_a_narrow_filter_costs_no_recall(chosen: Chosen, mode: str) -> None:
    chosen.add("crowd.md", {f"crowd {n}": 0.9 for n in range(400)})
    wanted = chosen.add("small.md", {f"small {n}": 0.4 for n in range(12)})
    response = chosen.ask("question", mode=mode, filters=SearchFilters(doc_ids=(wanted.doc_id,)))
    assert len(response.hits) == 10
    assert {hit.path for hit in response.hits} == {"small.md"}
    assert response.total_matches == 12


@pytest.mark.parametrize("mode", ["vector", "hybrid"])
@pytest.mark.parametrize("narrowed", ["{} tag:x", "{} -gamma", "tag:x {} -gamma"])
def test_the_chunks_of_a_filter_are_listed_once_for_each_revision(
    chosen: Chosen, mode: str, narrowed: str
) -> None:
    def listed(word: str) -> bool:
        with chosen.statements() as statements:
            assert chosen.texts(narrowed.format(word), mode=mode)
        return any("group_concat" in one for one in statements)

    chosen.add("a.md", {"alpha": 0.9, "beta": 0.8, "충돌": 0.7, "gamma": 0.6}, tags=("x",))
    assert listed("alpha")
    assert not listed("beta")
    chosen.add("b.md", {"delta": 0.5}, tags=("x",))
    assert listed("beta")


@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_a_filter_that_leaves_nothing_leaves_nothing(chosen: Chosen, mode: str) -> None:
    chosen.add("a.md", {"alpha": 0.9})
    response = chosen.ask("alpha tag:none", mode=mode)
    assert (response.hits, response.total_matches, response.next_offset) == ((), 0, None)


@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_no_leg_finds_an_excluded_word(chosen: Chosen, mode: str) -> None:
    chosen.add("a.md", {f"alpha with svn {n}": 0.9 for n in range(350)} | {"alpha alone": 0.5})
    assert chosen.texts("alpha -svn", mode=mode) == ["alpha alone"]
    assert chosen.texts('alpha -"with svn"', mode=mode) == ["alpha alone"]


def test_all_the_words_means_all_the_words_also_by_meaning(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha beta": 0.1, "alpha": 0.9, "gamma": 0.95})
    assert chosen.texts("alpha beta", strict=True) == ["alpha beta"]
    assert chosen.texts("alpha beta", strict=True, mode="vector") == ["alpha beta"]


def test_hits_without_all_the_words_are_flagged_and_counted(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha beta": 0.5, "alpha": 0.5, "gamma": 0.5})
    response = chosen.ask("alpha beta")
    assert {hit.text: hit.relaxed for hit in response.hits} == {
        "alpha beta": False,
        "alpha": True,
        "gamma": False,
    }
    assert "relaxed" in codes(response)


# Limits


def test_limits_include_the_score_they_name(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha one": 0.9, "alpha two words": 0.5, "three": 0.4})
    everything = chosen.ask("alpha", rerank=False).hits
    for place, hit in enumerate(everything, 1):
        raw, score = hit.retrieval.rrf_raw, hit.score
        assert len(chosen.ask("alpha", rerank=False, threshold=raw).hits) == place
        assert len(chosen.ask("alpha", rerank=False, min_score=score).hits) == place


def test_hits_below_a_limit_are_counted_and_ranks_close_up(chosen: Chosen) -> None:
    chosen.add("ko.md", {f"글 {n}": 0.31 for n in range(3)})
    chosen.add("en.md", {f"alpha {n}": 0.8 for n in range(9)})
    response = chosen.ask("alpha", min_score=0.5, k=5)
    assert [hit.rank for hit in response.hits] == [1, 2, 3, 4, 5]
    assert response.total_matches == 9
    assert response.next_offset == 5
    assert "3 of 12" in next(notice.text for notice in response.notices if notice.code == "below_score")
    last = chosen.ask("alpha", min_score=0.5, k=5, offset=5)
    assert ([hit.rank for hit in last.hits], last.next_offset) == ([6, 7, 8, 9], None)


# Two scripts


def test_a_question_finds_the_note_in_the_other_language(chosen: Chosen) -> None:
    chosen.add("en.md", {f"port number {n}": 0.6 for n in range(20)})
    chosen.add("ko.md", {"포트 충돌": 0.5})
    texts = chosen.texts("port")
    assert texts[3] == "포트 충돌"
    assert all(text.startswith("port") for text in texts[:3])


def test_in_one_script_nothing_is_other(chosen: Chosen) -> None:
    chosen.add("ko.md", {f"포트 {n}": 0.5 for n in range(5)})
    explained = chosen.explain("port")
    assert len(explained.candidates) == 5
    assert not any(one.evidence.other_script for one in explained.candidates)


def test_the_script_of_a_query_is_that_of_its_words_not_of_its_filters(tmp_path: Path) -> None:
    chosen = Chosen(tmp_path, HybridOptions(vector_weight=1.0, vector_weight_hangul=0.5))
    chosen.add("infrastructure/kubernetes.md", {"충돌": 0.5})
    explained = chosen.explain("path:infrastructure/kubernetes.md 충돌")
    assert explained.fusion is not None
    assert explained.fusion.vector_weight == 0.5
    chosen.close()


# The index may be a step off


@pytest.mark.parametrize("mode", ["vector", "hybrid"])
def test_chunks_deleted_after_the_last_vector_sync_take_no_places(chosen: Chosen, mode: str) -> None:
    gone = chosen.add("gone.md", {f"gone {n}": 0.9 for n in range(320)})
    chosen.add("here.md", {f"here {n}": 0.5 for n in range(12)})
    chosen.remove_behind_the_index(gone)
    response = chosen.ask("question", mode=mode)
    assert len(response.hits) == 10
    assert {hit.path for hit in response.hits} == {"here.md"}


def test_a_passage_that_no_model_has_read_is_found_by_its_words(chosen: Chosen) -> None:
    chosen.add("a.md", {f"alpha {n}": 0.5 for n in range(5)} | {f"beta {n}": None for n in range(3)})
    response = chosen.ask("beta")
    assert {"beta 0", "beta 1", "beta 2"} < {hit.text for hit in response.hits}
    pending = next(notice for notice in response.notices if notice.code == "vectors_pending")
    assert "Semantic search 62 %" in pending.text


@pytest.mark.parametrize("k", [1, 300, 301, 1000])
def test_asking_for_more_than_there_is_gives_all_there_is(chosen: Chosen, k: int) -> None:
    chosen.add("a.md", {f"alpha {n}": 0.5 for n in range(320)})
    response = chosen.ask("alpha", k=k)
    assert len(response.hits) == min(k, 320)


def test_stages_report_how_many_candidates_each_kept(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha": 0.1, "alpha two": 0.5, "beta": 0.6})
    stages = {stage.name: stage.kept for stage in chosen.ask("alpha", k=2).stages}
    assert (stages["words"], stages["meaning"], stages["fusion"], stages["show"]) == (2, 2, 3, 2)
    assert all(stage.milliseconds >= 0 for stage in chosen.ask("alpha").stages)


def test_each_answer_carries_the_version_of_its_side(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha": 0.5})
    lexical, vector, hybrid = (
        chosen.ask("alpha", mode=mode).index_version for mode in ("lexical", "vector", "hybrid")
    )
    assert lexical.startswith("fts")
    assert vector == "vec-chosen-8-00000000"
    assert hybrid == f"hybrid:{lexical}+{vector}"
    assert {hit.index_version for hit in chosen.ask("alpha").hits} == {hybrid}
    assert {hit.retrieval_method for hit in chosen.ask("alpha").hits} == {"rrf"}
