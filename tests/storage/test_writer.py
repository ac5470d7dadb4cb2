"""The writer keeps documents, chunks and full text consistent."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import pytest

from kebab_tui.domain.change import Move, MoveNotes, RemoveNote, SaveNote, TouchNote
from kebab_tui.domain.document import Fingerprint
from kebab_tui.domain.errors import StoreError
from kebab_tui.domain.ids import DocId
from kebab_tui.storage.sqlite.batch import Batch
from kebab_tui.storage.sqlite.recovery import full_text_error
from kebab_tui.storage.sqlite.writer import StoreWriter
from tests.notes import SOURCE, a_note, a_source

Rows = list[tuple[object, ...]]


def rows_of(database: sqlite3.Connection, statement: str, *values: object) -> Rows:
    return database.execute(statement, values).fetchall()


def matches(database: sqlite3.Connection, query: str) -> list[str]:
    statement = (
        "SELECT c.text FROM chunks_fts f JOIN chunks c ON c.id = f.rowid WHERE chunks_fts MATCH ? "
        "ORDER BY c.id"
    )
    return [text for (text,) in database.execute(statement, (query,))]


def in_step(database: sqlite3.Connection) -> bool:
    """Every chunk has its row in the full text, and nothing else has."""
    chunks = rows_of(database, "SELECT id FROM chunks ORDER BY id")
    return chunks == rows_of(database, "SELECT id FROM chunks_fts_docsize ORDER BY id")


def test_a_saved_note_is_found(writer: StoreWriter, database: sqlite3.Connection) -> None:
    applied = writer.apply([a_note("a.md", "the quick brown fox", "a lazy dog")])
    assert applied.chunks_added == 2
    assert matches(database, "foxes") == ["the quick brown fox"]
    assert in_step(database)


def test_the_full_text_has_the_columns_of_the_specification(
    writer: StoreWriter, database: sqlite3.Connection
) -> None:
    columns = [row[1] for row in rows_of(database, "PRAGMA table_info(chunks_fts)")]
    assert columns == ["chunk_id", "doc_id", "heading_path", "text", "title", "grams"]


def test_the_three_triggers_have_the_names_of_the_specification(
    writer: StoreWriter, database: sqlite3.Connection
) -> None:
    names = rows_of(
        database,
        "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'chunks' ORDER BY name",
    )
    assert names == [("chunks_ad",), ("chunks_ai",), ("chunks_au",)]


def test_an_edit_indexes_only_the_chunks_whose_text_changed(
    writer: StoreWriter, database: sqlite3.Connection
) -> None:
    writer.apply([a_note("a.md", "first", "second", "third")])
    before = dict(database.execute("SELECT text, id FROM chunks"))
    applied = writer.apply([a_note("a.md", "first", "new second", "third")])
    after = dict(database.execute("SELECT text, id FROM chunks"))
    assert (applied.chunks_added, applied.chunks_removed, applied.chunks_kept) == (1, 1, 2)
    assert (after["first"], after["third"]) == (before["first"], before["third"])
    assert after["new second"] > max(before.values()), "row ids are never reused"
    assert in_step(database)


def test_an_unchanged_chunk_keeps_its_id_while_its_lines_move(
    writer: StoreWriter, database: sqlite3.Connection
) -> None:
    writer.apply([a_note("a.md", "first", "second")])
    statement = "SELECT id, chunk_id, line_first FROM chunks WHERE text = 'second'"
    row, chunk_id, line = database.execute(statement).fetchone()
    writer.apply([a_note("a.md", "first\nwith\nmore", "second")])
    assert rows_of(database, statement) == [(row, chunk_id, line + 2)]


def test_equal_passages_of_one_note_have_different_ids(
    writer: StoreWriter, database: sqlite3.Connection
) -> None:
    writer.apply([a_note("a.md", "same", "same", "same")])
    assert rows_of(database, "SELECT count(DISTINCT chunk_id) FROM chunks") == [(3,)]


def test_a_removed_note_leaves_no_orphan(writer: StoreWriter, database: sqlite3.Connection) -> None:
    note = a_note("a.md", "gone soon", tags=("x",))
    writer.apply([note])
    applied = writer.apply([RemoveNote(note.document.doc_id)])
    assert applied.chunks_removed == 1
    for table in ("documents", "chunks", "facets", "chunks_fts_docsize"):
        assert rows_of(database, f"SELECT count(*) FROM {table}") == [(0,)]
    assert matches(database, "gone") == []


def test_a_moved_note_keeps_its_id_and_its_chunks(writer: StoreWriter, database: sqlite3.Connection) -> None:
    note = a_note("a.md", "text")
    writer.apply([note])
    chunks = rows_of(database, "SELECT id, chunk_id, doc_id FROM chunks")
    writer.apply([MoveNotes((Move(note.document.doc_id, "b/c.md", b"b/c.md"),))])
    assert rows_of(database, "SELECT doc_id, path FROM documents") == [(note.document.doc_id, "b/c.md")]
    assert rows_of(database, "SELECT id, chunk_id, doc_id FROM chunks") == chunks


def test_two_notes_can_swap_their_places(writer: StoreWriter, database: sqlite3.Connection) -> None:
    one, two = a_note("1.md", "one"), a_note("2.md", "two")
    writer.apply([one, two])
    swap = (Move(one.document.doc_id, "2.md", b"2.md"), Move(two.document.doc_id, "1.md", b"1.md"))
    writer.apply([MoveNotes(swap)])
    assert dict(database.execute("SELECT path, doc_id FROM documents")) == {
        "1.md": two.document.doc_id,
        "2.md": one.document.doc_id,
    }


def test_a_new_title_is_found_in_every_chunk(writer: StoreWriter, database: sqlite3.Connection) -> None:
    writer.apply([a_note("a.md", "one", "two", title="Old")])
    ids = rows_of(database, "SELECT id FROM chunks ORDER BY id")
    writer.apply([a_note("a.md", "one", "two", title="새로운 이름")])
    assert matches(database, "old") == []
    assert matches(database, 'grams : "이름"') == ["one", "two"]
    assert rows_of(database, "SELECT id FROM chunks ORDER BY id") == ids


def test_a_bulk_load_bypasses_the_trigger_with_the_same_result(
    writer: StoreWriter, database: sqlite3.Connection
) -> None:
    texts = [f"word{n} 충돌은 {n}" for n in range(50)]
    applied = writer.apply([a_note("bulk.md", *texts)])
    assert applied.chunks_added == 50
    assert in_step(database)
    assert len(matches(database, 'grams : "충돌"')) == 50
    assert matches(database, "word7") == ["word7 충돌은 7"]
    writer.apply([a_note("one.md", "after the load")])
    assert matches(database, "after") == ["after the load"], "the trigger is back"


def test_without_changes_the_revision_stays(writer: StoreWriter, database: sqlite3.Connection) -> None:
    note = a_note("a.md", "text")
    first = writer.apply([note])
    touched = writer.apply([TouchNote(note.document.doc_id, note.document.fingerprint)])
    assert touched.revision == first.revision
    assert rows_of(database, "SELECT value FROM meta WHERE key = 'corpus_revision'") == [(first.revision,)]


def test_the_change_log_lists_added_and_removed_chunks(
    writer: StoreWriter, database: sqlite3.Connection
) -> None:
    first = writer.apply([a_note("a.md", "one", "two")])
    second = writer.apply([a_note("a.md", "one", "other")])
    log = rows_of(database, "SELECT revision, op, count(*) FROM changes GROUP BY 1, 2 ORDER BY 1, 2")
    assert log == [(first.revision, "add", 2), (second.revision, "add", 1), (second.revision, "remove", 1)]


def test_a_failing_change_rolls_back_the_batch(writer: StoreWriter, database: sqlite3.Connection) -> None:
    writer.apply([a_note("a.md", "safe")])
    stranger = a_note("b.md", "lost", source=SOURCE)
    broken = SaveNote(
        a_note("c.md", "x", source=type(SOURCE)("nobody")).document,
        stranger.passages,
        None,
        "chunker",
        "made",
    )
    with pytest.raises(StoreError):
        writer.apply([stranger, broken])
    assert rows_of(database, "SELECT text FROM chunks") == [("safe",)]
    assert in_step(database)
    assert writer.apply([stranger]).chunks_added == 1


def test_removing_a_source_removes_its_notes_only(writer: StoreWriter, database: sqlite3.Connection) -> None:
    writer.save_sources([a_source("/other", "other")])
    writer.apply([a_note("a.md", "mine"), a_note("b.md", "theirs", source=type(SOURCE)("other"))])
    writer.remove_source(type(SOURCE)("other"))
    assert rows_of(database, "SELECT text FROM chunks") == [("mine",)]
    assert in_step(database)


def test_a_full_text_rebuild_repairs_drift_and_changes_nothing_else(
    writer: StoreWriter, database: sqlite3.Connection
) -> None:
    writer.apply([a_note("a.md", "alpha 충돌은", "beta installation")])
    fresh = rows_of(
        database, "SELECT rowid, bm25(chunks_fts) FROM chunks_fts WHERE chunks_fts MATCH 'alpha OR beta'"
    )
    words = rows_of(database, "SELECT * FROM words")
    writer._connection.execute("DELETE FROM chunks_fts_docsize")
    writer._connection.execute("DELETE FROM words")
    for _ in range(2):
        writer.rebuild_full_text()
        assert in_step(database)
        assert fresh == rows_of(
            database, "SELECT rowid, bm25(chunks_fts) FROM chunks_fts WHERE chunks_fts MATCH 'alpha OR beta'"
        )
        assert rows_of(database, "SELECT * FROM words") == words


def test_another_index_configuration_is_rebuilt_when_the_writer_opens(
    writer: StoreWriter, database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.apply([a_note("a.md", "alpha")])
    monkeypatch.setattr("kebab_tui.storage.sqlite.schema.GRAMS_VERSION", 999)
    before = rows_of(database, "SELECT value FROM meta WHERE key = 'fts_signature'")
    StoreWriter(writer._folder).close()
    assert rows_of(database, "SELECT value FROM meta WHERE key = 'fts_signature'") != before
    assert matches(database, "alpha") == ["alpha"]


def test_removing_an_unknown_document_is_no_error(writer: StoreWriter) -> None:
    assert writer.apply([RemoveNote(DocId("f" * 32))]).chunks_removed == 0


UNSTORABLE = {
    "a number beyond 64 bits": a_note("odd.md", "odd", mtime_ns=2**63),
    "half a character": replace(a_note("odd.md", "odd"), made_by="\udc80"),
    "no text at all": replace(a_note("odd.md", "odd"), made_by=object()),  # type: ignore[arg-type]
    "a value of no known kind": replace(
        a_note("odd.md"),
        passages=(replace(a_note("odd.md", "odd").passages[0], kind="poem"),),  # type: ignore[arg-type]
    ),
}


@pytest.mark.parametrize("odd", UNSTORABLE.values(), ids=UNSTORABLE)
def test_a_note_that_cannot_be_stored_fails_alone(
    writer: StoreWriter, database: sqlite3.Connection, odd: SaveNote
) -> None:
    applied = writer.apply([a_note("a.md", "alpha"), odd, a_note("z.md", "omega", "last")])
    assert list(applied.failed) == [1] and "could not be stored" in applied.failed[1]
    assert (applied.chunks_added, len(applied.each)) == (3, 3)
    assert matches(database, "alpha OR omega OR odd") == ["alpha", "omega"]
    states = rows_of(database, "SELECT path, state, reason FROM documents ORDER BY path")
    assert states == [("a.md", "ok", ""), ("odd.md", "failed", applied.failed[1]), ("z.md", "ok", "")]
    assert in_step(database) and full_text_error(writer._connection) == ""
    again = writer.apply([odd])
    assert (again.revision, list(again.failed)) == (applied.revision, [0]), "no news a second time"


def test_a_note_that_can_no_longer_be_stored_keeps_its_last_text(
    writer: StoreWriter, database: sqlite3.Connection
) -> None:
    writer.apply([a_note("odd.md", "as it was")])
    revision = writer.apply([a_note("odd.md", "as it is", mtime_ns=2**63)]).revision
    assert matches(database, "was") == ["as it was"]
    assert rows_of(database, "SELECT state FROM documents") == [("failed",)]
    assert writer.apply([a_note("odd.md", "as it is")]).revision == revision + 1
    assert matches(database, "was OR is") == ["as it is"]
    assert rows_of(database, "SELECT state FROM documents") == [("ok",)]


def test_a_stamp_that_cannot_be_stored_fails_its_note(
    writer: StoreWriter, database: sqlite3.Connection
) -> None:
    note = a_note("odd.md", "odd")
    writer.apply([note])
    writer.apply([TouchNote(note.document.doc_id, Fingerprint(1, 2, 3, 2**63))])
    assert rows_of(database, "SELECT state FROM documents") == [("failed",)]


def test_a_second_note_at_one_path_fails_the_first(writer: StoreWriter, database: sqlite3.Connection) -> None:
    writer.apply([a_note("a.md", "alpha")])
    other = a_note("b.md", "beta")
    writer.apply([replace(other, document=replace(other.document, raw_path=b"a.md"))])
    assert rows_of(database, "SELECT path, state FROM documents") == [("a.md", "failed")]


@pytest.mark.parametrize("code", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_CORRUPT])
def test_a_disk_fault_fails_no_note(
    writer: StoreWriter, database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    error = (sqlite3.DatabaseError if code == sqlite3.SQLITE_CORRUPT else sqlite3.OperationalError)(
        "bad disk"
    )
    error.sqlite_errorcode = code
    monkeypatch.setattr(Batch, "_save", lambda *_: (_ for _ in ()).throw(error))
    with pytest.raises(StoreError):
        writer.apply([a_note("a.md", "alpha")])
    assert rows_of(database, "SELECT * FROM documents") == []


def test_an_upgrade_raises_the_revision_so_that_open_screens_search_again(
    writer: StoreWriter, database: sqlite3.Connection
) -> None:
    revision = "SELECT value FROM meta WHERE key = 'corpus_revision'"
    before = rows_of(database, revision)
    writer.set_made_by("parse-1/1:1200-4000")
    assert rows_of(database, revision) == before, "no answer said that a new index is stale"
    writer.set_made_by("parse-1/2:1200-4000")
    assert rows_of(database, revision) != before
