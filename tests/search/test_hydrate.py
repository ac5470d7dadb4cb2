"""Hydrated hits: lines, snippet, and whether the file has changed since it was indexed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kebab_tui.domain.query import SearchQuery
from tests.meaning import Chosen
from tests.notes import a_source
from tests.vault import Vault


@pytest.fixture
def chosen(tmp_path: Path) -> Iterator[Chosen]:
    made = Chosen(tmp_path)
    yield made
    made.close()


def test_a_hit_names_the_note_and_the_lines_it_shows(chosen: Chosen) -> None:
    chosen.add("docs/a.md", {"first": 0.4, "alpha\nbeta": 0.9})
    (hit,) = chosen.ask("beta", mode="lexical").hits
    assert str(hit.citation) == "docs/a.md:L3-L4"
    assert (hit.path, hit.title, hit.heading_path, hit.text) == (
        "docs/a.md",
        "A title",
        "Heading",
        "alpha\nbeta",
    )
    assert hit.citation.section == "Heading"


def test_a_hit_names_its_folder_and_the_model_by_which_it_was_found(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha": 0.9})
    found = {mode: chosen.ask("alpha", mode=mode).hits[0] for mode in ("lexical", "vector", "hybrid")}
    assert {hit.source_title for hit in found.values()} == {a_source().title}
    models = {mode: hit.embedding_model for mode, hit in found.items()}
    assert models == {"lexical": None, "vector": "chosen", "hybrid": "chosen"}


def test_a_snippet_marks_the_search_words(chosen: Chosen) -> None:
    chosen.add("a.md", {"filler " * 100 + "alpha here": 0.9, "nothing of it": 0.8})
    words, meaning = chosen.ask("alpha").hits
    assert [words.snippet[start:end] for start, end in words.highlights] == ["alpha"]
    assert len(words.snippet) <= 220
    assert (meaning.snippet, meaning.highlights) == ("nothing of it", ())


@pytest.mark.parametrize(
    ("mode", "kind", "method"),
    [("lexical", "bm25", "fts5-bm25"), ("vector", "cosine", "cosine"), ("hybrid", "look", "rrf")],
)
def test_a_hit_has_its_method_and_the_kind_of_its_score(
    chosen: Chosen, mode: str, kind: str, method: str
) -> None:
    chosen.add("a.md", {"alpha": 0.9})
    (hit,) = chosen.ask("alpha", mode=mode).hits
    assert (hit.score_kind, hit.retrieval_method, hit.retrieval.method) == (kind, method, mode)
    assert hit.score == {"lexical": hit.retrieval.lexical_score, "vector": hit.retrieval.vector_score}.get(
        mode, hit.retrieval.rerank_score
    )


def test_without_reranking_the_score_is_that_of_the_fusion(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha": 0.9})
    (hit,) = chosen.ask("alpha", rerank=False).hits
    assert (hit.score_kind, hit.score, hit.retrieval.rerank_score) == ("rrf", 1.0, None)


def test_a_file_that_has_changed_or_gone_is_flagged(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    for name in ("same", "changed", "gone"):
        vault.write(f"{name}.md", f"alpha {name}")
    vault.ingest()
    vault.write("changed.md", "alpha is longer now")
    (vault.root / "gone.md").unlink()
    hits = vault.workspace.search(SearchQuery("alpha")).hits
    assert {hit.path: (hit.stale, hit.gone) for hit in hits} == {
        "same.md": (False, False),
        "changed.md": (True, False),
        "gone.md": (True, True),
    }
    vault.workspace.close()
