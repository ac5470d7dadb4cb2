"""Opens the database for writing or reading, and translates SQLite's errors to those of the package.

A writer may create and migrate. A reader never changes a byte, and also works on a read-only or
full disk.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import sqlite3
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from kebab_tui import own_files
from kebab_tui.domain import errors
from kebab_tui.domain.facets import compare, fold
from kebab_tui.domain.interruption import Superseded, is_superseded
from kebab_tui.domain.names import distinct_names, is_called_after_its_folder, name_key, name_of, stem_of
from kebab_tui.domain.text import RECIPE_VERSION, display_path, embedded_hash, glob_regex
from kebab_tui.storage.sqlite import schema
from kebab_tui.storage.sqlite.rows import indexed_grams

_PAGE_BYTES = 16_384
"""A chunk and its columns fill half a page of the default size: larger pages waste less."""
_CHECKPOINT_PAGES = 8_192
"""Size of the log at which it is copied into the database; a bulk load would copy pages repeatedly."""
STEPS_BETWEEN_QUESTIONS = 100_000
"""Of SQLite's machine, some milliseconds; then Python handles signals, and a search may be superseded."""

_LOST = ("no such table", "vtable constructor failed")
"""In a database of the right version these errors mean that the table of tables is damaged."""
_CUT_OFF = (sqlite3.SQLITE_IOERR_SHORT_READ,)
"""A file, usually the log, became shorter while it was open."""
_WRITING = (
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_DIR_FSYNC,
    sqlite3.SQLITE_IOERR_TRUNCATE,
    sqlite3.SQLITE_IOERR_DELETE,
)
_CHECK_DISK = "run the command again; if that happens again, check the disk"


class Detached(sqlite3.Connection):
    """A copy of the file, or a view of an immutable file: does not see later commits."""


def open_writer(path: str) -> sqlite3.Connection:
    """Open for writing, creating and migrating as needed. The caller holds the writer's lock."""
    _require_files(path)
    with contextlib.suppress(OSError):  # SQLite reports it better, and copies the permissions to its log
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with translated(path):
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            _reject_foreign(connection, path)
            connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
            connection.execute("PRAGMA journal_mode = WAL")
            _common_pragmas(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            checkpoint_as_usual(connection)
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA recursive_triggers = ON")
            connection.execute("PRAGMA journal_size_limit = 67108864")
            _register_functions(connection)
            # Python runs signal handlers between bytecodes: without this, Ctrl+C waits for a long statement.
            connection.set_progress_handler(lambda: 0, STEPS_BETWEEN_QUESTIONS)
            if (version := _user_version(connection)) < schema.SCHEMA_VERSION:
                if version:
                    _require_space(path)
                connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
                schema.migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection


def checkpoint_as_usual(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")


def cache_as_usual(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA cache_size = -32768")


def open_reader(path: str) -> sqlite3.Connection:
    """Open for reading only; NotIndexedError if there is no index yet."""
    try:
        os.stat(path)
    except FileNotFoundError:
        raise _nothing_indexed() from None
    except OSError as error:
        raise errors.StoreError(
            f"cannot read the index {path}: {error.strerror}",
            "make the data folder readable, or choose another with --data-dir",
        ) from None
    _require_files(path)
    with translated(path):
        connection = _connect_for_reading(path)
        try:
            _reject_foreign(connection, path)
            _common_pragmas(connection)
            # The system caches the file as well: 25 MB less for the screen, and no search is slower.
            connection.execute("PRAGMA cache_size = -8192")
            _register_functions(connection)
            if _user_version(connection) == 0:
                raise _nothing_indexed()
            _read_older(connection)
            connection.execute("PRAGMA query_only = ON")
        except BaseException:
            connection.close()
            raise
        return connection


def _read_older(connection: sqlite3.Connection) -> None:
    """Let a reader see an index of an older version as one of the present; changes no byte of the file."""
    for step in range(_user_version(connection) + 1, schema.SCHEMA_VERSION + 1):
        for view in schema.statements_of(schema.VIEWS.get(step, "")):
            connection.execute(view)
    if meta_value(connection, "embed_recipe") != RECIPE_VERSION:  # the stored hashes are those of other texts
        connection.execute(
            "CREATE TEMP VIEW chunks AS SELECT id, chunk_id, doc_id, ordinal, kind, line_first, line_last, "
            "page, heading_path, text, title, grams, "
            "kebab_embedded(title, heading_path, text) AS embed_hash, hangul FROM main.chunks"
        )


def is_older(connection: sqlite3.Connection) -> bool:
    """Whether a reader sees an older index through views, which a migration invalidates."""
    return connection.execute("SELECT 1 FROM sqlite_temp_schema WHERE type = 'view'").fetchone() is not None


def _require_space(path: str) -> None:
    """Raise unless a step that rewrites every page fits on the disk."""
    disk = _disk_of(path)
    needed = sum(os.path.getsize(name) for name in (path, f"{path}-wal") if os.path.exists(name))
    if disk is not None and (free := disk.f_bavail * disk.f_frsize) < needed:
        raise errors.DiskFullError(
            f"the index cannot be upgraded: that may take {needed / 1e6:,.0f} MB, "
            f"and the disk of {os.path.dirname(path)} has {free / 1e6:,.0f} MB",
            "free some space and run the command again; the index is as it was, and searching still works",
        )


def _require_files(path: str) -> None:
    """SQLite would block on a pipe in place of the database or its log."""
    for name in (path, f"{path}-wal", f"{path}-shm", f"{path}-journal"):
        if os.path.exists(name) and not os.path.isfile(name):
            then = "`kebab ingest`: it rebuilds from your notes" if name == path else "the command again"
            raise errors.StoreError(f"{name} is not a regular file", f"move it away, and run {then}")


def _nothing_indexed() -> errors.NotIndexedError:
    return errors.NotIndexedError(
        "nothing has been indexed yet", "run `kebab ingest FOLDER` with the folder of your notes"
    )


@contextlib.contextmanager
def translated(path: str) -> Iterator[None]:
    """Raise SQLite's errors as errors of the package, with a hint for the user."""
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT and is_superseded():
            raise Superseded from None
        raise_if_interrupted(error)
        raise translate(error, path) from error


def raise_if_interrupted(error: sqlite3.Error) -> None:
    """Raise KeyboardInterrupt: SQLite turns one within its progress handler into its own error."""
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
        raise KeyboardInterrupt from error


def translate(error: sqlite3.Error, path: str) -> errors.StoreError:
    text, code = str(error), getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    kind = code & 0xFF  # an extended code adds details in the upper bits
    if kind in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or code in _CUT_OFF or text.startswith(_LOST):
        return errors.StoreDamagedError(
            f"index corrupted ({text}): {path}",
            "run `kebab ingest`: it sets the file aside and rebuilds from your notes",
        )
    # SQLite reports SHMSIZE for any file that cannot grow; without a free block the disk is full.
    cannot_grow = code == sqlite3.SQLITE_IOERR_SHMSIZE
    if kind == sqlite3.SQLITE_FULL or (cannot_grow and (disk := _disk_of(path)) and disk.f_bavail == 0):
        return disk_full(path)
    is_on_read_only_disk = kind == sqlite3.SQLITE_IOERR and (
        _is_on_read_only_disk(path) or (code in _WRITING and _has_become_read_only(path))
    )
    if is_on_read_only_disk or kind in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        reason = "the disk is read-only" if is_on_read_only_disk else text
        return errors.StoreReadOnlyError(
            f"cannot write to the index: {path} ({reason})",
            "make the data folder writable, or choose another with --data-dir; searching still works",
        )
    if kind == sqlite3.SQLITE_IOERR:
        return errors.DiskFaultError(f"the disk failed ({text}): {path}", _CHECK_DISK)
    if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return errors.StoreBusyError(f"the index is busy: {path}", "try again in a moment")
    return errors.StoreError(f"the index could not be used: {text}", "run `kebab doctor`")


def write_error(error: OSError, path: str) -> errors.StoreError:
    """Translate an OSError from writing a file of the data folder."""
    folder = os.path.dirname(path)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full(path)
    if error.errno == errno.EIO:
        return errors.DiskFaultError(f"the disk failed ({error.strerror}): {folder}", _CHECK_DISK)
    searching = "; searching still works" if os.access(folder, os.R_OK | os.X_OK) else ""
    return errors.StoreReadOnlyError(
        f"cannot write to the data folder {folder}: {error.strerror}",
        f"make it writable, or choose another with --data-dir{searching}",
    )


def disk_full(path: str) -> errors.DiskFullError:
    return errors.DiskFullError(
        f"no space left on the disk of {os.path.dirname(path)}",
        "free some space and run the command again; the index is intact",
    )


def meta_value(connection: sqlite3.Connection, key: str) -> Any:
    """The value of a key in the table `meta`; None without one."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return row[0] if row else None


def uri_of(path: str) -> str:
    """A path as an SQLite URI. Importing `urllib` would add a tenth to a cold search."""
    plain = frozenset(b"/.-_~ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
    return "file:" + "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in os.fsencode(path))


def _connect_for_reading(path: str) -> sqlite3.Connection:
    uri = uri_of(path)
    # A WAL database needs its -shm file, which cannot be created on a read-only or full disk. Root
    # passes every permission check on a read-only mount, so the mount is checked too.
    is_writable = os.access(os.path.dirname(path), os.W_OK)
    if is_writable and (os.path.exists(path + "-shm") or not _is_on_read_only_disk(path)):
        connection = _readable(f"{uri}?mode=ro")
        try:
            connection.execute("PRAGMA user_version").fetchone()
        except sqlite3.Error as error:
            connection.close()
            if getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_IOERR_SHMSIZE:
                raise
            # The disk is full, and a writer may return at any time.
            return _copied_to_memory(_readable(f"{uri}?mode=ro&immutable=1"))
        return connection
    wal = path + "-wal"
    if not os.path.exists(wal) or os.path.getsize(wal) == 0:
        return _detached(f"{uri}?mode=ro&immutable=1")

    # The log holds the last commits and cannot be applied in place.
    import shutil  # rarely needed, and slow to import
    import tempfile

    with tempfile.TemporaryDirectory(prefix="kebab-") as scratch:
        copy = os.path.join(scratch, "copy.sqlite")
        shutil.copyfile(path, copy)
        shutil.copyfile(wal, copy + "-wal")
        return _copied_to_memory(sqlite3.connect(copy))


def _copied_to_memory(on_disk: sqlite3.Connection) -> Detached:
    """A copy of the database in memory; closes the original."""
    memory = _detached(":memory:")
    try:
        on_disk.backup(memory)
    finally:
        on_disk.close()
    return memory


def _readable(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)


def _detached(uri: str) -> Detached:
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, factory=Detached)


def _disk_of(path: str) -> os.statvfs_result | None:
    try:
        return os.statvfs(os.path.dirname(path))
    except (AttributeError, OSError):  # AttributeError: Windows
        return None


def _is_on_read_only_disk(path: str) -> bool:
    disk = _disk_of(path)
    return disk is not None and bool(disk.f_flag & os.ST_RDONLY)


def _has_become_read_only(path: str) -> bool:
    """Try a write: a disk that the kernel made read-only after an error may lack the flag."""
    probe = f"{path}.probe"
    try:
        os.close(own_files.create(probe))
        os.unlink(probe)
    except OSError as error:
        return error.errno == errno.EROFS
    return False


def _reject_foreign(connection: sqlite3.Connection, path: str) -> None:
    version = _user_version(connection)
    owner = int(connection.execute("PRAGMA application_id").fetchone()[0])
    empty = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0
    if owner not in (0, schema.APPLICATION_ID) or (owner == 0 and not empty):
        raise errors.StoreError(
            f"{path} is a database of another program", "choose another folder with --data-dir"
        )
    if version > schema.SCHEMA_VERSION:
        raise errors.StoreTooNewError(
            f"the index was made by a newer version (schema {version}, not {schema.SCHEMA_VERSION})",
            "upgrade kebab, or choose another folder with --data-dir",
        )


def _user_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _common_pragmas(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA busy_timeout = 5000")
    connection.execute("PRAGMA mmap_size = 0")
    connection.execute("PRAGMA temp_store = MEMORY")
    cache_as_usual(connection)


def _register_functions(connection: sqlite3.Connection) -> None:
    def matches_glob(pattern: str, path: str) -> bool:
        return _compiled(pattern).fullmatch(path) is not None

    def contains(part: str, whole: str) -> bool:
        return fold(part) in fold(whole)

    def name(path: str, root: bytes | None) -> str:
        return stem_of(path) if root is None else name_of(path, display_path(os.fsdecode(root)))

    def names(listed: str) -> str:
        lines = (line for text in json.loads(listed) for line in text.split("\n"))
        return distinct_names(lines)

    connection.create_function("kebab_glob", 2, matches_glob, deterministic=True)
    connection.create_function("kebab_grams", 3, indexed_grams, deterministic=True)
    connection.create_function("kebab_embedded", 3, embedded_hash, deterministic=True)
    connection.create_function("kebab_contains", 2, contains, deterministic=True)
    connection.create_function("kebab_fold", 1, fold, deterministic=True)
    connection.create_function("kebab_name_key", 1, name_key, deterministic=True)
    connection.create_function("kebab_compare", 3, compare, deterministic=True)
    connection.create_function("kebab_name", 2, name, deterministic=True)
    connection.create_function("kebab_after_folder", 1, is_called_after_its_folder, deterministic=True)
    connection.create_function("kebab_names", 1, names, deterministic=True)


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(glob_regex(pattern))
