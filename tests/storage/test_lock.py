"""One writer at a time, across processes, freed by death."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kebab_tui.domain.errors import NotIndexedError, StoreBusyError, StoreReadOnlyError
from kebab_tui.storage.lock import WriterLock
from kebab_tui.storage.ports import Holder
from tests.vault import index_in

pytestmark = pytest.mark.slow

ROOT = str(Path(__file__).parents[2])
HOLD = """
import sys
from kebab_tui.storage.lock import WriterLock
lock = WriterLock(sys.argv[1])
print(lock.acquire("kebab ingest", 0, lambda _: None), flush=True)
sys.stdin.readline()
lock.release()
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "data" / "writer.lock")


def a_holder(path: str) -> subprocess.Popen[str]:
    """Another process that holds the lock until its standard input ends."""
    argv = [sys.executable, "-c", HOLD, path]
    pipe = subprocess.PIPE
    child = subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True, env={"PYTHONPATH": ROOT})
    assert child.stdout is not None
    assert child.stdout.readline() in ("True\n", "False\n")
    return child


def end(child: subprocess.Popen[str]) -> None:
    child.communicate("\n", timeout=120)


def quietly(_: Holder | None) -> None:
    """Ignore the report of a wait."""


def test_the_lock_of_another_process_is_respected_and_named(path: str) -> None:
    child = a_holder(path)
    lock = WriterLock(path)
    with pytest.raises(StoreBusyError) as busy:
        lock.acquire("kebab watch", 0, quietly)
    assert f"pid {child.pid} (kebab ingest, since " in busy.value.message
    holder = lock.holder()
    assert holder is not None
    assert holder.pid == child.pid
    end(child)
    assert lock.holder() is None


def test_waiting_ends_when_the_holder_releases_the_lock(path: str) -> None:
    child = a_holder(path)
    told: list[Holder | None] = []

    def waiting(holder: Holder | None) -> None:
        told.append(holder)
        end(child)

    lock = WriterLock(path)
    assert lock.acquire("kebab watch", 20, waiting) is False
    assert [holder and holder.pid for holder in told] == [child.pid]
    lock.release()


def test_a_killed_holder_frees_the_lock_and_is_reported_once(path: str) -> None:
    child = a_holder(path)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    lock = WriterLock(path)
    assert lock.holder() is None
    assert lock.acquire("kebab ingest", 0, quietly) is True
    lock.release()
    assert lock.acquire("kebab ingest", 0, quietly) is False
    lock.release()


def test_an_interrupted_wait_leaves_nothing_open(path: str) -> None:
    child = a_holder(path)

    def interrupted(_: Holder | None) -> None:
        raise KeyboardInterrupt

    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(KeyboardInterrupt):
        WriterLock(path).acquire("kebab watch", 5, interrupted)
    assert len(os.listdir("/proc/self/fd")) == before
    end(child)


def test_an_unreadable_description_decides_nothing(path: str) -> None:
    os.makedirs(os.path.dirname(path))
    Path(path).write_bytes(b"\xff\xfe{not json" * 100)
    lock = WriterLock(path)
    assert lock.acquire("kebab ingest", 0, quietly) is True
    holder = WriterLock(path).holder()
    assert holder is not None
    assert holder.pid == os.getpid(), "a longer old text does not shine through"
    lock.release()


def test_a_data_folder_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreReadOnlyError, match="cannot write to the data folder"):
        WriterLock(str(tmp_path / "file" / "writer.lock")).acquire("kebab ingest", 0, quietly)


def test_a_disk_that_became_read_only_releases_the_lock(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    lock = WriterLock(path)
    lock.acquire("kebab watch", 0, quietly)
    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", refused)
        lock.release()
    assert lock.holder() is None
    assert lock.acquire("kebab watch", 0, quietly) is True, "looked at closely, as after a kill"
    lock.release()


def test_a_removed_data_folder_is_not_created_again(tmp_path: Path) -> None:
    lock = WriterLock(str(tmp_path / "gone" / "writer.lock"))
    with pytest.raises(NotIndexedError, match="no data folder"):
        lock.acquire("watch", 0, lambda _: None, makes_folder=False)
    assert not (tmp_path / "gone").exists()


def test_embedding_does_not_make_a_removed_data_folder_again(tmp_path: Path) -> None:
    lease = index_in(str(tmp_path / "gone")).lease("embed")
    with pytest.raises(NotIndexedError, match="no data folder"):
        lease.acquire("watch", 0, quietly)
    assert not (tmp_path / "gone").exists()


def test_a_lock_whose_file_was_removed_is_not_in_place(path: str) -> None:
    lock = WriterLock(path)
    assert not lock.is_in_place()
    lock.acquire("kebab watch", 0, quietly)
    assert lock.is_in_place()
    os.remove(path)
    assert not lock.is_in_place()
    other = WriterLock(path)
    other.acquire("kebab ingest", 0, quietly)
    assert other.is_in_place()
    assert not lock.is_in_place()
    lock.release()
    other.release()


@pytest.mark.parametrize(
    "text",
    [
        '{"pid": 1e999, "command": "x", "since": 0}',
        '{"pid": 1, "command": "x", "since": 1e999}',
        '{"pid": 1, "command": "x", "since": 1e300}',
        '{"pid": 1, "command": "x", "since": NaN}',
        "[" * 50_000,
        "[]",
        "{}",
        "1",
        "x" * 100_000,
    ],
)
def test_an_invalid_description_gives_no_holder(path: str, text: str) -> None:
    lock, other = WriterLock(path), WriterLock(path)
    lock.acquire("kebab ingest", 0, quietly)
    Path(path).write_text(text)
    assert other.holder() is None
    with pytest.raises(StoreBusyError, match="another process"):
        other.acquire("kebab ingest", 0, quietly)
    lock.release()


def test_a_lock_that_is_no_regular_file_is_rejected(path: str) -> None:
    os.makedirs(os.path.dirname(path))
    os.mkfifo(path)
    assert WriterLock(path).holder() is None
    with pytest.raises(StoreReadOnlyError, match="not a regular file"):
        WriterLock(path).acquire("kebab ingest", 0, quietly)
