"""A process's index stays in step with the store, whatever has become of the file."""

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

from kebab_tui.search.ports import FieldWeights
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.batch import RemoveNote
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.writer import Writer
from kebab_tui.vectors.faiss_index import contents_of
from kebab_tui.vectors.file import Saved, read, write
from kebab_tui.vectors.segment import rows_of
from kebab_tui.vectors.sync import FILE_NAME, VectorFollower, VectorStore
from tests.notes import SOURCE, a_note, a_source
from tests.vectors.making import DIMS, EXACT, MODEL, Moment, Shelf, codes, follower_of, holds, index_of, unit


@pytest.fixture
def shelf() -> Shelf:
    made = Shelf()
    made.add(unit(300))
    return made


def saved(shelf: Shelf, folder: Path) -> Path:
    follower = follower_of(shelf, folder)
    follower.open()
    assert follower.close() == ""
    return folder / FILE_NAME


def test_the_first_time_everything_is_made_from_the_store(shelf: Shelf, tmp_path: Path) -> None:
    follower = follower_of(shelf, tmp_path)
    assert follower.open().how == "rebuilt"
    assert holds(follower.index, shelf)


def test_a_file_of_the_same_revision_is_used_as_it_is(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(shelf, tmp_path)
    monkeypatch.setattr("kebab_tui.vectors.faiss_index.everything", None)
    follower = follower_of(shelf, tmp_path)
    assert (follower.open().how, follower.revision) == ("loaded", shelf.now)
    assert holds(follower.index, shelf)


def test_what_the_file_has_missed_is_replayed(shelf: Shelf, tmp_path: Path) -> None:
    saved(shelf, tmp_path)
    shelf.add(unit(5, 2))
    shelf.save({7: codes(unit(1, 3)).tobytes()}, removed=[3, 4, 301])
    follower = follower_of(shelf, tmp_path)
    assert follower.open().how == "replayed"
    assert follower.revision == shelf.now
    assert holds(follower.index, shelf)


@pytest.mark.parametrize(
    "damage", ["newer", "log gone", "model", "cut", "zeros", "flipped", "folder", "empty"]
)
def test_any_other_file_is_made_anew_and_the_reason_told(shelf: Shelf, tmp_path: Path, damage: str) -> None:
    path = saved(shelf, tmp_path)
    whole = path.read_bytes()
    other = index_of(range(1, 301), unit(300, 9)).contents
    match damage:
        case "newer":
            write(str(path), MODEL, Saved(other, shelf.now + 1))
        case "log gone":
            shelf.add(unit(2, 3))
            shelf.forget_log()
        case "model":
            write(str(path), "vec-other", Saved(other, shelf.now))
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
    follower = follower_of(shelf, tmp_path)
    opened = follower.open()
    assert opened.how == "rebuilt"
    assert opened.reason
    assert holds(follower.index, shelf)
    follower.close()
    assert follower_of(shelf, tmp_path).open().how == "loaded"


def test_a_folder_in_the_place_of_the_file_is_kept(shelf: Shelf, tmp_path: Path) -> None:
    for number in (1, 2):
        follower = follower_of(shelf, tmp_path)
        (tmp_path / FILE_NAME).mkdir()
        (tmp_path / FILE_NAME / "mine").write_text(str(number))
        follower.open()
        follower.close()
        (tmp_path / FILE_NAME).unlink()
    kept = sorted(tmp_path.glob("*/mine"))
    assert [path.read_text() for path in kept] == ["1", "2"]


def test_what_has_gathered_is_put_in_order_when_the_file_is_written(tmp_path: Path) -> None:
    shelf = Shelf()
    shelf.add(unit(400))
    saved(shelf, tmp_path)
    for step in range(5):  # each is a process that opens the file, replays, writes and ends
        shelf.save({}, removed=range(1 + 60 * step, 61 + 60 * step))
        shelf.add(unit(60, step + 2))
        saved(shelf, tmp_path)
    written = read(str(tmp_path / FILE_NAME), MODEL, DIMS).contents
    assert written.gone < 300
    assert not written.needs_order()
    follower = follower_of(shelf, tmp_path)
    assert follower.open().how == "loaded"
    assert holds(follower.index, shelf)


def test_a_row_that_a_damaged_store_names_twice_is_there_once(shelf: Shelf, tmp_path: Path) -> None:
    held = list(shelf.held.items())
    twice = [(rows_of([row for row, _ in held]), codes(unit(len(held))))] * 2
    assert contents_of(twice, DIMS, EXACT).count == len(held)


def test_the_file_of_another_store_that_has_come_as_far_is_made_anew(shelf: Shelf, tmp_path: Path) -> None:
    saved(shelf, tmp_path)
    for other, vectors in ((Shelf(), unit(300, 2)), (Shelf(), unit(310)), (Shelf(), unit(290))):
        other.add(vectors)
        follower = follower_of(other, tmp_path)
        assert (follower.open().how, holds(follower.index, other)) == ("rebuilt", True)


def test_an_empty_file_of_another_store_is_made_anew(shelf: Shelf, tmp_path: Path) -> None:
    write(str(tmp_path / FILE_NAME), MODEL, Saved(index_of([], unit(0)).contents, shelf.now))
    follower = follower_of(shelf, tmp_path)
    assert (follower.open().how, holds(follower.index, shelf)) == ("rebuilt", True)


def test_catching_up_applies_what_is_new(shelf: Shelf, tmp_path: Path) -> None:
    follower = follower_of(shelf, tmp_path)
    follower.open()
    assert not follower.catch_up()
    shelf.add(unit(5, 2))
    shelf.save({}, removed=[1, 2])
    assert follower.catch_up()
    assert not follower.catch_up()
    assert holds(follower.index, shelf)
    shelf.save({5: codes(unit(1, 4)).tobytes()})
    shelf.forget_log()
    assert follower.catch_up()
    assert holds(follower.index, shelf)


def test_nothing_is_read_when_the_revision_is_the_same(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower = follower_of(shelf, tmp_path)
    follower.open()
    monkeypatch.setattr(Moment, "changes_after", None)
    monkeypatch.setattr(Moment, "all", None)
    assert not follower.catch_up()


def test_a_blob_that_is_no_sound_vector_counts_as_none(shelf: Shelf, tmp_path: Path) -> None:
    sound = dict(shelf.held)
    bad = [
        b"",
        b"x" * 31,
        b"\0" * 32,
        np.full(DIMS, np.nan, np.float16).tobytes(),
        codes(unit(1) * 2).tobytes(),
    ]
    shelf.save(dict(enumerate(bad, 400)) | {9: b"short"})
    follower = follower_of(shelf, tmp_path)
    follower.open()
    del sound[9]
    assert follower.index.contents.vectors(follower.index.contents.live_rows()) == sound
    follower.close()
    assert follower_of(shelf, tmp_path).open().how == "loaded"
    shelf.save({8: b"\0" * 32})
    follower.catch_up()
    assert 8 not in follower.index.contents.live_rows()


def test_another_thread_that_follows_is_not_waited_for(shelf: Shelf, tmp_path: Path) -> None:
    inside, leave = threading.Event(), threading.Event()

    class Slow(Shelf):
        @contextmanager
        def vectors(self, model: str) -> Iterator[Moment]:
            if threading.current_thread() is not threading.main_thread():
                inside.set()
                assert leave.wait(10)
            with super().vectors(model) as moment:
                yield moment

    slow = Slow(dict(shelf.held), list(shelf.log), shelf.now, 0, shelf.last_row)
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
    """One that may write the file, or not, and which file there is."""

    def __init__(self, store: VectorStore, folder: Path, may_save: bool = True) -> None:
        self.path = folder / FILE_NAME
        self.follower = VectorFollower(store, str(folder), MODEL, DIMS, may_save=lambda: may_save)
        self.follower.open()

    def stamp(self) -> int:
        """Another one for each file that was written: the old is there while the new is made."""
        return self.path.stat().st_ino if self.path.exists() else 0


def test_the_file_is_written_at_the_end_when_something_is_new(shelf: Shelf, tmp_path: Path) -> None:
    one = Follower(shelf, tmp_path)
    one.follower.close()
    first = one.stamp()
    assert first
    shelf.add(unit(5, 2))
    one.follower.catch_up()
    assert one.stamp() == first
    one.follower.close()
    second = one.stamp()
    assert second != first
    one.follower.close()
    assert one.stamp() == second
    assert follower_of(shelf, tmp_path).open().how == "loaded"


def test_a_file_that_lacks_only_a_few_of_many_rows_is_left(tmp_path: Path) -> None:
    shelf = Shelf()
    shelf.add(unit(5_000))
    one = Follower(shelf, tmp_path)
    one.follower.close()
    first = one.stamp()
    shelf.add(unit(4, 2))
    one.follower.catch_up()
    one.follower.close()
    assert one.stamp() == first
    shelf.add(unit(4, 2))
    one.follower.catch_up()
    one.follower.close()
    assert one.stamp() != first


def test_who_may_not_save_does_not(shelf: Shelf, tmp_path: Path) -> None:
    one = Follower(shelf, tmp_path, may_save=False)
    one.follower.close()
    assert os.listdir(tmp_path) == []


def test_on_a_full_disk_all_goes_on_in_memory(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Follower(shelf, tmp_path)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        assert "No space left" in one.follower.close()
        shelf.add(unit(3, 2))
        assert one.follower.catch_up()
    assert holds(one.follower.index, shelf)
    assert os.listdir(tmp_path) == []
    assert one.follower.close() == ""
    assert one.stamp()


def test_a_folder_that_is_gone_is_a_reason_and_no_error(shelf: Shelf, tmp_path: Path) -> None:
    follower = follower_of(shelf, tmp_path / "missing")
    follower.open()
    assert "could not be saved" in follower.close()


def test_importing_the_door_loads_neither_numpy_nor_faiss() -> None:
    script = "import sys, kebab_tui.vectors.sync; print({'numpy', 'faiss', 'sqlite3'} & set(sys.modules))"
    argv, root = [sys.executable, "-c", script], Path(__file__).parents[2]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout == "set()\n"


class RealStore:
    """SQLite with notes whose vectors are made from their text."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writer = Writer(DataFolder(str(folder)))
        self.writer.save_source(a_source())
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
            contents = follower.index.contents
            return contents.vectors(contents.live_rows()) == dict(log.all())


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
