"""Indexing behind the screen: a real process, started, heard and left."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from textual.message import Message

from kebab_tui.domain.errors import Failure, NotIndexedError
from kebab_tui.indexing.status import LiveState, Trouble, read_live
from kebab_tui.settings.settings import Settings
from kebab_tui.storage.lock import DataFolder, WriterLock
from kebab_tui.tui import indexer
from kebab_tui.tui.indexer import BackgroundIndexing, _state_reporter
from kebab_tui.tui.messages import IndexingEnded
from kebab_tui.workspace import Callbacks, Workspace
from tests.vault import index_in

pytestmark = pytest.mark.slow

Told = queue.Queue[IndexingEnded]
_PATIENCE_S = 120.0
MANY = 200


class Behind:
    """The indexing of one data folder, and how it ends."""

    def __init__(self, place: Path) -> None:
        self.notes = place / "notes"
        self.notes.mkdir()
        self.data = place / "data"
        self._told: Told = queue.Queue()
        self.indexing = BackgroundIndexing(str(self.data), "")
        self.indexing.report_to(self.take)
        self._index = index_in(str(self.data))

    def take(self, message: Message) -> None:
        assert isinstance(message, IndexingEnded)
        self._told.put(message)

    def write(self, name: str, text: str = "# Note\n\nword\n") -> None:
        (self.notes / name).write_text(text)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Index many notes once; the process cannot store what it reads while the context lasts."""
        workspace = Workspace(Settings(), str(self.data))
        workspace.ingest([str(self.notes)], Callbacks())
        workspace.close()
        for number in range(MANY):
            self.write(f"{number}.md")
        with closing(sqlite3.connect(self.data / "kebab.sqlite")) as other:
            other.execute("BEGIN IMMEDIATE")
            self.indexing.start([str(self.notes)])
            self.wait(lambda: (live := self.live()) and live.phase.kind == "reading")
            yield

    def keep(self) -> None:
        """Have the notes kept, and wait for the first look at them."""
        self.indexing.watch([str(self.notes)])
        self.wait(lambda: self.live_pid and self._is_read())

    def _is_read(self) -> bool:
        live = read_live(self._index)
        return live is not None and live.pending == 0 and live.phase.kind == "idle" and bool(live.folders)

    @property
    def live_pid(self) -> int:
        """The process that keeps the index in step; 0 when none does."""
        live = read_live(self._index)
        return live.pid if live is not None else 0

    def wait(self, seen: Callable[[], object]) -> None:
        end = time.monotonic() + _PATIENCE_S
        while not seen():
            assert time.monotonic() < end
            time.sleep(0.02)  # another process changes what is looked at

    def told(self) -> list[IndexingEnded]:
        """What was told so far and not looked at."""
        return [self._told.get() for _ in range(self._told.qsize())]

    def next(self) -> IndexingEnded:
        return self._told.get(timeout=_PATIENCE_S)

    def live(self) -> LiveState | None:
        return read_live(self._index)

    def paths(self) -> list[str]:
        workspace = Workspace(Settings(), str(self.data))
        try:
            with workspace._parts.index.reader.catalogue() as catalogue:
                return list(catalogue.paths())
        except NotIndexedError:
            return []
        finally:
            workspace.close()


def join() -> None:
    """Wait for those who listen to a process to hear its end."""
    for thread in threading.enumerate():
        if thread.name == "indexing":
            thread.join(_PATIENCE_S)


@pytest.fixture
def behind(tmp_path: Path) -> Iterator[Behind]:
    made = Behind(tmp_path)
    yield made
    made.indexing.close()
    join()


def test_a_folder_is_indexed_and_progress_is_in_the_live_file(behind: Behind) -> None:
    with behind.reading():
        live = behind.live()
        assert live is not None and live.phase.total == MANY
        assert live.pid == behind.indexing.watcher_pid != 0
    assert behind.next() == IndexingEnded()
    assert len(behind.paths()) == MANY
    assert behind.live() is None


def test_requests_during_a_run_are_done_by_the_next_run(behind: Behind, tmp_path: Path) -> None:
    for number in range(60):
        behind.write(f"{number:02}.md")
    behind.indexing.start([str(behind.notes)])
    behind.write("late.md")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "other.md").write_text("# Other\n")
    behind.indexing.start([str(tmp_path / "more")])
    behind.indexing.start(())
    assert [behind.next(), behind.next()] == [IndexingEnded(), IndexingEnded()]
    assert {"late.md", "other.md"} <= set(behind.paths())


def test_a_missing_folder_is_reported(behind: Behind) -> None:
    behind.indexing.start([str(behind.notes / "nowhere")])
    failure = behind.next().failure
    assert failure is not None and failure.code == "source_invalid"


def test_another_run_follows_one_that_failed(behind: Behind) -> None:
    behind.indexing.start([str(behind.notes / "nowhere")])
    behind.next()
    behind.write("a.md")
    behind.indexing.start([str(behind.notes)])
    assert behind.next() == IndexingEnded()
    assert behind.paths() == ["a.md"]


def test_it_waits_for_another_writer_and_names_it(behind: Behind) -> None:
    behind.write("a.md")
    writer = Workspace(Settings(), str(behind.data))
    writer.ingest([str(behind.notes)], Callbacks())
    writer.close()
    behind.write("b.md")
    lock = WriterLock(DataFolder(str(behind.data)).lock)
    lock.acquire("index", 1.0, lambda _: None)
    behind.indexing.start(())
    behind.wait(lambda: (live := behind.live()) and "index" in live.given_way_to)
    assert behind.live_pid == behind.indexing.watcher_pid
    lock.release()
    behind.next()
    assert behind.paths() == ["a.md", "b.md"]


def test_work_to_be_done_once_is_left_to_a_process_that_watches(behind: Behind, tmp_path: Path) -> None:
    behind.keep()
    more = tmp_path / "more"
    more.mkdir()
    (more / "b.md").write_text("# B\n")
    other = Behind.__new__(Behind)
    other._told = queue.Queue()
    other.indexing = BackgroundIndexing(str(behind.data), "")
    other.indexing.report_to(other.take)
    other.indexing.start([str(more)])
    assert other.next() == IndexingEnded()
    behind.wait(lambda: behind.paths() == ["b.md"])
    assert behind.live_pid == behind.indexing.watcher_pid
    other.indexing.close()


def test_closing_ends_the_process_without_waiting(behind: Behind) -> None:
    with behind.reading():
        process = behind.indexing._process
        assert process is not None
        process.send_signal(signal.SIGSTOP)  # it cannot end
    behind.indexing.close()
    assert process.poll() is None
    process.send_signal(signal.SIGCONT)
    join()
    assert process.returncode is not None
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)
    assert all(path.endswith(".md") for path in behind.paths()), "what was read by then is whole"


# Keeping in step


def test_a_note_saved_while_watching_is_indexed(behind: Behind) -> None:
    behind.write("a.md")
    behind.keep()
    behind.write("b.md")
    behind.wait(lambda: behind.paths() == ["a.md", "b.md"])
    assert behind.live_pid == behind.indexing.watcher_pid != 0


def test_a_watching_process_reports_nothing_that_is_in_the_live_file(behind: Behind) -> None:
    behind.write("a.md")
    behind.keep()
    assert behind.told() == []


def test_a_watching_process_is_started_once(behind: Behind) -> None:
    behind.keep()
    pid = behind.indexing.watcher_pid
    behind.indexing.watch([str(behind.notes)])
    assert behind.indexing.watcher_pid == pid


def test_a_killed_watching_process_restarts(behind: Behind) -> None:
    behind.write("a.md")
    behind.keep()
    killed = behind.indexing.watcher_pid
    os.kill(killed, signal.SIGKILL)
    behind.wait(lambda: behind.live_pid not in (0, killed))
    assert behind.live_pid == behind.indexing.watcher_pid
    behind.write("b.md")
    behind.wait(lambda: behind.paths() == ["a.md", "b.md"])


def test_one_killed_before_it_added_its_folder_restarts_with_it(behind: Behind) -> None:
    behind.write("a.md")
    behind.indexing.watch([str(behind.notes)])
    os.kill(behind.indexing.watcher_pid, signal.SIGKILL)
    behind.wait(lambda: behind.paths() == ["a.md"])


def test_one_that_never_works_restarts_after_growing_pauses(
    behind: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "_RESTART_S", 0.01)
    monkeypatch.setattr(indexer, "_LONGEST_RESTART_S", 0.08)
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    behind.indexing = BackgroundIndexing(str(behind.data), "")
    pauses: list[float] = []

    def wait(pause: float) -> bool:
        pauses.append(pause)
        return len(pauses) > 5

    monkeypatch.setattr(behind.indexing._closing, "wait", wait)
    behind.indexing.watch(())
    behind.wait(lambda: len(pauses) > 5)
    assert pauses == [0.01, 0.02, 0.04, 0.08, 0.08, 0.08]


def test_one_that_ends_with_an_error_is_not_restarted(behind: Behind) -> None:
    behind.indexing.watch([str(behind.notes / "nowhere")])
    assert behind.next().failure is not None
    behind.wait(lambda: behind.indexing.watcher_pid == 0)
    behind.keep()
    assert behind.live_pid == behind.indexing.watcher_pid


def test_another_watching_process_follows_and_takes_over(behind: Behind) -> None:
    behind.write("a.md")
    behind.keep()
    second = BackgroundIndexing(str(behind.data), "")
    second.watch(())
    behind.wait(lambda: second.watcher_pid)
    behind.indexing.close()
    behind.wait(lambda: behind.live_pid == second.watcher_pid)
    second.close()


def test_closing_ends_the_watching_process(behind: Behind) -> None:
    behind.write("a.md")
    behind.keep()
    watcher = behind.indexing._watcher
    assert watcher is not None
    behind.indexing.close()
    watcher.wait(_PATIENCE_S)
    join()
    assert behind.live_pid == 0
    assert behind.indexing.watcher_pid == 0, "and it is not begun again"


def test_a_folder_added_while_watching_is_read_and_watched(behind: Behind, tmp_path: Path) -> None:
    behind.write("a.md")
    behind.keep()
    more = tmp_path / "more"
    more.mkdir()
    (more / "b.md").write_text("# B\n")
    behind.indexing.start([str(more)])
    behind.wait(lambda: sorted(behind.paths()) == ["a.md", "b.md"])
    (more / "c.md").write_text("# C\n")
    behind.wait(lambda: sorted(behind.paths()) == ["a.md", "b.md", "c.md"])


def test_a_watching_process_has_a_lower_priority(behind: Behind) -> None:
    behind.keep()
    watcher = behind.indexing.watcher_pid
    lower = min(os.getpriority(os.PRIO_PROCESS, 0) + 10, 19)
    assert os.getpriority(os.PRIO_PROCESS, watcher) == lower
    group = Path(f"/proc/{watcher}/autogroup")
    if group.exists():  # Linux shares the processor among sessions first
        assert group.read_text() != Path("/proc/self/autogroup").read_text()
        assert group.read_text().split()[-1] == "10"


class Ended:
    """A process that has told something, and is gone."""

    def __init__(self, told: str) -> None:
        self.stdout = iter([told])

    def __enter__(self) -> None:
        """Nothing is to be done."""

    def __exit__(self, *_: object) -> None:
        """Nothing is to be done."""


@pytest.mark.parametrize(("code", "begins_again"), [("readonly", True), ("source_missing", False)])
def test_a_process_that_could_not_write_restarts(
    behind: Behind, monkeypatch: pytest.MonkeyPatch, code: str, begins_again: bool
) -> None:
    begun: list[object] = []
    monkeypatch.setattr(behind.indexing, "watch", begun.append)
    monkeypatch.setattr(behind.indexing, "_pause_s", 0.0)
    told = json.dumps({"state": "error", "code": code, "message": "no", "hint": "do"})
    behind.indexing._listen(cast("Any", Ended(told)), behind.indexing._watcher_ended)
    assert behind.next().failure == Failure(code, "no", "do")
    assert bool(begun) is begins_again


def test_notes_that_could_not_be_read_are_counted_at_the_end(behind: Behind) -> None:
    told = json.dumps({"state": "done", "failed": 1})
    behind.indexing._listen(cast("Any", Ended(told)), behind.indexing._run_ended)
    assert behind.next() == IndexingEnded(failed=1)


def test_a_read_only_disk_is_reported_on_stdout_because_the_live_file_cannot_be_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tell = _state_reporter()
    trouble = Trouble("readonly", "cannot write", "make it writable")
    full = Trouble("disk_full", "no room", "make room")
    for error in (None, full, trouble, trouble, None, trouble):
        tell(LiveState(7, error=error))
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [facts["state"] for facts in told] == ["started", "read-only", "read-only"]
    assert told[1] == {
        "state": "read-only",
        "code": "readonly",
        "message": "cannot write",
        "hint": "make it writable",
    }
