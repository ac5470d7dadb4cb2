"""Events of macOS and Windows, as watchdog delivers them."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
import watchdog.observers
from watchdog.events import (
    DirDeletedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileMovedEvent,
    FileSystemEvent,
)

from kebab_tui.indexing.inotify import NoEventsError
from kebab_tui.indexing.observer import ObserverEvents
from tests.watched import visible_notes, watched


class Heard:
    """Events given by hand to an observer that was never started."""

    def __init__(self, root: Path) -> None:
        self.paths: list[tuple[bytes, bool]] = []
        self.lost: list[str] = []
        self.events = ObserverEvents(os.fsencode(root), visible_notes, self.report, self.lost.append)

    def report(self, path: bytes, is_dir: bool) -> None:
        self.paths.append((path, is_dir))

    def of(self, *events: FileSystemEvent) -> list[tuple[bytes, bool]]:
        self.paths.clear()
        for event in events:
            self.events.dispatch(event)
        return self.paths


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[Heard]:
    heard = Heard(tmp_path)
    yield heard
    heard.events.close()


def test_both_names_of_a_move_are_told_and_nothing_that_is_uninteresting(
    heard: Heard, tmp_path: Path
) -> None:
    note, other = str(tmp_path / "a" / "n.md"), str(tmp_path / "m.md")
    assert heard.of(FileMovedEvent(note, other)) == [(b"a/n.md", False), (b"m.md", False)]
    assert heard.of(FileMovedEvent(str(tmp_path / "4913"), note)) == [(b"a/n.md", False)]
    assert heard.of(FileCreatedEvent(str(tmp_path / ".git" / "n.md"))) == []
    assert heard.of(FileCreatedEvent(str(tmp_path.parent / "n.md"))) == []


def test_a_folder_that_moves_is_two_folders_and_not_each_note_in_it(heard: Heard, tmp_path: Path) -> None:
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    moved = DirMovedEvent(old, new), FileMovedEvent(f"{old}/n.md", f"{new}/n.md", is_synthetic=True)
    assert heard.of(*moved) == [(b"old", True), (b"new", True)]


def test_a_folder_that_goes_like_a_file_is_a_folder_on_windows(
    heard: Heard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = FileDeletedEvent(str(tmp_path / "a"))
    assert heard.of(gone) == []
    monkeypatch.setattr(ObserverEvents, "deletes_have_no_kind", True)
    assert heard.of(gone, FileDeletedEvent(str(tmp_path / "n.md"))) == [(b"a", True), (b"n.md", False)]


def test_the_end_of_the_root_loses_the_watch(heard: Heard, tmp_path: Path) -> None:
    assert heard.of(DirDeletedEvent(str(tmp_path))) == []
    assert heard.lost == ["the folder was removed"]


def test_a_root_that_the_system_spells_otherwise_is_known_by_its_folder(tmp_path: Path) -> None:
    root = tmp_path / unicodedata.normalize("NFC", "메모")
    root.mkdir()
    other = tmp_path / unicodedata.normalize("NFD", "메모")
    other.symlink_to(root)  # where the file system itself does not know both
    heard = Heard(root)
    assert heard.of(FileCreatedEvent(f"{other}/a/n.md")) == [(b"a/n.md", False)]
    assert heard.of(FileCreatedEvent(f"{root}/a/n.md")) == [(b"a/n.md", False)]
    assert heard.of(FileCreatedEvent(f"{root}2/n.md")) == []
    heard.events.close()


def test_events_that_fsevents_dropped_lose_the_watch(heard: Heard) -> None:
    class Native:
        must_scan_subdirs = False

    class Emitter:
        def __init__(self) -> None:
            self.queued: list[object] = []

        def queue_events(self, timeout: float, events: list[object]) -> None:
            self.queued += events

    emitter, plain, dropped = Emitter(), Native(), Native()
    dropped.must_scan_subdirs = True
    heard.events._detect_dropped(emitter)  # type: ignore[arg-type]
    emitter.queue_events(1, [plain])
    assert heard.lost == []
    emitter.queue_events(1, [plain, dropped])
    assert heard.lost == ["too many changes at once for the system"]
    assert emitter.queued == [plain, plain, dropped]


@pytest.mark.parametrize("name", ["PollingObserver", "KqueueObserver"])
def test_an_observer_that_would_only_poll_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(watchdog.observers, "Observer", type(name, (), {}))
    with pytest.raises(NoEventsError):
        Heard(tmp_path)


def test_an_observer_that_cannot_watch_leaves_the_folder_to_polling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from watchdog.observers.inotify import InotifyObserver

    def refuse(*_: object, **__: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("kebab_tui.indexing.watcher.EVENTS", ObserverEvents)
    monkeypatch.setattr(InotifyObserver, "schedule", refuse)
    with watched(tmp_path) as folder:
        state = folder.watch.state()
        assert (state.kind, state.reason) == ("polling", "InotifyObserver: [Errno 24] Too many open files")
        (tmp_path / "n.md").write_text("x")
        folder.until_path(b"n.md")


def test_reading_and_walking_causes_no_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dispatched: list[FileSystemEvent] = []
    dispatch = ObserverEvents.dispatch

    def record(events: ObserverEvents, event: FileSystemEvent) -> None:
        dispatched.append(event)
        dispatch(events, event)

    monkeypatch.setattr("kebab_tui.indexing.watcher.EVENTS", ObserverEvents)
    monkeypatch.setattr(ObserverEvents, "dispatch", record)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "old.md").write_text("x")
    with watched(tmp_path) as folder:
        for _ in range(3):
            for place, _, names in os.walk(tmp_path):
                for name in names:
                    (Path(place) / name).read_text()
        (tmp_path / "marker.md").write_text("x")
        folder.until_path(b"marker.md")
    assert {event.src_path for event in dispatched} == {str(tmp_path / "marker.md")}
