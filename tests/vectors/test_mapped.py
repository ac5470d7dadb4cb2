"""The vector file is mapped, shared by all processes, and compared with its checksum once."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from pathlib import Path

import pytest

from kebab_tui.vectors import file as index_file
from kebab_tui.vectors import sync
from kebab_tui.vectors.faiss_index import FaissIndex
from kebab_tui.vectors.file import Saved, UnusableFileError, discard, read, write
from tests.vectors.making import (
    DIMS,
    EXACT,
    MODEL,
    DictStore,
    codes,
    follower_of,
    holds,
    index_of,
    resolved,
    rows_in,
    unit,
)

COUNT = 4_000


@pytest.fixture
def path(tmp_path: Path) -> str:
    name = str(tmp_path / "vectors")
    write(name, MODEL, Saved(index_of(range(1, COUNT + 1), unit(COUNT), exact_up_to=1_000).snapshot, 42))
    return name


def searched(path: str) -> FaissIndex:
    """An index whose vectors have all been read."""
    index = FaissIndex(read(path, MODEL, DIMS).snapshot, EXACT, resolved)
    index.nearest(unit(1)[0], COUNT)
    return index


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc/self/smaps")
def test_two_readers_share_one_copy_of_the_file(path: str) -> None:
    indexes = [searched(path), searched(path)]
    with open("/proc/self/smaps") as file:
        maps = re.findall(rf"^\S+ (\S+) .* {re.escape(path)}\n((?:\w+: .*\n)+)", file.read(), re.MULTILINE)
    assert [access for access, _ in maps] == ["r--s", "r--s"]
    for _, figures in maps:
        found = {name: int(size) for name, size in re.findall(r"^(\w+): +(\d+) kB", figures, re.MULTILINE)}
        assert found["Private_Dirty"] == 0
        assert found["Private_Clean"] < found["Rss"] / 4, "only pages that one of them has not touched"
        assert found["Rss"] * 1024 >= 2 * DIMS * COUNT
    assert [index.snapshot.private_slots for index in indexes] == [0, 0]
    assert all(index.snapshot.base.is_coarse for index in indexes)


def test_a_reader_keeps_the_file_that_was_replaced_or_removed(path: str) -> None:
    """A file that is cut short would end each process that has mapped it."""
    index, query = searched(path), unit(1, 5)[0]
    before = index.nearest(query, 100)
    with open(path, "rb") as old:
        size = os.fstat(old.fileno()).st_size
        write(path, MODEL, Saved(index_of([1], unit(1)).snapshot, 43))
        assert os.fstat(old.fileno()).st_size == size
        assert read(path, MODEL, DIMS).snapshot.count == 1
        discard(path)
        assert os.fstat(old.fileno()).st_size == size
    assert index.nearest(query, 100) == before
    assert os.listdir(os.path.dirname(path)) == []


class Comparisons:
    """Counts how often the whole file was read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        real = index_file._compare_checksum

        def counted(*values: object) -> None:
            self.count += 1
            real(*values)  # type: ignore[arg-type]

        monkeypatch.setattr(index_file, "_compare_checksum", counted)

    def in_read(self, path: str, *, fully: bool = False) -> int:
        before = self.count
        assert read(path, MODEL, DIMS, fully=fully).revision == 42
        return self.count - before


def test_the_checksum_is_compared_once_for_each_state(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    comparisons = Comparisons(monkeypatch)
    assert comparisons.in_read(path) == 0, "the writer has just computed it"
    assert comparisons.in_read(path, fully=True) == 1
    os.utime(path)
    assert [comparisons.in_read(path) for _ in range(3)] == [1, 0, 0]
    copy = Path(path).read_bytes()
    os.unlink(path)
    Path(path).write_bytes(copy)
    assert [comparisons.in_read(path) for _ in range(3)] == [1, 0, 0]


@pytest.mark.parametrize("content", ["", "[1]", "{", '{"file": 1}', "\ud800" * 3, "null"])
def test_it_is_compared_when_it_is_unknown_whether_it_was(
    path: str, content: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparisons = Comparisons(monkeypatch)
    Path(path + ".checked").write_bytes(content.encode("utf-8", "surrogatepass"))
    assert [comparisons.in_read(path) for _ in range(2)] == [1, 0]


def test_it_is_compared_again_after_a_week_and_after_the_clock_was_set_back(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparisons, checked = Comparisons(monkeypatch), Path(path + ".checked")
    known = json.loads(checked.read_text())
    for seconds in (-8 * 24 * 3_600, 3_600):
        checked.write_text(json.dumps(known | {"checked": known["checked"] + seconds}))
        assert [comparisons.in_read(path) for _ in range(2)] == [1, 0]


def test_damage_in_the_middle_is_found_although_the_times_are_kept(path: str) -> None:
    """As a disk does it: only the comparison of everything can notice."""
    status = os.stat(path)
    with open(path, "r+b") as file:
        file.seek(status.st_size // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(UnusableFileError, match="checksum"):
        read(path, MODEL, DIMS, fully=True)
    with pytest.raises(UnusableFileError, match="checksum"):
        read(path, MODEL, DIMS)  # the time of the change of status cannot be set


def test_a_process_maps_the_file_that_another_one_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "_PRIVATE_MOST", 1_000)
    store = DictStore()
    store.add(unit(3_000))
    reader = follower_of(store, tmp_path)
    assert reader.open().how == "rebuilt"
    assert reader.index.snapshot.private_slots == 3_000
    writer = follower_of(store, tmp_path)
    writer.open()
    assert writer.close() == ""
    store.add(unit(2, 9))
    assert reader.catch_up()
    assert reader.index.snapshot.private_slots == 2, "those that the file lacks"
    assert holds(reader.index, store)
    store.save({5: codes(unit(1, 11)).tobytes()}, removed=[7])
    assert reader.catch_up()
    assert holds(reader.index, store)


def test_a_file_that_lacks_most_vectors_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync, "_REPLAYED_MOST", 100)
    store = DictStore()
    store.add(unit(200))
    follower = follower_of(store, tmp_path)
    follower.open()
    follower.close()
    store.add(unit(150, 2))
    monkeypatch.setattr(index_file, "read", None)
    again = follower_of(store, tmp_path)
    opened = again.open()
    assert (opened.how, opened.reason) == ("rebuilt", "the file lacks 150 changes")
    assert holds(again.index, store)


def test_a_file_of_the_earlier_format_is_replaced_quietly(tmp_path: Path) -> None:
    store = DictStore()
    store.add(unit(50))
    (tmp_path / sync.FILE_NAME).write_bytes(b"kebabvec\x04\x00\x00\x00" + bytes(500))
    follower = follower_of(store, tmp_path)
    assert follower.open().reason == "the file has another format"
    assert rows_in(follower.index.nearest(unit(50)[6], 1)) == [7]
    assert follower.close() == ""
    assert follower_of(store, tmp_path).open().how == "loaded"


def test_a_large_index_is_built_on_disk_and_leaves_no_scratch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DictStore()
    store.add(unit(9_000))
    follower = follower_of(store, tmp_path)
    follower.open()
    assert not follower.index.snapshot.base.codes.flags.owndata
    assert os.listdir(tmp_path) == []
    assert follower.close() == ""
    assert sorted(os.listdir(tmp_path)) == [sync.FILE_NAME, f"{sync.FILE_NAME}.checked"]

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    room = index_file.on_disk(str(tmp_path / "x"))
    assert room(10, DIMS).flags.owndata, "without space there, in memory"
    assert room(0, DIMS).shape == (0, DIMS)
    assert sorted(os.listdir(tmp_path)) == [sync.FILE_NAME, f"{sync.FILE_NAME}.checked"]
