"""A first load leaves out indexes with random keys, whatever ends it."""

from __future__ import annotations

import sqlite3

import pytest

from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite import first_load
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
