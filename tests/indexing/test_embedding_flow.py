"""Vectors while notes keep changing: what was saved last comes first, and nothing is asked twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest

from kebab_tui.indexing.callbacks import Callbacks
from kebab_tui.indexing.embedding_flow import EmbeddingFlow
from kebab_tui.indexing.embedding_job import EmbeddingProgress, EmbeddingReport
from kebab_tui.search.ports import FieldWeights, Vector
from kebab_tui.store.changes import SaveNote
from kebab_tui.store.folder import DataFolder
from kebab_tui.store.reader import StoreReader
from kebab_tui.store.writer import Writer
from tests.meaning import MODEL, at_cosine
from tests.notes import a_note, a_source


class Desk:
    """A store, and one flow over it; the encoder remembers what it read."""

    def __init__(self, place: Path) -> None:
        self.folder = DataFolder(str(place))
        self.writer = Writer(self.folder, bulk_chunks=300)
        self.writer.save_source(a_source())
        self.reader = StoreReader(self.folder, FieldWeights())
        self.flow = EmbeddingFlow(self.reader, MODEL)
        self.read: list[str] = []
        self.told: list[EmbeddingProgress] = []

    def passages(self, texts: Sequence[str], cancelled: Callable[[], bool]) -> Iterator[Vector]:
        for text in texts:
            if cancelled():
                return
            self.read.append(text.rsplit("\n", 1)[-1])
            yield at_cosine(0.5)

    def run(self, cancelled: Callable[[], bool] = lambda: False) -> EmbeddingReport:
        self.read.clear()
        return self.flow.run(self.writer, self, Callbacks(cancelled=cancelled, embedding=self.told.append))

    def save(self, *notes: SaveNote) -> None:
        self.writer.apply(notes)

    def missing(self) -> int:
        with self.reader.vectors(MODEL) as source:
            return source.pending_texts()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.reader.close()
    made.writer.close()


def after(number: int) -> Callable[[], bool]:
    """Cancelled from the `number`th question on."""
    asked = count(1)
    return lambda: next(asked) > number


def test_all_that_is_there_is_read_the_latest_changed_first(desk: Desk) -> None:
    desk.save(*(a_note(f"{n}.md", f"text {n}", mtime_ns=age) for n, age in enumerate((5, 9, 7))))
    report = desk.run()
    assert desk.read == ["text 1", "text 2", "text 0"]
    assert (report.embedded, report.cancelled, desk.missing()) == (3, False, 0)


def test_a_saved_note_comes_before_what_waited(desk: Desk) -> None:
    desk.save(*(a_note(f"{n}.md", f"text {n}", mtime_ns=n) for n in range(100)))
    assert desk.run(after(11)).cancelled
    assert len(desk.read) == 10
    desk.save(a_note("new.md", "fresh", mtime_ns=1))
    assert desk.run(after(2)).cancelled
    assert desk.read == ["fresh"]
    assert not desk.run().cancelled
    assert len(desk.read) == 90
    assert desk.missing() == 0


def test_a_saved_note_costs_no_look_at_the_whole_index(desk: Desk) -> None:
    desk.save(*(a_note(f"{n}.md", f"text {n}") for n in range(20)))
    desk.run()
    desk.save(a_note("0.md", "text 0", "fresh"))
    with desk.reader.catalogue() as catalogue:
        connection: sqlite3.Connection = catalogue._connection
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    report = desk.run()
    connection.set_trace_callback(None)
    assert desk.read == ["fresh"]
    assert (report.embedded, report.cancelled) == (1, False)
    assert not [sql for sql in asked if "count(" in sql or "GROUP BY" in sql], asked


def test_nothing_to_do_is_done(desk: Desk) -> None:
    assert not desk.run().cancelled
    assert not desk.run().cancelled
    assert desk.read == []


def test_a_load_that_stands_in_no_log_is_found(desk: Desk) -> None:
    desk.save(a_note("a.md", "alpha"))
    desk.run()
    desk.save(
        *(a_note(f"{n}.md", *(f"text {n} {part}" for part in range(40)), mtime_ns=n) for n in range(10))
    )
    assert desk.run().embedded == 400
    assert desk.missing() == 0


def test_text_that_another_process_has_read_meanwhile_is_no_trouble(desk: Desk) -> None:
    desk.save(a_note("a.md", "alpha"), a_note("b.md", "beta"))
    assert desk.run(after(2)).cancelled
    assert EmbeddingFlow(desk.reader, MODEL).run(desk.writer, desk, Callbacks()).embedded == 1
    assert not desk.run().cancelled
    assert desk.missing() == 0


def test_progress_counts_everything_until_all_is_done_and_begins_anew(desk: Desk) -> None:
    desk.save(*(a_note(f"{n}.md", f"text {n}") for n in range(100)))
    desk.run(after(31))
    desk.save(a_note("new.md", "fresh"))
    desk.run()
    assert (desk.told[-1].done, desk.told[-1].total) == (101, 101)
    desk.save(a_note("newer.md", "fresher"))
    desk.run()
    assert (desk.told[-1].done, desk.told[-1].total) == (1, 1)
