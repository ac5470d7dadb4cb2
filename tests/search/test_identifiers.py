"""Identifiers are found by their parts, and by other identifiers with these parts."""

from __future__ import annotations

import pytest

from kebab_tui.domain.query import SearchQuery
from tests.explanations import assert_follows, nodes
from tests.vault import Vault

_NOTES = {
    "camel.md": "Call getUserName() to greet them.",
    "snake.md": "The column user_name holds it.",
    "prose.md": "Type the user name and press Enter.",
    "error.md": "It raised HTTPServerError 이름을setUserId로 바꾼다.",
    "exact.md": "The field userName is required.",
    "other.md": "Each user has a name.",
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    made = Vault(tmp_path_factory.mktemp("identifiers"))
    for path, text in _NOTES.items():
        made.write(path, text)
    made.ingest()
    return made


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("user name", {"camel.md", "snake.md", "prose.md", "exact.md", "other.md"}),
        ('"user name"', {"camel.md", "snake.md", "prose.md", "exact.md"}),
        ("get user name", {"camel.md"}),
        ("userName", {"camel.md", "snake.md", "prose.md", "exact.md"}),
        ("user_name", {"camel.md", "snake.md", "prose.md", "exact.md"}),
        ("getUserName", {"camel.md"}),
        ("username", {"exact.md"}),
        ("http server errors", {"error.md"}),
        ("HttpServerError", {"error.md"}),
        ("user id", {"error.md"}),
        ("이름 setUserId", {"error.md"}),
        ("user -userName", {"camel.md", "snake.md", "prose.md", "other.md", "error.md"}),
        ("'userName'", {"exact.md"}),
    ],
)
def test_a_query_finds(vault: Vault, query: str, paths: set[str]) -> None:
    assert set(vault.find(query)) == paths


def test_the_identifier_itself_ranks_first(vault: Vault) -> None:
    assert vault.workspace.search(SearchQuery("userName", mode="lexical")).hits[0].path == "exact.md"


@pytest.mark.parametrize("typed", ["getU", "getUserN", "userNa", "user na"])
def test_an_identifier_is_found_while_it_is_typed(vault: Vault, typed: str) -> None:
    hits = vault.workspace.search(SearchQuery(typed, mode="lexical", typing=True, strict=True)).hits
    assert "camel.md" in {hit.path for hit in hits}


def test_a_hit_marks_the_parts_that_were_found(vault: Vault) -> None:
    hits = vault.workspace.search(SearchQuery("user name", mode="lexical", strict=True)).hits
    marked = {hit.path: [hit.snippet[start:end] for start, end in hit.highlights] for hit in hits}
    assert marked["camel.md"] == ["User", "Name"]


def test_the_explanation_of_a_part_adds_up(vault: Vault) -> None:
    explained = vault.workspace.explain(SearchQuery("userName", mode="lexical"))
    hit = next(one for one in explained.hits if one.hit.path == "camel.md")
    assert_follows(hit.tree)
    assert hit.tree.value == pytest.approx(hit.hit.score)
    bm25 = next(node for node in nodes(hit.tree) if node.label == "bm25")
    by_label = {term.label: term.value for term in bm25.children}
    assert by_label["username"] == 0
    assert by_label["user name"] > 0


def test_a_note_that_has_the_parts_is_listed_by_why_not(vault: Vault) -> None:
    verdict = vault.workspace.why_not(SearchQuery("user name", mode="lexical"), str(vault.root / "camel.md"))
    assert verdict.stage == "listed"
