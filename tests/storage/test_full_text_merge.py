"""A merge removes deleted rows from the full text and changes no result."""

from __future__ import annotations

import sqlite3
from unittest import mock

import pytest

from kebab_tui.domain.errors import DiskFullError, StoreBusyError, StoreError
from kebab_tui.domain.ids import SourceId
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite import writer as writing
from kebab_tui.storage.sqlite.writer import StoreWriter
from tests.notes import a_note
from tests.storage.test_writer import matches

NOTES = 300


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of a page, so that a small index takes many."""
    monkeypatch.setattr(writing, "_MERGE_PAGES", 1)


@pytest.fixture
def rewritten(writer: StoreWriter) -> StoreWriter:
    """Each note in its third version; the full text still has rows of the first two."""
    for version in range(3):
        texts = [f"fox {number} in its form {version}, a word{number * version}" for number in range(NOTES)]
        notes = [a_note(f"{number}.md", text) for number, text in enumerate(texts)]
        for first in range(0, NOTES, 30):
            writer.apply(notes[first : first + 30])
    return writer


def segments(database: sqlite3.Connection) -> int:
    return int(database.execute("SELECT count(DISTINCT segid) FROM chunks_fts_idx").fetchone()[0])


def gone(database: sqlite3.Connection) -> int:
    row = database.execute("SELECT value FROM meta WHERE key = 'gone_from_full_text'").fetchone()
    return row[0] if row else 0


def pages(database: sqlite3.Connection) -> int:
    return int(database.execute("SELECT sum(length(block)) FROM chunks_fts_data").fetchone()[0])


def test_deleted_rows_are_merged_away(rewritten: StoreWriter, database: sqlite3.Connection) -> None:
    before, found = pages(database), matches(database, "fox")
    assert gone(database) == 2 * NOTES and segments(database) > 1
    rewritten.merge_full_text()
    assert segments(database) == 1 and pages(database) < before
    assert gone(database) == 0
    assert matches(database, "fox") == found
    assert matches(database, '"form 1"') == [] and len(matches(database, '"form 2"')) == NOTES


def test_the_full_text_is_complete_at_each_step(rewritten: StoreWriter, database: sqlite3.Connection) -> None:
    found, asked = matches(database, "fox form"), 0

    def look() -> bool:
        nonlocal asked
        asked += 1
        assert matches(database, "fox form") == found
        return False

    rewritten.merge_full_text(look)
    assert asked > 2


def test_an_interrupted_merge_is_resumed(rewritten: StoreWriter, database: sqlite3.Connection) -> None:
    steps = iter([False, False, True])
    rewritten.merge_full_text(lambda: next(steps))
    assert gone(database) == 2 * NOTES
    rewritten.apply([a_note("another.md", "fox among the others")])
    rewritten.merge_full_text()
    assert gone(database) == 0 and segments(database) == 1
    assert len(matches(database, "fox")) == NOTES + 1


def test_few_deleted_rows_are_not_merged(writer: StoreWriter, database: sqlite3.Connection) -> None:
    for version in range(2):
        writer.apply([a_note(f"{number}.md", f"fox {number} {version}") for number in range(100)])
    before = segments(database)
    writer.merge_full_text()
    assert gone(database) == 100 and segments(database) == before


def test_a_small_share_of_deleted_rows_is_not_merged(
    writer: StoreWriter, database: sqlite3.Connection
) -> None:
    writer.apply([a_note("long.md", *(f"passage {number}" for number in range(3000)))])
    writer.apply([a_note("a.md", *(f"before {number}" for number in range(550)))])
    writer.apply([a_note("a.md", "all gone")])
    writer.merge_full_text()
    assert gone(database) == 550


def test_a_removed_folder_counts(rewritten: StoreWriter, database: sqlite3.Connection) -> None:
    rewritten.remove_source(SourceId("notes"))
    assert gone(database) == 3 * NOTES
    rewritten.merge_full_text()
    assert gone(database) == 0 and matches(database, "fox") == []


def test_a_new_title_counts_as_deleted_rows(writer: StoreWriter, database: sqlite3.Connection) -> None:
    for title in ("first", "second", "third"):
        writer.apply([a_note(f"{number}.md", f"fox {number}", title=title) for number in range(NOTES)])
    assert gone(database) == 2 * NOTES
    writer.merge_full_text()
    assert matches(database, "second") == [] and len(matches(database, "third")) == NOTES
    assert gone(database) == 0


def test_the_next_writer_merges(rewritten: StoreWriter, folder: DataFolder) -> None:
    rewritten.close()
    later = StoreWriter(folder)
    later.merge_full_text()
    later.close()
    database = sqlite3.connect(folder.database)
    assert gone(database) == 0 and segments(database) == 1
    database.close()


def test_the_number_of_rows_is_checked_only_after_deletions(writer: StoreWriter) -> None:
    writer.apply([a_note("a.md", "fox")])
    writer.merge_full_text()
    with mock.patch.object(StoreWriter, "_needs_merging") as asked:
        writer.merge_full_text()
        writer.apply([a_note("b.md", "fox")])
        writer.merge_full_text()
        asked.assert_not_called()
        writer.apply([a_note("b.md", "dog")])
        writer.merge_full_text()
        asked.assert_called_once()


@pytest.mark.parametrize("trouble", [DiskFullError, StoreBusyError])
def test_a_failed_merge_is_not_an_error(
    rewritten: StoreWriter, database: sqlite3.Connection, trouble: type[StoreError]
) -> None:
    with mock.patch.object(StoreWriter, "_merge_step", side_effect=trouble("not now", "later")):
        rewritten.merge_full_text()
    assert gone(database) == 2 * NOTES
    rewritten.apply([a_note("0.md", "another fox")])
    rewritten.merge_full_text()
    assert gone(database) == 0
