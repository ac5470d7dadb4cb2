"""The migration to the present schema."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partialmethod
from pathlib import Path

import pytest
from sqlite_utils.migrations import Migrations

from kebab_tui.domain.errors import NotIndexedError, StoreTooNewError
from kebab_tui.domain.facets import Facet, values_of
from kebab_tui.domain.query import FacetFilter, SearchFilters
from kebab_tui.search.ports import FieldWeights
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite import schema
from kebab_tui.storage.sqlite.connection import open_reader, open_writer
from kebab_tui.storage.sqlite.reader import StoreReader


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "kebab.sqlite")


def shape(path: str) -> list[tuple[str, str]]:
    connection = sqlite3.connect(path)
    rows = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name"
    ).fetchall()
    connection.close()
    return rows


def test_a_new_database_gets_the_present_schema_and_our_mark(path: str) -> None:
    connection = open_writer(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (schema.SCHEMA_VERSION,)
    assert connection.execute("PRAGMA application_id").fetchone() == (schema.APPLICATION_ID,)
    connection.close()


def test_opening_again_changes_nothing(path: str) -> None:
    open_writer(path).close()
    before = shape(path)
    open_writer(path).close()
    assert shape(path) == before


def test_a_failed_step_is_rolled_back_and_repeated(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(schema, "UPDATE_TRIGGER", "CREATE TRIGGER broken AFTER nonsense")
        with pytest.raises(Exception, match="near"):
            open_writer(path)
    assert not any(name == "chunks" for name, _ in shape(path))
    open_writer(path).close()
    assert any(name == "chunks_au" for name, _ in shape(path))


def test_a_reader_of_a_half_made_database_asks_for_an_ingest(path: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
    connection.close()
    with pytest.raises(NotIndexedError):
        open_reader(path)
    open_writer(path).close()
    open_reader(path).close()


@pytest.mark.parametrize("opened", [open_reader, open_writer])
def test_a_newer_schema_is_rejected_and_unchanged(
    path: str, opened: Callable[[str], sqlite3.Connection]
) -> None:
    open_writer(path).close()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
    connection.close()
    before = Path(path).read_bytes()
    with pytest.raises(StoreTooNewError, match="newer version") as refused:
        opened(path)
    assert "--data-dir" in refused.value.hint
    assert Path(path).read_bytes() == before


def test_every_statement_of_the_schema_is_executed(path: str) -> None:
    open_writer(path).close()
    names = {name for name, _ in shape(path)}
    made = {
        line.split()[2].partition("(")[0]
        for line in (schema.TABLES + schema.FACETS_TABLE + schema.NAMES_TABLE).splitlines()
        if line.startswith(("CREATE TABLE", "CREATE INDEX"))
    }
    assert made - names == {"document_tags", "document_tags_by_tag"}


@pytest.fixture
def first_schema(path: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """An index of schema 1 with two notes."""
    with monkeypatch.context() as patch:
        patch.setattr(Migrations, "apply", partialmethod(Migrations.apply, stop_before="0002_same_tables"))
        connection = open_writer(path)
    connection.execute(
        "INSERT INTO sources VALUES ('notes', 'Notes', '', CAST('/notes' AS BLOB), '[]', '[]', 3, '[]', '', "
        "1.0, 'indexed', 0, '')"
    )
    for doc, aliases in (("a", '["Zweitname", "별명"]'), ("b", "[]")):
        connection.execute(
            "INSERT INTO documents VALUES (?1, 'notes', CAST(?1 AS BLOB), ?1, 'Title', 'note', 'en', NULL, "
            "?2, '[]', 1, 1, 1, 1, '', 'made/by', 'ok', '', 1, 1)",
            (doc, aliases),
        )
    connection.executemany(
        "INSERT INTO document_tags VALUES (?, ?, ?)", [("a", "rust", "Rust"), ("a", "ops/linux", "Ops/Linux")]
    )
    connection.close()
    return path


def test_tags_and_aliases_of_schema_1_become_facets(first_schema: str) -> None:
    open_writer(first_schema).close()
    reader = StoreReader(DataFolder(str(Path(first_schema).parent)), FieldWeights())
    with reader.catalogue() as catalogue:
        (a, b), _ = catalogue.documents(SearchFilters())
        assert values_of(a.facets, "tag") == ("Ops/Linux", "Rust")
        assert values_of(a.facets, "alias") == ("Zweitname", "별명")
        assert (a.name, a.facets[-1], b.facets) == ("a", Facet("name", "a"), (Facet("name", "b"),))
        for tag in ("RUST", "ops"):
            tagged, _ = catalogue.documents(SearchFilters((FacetFilter("tag", "all", (tag,)),)))
            assert tagged == [a]
    reader.close()


def test_an_upgraded_index_has_the_shape_of_a_new_one(first_schema: str, tmp_path: Path) -> None:
    open_writer(first_schema).close()
    (tmp_path / "new").mkdir()
    new = str(tmp_path / "new" / "kebab.sqlite")
    open_writer(new).close()
    assert shape(first_schema) == shape(new)


def test_an_interrupted_upgrade_leaves_schema_1_and_is_repeated(
    first_schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = shape(first_schema)
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MOVE_TO_FACETS", schema.MOVE_TO_FACETS + "DROP TABLE nothing;\n")
        with pytest.raises(Exception, match="nothing"):
            open_writer(first_schema)
    assert shape(first_schema) == before
    open_writer(first_schema).close()
    assert any(name == "facets" for name, _ in shape(first_schema))
