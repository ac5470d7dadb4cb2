"""The search engine: every mode reads one snapshot of the corpus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kebab_tui.domain.change import RemoveNote
from kebab_tui.domain.errors import FilterError, UnfinishedFilterError
from kebab_tui.domain.query import FacetFilter, SearchQuery
from tests.meaning import Chosen, codes

MODES = ("lexical", "vector", "hybrid")


@pytest.fixture
def chosen(tmp_path: Path) -> Iterator[Chosen]:
    made = Chosen(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("mode", MODES)
def test_an_index_without_passages_answers_with_nothing_and_says_so(chosen: Chosen, mode: str) -> None:
    response = chosen.ask("alpha", mode=mode)
    assert (response.mode, response.hits, response.total_matches) == (mode, (), 0)
    assert [(said.code, said.level) for said in response.notices] == [("no_passages", "warning")]


@pytest.mark.parametrize("mode", MODES)
def test_an_answer_is_in_the_mode_it_was_asked_in(chosen: Chosen, mode: str) -> None:
    chosen.add("a.md", {"alpha": 0.9})
    response = chosen.ask("alpha", mode=mode)
    assert (response.mode, response.query, len(response.hits)) == (mode, "alpha", 1)
    assert response.hits[0].retrieval.method == mode


def test_each_mode_fills_in_its_own_details_and_no_others(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha": 0.9})
    lexical, vector, hybrid = (chosen.ask("alpha", mode=mode).hits[0].retrieval for mode in MODES)
    assert (lexical.vector_score, lexical.vector_rank, lexical.rrf_raw, lexical.rerank_score) == (None,) * 4
    assert (lexical.lexical_rank, lexical.fusion_score) == (1, lexical.lexical_score)
    assert (vector.lexical_score, vector.lexical_rank, vector.rrf_raw, vector.rerank_score) == (None,) * 4
    assert (vector.vector_rank, vector.fusion_score) == (1, vector.vector_score)
    assert None not in (hybrid.lexical_score, hybrid.vector_score, hybrid.rrf_raw, hybrid.rerank_score)
    assert (hybrid.lexical_rank, hybrid.vector_rank, hybrid.fusion_rank, hybrid.fusion_score) == (
        1,
        1,
        1,
        1.0,
    )
    assert hybrid.lexical_score == lexical.lexical_score
    assert hybrid.vector_score == vector.vector_score


def test_hybrid_is_the_default_mode() -> None:
    assert SearchQuery("alpha").mode == "hybrid"


def test_the_query_is_read_once_and_without_its_filters(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha": 0.9}, tags=("x",))
    chosen.ask("tag:x alpha -beta")
    assert chosen.encoder.asked == ["alpha"]


@pytest.mark.parametrize("mode", MODES)
def test_filters_in_the_text_and_beside_it_hold_together(chosen: Chosen, mode: str) -> None:
    chosen.add("a.md", {"alpha one": 0.9}, tags=("x",))
    chosen.add("b.md", {"alpha two": 0.8}, tags=("x", "y"))
    filters = replace(SearchQuery("").filters, facets=(FacetFilter("tag", "all", ("y",)),))
    assert chosen.texts("alpha tag:x", mode=mode, filters=filters) == ["alpha two"]


@pytest.mark.parametrize("mode", MODES)
def test_removed_notes_are_not_found(chosen: Chosen, mode: str) -> None:
    gone = chosen.add("a.md", {"alpha one": 0.9})
    chosen.add("b.md", {"alpha two": 0.8})
    before = chosen.ask("alpha", mode=mode)
    chosen.writer.apply([RemoveNote(gone.doc_id)])
    after = chosen.ask("alpha", mode=mode)
    assert [hit.text for hit in after.hits] == ["alpha two"]
    assert after.corpus_revision > before.corpus_revision


def test_notices_of_the_query_the_model_and_the_answer_are_all_there(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha beta": 0.9, "alpha": None})
    response = chosen.ask("tga:x alpha beta", min_score=0.2)
    assert codes(response)[0] == "unknown_key"
    assert {"relaxed", "vectors_pending"} <= set(codes(response))


def test_a_complete_index_has_no_pending_notice(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha": 0.9})
    assert codes(chosen.ask("alpha")) == []


def test_scripts_follow_a_changed_corpus(chosen: Chosen) -> None:
    chosen.add("en.md", {"alpha": 0.9})
    assert chosen.texts("alpha") == ["alpha"]
    chosen.add("ko.md", {"알파": 0.8})
    others = [one.evidence.row for one in chosen.explain("alpha").candidates if one.evidence.other_script]
    assert len(others) == 1
    assert chosen.texts("alpha lang:ko") == []
    assert chosen.texts("alpha path:ko.md") == ["알파"]


def test_a_filter_that_is_only_begun_hides_nothing_while_it_is_typed(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha": 0.9}, tags=("rust",))
    assert chosen.texts("tag:", typing=True) == chosen.texts("alpha tag:", typing=True) == ["alpha"]
    assert codes(chosen.ask("tag:", typing=True)) == ["unfinished_filter"]
    assert chosen.texts("tag:none", typing=True) == []


@pytest.mark.parametrize("mode", MODES)
def test_a_filter_without_a_valid_value_is_an_error_and_never_left_out(chosen: Chosen, mode: str) -> None:
    chosen.add("a.md", {"alpha": 0.9}, tags=("rust",))
    for text in ("alpha tag:", "alpha tag:#", "alpha after:lastweek", "alpha type:no"):
        with pytest.raises(FilterError):
            chosen.ask(text, mode=mode)
    with pytest.raises(UnfinishedFilterError, match="type: expects one of markdown, note"):
        chosen.ask("alpha type:no", mode=mode, typing=True)


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_query_of_exclusions_lists_the_remaining_notes(chosen: Chosen, mode: str) -> None:
    chosen.add("with.md", {"alpha": 0.9})
    chosen.add("without.md", {"beta": 0.9})
    chosen.add("neither.md", {"gamma": 0.9})
    response = chosen.ask("-alpha", mode=mode)
    assert {hit.path for hit in response.hits} == {"without.md", "neither.md"}
    assert (response.total_matches, codes(response)) == (2, [])
    assert [hit.path for hit in chosen.ask("-alpha -beta", mode=mode).hits] == ["neither.md"]
    assert [hit.path for hit in chosen.ask("path:w* -alpha", mode=mode).hits] == ["without.md"]
    assert chosen.ask("-nowhere", mode=mode).total_matches == 3
