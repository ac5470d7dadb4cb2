"""Why a note is not among the hits: every stage that can drop it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kebab_tui.domain.errors import NotFoundError
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.query import SearchFilters, SearchMode, SearchQuery
from kebab_tui.workspace import Workspace
from tests.meaning import Chosen
from tests.vault import Vault

MODES = ("lexical", "vector", "hybrid")


@pytest.fixture
def chosen(tmp_path: Path) -> Iterator[Chosen]:
    made = Chosen(tmp_path)
    yield made
    made.close()


def test_a_file_that_is_not_indexed_says_so(embedded_sample: Workspace) -> None:
    verdict = embedded_sample.why_not(SearchQuery("docker"), "/nowhere/at-all.md")
    assert (verdict.stage, verdict.rank) == ("not indexed", None)


@pytest.mark.parametrize("mode", MODES)
def test_the_filter_that_drops_a_note_is_named(chosen: Chosen, mode: str) -> None:
    note = chosen.add("a.md", {"alpha": 0.9}, tags=("x",))
    verdict = chosen.why_not("alpha tag:y type:markdown", note, mode=mode)
    assert (verdict.stage, verdict.detail) == ("filtered", "left out by tag:y")
    verdict = chosen.why_not("alpha -tag:x type:code", note, mode=mode)
    assert verdict.detail == "left out by -tag:x, type:code"


def test_filters_that_only_drop_a_note_together_are_named_together(chosen: Chosen) -> None:
    note = chosen.add("a.md", {"alpha": 0.9})
    other = chosen.add("b.md", {"beta": 0.9})
    filters = SearchFilters(doc_ids=(note.doc_id,), paths=("b.md",))
    assert chosen.why_not("alpha", note, filters=filters).detail == "left out by path:b.md"
    assert chosen.why_not("alpha", other, filters=filters).stage == "filtered"


def test_passages_that_pass_one_filter_each_pass_none_together(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    code, prose = "docker run --rm image\n" * 60, "docker in prose, at length. " * 60
    vault.write("a.md", f"# Above\n\n```sh\n{code}```\n\n# Below\n\n{prose}\n")
    vault.ingest()
    query = SearchQuery("docker", filters=SearchFilters(kinds=("code",), headings=("Below",)))
    verdict = vault.workspace.why_not(query, "a.md")
    assert (verdict.stage, verdict.detail) == ("filtered", "left out by kind:code and heading:Below together")
    vault.workspace.close()


def test_missing_words_are_named(chosen: Chosen) -> None:
    note = chosen.add("a.md", {"alpha beta": 0.1})
    verdict = chosen.why_not("gamma delta", note, mode="lexical")
    assert (verdict.stage, verdict.detail) == (
        "no match",
        "no passage matches (missing from the note: gamma, delta)",
    )
    verdict = chosen.why_not("alpha gamma", note, mode="lexical")
    assert verdict.stage == "listed"
    assert verdict.detail.endswith("no passage has all the words (missing from the note: gamma)")
    assert chosen.why_not("alpha gamma", note, mode="lexical", strict=True).stage == "no match"


def test_a_note_that_no_leg_finds_gets_both_reasons(chosen: Chosen) -> None:
    note = chosen.add("a.md", {"alpha": 0.1})
    chosen.add("b.md", {"beta": 0.9})
    verdict = chosen.why_not("gamma", note)
    assert verdict.stage == "no match"
    assert "not among the 1 candidates of words and meaning" in verdict.detail
    assert "missing from the note: gamma" in verdict.detail


@pytest.mark.parametrize("mode", MODES)
def test_a_note_on_another_page_gets_its_rank(chosen: Chosen, mode: str) -> None:
    chosen.add("better.md", {f"alpha alpha {n}": 0.9 for n in range(12)})
    note = chosen.add("a.md", {"alpha " + "filler " * 50: 0.4, "unrelated": 0.1})
    verdict = chosen.why_not("alpha", note, mode=mode)
    assert (verdict.stage, verdict.rank, verdict.advice) == ("ranked", 13, "ask for more: -n 13")
    hits = chosen.ask("alpha", mode=mode, k=13).hits
    assert (hits[12].path, hits[12].score) == ("a.md", verdict.score)
    assert chosen.why_not("alpha", note, mode=mode, k=13).stage == "listed"
    assert chosen.why_not("alpha", note, mode=mode, offset=12).stage == "listed"


@pytest.mark.parametrize("mode", MODES)
def test_a_note_below_the_minimum_score_gets_its_score(chosen: Chosen, mode: str) -> None:
    chosen.add("better.md", {"alpha alpha": 0.9, "filler": 0.1, "more filler": 0.1})
    note = chosen.add("a.md", {"alpha and others": 0.4})
    score = next(hit.score for hit in chosen.ask("alpha", mode=mode).hits if hit.path == "a.md")
    verdict = chosen.why_not("alpha", note, mode=mode, min_score=score + 0.001)
    assert (verdict.stage, verdict.score, verdict.rank) == ("below score", score, None)
    assert f"{score:.4f}" in verdict.detail
    assert chosen.why_not("alpha", note, mode=mode, min_score=score).stage == "listed"


def test_a_note_below_the_threshold_gets_its_raw_score(chosen: Chosen) -> None:
    chosen.add("better.md", {"alpha alpha": 0.9})
    note = chosen.add("a.md", {"alpha and others": 0.4})
    verdict = chosen.why_not("alpha", note, threshold=0.0325)
    assert verdict.stage == "below score"
    assert f"{1 / 62 + 1 / 62:.4f} is below the threshold 0.0325" in verdict.detail


def test_ranks_count_only_hits_within_the_limits(chosen: Chosen) -> None:
    chosen.add("ko.md", {f"글 {n}": 0.35 for n in range(3)})
    chosen.add("better.md", {f"alpha {n}": 0.9 for n in range(5)})
    note = chosen.add("a.md", {"alpha weaker": 0.7})
    verdict = chosen.why_not("alpha", note, min_score=0.5)
    hits = chosen.ask("alpha", min_score=0.5).hits
    assert hits[(verdict.rank or 0) - 1].path == "a.md"


def test_without_a_model_the_words_decide(chosen: Chosen) -> None:
    note = chosen.add("a.md", {"alpha": 0.9})
    chosen.semantics = Notice("no_model", "No model here.")
    assert chosen.why_not("alpha", note).stage == "listed"
    assert chosen.why_not("beta", note).stage == "no match"


@pytest.mark.parametrize("mode", MODES)
def test_a_list_of_notes_has_places_too(chosen: Chosen, mode: str) -> None:
    note = chosen.add("a.md", {"alpha": 0.9, "beta": 0.9}, tags=("x",))
    assert chosen.why_not("tag:x", note, mode=mode).stage == "listed"


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_raw_query_is_explained_by_its_words(chosen: Chosen, mode: str) -> None:
    note = chosen.add("a.md", {"alpha": 0.9})
    assert chosen.why_not("'alpha'", note, mode=mode).stage == "listed"
    assert chosen.why_not("'beta'", note, mode=mode).stage == "no match"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["port conflict", "포트 충돌 -docker", "git branch", "(git merge) OR 포트"])
def test_a_verdict_agrees_with_the_list(embedded_sample: Workspace, text: str, mode: SearchMode) -> None:
    query = SearchQuery(text, mode=mode, k=8)
    hits = embedded_sample.search(query).hits
    best: dict[str, int] = {}
    for hit in hits:
        best.setdefault(hit.path, hit.rank)
    for path, rank in best.items():
        verdict = embedded_sample.why_not(query, path)
        assert (verdict.stage, verdict.rank) == ("listed", rank), path


@pytest.mark.parametrize("query", [
    SearchQuery("port conflict docker"),
    SearchQuery("port conflict docker", "vector"),
    SearchQuery("port conflict docker", "lexical"),
    SearchQuery("port conflict docker", rerank=False),
    SearchQuery("'port OR docker'"),
])  # fmt: skip
def test_a_verdict_says_why_not_higher(embedded_sample: Workspace, query: SearchQuery) -> None:
    hits = embedded_sample.search(query).hits
    first, other = hits[0], next(hit for hit in hits[1:] if hit.path != hits[0].path)
    assert embedded_sample.why_not(query, first.path).comparison is None, "it is the first"
    verdict = embedded_sample.why_not(query, other.path)
    found = verdict.comparison
    assert found is not None
    assert verdict.passage is not None
    assert verdict.first is not None
    assert (verdict.passage.hit.chunk_id, verdict.first.hit.chunk_id) == (other.chunk_id, first.chunk_id)
    assert (found.score, found.other_score) == pytest.approx((other.score, first.score))
    assert sum(part.loss for part in found.parts) == pytest.approx(first.score - other.score)
    most = max(found.parts, key=lambda part: part.loss)
    assert found.decides == most.label
    assert verdict.passage.headline


def test_a_citation_asks_about_its_passage(embedded_sample: Workspace) -> None:
    query = SearchQuery("port conflict")
    hits = [hit for hit in embedded_sample.search(query).hits if hit.path == "infra/port-conflict.md"]
    verdict = embedded_sample.why_not(query, str(hits[-1].citation))
    assert (verdict.rank, verdict.passage and verdict.passage.hit.chunk_id) == (
        hits[-1].rank,
        hits[-1].chunk_id,
    )
    by_words = embedded_sample.why_not(
        SearchQuery("port undo", "lexical", strict=True), "port-conflict:L9-L21"
    )
    assert by_words.detail == "no passage matches (missing from the passage: undo)"
    with pytest.raises(NotFoundError, match=r"no passage is at infra/port-conflict\.md:L9000"):
        embedded_sample.why_not(query, "infra/port-conflict.md:L9000")
