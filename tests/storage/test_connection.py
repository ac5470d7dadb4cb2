"""Opening a database: on intact, full, read-only and failing disks, ours and of other programs."""

from __future__ import annotations

import errno
import os
import resource
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kebab_tui import own_files
from kebab_tui.domain.errors import (
    DiskFaultError,
    DiskFullError,
    NotIndexedError,
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreReadOnlyError,
)
from kebab_tui.domain.query import SearchQuery
from kebab_tui.settings.settings import Settings
from kebab_tui.storage.sqlite import connection as connections
from kebab_tui.storage.sqlite.connection import open_reader, open_writer, translated
from kebab_tui.storage.sqlite.writer import StoreWriter
from kebab_tui.workspace import Callbacks
from tests.disks import fill, remount, small_disk
from tests.vault import Vault


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", 6) as place:
        yield place


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    made = Vault(tmp_path)
    made.write("a.md", "alpha")
    yield made
    made.workspace.close()


@pytest.fixture
def vault_on_disk(tmp_path: Path, disk: Path) -> Iterator[Vault]:
    """The notes have room; the index has six megabytes."""
    made = Vault(tmp_path)
    made.data = disk / "data"
    made.workspace = made.opened(made.workspace.settings)
    made.write("a.md", "alpha")
    made.ingest()
    yield made
    made.workspace.close()


def heavy(n: int) -> str:
    return f"# Note {n}\n\n" + "\n\n".join(" ".join(f"w{n}x{m}y{k}" for k in range(60)) for m in range(60))


def emptied_log(vault: Vault) -> None:
    """The last writer goes after the last reader, and takes the log with it."""
    vault.workspace.close()
    open_writer(vault.files.database).close()
    assert not os.path.exists(vault.data / "kebab.sqlite-wal")


def test_a_long_statement_of_the_writer_ends_at_a_signal(tmp_path: Path) -> None:
    """Uses CPU time: the signal comes after the statement has worked for a while."""

    def pressed(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGVTALRM, pressed)
    with closing(open_writer(str(tmp_path / "kebab.sqlite"))) as writer:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.02)
        try:
            with pytest.raises(KeyboardInterrupt), translated("kebab.sqlite"):
                writer.execute(
                    "CREATE TEMP TABLE ended AS WITH RECURSIVE n(i) AS "
                    "(SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000000) SELECT count(*) FROM n"
                )
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)
        assert not writer.execute("SELECT name FROM sqlite_temp_schema").fetchall(), "it ran to its end"


def test_a_reader_can_change_nothing(vault: Vault) -> None:
    vault.ingest()
    reader = open_reader(vault.files.database)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.execute("DELETE FROM chunks")
    reader.close()


def test_there_is_nothing_to_read_before_the_first_ingest(tmp_path: Path) -> None:
    with pytest.raises(NotIndexedError) as refused:
        open_reader(str(tmp_path / "kebab.sqlite"))
    assert "kebab ingest FOLDER" in refused.value.hint
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("opened", [open_reader, open_writer])
@pytest.mark.parametrize("owner", [0, 0x1234])
def test_a_database_of_another_program_is_rejected_unchanged(
    tmp_path: Path, opened: Callable[[str], sqlite3.Connection], owner: int
) -> None:
    path = tmp_path / "kebab.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE places(x)")
    connection.execute(f"PRAGMA application_id = {owner}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        opened(str(path))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["kebab.sqlite"]


def test_an_ingest_into_another_programs_database_is_rejected(vault: Vault) -> None:
    vault.data.mkdir()
    path = vault.data / "kebab.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE places(x)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        vault.ingest()
    assert path.read_bytes() == before


def test_searching_works_on_a_read_only_disk(vault_on_disk: Vault, disk: Path) -> None:
    emptied_log(vault_on_disk)
    remount(disk, "ro")
    assert vault_on_disk.find("alpha") == ["a.md"]
    with pytest.raises(StoreReadOnlyError, match="Read-only file system"):
        vault_on_disk.ingest()
    assert vault_on_disk.find("alpha") == ["a.md"]


def test_commits_still_in_the_log_are_found_on_a_read_only_disk(vault_on_disk: Vault, disk: Path) -> None:
    vault = vault_on_disk
    vault.write("b.md", "beta")
    with vault.workspace._parts.index.reader.snapshot():  # keeps the log from being folded in
        vault.ingest()
    assert os.path.getsize(vault.data / "kebab.sqlite-wal") > 0
    copied = {name: (vault.data / name).read_bytes() for name in os.listdir(vault.data)}
    vault.workspace.close()
    for name, content in copied.items():
        (vault.data / name).write_bytes(content)
    for without in ((), ("kebab.sqlite-shm",)):
        for name in without:
            os.remove(vault.data / name)
        remount(disk, "ro")
        assert vault.find("beta") == ["b.md"]
        vault.workspace.close()
        remount(disk, "rw")


def test_a_read_only_folder_is_read(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    vault.ingest()
    emptied_log(vault)
    before = sorted(os.listdir(vault.data))
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert vault.find("alpha") == ["a.md"]
    assert (
        sorted(os.listdir(vault.data))
        == before
        == ["kebab.seal", "kebab.sqlite", "sources.json", "writer.lock"]
    )


def test_a_full_disk_stops_the_ingest_and_nothing_else(vault_on_disk: Vault, disk: Path) -> None:
    vault = vault_on_disk
    for n in range(40):
        vault.write(f"{n}.md", heavy(n))
    with pytest.raises(DiskFullError) as full:
        vault.ingest()
    assert "free some space" in full.value.hint
    assert vault.find("alpha") == ["a.md"]
    assert not vault.orphans()


def test_commits_before_a_full_disk_are_found_and_the_rest_follows(
    vault_on_disk: Vault, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = vault_on_disk
    for n in range(24):
        vault.write(f"{n:02}.md", heavy(n))
    with monkeypatch.context() as patch:
        patch.setattr("kebab_tui.indexing.ingest._COMMIT_CHUNKS", 20)
        (disk / "ballast").write_bytes(b"x" * (1 << 20))
        with pytest.raises(DiskFullError):
            vault.ingest()
    committed = len(vault.ids())
    assert 1 < committed < 25
    assert vault.find("w0x1y1") == ["00.md"]
    os.remove(disk / "ballast")
    remount(disk, "size=64m")
    report = vault.ingest()
    assert report.count("added") == 25 - committed
    assert report.healed == ""
    assert not vault.orphans()
    assert vault.find("w23x1y1") == ["23.md"]


def test_searching_works_on_a_disk_without_a_single_free_block(vault_on_disk: Vault, disk: Path) -> None:
    vault = vault_on_disk
    emptied_log(vault)
    filler = fill(disk)
    assert vault.find("alpha") == ["a.md"]
    vault.write("b.md", "beta")
    with pytest.raises(DiskFullError):
        vault.ingest()
    assert vault.find("alpha") == ["a.md"]
    filler.unlink()
    assert vault.ingest().count("added") == 1
    assert vault.find("beta") == ["b.md"]


def test_the_first_ingest_on_a_full_disk_leaves_nothing_in_the_way_of_the_next(
    tmp_path: Path, disk: Path
) -> None:
    vault = Vault(tmp_path)
    vault.data = disk / "data"
    vault.workspace = vault.opened(vault.workspace.settings)
    vault.write("a.md", "alpha")
    filler = fill(disk)
    for _ in range(2):
        with pytest.raises((DiskFullError, StoreReadOnlyError)):
            vault.ingest()
    filler.unlink()
    assert vault.ingest().count("added") == 1
    assert vault.find("alpha") == ["a.md"]
    vault.workspace.close()


def test_a_database_that_cannot_grow_is_a_full_disk(vault: Vault) -> None:
    vault.ingest()
    path = vault.files.database
    writer = open_writer(path)
    (pages,) = writer.execute("PRAGMA page_count").fetchone()
    writer.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(DiskFullError), translated(path):
        writer.execute("CREATE TABLE ballast AS SELECT randomblob(100000)")
    writer.close()


@pytest.mark.parametrize(("blocks", "kind"), [(0, DiskFullError), (1000, DiskFaultError)])
def test_a_log_index_that_cannot_grow_is_a_full_disk_only_where_no_block_is_left(
    monkeypatch: pytest.MonkeyPatch, blocks: int, kind: type[StoreError]
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=blocks, f_flag=0))
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
    assert type(connections.translate(error, "/x/kebab.sqlite")) is kind


def test_a_failed_write_on_a_read_only_disk_is_no_disk_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_RDONLY))
    told = connections.translate(error, "/x/kebab.sqlite")
    assert type(told) is StoreReadOnlyError
    assert "the disk is read-only" in told.message


def test_a_disk_that_became_read_only_is_detected_by_a_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a disk need not have the flag of one that was mounted so."""

    def refuse(path: str, *_: object) -> int:
        assert path.startswith(str(tmp_path))
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    error = sqlite3.OperationalError("disk I/O error")
    for code in (sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_TRUNCATE):
        error.sqlite_errorcode = code
        assert type(connections.translate(error, str(tmp_path / "kebab.sqlite"))) is DiskFaultError
        with monkeypatch.context() as patched:
            patched.setattr(own_files, "create", refuse)
            told = connections.translate(error, str(tmp_path / "kebab.sqlite"))
        assert type(told) is StoreReadOnlyError
        assert "the disk is read-only" in told.message
    assert os.listdir(tmp_path) == []


def test_an_error_of_reading_never_leads_to_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(own_files, "create")
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_READ
    assert type(connections.translate(error, str(tmp_path / "kebab.sqlite"))) is DiskFaultError


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, DiskFullError),
        (errno.EDQUOT, DiskFullError),
        (errno.EIO, DiskFaultError),
        (errno.EROFS, StoreReadOnlyError),
        (errno.EACCES, StoreReadOnlyError),
    ],
)
def test_the_errno_of_a_failed_write_decides_the_error(number: int, kind: type[StoreError]) -> None:
    told = connections.write_error(OSError(number, os.strerror(number)), "/x/sources.json")
    assert type(told) is kind
    assert "/x" in told.message and told.hint


def test_searching_is_promised_only_where_the_data_folder_can_be_read(tmp_path: Path) -> None:
    refused = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    assert "searching still works" in connections.write_error(refused, str(tmp_path / "sources.json")).hint
    gone = connections.write_error(refused, str(tmp_path / "gone" / "sources.json"))
    assert gone.hint == "make it writable, or choose another with --data-dir"


def test_the_error_code_decides_whatever_the_message() -> None:
    for code, kind in [
        (sqlite3.SQLITE_FULL, DiskFullError),
        (sqlite3.SQLITE_IOERR_WRITE, DiskFaultError),
        (sqlite3.SQLITE_CORRUPT_INDEX, StoreDamagedError),
        (sqlite3.SQLITE_NOTADB, StoreDamagedError),
        (sqlite3.SQLITE_IOERR_SHORT_READ, StoreDamagedError),
        (sqlite3.SQLITE_READONLY_CANTLOCK, StoreReadOnlyError),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, StoreBusyError),
    ]:
        error = sqlite3.OperationalError("words of some version")
        error.sqlite_errorcode = code
        assert type(connections.translate(error, "/x/kebab.sqlite")) is kind


def test_a_second_writing_connection_is_busy(vault: Vault) -> None:
    vault.ingest()
    path = vault.files.database
    first, second = open_writer(path), open_writer(path)
    second.execute("PRAGMA busy_timeout = 10")
    first.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusyError), translated(path):
        second.execute("BEGIN IMMEDIATE")
    first.close()
    second.close()


def test_a_reader_opens_a_replaced_database(vault: Vault) -> None:
    vault.ingest()
    watching = vault.opened(vault.workspace.settings)
    assert watching.search(SearchQuery("alpha")).total_matches == 1
    vault.workspace.close()
    for name in os.listdir(vault.data):
        if name.startswith("kebab.sqlite"):
            os.rename(vault.data / name, vault.data / f"old-{name}")
    vault.write("b.md", "alpha beta")
    vault.workspace.ingest([], Callbacks())
    assert watching.search(SearchQuery("alpha")).total_matches == 2
    watching.close()


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir])
@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
def test_a_database_that_is_no_regular_file_is_an_error_and_does_not_block(
    vault: Vault, put: Callable[[Path], None], ending: str
) -> None:
    vault.ingest()
    vault.workspace.close()
    path = Path(vault.files.database + ending)
    path.unlink(missing_ok=True)
    put(path)
    fresh = vault.opened(Settings())
    for use in (lambda: fresh.search(SearchQuery("alpha")), lambda: fresh.ingest([], Callbacks())):
        with pytest.raises(StoreError, match=f"kebab.sqlite{ending} is not a regular file") as told:
            use()
        assert "move it away, and run" in told.value.hint
    fresh.close()
    path.rename(path.with_name("away"))
    fresh = vault.opened(Settings())
    fresh.ingest([], Callbacks())
    assert fresh.search(SearchQuery("alpha")).total_matches == 1
    fresh.close()


@pytest.mark.parametrize("number", [errno.EACCES, errno.ENOTDIR, errno.EIO])
def test_an_unreadable_index_is_not_reported_as_missing(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Tests may run as root, which ignores permissions."""
    vault.ingest()
    vault.workspace.close()
    look = os.stat

    def stat(path: Any, **more: Any) -> os.stat_result:
        if str(path).startswith(str(vault.data)):
            raise OSError(number, os.strerror(number))
        return look(path, **more)

    monkeypatch.setattr(os, "stat", stat)
    with pytest.raises(StoreError, match=f"cannot read the index .*: {os.strerror(number)}") as told:
        vault.find("alpha")
    assert "make the data folder readable" in told.value.hint
    assert not isinstance(told.value, NotIndexedError)


@pytest.mark.parametrize("room", range(0, 18, 3))
def test_a_full_disk_during_the_migration_leaves_no_partial_schema(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """`room`: how many pages there are for the tables."""

    class Small(sqlite3.Connection):
        def execute(self, *statement: Any) -> sqlite3.Cursor:
            if str(statement[0]).startswith("PRAGMA application_id ="):
                super().execute(f"PRAGMA max_page_count = {room + 1}")
            return super().execute(*statement)

    path = str(tmp_path / "kebab.sqlite")
    connect = sqlite3.connect
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", lambda *given, **more: connect(*given, factory=Small, **more))
        with pytest.raises(DiskFullError, match="no space left"):
            open_writer(path).close()
    with pytest.raises(NotIndexedError, match="nothing has been indexed yet"):
        open_reader(path)
    open_writer(path).close()
    open_reader(path).close()


def test_a_log_that_cannot_be_folded_in_loses_nothing(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """The notes are committed to the log, and the database cannot grow any more."""
    vault.ingest()
    vault.workspace.close()
    database, log = vault.data / "kebab.sqlite", vault.data / "kebab.sqlite-wal"
    for n in range(12):
        vault.write(f"{n}.md", heavy(n))
    size, close = database.stat().st_size, StoreWriter.close

    def closed_on_a_full_disk(writer: StoreWriter) -> None:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            close(writer)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    with monkeypatch.context() as patch:
        patch.setattr(StoreWriter, "close", closed_on_a_full_disk)
        assert vault.ingest().count("added") == 12
    vault.workspace.close()
    assert database.stat().st_size == size and log.stat().st_size > size
    assert vault.find("w7x1y1") == ["7.md"]
    assert vault.ingest().count("unchanged") == 13
    vault.workspace.close()
    assert database.stat().st_size > size and log.stat().st_size == 0
    assert (vault.data / "kebab.seal").exists()
    assert vault.find("w7x1y1") == ["7.md"]
    assert not list(vault.data.glob("*damaged*"))
