"""Every passage gets its vector once, the newest first, whatever interrupts the work."""

from __future__ import annotations

import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from kebab_tui.domain.change import Move, MoveNotes, RemoveNote, SaveNote
from kebab_tui.domain.errors import StoreBusyError
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.query import SearchQuery
from kebab_tui.domain.text import embedded_hash
from kebab_tui.indexing import embed
from kebab_tui.indexing.embed import EmbeddingJob, EmbeddingProgress, EmbeddingReport
from kebab_tui.search.ports import FieldWeights, Vector
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.writer import StoreWriter
from kebab_tui.vectors.sync import VectorFollower
from kebab_tui.workspace import Callbacks
from tests.meaning import DIMS, MODEL, at_cosine
from tests.notes import a_note, a_source
from tests.vault import Vault

pytestmark = pytest.mark.slow


class CountingEncoder:
    """Remembers what it was given; stops at once when cancelled."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def passages(
        self, texts: Iterable[str], cancelled: Callable[[], bool], beginnings: Mapping[str, bytes]
    ) -> Iterator[Vector]:
        for text in texts:
            if cancelled():
                return
            self.read.append(text.rsplit("\n", 1)[-1])
            yield at_cosine(0.5)


class Desk:
    """A store, and jobs on it."""

    def __init__(self, place: Path) -> None:
        self.folder = DataFolder(str(place))
        self.writer = StoreWriter(self.folder)
        self.writer.save_sources([a_source()])
        self.reader = StoreReader(self.folder, FieldWeights())
        self.encoder = CountingEncoder()
        self.told: list[EmbeddingProgress] = []
        self.job = EmbeddingJob(self.reader, MODEL)

    def run(self, cancelled: Callable[[], bool] = lambda: False, model: str = MODEL) -> EmbeddingReport:
        """A job of its own, as a command has."""
        return self._run(EmbeddingJob(self.reader, model), cancelled)

    def go_on(self, cancelled: Callable[[], bool] = lambda: False) -> EmbeddingReport:
        """The same job again and again, as a watcher has."""
        return self._run(self.job, cancelled)

    def _run(self, job: EmbeddingJob, cancelled: Callable[[], bool]) -> EmbeddingReport:
        self.encoder.read.clear()
        return job.run(self.writer, self.encoder, Callbacks(cancelled=cancelled, embedding=self.told.append))

    def vectors(self, model: str = MODEL) -> int:
        with self.reader.vectors(model) as source:
            return source.count().stored

    def close(self) -> None:
        self.reader.close()
        self.writer.close()


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setattr(embed, "_COMMIT_SECONDS", math.inf)  # rounds end by number, not by the clock
    made = Desk(tmp_path)
    yield made
    made.close()


def test_the_latest_changed_notes_are_read_first(desk: Desk) -> None:
    desk.writer.apply(
        [a_note(f"{n}.md", f"text {n}", f"more {n}", mtime_ns=age) for n, age in enumerate((5, 9, 7))]
    )
    report = desk.run()
    assert desk.encoder.read == ["text 1", "more 1", "text 2", "more 2", "text 0", "more 0"]
    assert (report.embedded, report.pending, report.cancelled) == (6, 0, False)


def test_no_text_is_read_twice(desk: Desk) -> None:
    desk.writer.apply([a_note("a.md", "same", "other"), a_note("b.md", "same")])
    assert desk.run().embedded == 2
    assert sorted(desk.encoder.read) == ["other", "same"]
    assert desk.run().embedded == 0
    with desk.reader.vectors(MODEL) as source:
        assert len(list(source.all())) == 3


def test_progress_counts_texts_and_comes_to_its_end(desk: Desk) -> None:
    desk.writer.apply([a_note("a.md", "same", "one"), a_note("b.md", "same", "two")])
    desk.run()
    assert [(told.done, told.total) for told in desk.told] == [(0, 3), (3, 3)]
    assert desk.told[-1].seconds_left == 0
    assert EmbeddingProgress(2, 10, 4.0).seconds_left == 2.0
    assert EmbeddingProgress(0, 10, 0.0).seconds_left is None


def test_work_is_committed_on_the_way(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "_ROUND", 5)
    desk.writer.apply([a_note("a.md", *(f"text {n}" for n in range(12)))])
    assert desk.run().embedded == 12
    assert [told.done for told in desk.told] == [0, 5, 10, 12]


def test_a_cancelled_job_keeps_what_it_has_and_the_next_goes_on(desk: Desk) -> None:
    desk.writer.apply([a_note("a.md", *(f"text {n}" for n in range(10)))])
    report = desk.run(lambda: len(desk.encoder.read) >= 4)
    assert (report.embedded, report.pending, report.cancelled) == (4, 6, True)
    assert desk.vectors() == 4
    report = desk.run()
    assert (report.embedded, report.pending, report.cancelled) == (6, 0, False)
    assert len(desk.encoder.read) == 6


def test_who_cancels_when_all_is_done_has_cancelled_nothing(desk: Desk) -> None:
    desk.writer.apply([a_note("a.md", "one")])
    assert not desk.run(lambda: bool(desk.encoder.read)).cancelled


def test_notes_that_come_while_it_works_are_read_too(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "_ROUND", 2)
    desk.writer.apply([a_note("a.md", "one", "two", "three")])
    arrivals = iter([a_note("new.md", "newest", mtime_ns=10**15)])

    def arriving() -> bool:
        if desk.encoder.read and (note := next(arrivals, None)) is not None:
            desk.writer.apply([note])
        return False

    assert desk.run(arriving).pending == 0
    assert desk.encoder.read == ["one", "two", "newest", "three"]


def test_what_is_on_the_screen_is_read_first(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also among texts that are not fetched yet."""
    monkeypatch.setattr(embed, "_ROUND", 2)
    desk.writer.apply([a_note(f"{n}.md", f"text {n}", mtime_ns=100 - n) for n in range(9)])
    with desk.reader.snapshot() as snapshot:
        (one,) = snapshot.chunk_rows(a_note("7.md", "text 7").document.doc_id)

    def asked() -> bool:
        if len(desk.encoder.read) == 1:
            desk.job.prefer((one, ChunkRow(999)))
        return False

    assert desk.go_on(asked).embedded == 9
    assert desk.encoder.read[:3] == ["text 0", "text 1", "text 7"], "the text in progress is finished"
    assert sorted(desk.encoder.read) == [f"text {n}" for n in range(9)]
    assert [told.total for told in desk.told] == [9] * len(desk.told)
    desk.job.prefer((one,))
    assert desk.go_on().embedded == 0


def test_the_rate_is_that_of_the_last_seconds(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "_ROUND", 1)
    now = [0.0]
    monkeypatch.setattr(embed, "time", SimpleNamespace(monotonic=lambda: now[0], thread_time=lambda: 0.0))
    desk.writer.apply([a_note("a.md", *(f"text {n}" for n in range(20)))])

    def slower() -> bool:
        now[0] += 1.0 if len(desk.encoder.read) < 10 else 10.0
        return False

    desk.run(slower)
    assert desk.told[-1].rate < 0.15 < desk.told[5].rate
    assert desk.told[-2].seconds_left == pytest.approx(1 / desk.told[-2].rate)


# What costs nothing


def test_a_rename_costs_no_embedding(desk: Desk) -> None:
    note = a_note("a.md", "one", "two")
    desk.writer.apply([note])
    desk.run()
    desk.writer.apply([MoveNotes((Move(note.document.doc_id, "b.md", b"b.md"),))])
    assert desk.run().embedded == 0


def test_a_text_that_is_edited_back_costs_none(desk: Desk) -> None:
    desk.writer.apply([a_note("a.md", "one", "two")])
    desk.run()
    desk.writer.apply([a_note("a.md", "one", "changed")])
    assert desk.run().embedded == 1
    desk.writer.apply([a_note("a.md", "one", "two")])
    assert desk.run().embedded == 0
    with desk.reader.vectors(MODEL) as source:
        assert len(list(source.all())) == 2


def test_another_title_is_another_text(desk: Desk) -> None:
    desk.writer.apply([a_note("a.md", "one", "two", title="Before")])
    desk.run()
    desk.writer.apply([a_note("a.md", "one", "two", title="After")])
    assert desk.run().embedded == 2
    desk.writer.apply([a_note("a.md", "one", "two", title="Before")])
    assert desk.run().embedded == 0


# Models and what is left over


def test_vectors_of_another_model_are_never_used(desk: Desk, tmp_path: Path) -> None:
    desk.writer.apply([a_note("a.md", "one")])
    desk.run(model="first")
    with desk.reader.vectors("second") as source:
        assert (list(source.all()), source.pending_count()) == ([], (1, 1, 0))
    follower = VectorFollower(desk.reader, str(tmp_path), "second", DIMS, may_save=lambda: False)
    follower.open()
    assert follower.index.count == 0
    follower.close()
    assert desk.run(model="second").embedded == 1
    assert (desk.vectors("first"), desk.vectors("second")) == (1, 1)
    assert desk.run(model="first").embedded == 0


def test_vectors_that_nobody_uses_are_kept_for_an_undo_but_not_for_ever(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "_SPARE", 3)
    note = a_note("a.md", *(f"text {n}" for n in range(4)))
    desk.writer.apply([note, a_note("b.md", "stays")])
    desk.run()
    desk.writer.apply([a_note("a.md", "text 0")])
    desk.run()
    assert desk.vectors() == 5
    desk.writer.apply([RemoveNote(note.document.doc_id)])
    desk.run()
    assert desk.vectors() == 1


def test_a_cancelled_job_does_not_tidy(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "_SPARE", 0)
    desk.writer.apply([a_note("a.md", "one", "two")])
    desk.run()
    desk.writer.apply([a_note("a.md", "three")])
    desk.run(lambda: True)
    assert desk.vectors() == 2


def test_forgetting_a_model_reaches_who_follows_the_log(desk: Desk, tmp_path: Path) -> None:
    desk.writer.apply([a_note("a.md", "one")])
    desk.run()
    follower = VectorFollower(desk.reader, str(tmp_path), MODEL, DIMS, may_save=lambda: False)
    follower.open()
    assert follower.index.count == 1
    assert desk.writer.delete_vectors(MODEL) == 1
    follower.catch_up()
    assert follower.index.count == 0
    follower.close()


def test_another_recipe_of_the_text_makes_all_vectors_anew(desk: Desk, tmp_path: Path) -> None:
    desk.writer.apply([a_note("a.md", "one")])
    desk.run()
    with desk.writer._transaction() as connection:
        connection.execute("UPDATE meta SET value = 0 WHERE key = 'embed_recipe'")
        connection.execute("UPDATE chunks SET embed_hash = x'00'")
    desk.writer.close()
    desk.writer = StoreWriter(desk.folder)
    with desk.writer._transaction() as connection:
        (name,) = connection.execute("SELECT embed_hash FROM chunks").fetchone()
    assert name == embedded_hash("A title", "Heading", "one")


# One job that goes on while notes keep changing


def save(desk: Desk, *notes: SaveNote) -> None:
    desk.writer.apply(notes)


def missing(desk: Desk) -> int:
    with desk.reader.vectors(MODEL) as source:
        return source.pending_count().texts


def after(number: int) -> Callable[[], bool]:
    """Cancelled from the `number`th question on."""
    asked = count(1)
    return lambda: next(asked) > number


def test_all_that_is_there_is_read_the_latest_changed_first(desk: Desk) -> None:
    save(desk, *(a_note(f"{n}.md", f"text {n}", mtime_ns=age) for n, age in enumerate((5, 9, 7))))
    report = desk.go_on()
    assert desk.encoder.read == ["text 1", "text 2", "text 0"]
    assert (report.embedded, report.cancelled, missing(desk)) == (3, False, 0)


def test_a_saved_note_comes_before_what_waited(desk: Desk) -> None:
    save(desk, *(a_note(f"{n}.md", f"text {n}", mtime_ns=n) for n in range(100)))
    assert desk.go_on(after(11)).cancelled
    assert len(desk.encoder.read) == 10
    save(desk, a_note("new.md", "fresh", mtime_ns=1))
    assert desk.go_on(after(2)).cancelled
    assert desk.encoder.read == ["fresh"]
    assert not desk.go_on().cancelled
    assert len(desk.encoder.read) == 90
    assert missing(desk) == 0


def test_a_saved_note_costs_no_look_at_the_whole_index(desk: Desk) -> None:
    save(desk, *(a_note(f"{n}.md", f"text {n}") for n in range(20)))
    desk.go_on()
    save(desk, a_note("0.md", "text 0", "fresh"))
    with desk.reader.catalogue() as catalogue:
        connection: sqlite3.Connection = catalogue._connection
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    report = desk.go_on()
    connection.set_trace_callback(None)
    assert desk.encoder.read == ["fresh"]
    assert (report.embedded, report.cancelled) == (1, False)
    assert not [sql for sql in asked if "count(" in sql or "GROUP BY" in sql], asked


def test_nothing_to_do_is_done(desk: Desk) -> None:
    assert not desk.go_on().cancelled
    assert not desk.go_on().cancelled
    assert desk.encoder.read == []


def test_a_load_that_stands_in_no_log_is_found(desk: Desk) -> None:
    save(desk, a_note("a.md", "alpha"))
    desk.go_on()
    save(
        desk, *(a_note(f"{n}.md", *(f"text {n} {part}" for part in range(40)), mtime_ns=n) for n in range(10))
    )
    assert desk.go_on().embedded == 400
    assert missing(desk) == 0


def test_text_that_another_process_has_read_meanwhile_is_no_trouble(desk: Desk) -> None:
    save(desk, a_note("a.md", "alpha"), a_note("b.md", "beta"))
    assert desk.go_on(after(2)).cancelled
    assert desk.run().embedded == 1
    assert not desk.go_on().cancelled
    assert missing(desk) == 0


def test_progress_counts_everything_until_all_is_done_and_begins_anew(desk: Desk) -> None:
    save(desk, *(a_note(f"{n}.md", f"text {n}") for n in range(100)))
    desk.go_on(after(31))
    save(desk, a_note("new.md", "fresh"))
    desk.go_on()
    assert (desk.told[-1].done, desk.told[-1].total) == (101, 101)
    save(desk, a_note("newer.md", "fresher"))
    desk.go_on()
    assert (desk.told[-1].done, desk.told[-1].total) == (1, 1)


def test_a_text_that_is_gone_before_its_turn_is_not_read(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "_ROUND", 2)
    notes = [a_note(f"{n}.md", f"text {n}", mtime_ns=n) for n in range(6)]
    save(desk, *notes)
    gone = iter([[RemoveNote(notes[0].document.doc_id), RemoveNote(notes[3].document.doc_id)]])

    def removing() -> bool:
        if desk.encoder.read and (changes := next(gone, None)) is not None:
            desk.writer.apply(changes)
        return False

    report = desk.go_on(removing)
    assert desk.encoder.read == ["text 5", "text 4", "text 2", "text 1"]
    assert (report.embedded, report.pending, report.cancelled) == (4, 0, False)
    assert [(told.done, told.total) for told in desk.told] == [(0, 6), (2, 4), (4, 4)]


def test_a_model_whose_vectors_are_dropped_meanwhile_makes_them_anew(desk: Desk) -> None:
    save(desk, *(a_note(f"{n}.md", f"text {n}") for n in range(4)))
    assert desk.go_on(after(3)).embedded == 2
    desk.writer.delete_vectors(MODEL)
    assert desk.go_on().embedded == 4
    assert missing(desk) == 0


def test_what_cannot_be_saved_for_another_writer_is_made_again_by_who_goes_on(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> int:
        raise StoreBusyError("the index is being written")

    save(desk, a_note("a.md", "one", "two"))
    with monkeypatch.context() as patched:
        patched.setattr(desk.writer, "save_vectors", busy)
        with pytest.raises(StoreBusyError):
            desk.go_on()
        report = desk.go_on(after(2))
        assert (report.embedded, report.pending, report.cancelled) == (0, 2, True)
    assert desk.go_on().embedded == 2


# The real model


def test_a_cancel_takes_effect_within_a_fifth_of_a_second(vault: Vault) -> None:
    for n in range(60):
        vault.write(f"{n}.md", f"# Note {n}\n\n" + f"Sentence {n} about ports and conflicts. " * 25)
    vault.ingest()
    asked: list[float] = []
    told: list[EmbeddingProgress] = []

    def cancelled() -> bool:
        """From its fortieth question on, in the middle of the work."""
        asked.append(time.monotonic())
        return len(asked) >= 40

    started_at = 39
    report = vault.workspace.embed(Callbacks(embedding=told.append, cancelled=cancelled))
    assert time.monotonic() - asked[started_at] < 0.2
    assert report.cancelled
    assert 0 < report.embedded < 60
    assert vault.rows("SELECT count(*) FROM embeddings") == [(report.embedded,)]
    again = vault.workspace.embed(Callbacks())
    assert (again.embedded, again.pending) == (60 - report.embedded, 0)


_EMBED = """
import sys
from kebab_tui.indexing import embed as embedding_job
from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Callbacks; from kebab_tui.workspace import Workspace
embedding_job._ROUND = 4
Workspace(Settings(), sys.argv[1]).embed(Callbacks(embedding=lambda told: print(told.done, flush=True)))
"""


def test_a_kill_in_the_middle_loses_no_more_than_the_step_under_way(vault: Vault) -> None:
    for n in range(60):
        vault.write(f"{n}.md", f"# Note {n}\n\n" + f"Sentence {n} about ports and conflicts. " * 25)
    vault.ingest()
    argv = [sys.executable, "-c", _EMBED, str(vault.data)]
    environ = {"PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environ) as child:
        assert child.stdout is not None
        done = next(int(line) for line in child.stdout if int(line) >= 8)
        os.kill(child.pid, signal.SIGKILL)
    (kept,) = vault.rows("SELECT count(*) FROM embeddings")[0]
    assert done <= int(str(kept)) < 60
    report = vault.workspace.embed(Callbacks())
    assert (report.embedded, report.pending) == (60 - int(str(kept)), 0)
    assert vault.workspace.search(SearchQuery("port conflicts", mode="vector", k=60)).total_matches == 60
