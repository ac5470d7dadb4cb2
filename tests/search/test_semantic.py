"""Semantic search: the text for the model, queries it cannot encode, and its hits."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kebab_tui.domain.errors import ModelError
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.query import SearchMode, SearchQuery
from kebab_tui.search.ports import Vector
from kebab_tui.search.query_language import parse
from kebab_tui.search.semantic import read_text
from kebab_tui.workspace import Workspace
from tests.meaning import Chosen, ChosenEncoder, codes

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def chosen(tmp_path: Path) -> Iterator[Chosen]:
    made = Chosen(tmp_path)
    yield made
    made.close()


def read(text: str) -> str:
    return read_text(text, parse(text, NOW))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("port conflict", "port conflict"),
        ("tag:ops port after:2026-01 conflict", "port conflict"),
        ('"port conflict" -docker', "port conflict"),
        ("port OR 포트", "port 포트"),
        ("lang:ko", ""),
        ("-docker", ""),
        ("tga:ops port", "ops port"),
        ("  a\n b\t", "a b"),
        ("port \ud800", "port ?"),
    ],
)
def test_a_model_reads_the_search_words(query: str, text: str) -> None:
    assert read(query) == text


@given(st.text())
def test_whatever_is_typed_can_be_written_down(text: str) -> None:
    read(text).encode()


# Degraded modes


@pytest.mark.parametrize("text", ["🙂🙃", "!!! ???", "'docker'"])
def test_a_query_without_meaning_is_searched_by_words_with_a_notice(chosen: Chosen, text: str) -> None:
    chosen.add("a.md", {"docker": 0.9})
    response = chosen.ask(text)
    assert (response.mode, codes(response)) == ("lexical", ["no_meaning"])
    assert response.notices[0].text.endswith("Keyword results only.")
    assert response.index_version.startswith("fts")
    assert chosen.encoder.asked == []
    assert [hit.text for hit in response.hits] == (["docker"] if text == "'docker'" else [])


@pytest.mark.parametrize("text", ["🙂🙃", "'docker'", "-docker"])
def test_only_by_meaning_is_never_answered_by_words(chosen: Chosen, text: str) -> None:
    chosen.add("a.md", {"docker": 0.9})
    with chosen.statements() as statements:
        response = chosen.ask(text, mode="vector")
    assert (response.mode, response.hits, codes(response)) == ("vector", (), ["no_meaning"])
    assert "words only" not in response.notices[0].text
    assert not [one for one in statements if "MATCH" in one]


def test_a_text_that_the_model_knows_nothing_of_is_not_given_to_it(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha": 0.9})
    chosen.encoder.knows = False
    response = chosen.ask("alpha")
    assert (response.mode, codes(response), len(response.hits)) == ("lexical", ["no_meaning"], 1)


@pytest.mark.parametrize("text", ["충돌", "port 충돌", "ㅊㄷ", "ᄎ"])
def test_an_english_model_is_never_asked_about_hangul(chosen: Chosen, text: str) -> None:
    chosen.add("a.md", {"충돌": 0.9})
    chosen.semantics = chosen.ready(knows_hangul=False)
    response = chosen.ask(text)
    assert (response.mode, codes(response)[0]) == ("lexical", "model_language")
    assert chosen.ask(text, mode="vector").hits == ()
    assert chosen.encoder.asked == []
    assert chosen.ask("port").mode == "hybrid"


def test_a_hangul_filter_is_not_a_hangul_query(chosen: Chosen) -> None:
    chosen.add("메모.md", {"port": 0.9})
    chosen.semantics = chosen.ready(knows_hangul=False)
    assert chosen.ask("path:메모.md port").mode == "hybrid"


def test_without_a_model_words_are_searched_and_vector_mode_gives_a_hint(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha": 0.9})
    chosen.semantics = Notice("no_model", "there is no model 'x'.", "warning")
    response = chosen.ask("alpha")
    assert (response.mode, codes(response), len(response.hits)) == ("lexical", ["no_model"], 1)
    assert response.notices[0].text == "there is no model 'x'. Keyword results only."
    with pytest.raises(ModelError, match=r"^there is no model 'x'$") as error:
        chosen.ask("alpha", mode="vector")
    assert "--mode lexical" in error.value.hint


class BrokenEncoder(ChosenEncoder):
    def query(self, text: str) -> Vector:
        raise ModelError("the model gave a vector with numbers that are not finite")


def test_a_model_that_fails_at_a_query_costs_only_the_meaning(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha": 0.9})
    chosen.encoder = BrokenEncoder()
    chosen.semantics = chosen.ready(knows_hangul=True)
    response = chosen.ask("alpha")
    assert (response.mode, codes(response), len(response.hits)) == ("lexical", ["no_model"], 1)
    assert (chosen.ask("alpha", mode="vector").hits, response.notices[0].level) == ((), "warning")


@pytest.mark.parametrize(
    "text", ["the of and", "그리고", "ㅋㅋㅋ", "word " * 10_000, "낱말 " * 10_000, "a\0b"]
)
@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_odd_queries_are_answered(embedded_sample: Workspace, text: str, mode: SearchMode) -> None:
    response = embedded_sample.search(SearchQuery(text, mode=mode))
    assert len(response.hits) <= 10
    assert response.mode == mode or codes(response)[-1] in {"no_meaning", "relaxed"}


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=60))
def test_nothing_that_is_typed_raises(embedded_sample: Workspace, text: str) -> None:
    if not text.strip().startswith("'"):
        embedded_sample.search(SearchQuery(text))


# Only by meaning, only by words


def test_lexical_mode_never_calls_the_encoder(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha": 0.9})
    response = chosen.ask("alpha", mode="lexical")
    assert chosen.encoder.asked == []
    assert response.hits[0].retrieval.vector_score is None
    assert chosen.engine.search(SearchQuery("alpha"), first_answer=True).mode == "lexical"
    assert chosen.encoder.asked == []


def test_vector_mode_only_checks_the_spelling_in_the_full_text(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha": 0.9, "beta": 0.8}, tags=("x",))
    with chosen.statements() as statements:
        response = chosen.ask("alpha tag:x", mode="vector")
    assert [hit.text for hit in response.hits] == ["alpha", "beta"]
    assert statements
    assert [one for one in statements if "MATCH" in one] == [
        "SELECT EXISTS (SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH '\"alpha\"')"
    ]
    assert {hit.retrieval.lexical_score for hit in response.hits} == {None}


def test_hits_stand_by_cosine_and_equals_by_chunk_id(chosen: Chosen) -> None:
    chosen.add("a.md", {"low": 0.2, "first": 0.7, "second": 0.7, "top": 0.9, "against": -0.5})
    response = chosen.ask("question", mode="vector")
    top, *equal, low, against = response.hits
    assert [hit.text for hit in (top, low, against)] == ["top", "low", "against"]
    assert [hit.chunk_id for hit in equal] == sorted(hit.chunk_id for hit in equal)
    assert response.hits[0].score == pytest.approx(0.9, abs=1e-3)
    assert response.hits[-1].score == 0.0
    assert {hit.score_kind for hit in response.hits} == {"cosine"}


@pytest.mark.parametrize("mode", ["vector", "hybrid"])
def test_a_limit_does_not_depend_on_the_page(chosen: Chosen, mode: str) -> None:
    chosen.add("a.md", {f"text {n}": 0.5 + n / 1000 for n in range(100)})
    totals = {chosen.ask("question", mode=mode, k=k, min_score=0.25).total_matches for k in (1, 7, 90, 200)}
    assert totals == {100}
    totals = {chosen.ask("question", mode="vector", k=k, min_score=0.5495).total_matches for k in (1, 7, 90)}
    assert totals == {50}


def test_a_threshold_cuts_a_single_list_by_its_ranks(chosen: Chosen) -> None:
    chosen.add("a.md", {f"alpha {n}": 0.5 + n / 1000 for n in range(100)})
    for mode in ("vector", "lexical"):
        response = chosen.ask("alpha", mode=mode, threshold=0.0161)  # 1/61 and 1/62
        assert (len(response.hits), response.total_matches) == (2, 2)
        assert chosen.ask("alpha", mode=mode, threshold=0.0161, k=1).total_matches == 2
        assert chosen.ask("alpha", mode=mode, threshold=0.0161, offset=2).hits == ()
    assert chosen.ask("alpha", mode="vector", threshold=0.5).hits == ()


@given(st.integers(1, 8), st.integers(0, 30))
@settings(max_examples=30, deadline=None)
def test_pages_by_meaning_fit_together(embedded_sample: Workspace, k: int, offset: int) -> None:
    def page(k: int, offset: int) -> list[int]:
        query = SearchQuery("how to undo", mode="vector", k=k, offset=offset)
        return [hit.row for hit in embedded_sample.search(query).hits]

    assert page(k, offset) + page(k, offset + k) == page(2 * k, offset)


def test_a_least_score_includes_itself_and_ends_the_list_on_every_page(chosen: Chosen) -> None:
    chosen.add("a.md", {f"text {n}": 0.9 - n / 20 for n in range(10)})
    scores = [hit.score for hit in chosen.ask("q", mode="vector").hits]
    least = scores[6]
    first = chosen.ask("q", mode="vector", k=4, min_score=least)
    assert (len(first.hits), first.next_offset) == (4, 4)
    second = chosen.ask("q", mode="vector", k=4, offset=4, min_score=least)
    assert ([hit.rank for hit in second.hits], second.total_matches, second.next_offset) == (
        [5, 6, 7],
        7,
        None,
    )
    assert codes(second) == ["below_score"]


def test_a_total_counts_the_reachable_hits(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha": 0.9, "beta": None, "gamma": None}, tags=("x",))
    response = chosen.ask("question tag:x", mode="vector")
    assert (response.total_matches, response.next_offset) == (1, None)
