"""Retries of unreadable paths, and the folder states that report them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kebab_tui.domain.ids import SourceId
from kebab_tui.indexing.path_queue import PathBatch, PathQueue
from kebab_tui.indexing.report import SourceReport
from kebab_tui.indexing.watched_folders import WatchedFolders
from kebab_tui.indexing.worker import Maintenance
from kebab_tui.storage.requests import RequestFolder

ROOT = "/notes"
WHOLE = PathBatch(ROOT, whole="periodic scan")


@pytest.fixture
def maintenance(tmp_path: Path) -> Maintenance:
    queue = PathQueue()
    return Maintenance(RequestFolder(str(tmp_path)), queue, WatchedFolders(queue, lambda: False))


def unseen(*paths: bytes) -> SourceReport:
    return SourceReport(SourceId("notes"), ROOT, {}, (), (), unseen=paths)


def unreadable_of(maintenance: Maintenance) -> set[bytes]:
    return {path for _, path in maintenance.unreadable}


def test_unreadable_paths_are_retried_until_they_are_readable(maintenance: Maintenance) -> None:
    maintenance.record_unreadable(WHOLE, unseen(b"a", b"b"))
    maintenance.record_unreadable(PathBatch(ROOT, paths=(b"c.md",), subtrees=(b"a",)), unseen(b"c.md"))
    assert unreadable_of(maintenance) == {b"b", b"c.md"}
    maintenance.record_unreadable(WHOLE, unseen())
    assert unreadable_of(maintenance) == set(), "a look at the whole is a look at each"


def test_an_unreadable_ignore_file_is_not_retried(maintenance: Maintenance) -> None:
    maintenance.record_unreadable(WHOLE, unseen(b"a/.gitignore"))
    assert unreadable_of(maintenance) == set()


def test_thousands_of_unreadable_files_are_a_few_folders(maintenance: Maintenance) -> None:
    maintenance.record_unreadable(WHOLE, unseen(*(b"%d/%d.md" % (n % 3, n) for n in range(10_000))))
    assert unreadable_of(maintenance) == {b"0", b"1", b"2"}
    maintenance.record_unreadable(WHOLE, unseen(*(b"%d/a.md" % n for n in range(10_000))))
    assert unreadable_of(maintenance) == {b""}
