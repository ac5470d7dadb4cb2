"""A process's index follows the store, whatever happens to the file."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from kebab_tui.domain.change import RemoveNote
from kebab_tui.search.ports import FieldWeights
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.writer import StoreWriter
from kebab_tui.vectors.faiss_index import snapshot_of
from kebab_tui.vectors.file import Saved, read, write
from kebab_tui.vectors.segment import rows_of
from kebab_tui.vectors.sync import FILE_NAME, VectorFollower, VectorStore
from tests.notes import SOURCE, a_note, a_source
from tests.vectors.making import (
    DIMS,
    EXACT,
    MODEL,
    DictLog,
    DictStore,
    codes,
    follower_of,
    holds,
    index_of,
    unit,
)


@pytest.fixture
def store() -> DictStore:
    made = DictStore()
    made.add(unit(300))
    return made


def saved(store: DictStore, folder: Path) -> Path:
    follower = follower_of(store, folder)
    follower.open()
    assert follower.close() == ""
    return folder / FILE_NAME


def test_the_first_open_rebuilds_from_the_store(store: DictStore, tmp_path: Path) -> None:
    follower = follower_of(store, tmp_path)
    assert follower.open().how == "rebuilt"
    assert holds(follower.index, store)


def test_a_file_of_the_same_revision_is_used_as_it_is(
    store: DictStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(store, tmp_path)
    monkeypatch.setattr("kebab_tui.vectors.faiss_index.stored_vectors", None)
    follower = follower_of(store, tmp_path)
    assert (follower.open().how, follower.revision) == ("loaded", store.now)
    assert holds(follower.index, store)


def test_changes_that_the_file_lacks_are_replayed(store: DictStore, tmp_path: Path) -> None:
    saved(store, tmp_path)
    store.add(unit(5, 2))
    store.save({7: codes(unit(1, 3)).tobytes()}, removed=[3, 4, 301])
    follower = follower_of(store, tmp_path)
    assert follower.open().how == "replayed"
    assert follower.revision == store.now
    assert holds(follower.index, store)


@pytest.mark.parametrize(
    "damage", ["newer", "log gone", "model", "cut", "zeros", "flipped", "folder", "empty"]
)
def test_any_other_file_causes_a_rebuild_with_a_reason(store: DictStore, tmp_path: Path, damage: str) -> None:
    path = saved(store, tmp_path)
    whole = path.read_bytes()
    other = index_of(range(1, 301), unit(300, 9)).snapshot
    match damage:
        case "newer":
            write(str(path), MODEL, Saved(other, store.now + 1))
        case "log gone":
            store.add(unit(2, 3))
            store.forget_log()
        case "model":
            write(str(path), "vec-other", Saved(other, store.now))
        case "cut":
            path.write_bytes(whole[:-100])
        case "zeros":
            path.write_bytes(whole[:4096] + bytes(4096) + whole[8192:])
        case "flipped":
            path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        case "folder":
            path.unlink()
            path.mkdir()
        case _:
            path.write_bytes(b"")
    follower = follower_of(store, tmp_path)
    opened = follower.open()
    assert opened.how == "rebuilt"
    assert opened.reason
    assert holds(follower.index, store)
    follower.close()
    assert follower_of(store, tmp_path).open().how == "loaded"


def test_a_folder_in_the_place_of_the_file_is_kept(store: DictStore, tmp_path: Path) -> None:
    for number in (1, 2):
        follower = follower_of(store, tmp_path)
        (tmp_path / FILE_NAME).mkdir()
        (tmp_path / FILE_NAME / "mine").write_text(str(number))
        follower.open()
        follower.close()
        (tmp_path / FILE_NAME).unlink()
    kept = sorted(tmp_path.glob("*/mine"))
    assert [path.read_text() for path in kept] == ["1", "2"]


def test_the_file_is_compacted_when_it_is_written(tmp_path: Path) -> None:
    store = DictStore()
    store.add(unit(400))
    saved(store, tmp_path)
    for step in range(5):  # each is a process that opens the file, replays, writes and ends
        store.save({}, removed=range(1 + 60 * step, 61 + 60 * step))
        store.add(unit(60, step + 2))
        saved(store, tmp_path)
    written = read(str(tmp_path / FILE_NAME), MODEL, DIMS).snapshot
    assert written.deleted < 300
    assert not written.needs_compaction()
    follower = follower_of(store, tmp_path)
    assert follower.open().how == "loaded"
    assert holds(follower.index, store)


def test_a_row_that_a_damaged_store_names_twice_is_there_once(store: DictStore, tmp_path: Path) -> None:
    held = list(store.held.items())
    twice = [(rows_of([row for row, _ in held]), codes(unit(len(held))))] * 2
    assert snapshot_of(twice, DIMS, EXACT).count == len(held)


def test_the_file_of_another_store_of_the_same_revision_is_rebuilt(store: DictStore, tmp_path: Path) -> None:
    saved(store, tmp_path)
    for other, vectors in ((DictStore(), unit(300, 2)), (DictStore(), unit(310)), (DictStore(), unit(290))):
        other.add(vectors)
        follower = follower_of(other, tmp_path)
        assert (follower.open().how, holds(follower.index, other)) == ("rebuilt", True)


def test_an_empty_file_of_another_store_is_rebuilt(store: DictStore, tmp_path: Path) -> None:
    write(str(tmp_path / FILE_NAME), MODEL, Saved(index_of([], unit(0)).snapshot, store.now))
    follower = follower_of(store, tmp_path)
    assert (follower.open().how, holds(follower.index, store)) == ("rebuilt", True)


def test_catching_up_applies_new_changes(store: DictStore, tmp_path: Path) -> None:
    follower = follower_of(store, tmp_path)
    follower.open()
    assert not follower.catch_up()
    store.add(unit(5, 2))
    store.save({}, removed=[1, 2])
    assert follower.catch_up()
    assert not follower.catch_up()
    assert holds(follower.index, store)
    store.save({5: codes(unit(1, 4)).tobytes()})
    store.forget_log()
    assert follower.catch_up()
    assert holds(follower.index, store)


def test_nothing_is_read_when_the_revision_is_the_same(
    store: DictStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower = follower_of(store, tmp_path)
    follower.open()
    monkeypatch.setattr(DictLog, "changes_after", None)
    monkeypatch.setattr(DictLog, "all", None)
    assert not follower.catch_up()


def test_an_invalid_blob_is_skipped(store: DictStore, tmp_path: Path) -> None:
    sound = dict(store.held)
    bad = [
        b"",
        b"x" * 31,
        b"\0" * 32,
        np.full(DIMS, np.nan, np.float16).tobytes(),
        codes(unit(1) * 2).tobytes(),
    ]
    store.save(dict(enumerate(bad, 400)) | {9: b"short"})
    follower = follower_of(store, tmp_path)
    follower.open()
    del sound[9]
    assert follower.index.snapshot.codes_of(follower.index.snapshot.live_rows()) == sound
    follower.close()
    assert follower_of(store, tmp_path).open().how == "loaded"
    store.save({8: b"\0" * 32})
    follower.catch_up()
    assert 8 not in follower.index.snapshot.live_rows()


def test_catching_up_does_not_wait_for_another_thread(store: DictStore, tmp_path: Path) -> None:
    inside, leave = threading.Event(), threading.Event()

    class Slow(DictStore):
        @contextmanager
        def vectors(self, model: str) -> Iterator[DictLog]:
            if threading.current_thread() is not threading.main_thread():
                inside.set()
                assert leave.wait(10)
            with super().vectors(model) as moment:
                yield moment

    slow = Slow(dict(store.held), list(store.log), store.now, 0, store.last_row)
    follower = follower_of(slow, tmp_path)
    follower.open()
    slow.add(unit(3, 2))
    thread = threading.Thread(target=follower.catch_up)
    thread.start()
    assert inside.wait(10)
    assert not follower.catch_up()
    assert len(follower.index.nearest(unit(1)[0], 5)) == 5
    leave.set()
    thread.join()
    assert holds(follower.index, slow)


class Follower:
    """A follower that may or may not write the file, and a stamp of that file."""

    def __init__(self, store: VectorStore, folder: Path, may_save: bool = True) -> None:
        self.path = folder / FILE_NAME
        self.follower = VectorFollower(store, str(folder), MODEL, DIMS, may_save=lambda: may_save)
        self.follower.open()

    def stamp(self) -> int:
        """Differs for each written file: the old one exists while the new one is written."""
        return self.path.stat().st_ino if self.path.exists() else 0


def test_the_file_is_written_on_close_after_changes(store: DictStore, tmp_path: Path) -> None:
    one = Follower(store, tmp_path)
    one.follower.close()
    first = one.stamp()
    assert first
    store.add(unit(5, 2))
    one.follower.catch_up()
    assert one.stamp() == first
    one.follower.close()
    second = one.stamp()
    assert second != first
    one.follower.close()
    assert one.stamp() == second
    assert follower_of(store, tmp_path).open().how == "loaded"


def test_a_file_that_lacks_only_a_few_of_many_rows_is_left(tmp_path: Path) -> None:
    store = DictStore()
    store.add(unit(5_000))
    one = Follower(store, tmp_path)
    one.follower.close()
    first = one.stamp()
    store.add(unit(4, 2))
    one.follower.catch_up()
    one.follower.close()
    assert one.stamp() == first
    store.add(unit(4, 2))
    one.follower.catch_up()
    one.follower.close()
    assert one.stamp() != first


def test_a_follower_that_may_not_save_writes_no_file(store: DictStore, tmp_path: Path) -> None:
    one = Follower(store, tmp_path, may_save=False)
    one.follower.close()
    assert os.listdir(tmp_path) == []


def test_on_a_full_disk_the_index_works_in_memory(
    store: DictStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Follower(store, tmp_path)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        assert "No space left" in one.follower.close()
        store.add(unit(3, 2))
        assert one.follower.catch_up()
    assert holds(one.follower.index, store)
    assert os.listdir(tmp_path) == []
    assert one.follower.close() == ""
    assert one.stamp()


def test_a_missing_folder_is_reported_not_raised(store: DictStore, tmp_path: Path) -> None:
    follower = follower_of(store, tmp_path / "missing")
    follower.open()
    assert "could not be saved" in follower.close()


def test_importing_sync_loads_neither_numpy_nor_faiss() -> None:
    script = "import sys, kebab_tui.vectors.sync; print({'numpy', 'faiss', 'sqlite3'} & set(sys.modules))"
    argv, root = [sys.executable, "-c", script], Path(__file__).parents[2]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout == "set()\n"


class RealStore:
    """SQLite with notes whose vectors are made from their text."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writer = StoreWriter(DataFolder(str(folder)))
        self.writer.save_sources([a_source()])
        self.reader = StoreReader(DataFolder(str(folder)), FieldWeights())

    def embed(self) -> None:
        with self.reader.vectors(MODEL) as log:
            texts = [pending.text_hash for pending in log.pending(10_000)]
        made = [(text, codes(unit(1, int.from_bytes(text[:4], "big"))).tobytes()) for text in texts]
        self.writer.save_vectors(MODEL, made)

    def follower(self) -> VectorFollower:
        return VectorFollower(self.reader, str(self.folder), MODEL, DIMS, may_save=lambda: True)

    def agrees(self, follower: VectorFollower) -> bool:
        with self.reader.vectors(MODEL) as log:
            contents = follower.index.snapshot
            return contents.codes_of(contents.live_rows()) == dict(log.all())


@pytest.fixture
def real(tmp_path: Path) -> Iterator[RealStore]:
    made = RealStore(tmp_path)
    yield made
    made.reader.close()
    made.writer.close()


def test_the_index_follows_notes_that_are_saved_edited_and_removed(real: RealStore) -> None:
    notes = [a_note(f"{n}.md", *(f"passage {n} {m}" for m in range(5))) for n in range(20)]
    real.writer.apply(notes)
    follower = real.follower()
    steps: list[object] = [follower.open().how]
    assert follower.index.count == 0
    real.embed()
    steps.append(follower.catch_up())
    assert (follower.index.count, real.agrees(follower)) == (100, True)
    follower.close()
    real.writer.apply([a_note("3.md", "passage 3 0", "another text"), RemoveNote(notes[4].document.doc_id)])
    steps.append(follower.catch_up())
    assert (follower.index.count, real.agrees(follower)) == (91, True)
    real.embed()
    second = real.follower()
    steps.append(second.open().how)
    assert (second.index.count, real.agrees(second)) == (92, True)
    real.writer.remove_source(SOURCE)
    steps.append(second.catch_up())
    assert (second.index.count, real.agrees(second)) == (0, True)
    assert steps == ["rebuilt", True, True, "replayed", True]


def test_a_note_saved_again_word_for_word_brings_its_vector_back_at_once(real: RealStore) -> None:
    note = a_note("a.md", "one", "two")
    real.writer.apply([note])
    real.embed()
    follower = real.follower()
    follower.open()
    real.writer.apply([RemoveNote(note.document.doc_id)])
    real.writer.apply([note])
    follower.catch_up()
    assert (follower.index.count, real.agrees(follower)) == (2, True)
