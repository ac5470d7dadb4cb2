"""The live state of the indexing process, and when it is valid."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from kebab_tui.domain.document import OtherFiles
from kebab_tui.domain.ids import SourceId
from kebab_tui.indexing import status
from kebab_tui.indexing.status import (
    FolderState,
    LastChange,
    LiveFile,
    LiveReader,
    LiveState,
    Phase,
    Trouble,
    live_path,
    read_live,
    will_resume,
)
from kebab_tui.storage.lock import DataFolder, WriterLock
from tests.disks import fill, small_disk
from tests.vault import index_in

utime = os.utime
FULL = LiveState(
    pid=os.getpid(),
    folders=(FolderState(SourceId("notes"), os.fsdecode(b"/n\xff"), "partial", "too few watches", 3),),
    pending=2,
    failed=1,
    phase=Phase("embedding", 3, 9, 1.5, 4.0),
    last=LastChange("메모.md", "changed", 5, 6),
    error=Trouble("disk_full", "no room", "make room"),
    upgrading=(1, 2),
    other_files=OtherFiles(3, (("pdf", 2), ("", 1))),
)
HOLD = """
import signal, sys
from kebab_tui.storage.lock import WriterLock
WriterLock(sys.argv[1]).acquire("kebab watch", 0, lambda _: None)
print("holds it", flush=True)
signal.pause()
"""


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    return DataFolder(str(tmp_path))


def shown(folder: DataFolder, state: LiveState) -> LiveFile:
    file = LiveFile(folder.root, lambda _: None)
    file.write(state)
    return file


def ended_process() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_the_state_is_read_back_while_the_lock_is_held(folder: DataFolder) -> None:
    lock = WriterLock(folder.lock)
    lock.acquire("kebab watch", 0, lambda _: None)
    file = shown(folder, FULL)
    assert read_live(index_in(folder.root)) == FULL
    lock.release()
    assert read_live(index_in(folder.root)) is None, "who holds no lock keeps nothing"
    file.remove()
    assert not os.path.exists(live_path(folder.root))


def test_the_file_is_read_only_when_it_was_written(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, read = 0.0, status._read
    reads: list[str] = []

    def read_counted(path: str) -> LiveState | None:
        reads.append(path)
        return read(path)

    monkeypatch.setattr(status, "_read", read_counted)
    lock = WriterLock(folder.lock)
    lock.acquire("kebab watch", 0, lambda _: None)
    shown(folder, FULL)
    reader = LiveReader(index_in(folder.root), lambda: now)
    for now in range(5):  # noqa: B007 - the clock
        assert reader.read() == FULL
    reads.clear()
    for now in range(5, 50):  # noqa: B007
        assert reader.read() == FULL
    assert reads == []
    shown(folder, replace(FULL, pending=7))
    assert reader.read() == replace(FULL, pending=7)
    lock.release()
    assert reader.read() is None, "the lock is looked at each time"


@pytest.mark.parametrize("day", [-86_400, 86_400])
def test_a_process_that_yielded_is_believed_again_after_the_clock_has_jumped(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch, day: int
) -> None:
    file = shown(folder, replace(FULL, given_way_to="pid 1 (kebab ingest)"))
    reader = LiveReader(index_in(folder.root))
    before = time.time()
    monkeypatch.setattr(time, "time", lambda: before + day)
    assert reader.read() is None, "for a moment: its file may be as old as it seems"
    monkeypatch.setattr(os, "utime", lambda path: utime(path, (time.time(), time.time())))
    file.touch()
    assert reader.read() is not None


def test_a_process_that_yielded_is_believed_while_it_touches_the_file(folder: DataFolder) -> None:
    shown(folder, replace(FULL, given_way_to="pid 1 (kebab ingest)"))
    assert read_live(index_in(folder.root)) is not None
    assert not will_resume(index_in(folder.root)), "this very process need not wait for itself"
    os.utime(live_path(folder.root), (1, 1))
    assert read_live(index_in(folder.root)) is None


def test_the_state_of_a_dead_process_is_ignored(folder: DataFolder) -> None:
    shown(folder, replace(FULL, pid=ended_process(), given_way_to="pid 1 (kebab ingest)"))
    assert read_live(index_in(folder.root)) is None
    assert not will_resume(index_in(folder.root))
    shown(folder, replace(FULL, pid=os.getppid(), given_way_to="pid 1 (kebab ingest)"))
    assert will_resume(index_in(folder.root))


def test_a_clock_set_back_keeps_no_dead_process_alive(folder: DataFolder) -> None:
    shown(folder, replace(FULL, pid=os.getppid(), given_way_to="pid 1 (kebab ingest)"))
    later = os.stat(live_path(folder.root)).st_mtime + 86_400
    os.utime(live_path(folder.root), (later, later))
    assert not will_resume(index_in(folder.root))


def test_a_process_that_ends_leaves_the_file_of_another(folder: DataFolder) -> None:
    file = shown(folder, FULL)
    shown(folder, replace(FULL, pid=os.getppid()))
    file.remove()
    assert os.path.exists(live_path(folder.root))


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="only Linux tells who is stopped")
def test_a_daemon_that_is_stopped_is_reported(folder: DataFolder) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, folder.lock], stdout=subprocess.PIPE) as indexer:
        try:
            assert indexer.stdout is not None
            indexer.stdout.readline()
            shown(folder, replace(FULL, pid=indexer.pid, error=None))
            assert (live := read_live(index_in(folder.root))) is not None and live.error is None
            indexer.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, indexer.pid, os.WSTOPPED)
            live = read_live(index_in(folder.root))
            assert live is not None and live.error is not None
            assert live.error.message == f"the indexing process is stopped: pid {indexer.pid}"
        finally:
            indexer.kill()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1, "phase": {"kind": "dancing"}}'])
def test_an_invalid_file_is_ignored(folder: DataFolder, text: str) -> None:
    Path(live_path(folder.root)).write_text(text)
    assert read_live(index_in(folder.root)) is None


def test_the_same_state_is_written_once_and_a_new_one_after_a_while(folder: DataFolder) -> None:
    now = 0.0
    told: list[LiveState] = []
    file = LiveFile(folder.root, told.append, lambda: now)
    file.write(FULL)
    file.write(FULL)
    assert told == [FULL]
    assert now < file.not_before < now + 0.3


def test_on_a_full_disk_the_existing_file_is_overwritten(tmp_path: Path) -> None:
    with small_disk(tmp_path / "data", 1) as disk:
        folder = DataFolder(str(disk))
        lock = WriterLock(folder.lock)
        lock.acquire("kebab watch", 0, lambda _: None)
        file = shown(folder, replace(FULL, error=None))
        fill(disk)
        file.write(FULL)
        assert read_live(index_in(folder.root)) == FULL
        lock.release()


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"pid": 4294967295, "given_way_to": "x"}',
        '{"pid": 100000000000000000000, "given_way_to": "x"}',
        '{"pid": 1e999, "given_way_to": "x"}',
        '{"pid": 0, "given_way_to": "x"}',
        '{"pid": -1, "given_way_to": "x"}',
        '{"pid": "1"}',
        '{"pid": 1, "folders": [1]}',
        '{"pid": 1, "phase": {"kind": "dancing"}}',
        "[]",
        "null",
    ],
)
def test_a_foreign_state_is_ignored(tmp_path: Path, text: str) -> None:
    folder = DataFolder(str(tmp_path))
    Path(live_path(folder.root)).write_text(text)
    assert read_live(index_in(folder.root)) is None
    assert not will_resume(index_in(folder.root))


def test_a_pipe_in_its_place_is_not_waited_for(tmp_path: Path) -> None:
    folder = DataFolder(str(tmp_path))
    os.mkfifo(live_path(folder.root))
    assert read_live(index_in(folder.root)) is None
    assert not will_resume(index_in(folder.root))
