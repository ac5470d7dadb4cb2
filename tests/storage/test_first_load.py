"""A first load leaves out indexes with random keys, whatever ends it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from kebab_tui.domain.change import RemoveNote
from kebab_tui.domain.facets import values_of
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.query import FacetFilter, SearchFilters
from kebab_tui.search.ports import FieldWeights
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite import first_load, rows
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.writer import StoreWriter
from tests.notes import a_note, a_source

ALL = {"chunks_by_name", "chunks_by_vector", "facets_by_value"}
MANY = 2_000


def left_out(database: sqlite3.Connection) -> set[str]:
    there = {name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'index'")}
    return ALL - there


def test_a_first_load_makes_them_at_its_end(
    writer: StoreWriter, reader: StoreReader, database: sqlite3.Connection
) -> None:
    before = database.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
    writer.begin_load(MANY)
    assert left_out(database) == ALL
    writer.apply([a_note("a.md", "the quick brown fox")])
    assert left_out(database) == ALL, "also after a commit"
    with reader.catalogue() as catalogue:
        (chunk_id,) = database.execute("SELECT chunk_id FROM chunks").fetchone()
        assert [chunk.chunk_id for chunk in catalogue.chunks_named(chunk_id[:10])] == [chunk_id]
    writer.end_load()
    assert database.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall() == before
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_few_files_or_few_beside_those_known_are_no_first_load(
    writer: StoreWriter, database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.begin_load(MANY - 1)
    assert not left_out(database)
    monkeypatch.setattr(first_load, "_FEWEST_FILES", 2)
    writer.apply([a_note(f"{number}.md", f"text {number}") for number in range(5)])
    writer.begin_load(2)
    assert not left_out(database)
    writer.begin_load(3)
    assert left_out(database)


def test_that_of_vectors_stays_where_there_are_vectors(
    writer: StoreWriter, database: sqlite3.Connection
) -> None:
    writer.apply([a_note("a.md", "text")])
    (text_hash,) = database.execute("SELECT embed_hash FROM chunks").fetchone()
    writer.save_vectors("m", [(text_hash, bytes(4))])
    writer.begin_load(MANY)
    assert left_out(database) == ALL - {"chunks_by_vector"}


FACETS = (
    "SELECT doc_id, ordinal, kind, folded, value, line, target, extra FROM facets ORDER BY doc_id, ordinal"
)


def changes(writer: StoreWriter, load: bool, folder: DataFolder) -> StoreWriter:
    """Some commits, with a kill between them; the first note is there before a load begins."""
    writer.apply([a_note("before.md", "text", tags=("old", "kept"), names={"alias": "Early"})])
    if load:
        writer.begin_load(MANY)
    writer.apply([a_note(f"{number}.md", "text", tags=(f"t{number}", "all")) for number in range(9, 0, -1)])
    writer.apply([a_note("3.md", "other text", tags=("changed",))])
    writer.close(sealing=False)
    writer = StoreWriter(folder)
    if load:
        writer.begin_load(MANY)
    writer.apply([RemoveNote(a_note("4.md", "").document.doc_id)])
    writer.apply([a_note("before.md", "text", tags=("kept",)), a_note("last.md", "text", tags=("all",))])
    return writer


def test_facets_are_found_while_they_are_loaded_and_afterwards(folder: DataFolder, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = DataFolder(str(tmp_path / "other"))
    found = []
    for place, load in ((folder, True), (other, False)):
        writer = StoreWriter(place)
        writer.save_sources([a_source()])
        writer = changes(writer, load, place)
        database, reader = sqlite3.connect(place.database), StoreReader(place, FieldWeights())
        meanwhile = database.execute(FACETS).fetchall()
        tagged = SearchFilters(facets=(FacetFilter("tag", "any", ("all",)),))
        with reader.catalogue() as catalogue:
            notes, total = catalogue.documents(tagged)
            tags = catalogue.values("tag")
        assert total == 8 and all(values_of(note.facets, "tag")[-1] == "all" for note in notes)
        assert left_out(database) == (ALL if load else set())
        writer.end_load()
        assert not left_out(database)
        assert database.execute(FACETS).fetchall() == meanwhile
        with reader.catalogue() as catalogue:
            assert (catalogue.documents(tagged), catalogue.values("tag")) == ((notes, total), tags)
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        tables = sorted(database.execute("SELECT type, name, sql FROM sqlite_schema").fetchall())
        by_path = database.execute("SELECT path, tag FROM tags ORDER BY 1, 2").fetchall()
        found.append((meanwhile, by_path, tables))
        reader.close()
        database.close()
        writer.close()
    assert found[0] == found[1]


def test_a_search_finds_notes_by_their_names_without_reading_all_facets(
    writer: StoreWriter, reader: StoreReader, database: sqlite3.Connection
) -> None:
    writer.begin_load(MANY)
    writer.apply([a_note("a.md", "text", names={"alias": "Early"})])
    with reader.snapshot() as snapshot:
        assert [note.path for note in snapshot.named("early", SearchFilters(), 3)] == ["a.md"]
    by_name = (
        f"EXPLAIN QUERY PLAN SELECT doc_id, 0 FROM facets WHERE {rows.IS_NAME} AND folded = ? GROUP BY 1"
    )
    assert left_out(database) == ALL  # EXPLAIN alone does not read a changed schema
    assert any("loaded_names" in step[3] for step in database.execute(by_name, ("early",)))


def test_a_source_that_goes_during_a_load_takes_its_facets_along(folder: DataFolder) -> None:
    writer = StoreWriter(folder)
    writer.save_sources([a_source(), a_source("/other", "other")])
    writer.begin_load(MANY)
    writer.apply([a_note("a.md", "text", tags=("a",)), a_note("b.md", "text", source=SourceId("other"))])
    writer.apply([a_note("c.md", "text", tags=("c",), source=SourceId("other"))])
    writer.remove_source(SourceId("other"))
    writer.apply([a_note("d.md", "text", tags=("d",))])
    writer.close()
    database = sqlite3.connect(folder.database)
    assert database.execute("SELECT path, tag FROM tags ORDER BY path").fetchall() == [
        ("a.md", "a"),
        ("d.md", "d"),
    ]
    assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    database.close()


@pytest.mark.parametrize("ending", ["close", "save_vectors", "load"])
def test_a_killed_load_leaves_them_to_the_next_writer(folder: DataFolder, ending: str) -> None:
    killed = StoreWriter(folder)
    killed.save_sources([a_source()])
    killed.begin_load(MANY)
    killed.apply([a_note("a.md", "text")])
    killed.close(sealing=False)
    writer = StoreWriter(folder)
    database = sqlite3.connect(folder.database)
    assert left_out(database) == ALL
    match ending:
        case "close":
            writer.close()
        case "save_vectors":
            writer.save_vectors("m", [(b"hash", bytes(4))])
        case _:
            writer.end_load()
    assert not left_out(database)
    database.close()
    writer.close()
