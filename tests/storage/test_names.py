"""Notes by their names: the rows of a note's names, and the two ways to look them up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kebab_tui.domain.facets import values_of
from kebab_tui.domain.query import FacetFilter, SearchFilters
from kebab_tui.search.match import Any, Gram, Prefix, Word
from kebab_tui.search.ports import NamedNote, Snapshot
from tests.vault import Vault, index_in

NOTES = {
    "infra/port-conflict.md": "---\naliases: [포트 충돌, EADDRINUSE]\n---\n"
    "# When two servers want one port\n\ntext\n",
    "infra/README.md": "about this folder\n",
    "rust/workspace.md": "---\ntitle: Rust workspace\n---\n# Members\n\none lock file\n\n## More\n\ntext\n",
    "한글.md": "첫 줄이다.\n",
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    made = Vault(tmp_path_factory.mktemp("names"))
    for path, text in NOTES.items():
        made.write(path, text)
    made.ingest()
    yield made
    made.workspace.close()


@pytest.fixture
def snapshot(vault: Vault) -> Iterator[Snapshot]:
    with index_in(str(vault.data)).reader.snapshot() as opened:
        yield opened


def paths(notes: list[NamedNote]) -> list[str]:
    return [note.path for note in notes]


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("port conflict", "infra/port-conflict.md"),
        ("eaddrinuse", "infra/port-conflict.md"),
        ("포트 충돌", "infra/port-conflict.md"),
        ("when two servers want one port", "infra/port-conflict.md"),
        ("infra", "infra/README.md"),
        ("rust workspace", "rust/workspace.md"),
        ("members", "rust/workspace.md"),
        ("workspace", "rust/workspace.md"),
        ("한글", "한글.md"),
    ],
)
def test_a_note_is_found_by_each_of_its_names(snapshot: Snapshot, key: str, path: str) -> None:
    (note,) = snapshot.named(key, SearchFilters(), 5)
    assert note.path == path
    assert snapshot.hydrate([note.row])[note.row].chunk.ordinal == 0


def test_headings_below_the_first_and_first_lines_are_no_names(snapshot: Snapshot) -> None:
    assert [snapshot.named(key, SearchFilters(), 5) for key in ("more", "첫 줄이다", "readme")] == [
        [],
        [],
        [],
    ]


def test_names_are_found_by_their_words_best_first(snapshot: Snapshot) -> None:
    none = SearchFilters()
    assert paths(snapshot.names_with(Any((Word("port"), Word("conflict"))), none, 9)) == [
        "infra/port-conflict.md"
    ]
    assert paths(snapshot.names_with(Gram("충돌"), none, 9)) == ["infra/port-conflict.md"]
    assert paths(snapshot.names_with(Prefix("work"), none, 9)) == ["rust/workspace.md"]
    assert snapshot.names_with(Word("lock"), none, 9) == []
    both = Any((Word("workspace"), Word("infra"), Word("rust")))
    assert paths(snapshot.names_with(both, none, 1)) == ["rust/workspace.md"]
    assert paths(snapshot.names_with(both, SearchFilters(paths=("infra/**",)), 9)) == ["infra/README.md"]
    assert snapshot.named("infra", SearchFilters((FacetFilter("tag", "all", ("x",)),)), 9) == []


def test_names_come_with_their_kinds(snapshot: Snapshot) -> None:
    (note,) = snapshot.named("workspace", SearchFilters(), 5)
    assert sorted(note.names) == [("name", "workspace"), ("title", "Members"), ("title", "Rust workspace")]


def test_a_note_is_shown_by_a_stated_title_or_by_its_name(vault: Vault) -> None:
    documents, _ = vault.workspace.documents(SearchFilters())
    assert {document.path: document.title for document in documents} == {
        "infra/port-conflict.md": "When two servers want one port",
        "infra/README.md": "infra",
        "rust/workspace.md": "Rust workspace",
        "한글.md": "한글",
    }


def test_tags_and_dates_are_searched_as_words_of_the_title(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    head = "tags: [Gardening, pets/zoo]\ndate: 2026-03-08T10:00:00Z\nupdated: 2026/4/1"
    vault.write("a.md", f"---\n{head}\ncreated: some day\n---\n# A\n\ntext\n")
    vault.ingest()
    (document,), _ = vault.workspace.documents(SearchFilters())
    assert values_of(document.facets, "date") == ("2026-03-08", "2026-04-01")
    for words in ("gardening", "zoo", "2026-03-08", '"2026-04-01" text'):
        assert vault.find(words) == ["a.md"]
    assert vault.rows("SELECT title FROM chunks") == [("A\nGardening\npets/zoo\n2026-03-08\n2026-04-01",)]
    assert vault.workspace.inspect("a.md").document.title == "A"


def test_names_follow_the_note(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    vault.write("old.md", "---\naliases: [grey]\n---\ntext\n")
    vault.ingest()
    (vault.root / "old.md").rename(vault.root / "new.md")
    vault.ingest()
    vault.write("new.md", "---\naliases: [blue]\n---\ntext\n")
    vault.ingest()
    with index_in(str(vault.data)).reader.snapshot() as snapshot:
        found = {
            key: paths(snapshot.named(key, SearchFilters(), 5)) for key in ("old", "new", "grey", "blue")
        }
        words = {word: paths(snapshot.names_with(Word(word), SearchFilters(), 5)) for word in found}
    assert found == words == {"old": [], "new": ["new.md"], "grey": [], "blue": ["new.md"]}
    assert vault.rows("SELECT title FROM chunks") == [("text\nnew\nblue",)]
    (vault.root / "new.md").unlink()
    vault.ingest()
    assert vault.rows("SELECT count(*) FROM note_names") == [(0,)]
    assert vault.rows("SELECT count(*) FROM names_fts WHERE names_fts MATCH 'new'") == [(0,)]
