"""Full text that speaks of what is gone is merged away, and nothing that is found changes."""

from __future__ import annotations

import sqlite3
from unittest import mock

import pytest

from kebab_tui.domain.errors import DiskFullError, StoreBusyError, StoreError
from kebab_tui.domain.ids import SourceId
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite import writer as writing
from kebab_tui.storage.sqlite.writer import Writer
from tests.notes import a_note
from tests.storage.test_writer import matches

NOTES = 300


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of a page, so that a small index takes many."""
    monkeypatch.setattr(writing, "_MERGE_PAGES", 1)


@pytest.fixture
def rewritten(writer: Writer) -> Writer:
    """Each note in its third version; of the first two the full text still knows."""
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


def test_what_is_gone_is_merged_away(rewritten: Writer, database: sqlite3.Connection) -> None:
    before, found = pages(database), matches(database, "fox")
    assert gone(database) == 2 * NOTES and segments(database) > 1
    rewritten.merge_full_text()
    assert segments(database) == 1 and pages(database) < before
    assert gone(database) == 0
    assert matches(database, "fox") == found
    assert matches(database, '"form 1"') == [] and len(matches(database, '"form 2"')) == NOTES


def test_the_full_text_is_whole_at_each_step(rewritten: Writer, database: sqlite3.Connection) -> None:
    found, asked = matches(database, "fox form"), 0

    def look() -> bool:
        nonlocal asked
        asked += 1
        assert matches(database, "fox form") == found
        return False

    rewritten.merge_full_text(look)
    assert asked > 2


def test_a_merge_that_was_cut_short_is_taken_up_again(
    rewritten: Writer, database: sqlite3.Connection
) -> None:
    steps = iter([False, False, True])
    rewritten.merge_full_text(lambda: next(steps))
    assert gone(database) == 2 * NOTES
    rewritten.apply([a_note("another.md", "fox among the others")])
    rewritten.merge_full_text()
    assert gone(database) == 0 and segments(database) == 1
    assert len(matches(database, "fox")) == NOTES + 1


def test_little_that_is_gone_is_left(writer: Writer, database: sqlite3.Connection) -> None:
    for version in range(2):
        writer.apply([a_note(f"{number}.md", f"fox {number} {version}") for number in range(100)])
    before = segments(database)
    writer.merge_full_text()
    assert gone(database) == 100 and segments(database) == before


def test_a_small_part_of_much_is_left(writer: Writer, database: sqlite3.Connection) -> None:
    writer.apply([a_note("long.md", *(f"passage {number}" for number in range(3000)))])
    writer.apply([a_note("a.md", *(f"before {number}" for number in range(550)))])
    writer.apply([a_note("a.md", "all gone")])
    writer.merge_full_text()
    assert gone(database) == 550


def test_a_folder_that_was_forgotten_counts(rewritten: Writer, database: sqlite3.Connection) -> None:
    rewritten.remove_source(SourceId("notes"))
    assert gone(database) == 3 * NOTES
    rewritten.merge_full_text()
    assert gone(database) == 0 and matches(database, "fox") == []


def test_another_title_leaves_something_behind_too(writer: Writer, database: sqlite3.Connection) -> None:
    for title in ("first", "second", "third"):
        writer.apply([a_note(f"{number}.md", f"fox {number}", title=title) for number in range(NOTES)])
    assert gone(database) == 2 * NOTES
    writer.merge_full_text()
    assert matches(database, "second") == [] and len(matches(database, "third")) == NOTES
    assert gone(database) == 0


def test_the_next_writer_knows_of_it(rewritten: Writer, folder: DataFolder) -> None:
    rewritten.close()
    later = Writer(folder)
    later.merge_full_text()
    later.close()
    database = sqlite3.connect(folder.database)
    assert gone(database) == 0 and segments(database) == 1
    database.close()


def test_it_asks_once_until_something_is_taken_away(writer: Writer) -> None:
    writer.apply([a_note("a.md", "fox")])
    writer.merge_full_text()
    with mock.patch.object(Writer, "_needs_merging") as asked:
        writer.merge_full_text()
        writer.apply([a_note("b.md", "fox")])
        writer.merge_full_text()
        asked.assert_not_called()
        writer.apply([a_note("b.md", "dog")])
        writer.merge_full_text()
        asked.assert_called_once()


@pytest.mark.parametrize("trouble", [DiskFullError, StoreBusyError])
def test_what_goes_wrong_is_no_reason_to_fail(
    rewritten: Writer, database: sqlite3.Connection, trouble: type[StoreError]
) -> None:
    with mock.patch.object(Writer, "_merge_step", side_effect=trouble("not now", "later")):
        rewritten.merge_full_text()
    assert gone(database) == 2 * NOTES
    rewritten.apply([a_note("0.md", "another fox")])
    rewritten.merge_full_text()
    assert gone(database) == 0
