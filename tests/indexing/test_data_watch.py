"""Changes of the data folder are heard of through file events, and without them a little later."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kebab_tui.indexing import data_watch, inotify, worker
from kebab_tui.indexing.callbacks import WatchCallbacks
from kebab_tui.indexing.data_watch import DataFolderWatch
from kebab_tui.indexing.ingest import recipe_of
from kebab_tui.indexing.inotify import NoEventsError
from kebab_tui.indexing.worker import IndexWorker, WorkerConfig
from kebab_tui.settings.settings import Settings
from kebab_tui.storage.ports import Rescan
from kebab_tui.storage.requests import RequestFolder
from tests.indexing.keeping import keeping, until
from tests.vault import Vault, index_in

_PATIENCE_S = 60.0


class Heard:
    def __init__(self) -> None:
        self.event = threading.Event()
        self.times = 0

    def __call__(self) -> None:
        self.times += 1
        self.event.set()

    def wait(self) -> bool:
        was_set = self.event.wait(_PATIENCE_S)
        self.event.clear()
        return was_set


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def watch(tmp_path: Path, heard: Heard) -> Iterator[DataFolderWatch]:
    (tmp_path / "data" / "requests").mkdir(parents=True)
    folders = str(tmp_path / "data"), str(tmp_path / "data" / "requests")
    made = DataFolderWatch(folders, heard, contents=True)
    assert made.keep()
    yield made
    made.close()


def test_new_files_changed_ones_and_requests_are_reported(
    watch: DataFolderWatch, heard: Heard, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    changes: list[Callable[[], object]] = [
        lambda: (data / "kebab.sqlite-wal").write_bytes(b"1"),
        lambda: os.write(log, b"2"),
        lambda: os.replace(data / "kebab.sqlite-wal", data / "live.json"),
        lambda: RequestFolder(str(data)).ask(Rescan()),
    ]
    log = -1
    for change in changes:
        change()
        assert heard.wait()
        if log < 0:
            log = os.open(data / "kebab.sqlite-wal", os.O_WRONLY)
    os.close(log)


def test_a_flood_of_changes_is_a_few_reports(watch: DataFolderWatch, heard: Heard, tmp_path: Path) -> None:
    with open(tmp_path / "data" / "kebab.sqlite-wal", "wb", buffering=0) as log:
        began = os.times().elapsed
        log.writelines(b"x" for _ in range(20_000))
        took = os.times().elapsed - began
    assert heard.wait()
    assert heard.times <= 3 + took / 0.1


def test_a_removed_folder_is_watched_again_when_it_is_back(
    watch: DataFolderWatch, heard: Heard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_watch, "AGAIN_S", 0.0)
    os.rename(tmp_path / "data", tmp_path / "old")
    assert heard.wait()
    assert not watch.keep(), "there is nothing to watch"
    (tmp_path / "data").mkdir()
    until(watch.keep)
    heard.event.clear()
    (tmp_path / "data" / "live.json").write_text("{}")
    assert heard.wait()


def refuse(*_: object) -> None:
    raise NoEventsError("the system's limit of inotify instances is reached")


def test_a_refused_watch_is_no_error_and_is_not_tried_all_the_time(
    tmp_path: Path, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[object] = []

    def limited(*_: object) -> None:
        tries.append(1)
        refuse()

    monkeypatch.setattr(inotify, "_open_inotify", limited)
    watch = DataFolderWatch((str(tmp_path),), heard)
    assert [watch.keep() for _ in range(5)] == [False] * 5
    assert len(tries) == 1


@pytest.mark.parametrize("has_events", [True, False])
def test_an_idle_worker_does_what_is_asked_and_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_events: bool
) -> None:
    """By events alone: it would not look for an hour. Without them it looks once a second."""
    monkeypatch.setattr(worker, "IDLE_S", 3600.0 if has_events else 1.0)
    if not has_events:
        monkeypatch.setattr(data_watch.DataFolderWatch, "_start", refuse)
    vault = Vault(tmp_path)
    vault.write("a.md", "# A\n\nsome words")
    vault.ingest()
    stop, wakes = threading.Event(), list[Callable[[], None]]()
    callbacks = WatchCallbacks(stop.is_set, on_stop=wakes.append)
    at_work = IndexWorker(WorkerConfig(index_in(str(vault.data)), recipe_of(Settings())), callbacks)
    asked: list[Rescan] = []
    really = at_work._requests.look
    looks = threading.Event()

    def look() -> tuple[bool, list[object]]:
        wanted, requests = really()
        asked.extend(one for one in requests if isinstance(one, Rescan))
        looks.set()
        return wanted, list(requests)

    monkeypatch.setattr(at_work._requests, "look", look)
    from kebab_tui.indexing.session import open_session

    def serve() -> None:
        with open_session(index_in(str(vault.data)), "test", 0, lambda _: None) as session:
            at_work.serve(session)
        at_work.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    assert looks.wait(_PATIENCE_S)
    until(lambda: bool(at_work._data_watch._events) or not has_events)
    RequestFolder(str(vault.data)).ask(Rescan(("/nowhere",)))
    until(lambda: bool(asked))
    stop.set()
    for wake in wakes:
        wake()
    thread.join(_PATIENCE_S)
    assert not thread.is_alive()
    vault.workspace.close()


def test_keeping_works_beside_the_watch(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    vault.write("a.md", "# A\n\nsome words")
    vault.ingest()
    with keeping(vault) as process:
        until(lambda: process.live() is not None)
        vault.write("b.md", "# B\n\nmore words")
        until(lambda: ("added", "b.md") in process.outcomes())
    vault.workspace.close()
