"""The main loop of the indexing process, step by step; the `test_daemon_*` files run it as a whole."""

from __future__ import annotations

import shutil
from threading import Event

import pytest

from kebab_tui.domain.checkpoint import ReadingStopped
from kebab_tui.files.walk import PathScanner
from kebab_tui.indexing.path_queue import PathBatch
from kebab_tui.indexing.pipeline import Recipe
from kebab_tui.indexing.session import open_session
from kebab_tui.indexing.worker import IndexWorker, WorkerConfig
from kebab_tui.workspace import WatchCallbacks
from tests.vault import Vault, index_in


def test_the_retry_of_a_file_in_a_folder_that_went_away_is_not_due_again_at_once(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    vault.ingest()
    root, index = str(vault.root), index_in(str(vault.data))
    worker = IndexWorker(WorkerConfig(index, Recipe()), WatchCallbacks(lambda: False))
    try:
        with open_session(index, "a test", 0, lambda _: None) as session:
            worker._watched.follow(session.sources())
            shutil.rmtree(root)
            worker._schedule.failed((root, b"a.md"))
            worker._schedule.retry_now()
            worker._index(session, PathBatch(root, (b"a.md",)))
            worker._schedule.queue_scans([root])
            assert not worker._queue.has_due()
            assert [source.state for source in session.sources()] == ["paused"]
    finally:
        worker.close()
        index.reader.close()


def test_a_scan_that_a_stop_cut_short_does_not_count_as_complete(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.write("a.md", "alpha")
    stop, index = Event(), index_in(str(vault.data))
    worker = IndexWorker(WorkerConfig(index, Recipe()), WatchCallbacks(stop.is_set))

    def stopped(_: PathScanner) -> None:
        stop.set()
        raise ReadingStopped

    monkeypatch.setattr(PathScanner, "walk", stopped)
    try:
        with open_session(index, "a test", 0, lambda _: None) as session:
            session.source_for(str(vault.root))
            worker.serve(session)
            with session.reader.catalogue() as catalogue:
                assert catalogue.figures().made_by == ""
    finally:
        worker.close()
        index.reader.close()
