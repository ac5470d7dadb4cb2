"""A checksum of every page of a database at rest (`kebab.seal`), and when its file was last written.

SQLite has no checksums: a bit that flips on the disk is data to it. A writer removes the seal
before it writes and writes a new one once the log is folded in; a killed writer leaves none. A
reader compares size and time, which costs one `stat`, and reads the pages only if they differ: a
copied folder passes, a patched file does not. `doctor`, the first writer after a kill, and each
writer at its end check every page, and so find changes under an unchanged time.

A seal proves damage only of the state it was made of. A database that was restored without its
seal, or that another program has written to, has another generation.
"""

from __future__ import annotations

import array
import contextlib
import os
import sqlite3
import struct
import sys
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO, NamedTuple

from kebab_tui import own_files
from kebab_tui.domain.errors import StoreDamagedError
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.connection import write_error

_MAGIC = b"KEBABSL2"
_HEADER = struct.Struct("<8sIIqqIqqI")
"""Magic, page size, pages, file size, time of writing (ns), generation (3), CRC-32 of all sums."""
_GENERATION = "SELECT (SELECT value FROM meta WHERE key = 'corpus_revision'), (SELECT max(run_id) FROM runs)"
_LOG_HEADER_BYTES, _FRAME_HEADER_BYTES = 32, 24
_READ_BYTES = 1 << 20
_MOST_BYTES = 1 << 28
_NEVER = 0
"""As time of writing: no file matches it, so each reader checks every page."""
_FIX = "run `kebab ingest`: it sets the file aside and rebuilds from your notes"
_descriptors: dict[tuple[int, int], int] = {}
_descriptors_lock = threading.Lock()


class Generation(NamedTuple):
    """Numbers that every writer increases: SQLite's own change counter, and two of ours."""

    counter: int
    revision: int
    run: int


@dataclass(frozen=True, slots=True)
class _Sums:
    page_bytes: int
    sums: array.array[int]
    size: int
    written_ns: int
    generation: Generation


class PageChecksums:
    """The seal of one data folder. All methods but the checks need the writer's lock."""

    def __init__(self, folder: DataFolder) -> None:
        self._database = folder.database
        self._path = folder.seal
        self._off = folder.seal + ".off"
        self._was: _Sums | None = None
        self._log: bytes | None = None
        self._has_written = False

    def check(self) -> None:
        """Raise StoreDamagedError if size or time differ from the seal and a page does too."""
        try:
            with open(own_files.open_regular(self._path), "rb", buffering=0) as handle:
                magic, _, _, *written, _, _, _, _ = _HEADER.unpack(handle.read(_HEADER.size))
        except (OSError, struct.error):
            return
        now = _written(self._database)
        if magic == _MAGIC and now is not None and tuple(written) != now:
            self.check_pages()

    def check_pages(self) -> None:
        """Raise StoreDamagedError if any page differs from the seal, is missing or is new."""
        seal = _read(self._path)
        if seal is None:
            return
        expected = seal.sums
        wrong = number = 0
        try:
            with _opened(self._database) as handle:
                for number, found in enumerate(_sums_of(handle, seal.page_bytes), 1):
                    if number > len(expected) or found != expected[number - 1]:
                        wrong = number
                        break
        except OSError:
            return  # SQLite meets the same error and reports it better
        if not wrong and number < len(expected):
            wrong = number + 1
        if wrong and _read(self._path) == seal:  # otherwise a writer removed the seal meanwhile
            raise StoreDamagedError(f"index corrupted: page {wrong} differs from its checksum", _FIX)

    def matches(self, connection: sqlite3.Connection) -> bool:
        """Whether the seal was made of the present state of the database."""
        seal = _read(self._path)
        if seal is None:
            return False
        with _opened(self._database) as handle:
            header = handle.read(100)
        counter, valid_for = (int.from_bytes(header[place : place + 4], "big") for place in (24, 92))
        # Another program writes a new counter to both places of the header; a bit flips in one.
        same_counter = counter == seal.generation.counter or counter != valid_for
        return same_counter and generation_of(connection) == seal.generation[1:]

    def remove(self) -> bool:
        """Remove the seal before the first byte is written; whether there was one."""
        was = _read(self._path)
        # If the file has another time, its pages may not be those of the seal.
        is_current = was is not None and (was.size, was.written_ns) == _written(self._database)
        self._was = was if is_current else None
        self._log, self._has_written = None, False
        try:
            os.replace(self._path, self._off)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise write_error(error, self._path) from error
        return was is not None

    def restore(self) -> None:
        """Put the removed seal back if nothing was written."""
        was, self._was = self._was, None
        if was is not None and (was.size, was.written_ns) == _written(self._database):
            with contextlib.suppress(OSError):
                os.replace(self._off, self._path)
        else:
            self.discard()

    def note_commit(self) -> None:
        self._has_written = True
        self.note_log()

    def note_log(self) -> None:
        """Remember which log there is: a later one may overwrite it."""
        if self._log is None:
            self._log = _log_salt(self._database)

    def changed_pages(self) -> set[int] | None:
        """Numbers of the pages in the log; None if the log may not hold all that changed."""
        log = _log_salt(self._database)
        if self._was is None or log != self._log:
            return None
        pages: set[int] = set()
        frame = _FRAME_HEADER_BYTES + self._was.page_bytes
        try:
            if log:
                with open(_log_of(self._database), "rb", buffering=0) as handle:
                    size = os.fstat(handle.fileno()).st_size
                    for place in range(_LOG_HEADER_BYTES, size - frame + 1, frame):
                        handle.seek(place)
                        pages.add(int.from_bytes(handle.read(4), "big"))
        except OSError:
            return None
        return pages

    def write(self, changed: set[int] | None, generation: tuple[int, int]) -> None:
        """Write the seal after the log was folded in. On a full disk the database gets none."""
        was, self._was = self._was, None
        with contextlib.suppress(OSError):
            if was is not None and not changed and (was.size, was.written_ns) == _written(self._database):
                os.replace(self._off, self._path)
                return
            # After a commit without pages in the log, the changed pages are unknown.
            known = None if self._has_written and not changed else changed
            seal = _summed(self._database, generation)
            if was is not None and known is not None and was.page_bytes == seal.page_bytes:
                seal = _with_unexplained_changes(seal, was, known)
            sums = _swapped(array.array("I", seal.sums)).tobytes()
            header = _HEADER.pack(
                _MAGIC, seal.page_bytes, len(seal.sums), seal.size, seal.written_ns, *seal.generation,
                zlib.crc32(sums),
            )  # fmt: skip
            # Not synced: a seal that a power cut tears fails its own checksum.
            own_files.replace(self._path, header, sums, synced=False)
        self.discard()

    def discard(self) -> None:
        """Drop the removed seal."""
        with contextlib.suppress(OSError):
            os.remove(self._off)

    def drop(self) -> None:
        """Delete all seals, because the database is gone or another one."""
        self._was = None
        for path in (self._path, self._off):
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)


def generation_of(connection: sqlite3.Connection) -> tuple[int, int]:
    """The part of a generation that is stored in the database's tables."""
    revision, run = connection.execute(_GENERATION).fetchone()
    return int(revision or 0), int(run or 0)


def _written(path: str) -> tuple[int, int] | None:
    """Size and time of the last change."""
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_size, facts.st_mtime_ns


def _read(path: str) -> _Sums | None:
    """None if there is no valid seal."""
    try:
        data = own_files.read(path, _MOST_BYTES)
        magic, page_bytes, pages, size, written_ns, *generation, check = _HEADER.unpack_from(data)
    except (OSError, struct.error):
        return None
    body = data[_HEADER.size :]
    if magic != _MAGIC or len(body) != 4 * pages or zlib.crc32(body) != check or page_bytes < 512:
        return None
    return _Sums(page_bytes, _swapped(array.array("I", body)), size, written_ns, Generation(*generation))


def _swapped(sums: array.array[int]) -> array.array[int]:
    """Little-endian on every machine."""
    if sys.byteorder == "big":
        sums.byteswap()
    return sums


def _summed(database: str, generation: tuple[int, int]) -> _Sums:
    with _opened(database) as handle:
        facts = os.fstat(handle.fileno())
        header = handle.read(100)
        page_bytes = int.from_bytes(header[16:18], "big")
        page_bytes = 65_536 if page_bytes == 1 else page_bytes
        if page_bytes < 512:
            raise OSError(f"{database} is no longer a database")
        sums = array.array("I", _sums_of(handle, page_bytes))
    counter = int.from_bytes(header[24:28], "big")
    return _Sums(page_bytes, sums, facts.st_size, facts.st_mtime_ns, Generation(counter, *generation))


def _with_unexplained_changes(seal: _Sums, was: _Sums, changed: set[int]) -> _Sums:
    """The old sums for pages that differ though no writer changed them: the next reader finds damage."""
    sums, first = seal.sums, min(len(seal.sums), len(was.sums))
    wrong = [page for page in range(1, first + 1) if sums[page - 1] != was.sums[page - 1]]
    wrong = [page for page in wrong if page not in changed]
    lost = was.sums[first:] if 1 not in changed else was.sums[:0]  # truncation writes the first page
    if not wrong and not lost:
        return seal
    for page in wrong:
        sums[page - 1] = was.sums[page - 1]
    counter = was.generation.counter if 1 in wrong else seal.generation.counter
    generation = seal.generation._replace(counter=counter)
    return replace(seal, sums=sums + lost, written_ns=_NEVER, generation=generation)


def _sums_of(handle: BinaryIO, page_bytes: int) -> Iterator[int]:
    handle.seek(0)
    step = max(1, _READ_BYTES // page_bytes) * page_bytes
    while block := handle.read(step):
        # A network file system may return less than was asked for.
        while len(block) < step and (more := handle.read(step - len(block))):
            block += more
        view = memoryview(block)
        for start in range(0, len(view), page_bytes):
            yield zlib.crc32(view[start : start + page_bytes])


@contextlib.contextmanager
def _opened(database: str) -> Iterator[BinaryIO]:
    """The database file itself, beside SQLite.

    Closing any descriptor of a file drops all POSIX locks that the process has on it, also those of
    SQLite's connections. So the descriptor stays open, one per file, where locks are of that kind.
    """
    if os.name == "nt":
        with open(database, "rb", buffering=0) as handle:
            yield handle
        return
    with _descriptors_lock:
        for key, descriptor in list(_descriptors.items()):
            if os.fstat(descriptor).st_nlink == 0:  # deleted: no locks to lose, but disk space to free
                os.close(_descriptors.pop(key))
        facts = os.stat(database)
        key = facts.st_dev, facts.st_ino
        if key not in _descriptors:
            descriptor = os.open(database, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            facts = os.fstat(descriptor)  # another file may have taken the name meanwhile
            key = facts.st_dev, facts.st_ino
            _descriptors[key] = descriptor
        with open(_descriptors[key], "rb", buffering=0, closefd=False) as handle:
            handle.seek(0)
            yield handle


def _log_salt(database: str) -> bytes | None:
    """Bytes that are new in each log; None if there is no log."""
    try:
        with open(_log_of(database), "rb", buffering=0) as handle:
            header = handle.read(_LOG_HEADER_BYTES)
    except OSError:  # `write` trusts no empty log whose database has changed
        return None
    return header[12:24] if len(header) == _LOG_HEADER_BYTES else None


def _log_of(database: str) -> str:
    return os.path.realpath(database) + "-wal"  # SQLite follows a link, too
