"""Indexing behind the screen: a real process, started, heard and left."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.message import Message

from kebab_tui.settings.model import Settings
from kebab_tui.store.lock import WriterLock
from kebab_tui.tui.background import BackgroundIndexing
from kebab_tui.tui.messages import IndexingProgress
from kebab_tui.workspace import Callbacks, Workspace

Told = queue.Queue[IndexingProgress]
_PATIENCE_S = 30.0


class Behind:
    """The indexing of one data folder, and what it tells."""

    def __init__(self, place: Path) -> None:
        self.notes = place / "notes"
        self.notes.mkdir()
        self.data = place / "data"
        self._told: Told = queue.Queue()
        self.indexing = BackgroundIndexing(str(self.data), "", self._take)

    def _take(self, message: Message) -> None:
        assert isinstance(message, IndexingProgress)
        self._told.put(message)

    def write(self, name: str, text: str = "# Note\n\nword\n") -> None:
        (self.notes / name).write_text(text)

    def next(self) -> IndexingProgress:
        return self._told.get(timeout=_PATIENCE_S)

    def until_done(self) -> list[str]:
        """What is told until a run has ended."""
        told = [message := self.next()]
        while message.running:
            told.append(message := self.next())
        return [message.text for message in told]

    def paths(self) -> list[str]:
        workspace = Workspace(Settings(), str(self.data))
        with workspace._parts.reader.catalogue() as catalogue:
            found = list(catalogue.paths())
        workspace.close()
        return found


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


def test_a_folder_is_indexed_and_progress_is_told_in_counts(behind: Behind) -> None:
    behind.write("a.md")
    behind.indexing.start([str(behind.notes)])
    told = behind.until_done()
    assert "reading 1 of 1" in told
    assert told[-1] == "", "nothing is left to say"
    assert behind.paths() == ["a.md"]


def test_what_is_asked_for_meanwhile_is_done_by_a_run_right_after(behind: Behind) -> None:
    for number in range(60):
        behind.write(f"{number:02}.md")
    behind.indexing.start([str(behind.notes)])
    behind.next()
    behind.write("late.md")
    behind.indexing.start(())
    behind.until_done()
    behind.until_done()
    assert "late.md" in behind.paths()


def test_a_folder_that_is_not_there_is_said(behind: Behind) -> None:
    behind.indexing.start([str(behind.notes / "nowhere")])
    assert behind.until_done()[-1].startswith("not indexed: ")


def test_another_run_follows_one_that_failed(behind: Behind) -> None:
    behind.indexing.start([str(behind.notes / "nowhere")])
    behind.until_done()
    behind.write("a.md")
    behind.indexing.start([str(behind.notes)])
    behind.until_done()
    assert behind.paths() == ["a.md"]


def test_it_waits_for_another_process_that_writes_and_says_for_whom(behind: Behind) -> None:
    behind.write("a.md")
    writer = Workspace(Settings(), str(behind.data))
    writer.ingest([str(behind.notes)], Callbacks())
    writer.close()
    lock = WriterLock(writer.folder.lock)
    lock.acquire("index", 1.0, lambda _: None)
    behind.indexing.start(())
    while not (told := behind.next()).text.startswith("waiting for"):
        assert told.running
    lock.release()
    behind.until_done()


def test_leaving_takes_no_time_and_ends_the_process(behind: Behind) -> None:
    for number in range(300):
        behind.write(f"{number}.md", f"# Note {number}\n\n" + "many words here\n" * 50)
    behind.indexing.start([str(behind.notes)])
    while "reading" not in behind.next().text:
        pass
    process = behind.indexing._process
    assert process is not None
    start = time.monotonic()
    behind.indexing.close()
    assert time.monotonic() - start < 0.1
    join()
    assert process.returncode is not None
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)
    assert all(path.endswith(".md") for path in behind.paths()), "what was read by then is whole"
