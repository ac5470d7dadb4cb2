"""What a keeper remembers to look at again, and what it says of it meanwhile."""

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
WHOLE = PathBatch(ROOT, whole="a look now and then")


@pytest.fixture
def errands(tmp_path: Path) -> Maintenance:
    queue = PathQueue()
    return Maintenance(RequestFolder(str(tmp_path)), queue, WatchedFolders(queue, lambda: False))


def unseen(*paths: bytes) -> SourceReport:
    return SourceReport(SourceId("notes"), ROOT, {}, (), (), unseen=paths)


def places(errands: Maintenance) -> set[bytes]:
    return {path for _, path in errands.unreadable}


def test_what_cannot_be_read_is_remembered_until_it_can_be(errands: Maintenance) -> None:
    errands.record_unreadable(WHOLE, unseen(b"a", b"b"))
    errands.record_unreadable(PathBatch(ROOT, paths=(b"c.md",), subtrees=(b"a",)), unseen(b"c.md"))
    assert places(errands) == {b"b", b"c.md"}
    errands.record_unreadable(WHOLE, unseen())
    assert places(errands) == set(), "a look at the whole is a look at each"


def test_an_ignore_file_that_cannot_be_read_is_no_place(errands: Maintenance) -> None:
    errands.record_unreadable(WHOLE, unseen(b"a/.gitignore"))
    assert places(errands) == set()


def test_thousands_of_unreadable_files_are_a_few_folders(errands: Maintenance) -> None:
    errands.record_unreadable(WHOLE, unseen(*(b"%d/%d.md" % (n % 3, n) for n in range(10_000))))
    assert places(errands) == {b"0", b"1", b"2"}
    errands.record_unreadable(WHOLE, unseen(*(b"%d/a.md" % n for n in range(10_000))))
    assert places(errands) == {b""}
