"""Every passage gets its vector once, the newest first, whatever interrupts the work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from kebab_tui.domain.embedded import embedded_hash
from kebab_tui.domain.query import SearchQuery
from kebab_tui.indexing import embedding_job
from kebab_tui.indexing.embedding_job import EmbeddingJob, EmbeddingProgress, EmbeddingReport
from kebab_tui.search.ports import FieldWeights, Vector
from kebab_tui.store.changes import Move, MoveNotes, RemoveNote
from kebab_tui.store.folder import DataFolder
from kebab_tui.store.reader import StoreReader
from kebab_tui.store.writer import Writer
from kebab_tui.vectors.follower import VectorFollower
from kebab_tui.workspace import Callbacks
from tests.meaning import DIMS, MODEL, at_cosine
from tests.notes import a_note, a_source
from tests.vault import Vault


class CountingEncoder:
    """Remembers what it was given; stops at once when cancelled."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def passages(self, texts: Sequence[str], cancelled: Callable[[], bool]) -> Iterator[Vector]:
        for text in texts:
            if cancelled():
                return
            self.read.append(text.rsplit("\n", 1)[-1])
            yield at_cosine(0.5)


class Desk:
    """A store, and jobs on it."""

    def __init__(self, place: Path) -> None:
        self.folder = DataFolder(str(place))
        self.writer = Writer(self.folder)
        self.writer.save_source(a_source())
        self.reader = StoreReader(self.folder, FieldWeights())
        self.encoder = CountingEncoder()
        self.told: list[EmbeddingProgress] = []

    def run(self, cancelled: Callable[[], bool] = lambda: False, model: str = MODEL) -> EmbeddingReport:
        self.encoder.read.clear()
        job = EmbeddingJob(self.writer, self.reader, self.encoder, model, self.told.append, cancelled)
        return job.run()

    def vectors(self, model: str = MODEL) -> int:
        with self.reader.vectors(model) as source:
            return source.stored_count()

    def close(self) -> None:
        self.reader.close()
        self.writer.close()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
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
    monkeypatch.setattr(embedding_job, "_COMMIT_VECTORS", 2)
    monkeypatch.setattr(embedding_job, "_ROUND", 5)
    desk.writer.apply([a_note("a.md", *(f"text {n}" for n in range(12)))])
    assert desk.run().embedded == 12
    assert [told.done for told in desk.told] == [0, 2, 4, 5, 7, 9, 10, 12]


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
    monkeypatch.setattr(embedding_job, "_ROUND", 1)
    desk.writer.apply([a_note("a.md", "one", "two")])
    arrivals = iter([a_note("new.md", "newest", mtime_ns=10**15)])

    def arriving() -> bool:
        if desk.encoder.read and (note := next(arrivals, None)) is not None:
            desk.writer.apply([note])
        return False

    assert desk.run(arriving).pending == 0
    assert desk.encoder.read == ["one", "newest", "two"]


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
        assert (list(source.all()), source.pending_count()) == ([], 1)
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
    monkeypatch.setattr(embedding_job, "_SPARE", 3)
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
    monkeypatch.setattr(embedding_job, "_SPARE", 0)
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
    assert desk.writer.forget_vectors(MODEL) == 1
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
    desk.writer = Writer(desk.folder)
    with desk.writer._transaction() as connection:
        (name,) = connection.execute("SELECT embed_hash FROM chunks").fetchone()
    assert name == embedded_hash("A title", "Heading", "one")


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
from kebab_tui.indexing import embedding_job
from kebab_tui.settings.model import Settings
from kebab_tui.workspace import Callbacks, Workspace
embedding_job._COMMIT_VECTORS = 4
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
