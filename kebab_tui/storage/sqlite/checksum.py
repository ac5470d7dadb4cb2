"""The seal on a database at rest: a checksum of every page, and when the file was last written.

SQLite keeps no checksums, so that a bit which flipped on the disk is data to it. Whoever
writes takes the seal off first, and puts it on again once the log is folded in; a killed
writer leaves none. A reader compares size and time, which costs one look at the folder,
and reads the pages only where these differ: a copied folder is sound, a patched file is not.
What changes under an unchanged time, or while somebody writes, is found by whoever looks at
every page: `doctor`, the first writer after a kill, and each writer when it ends.

A seal proves damage only of the state that it was made of: a database that was restored
without it, or that another program has written to, has another generation.
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
"""Magic, bytes of a page, pages, bytes of the file, when it was written (ns), generation, checksum of all."""
_GENERATION = "SELECT (SELECT value FROM meta WHERE key = 'corpus_revision'), (SELECT max(run_id) FROM runs)"
_LOG_HEADER_BYTES, _FRAME_HEADER_BYTES = 32, 24
_READ_BYTES = 1 << 20
_MOST_BYTES = 1 << 28
_NEVER = 0
"""No file was written then: whoever compares reads every page."""
_MEND = "run `kebab ingest`: it sets the file aside and rebuilds from your notes"
_descriptors: dict[tuple[int, int], int] = {}
_descriptors_lock = threading.Lock()


class Generation(NamedTuple):
    """What a sound writer moves: the counter of SQLite's own header, and numbers of ours."""

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
    """Of one data folder. All but `check` and `check_pages` are for the holder of the writer's lock."""

    def __init__(self, folder: DataFolder) -> None:
        self._database = folder.database
        self._path = folder.seal
        self._off = folder.seal + ".off"
        self._was: _Sums | None = None
        self._log: bytes | None = None
        self._has_written = False

    def check(self) -> None:
        """Raise StoreDamagedError if a sealed database is not what it was."""
        seal, now = _read_header(self._path), _written(self._database)
        if seal is not None and now is not None and seal != now:
            self.check_pages()

    def check_pages(self) -> None:
        """The same, but look at every page in any case."""
        seal = _read(self._path)
        if seal is None:
            return
        try:
            wrong = next(_differing(self._database, seal), None)
        except OSError:
            return  # SQLite meets the same, and says more of it
        if wrong is not None and _read(self._path) == seal:  # or a writer took it off meanwhile
            raise StoreDamagedError(f"the index is damaged: page {wrong} is not what was written", _MEND)

    def is_of(self, connection: sqlite3.Connection) -> bool:
        """Whether it was made of the state that the database is in."""
        seal = _read(self._path)
        if seal is None:
            return False
        with _opened(self._database) as handle:
            header = handle.read(100)
        counter, valid_for = (int.from_bytes(header[place : place + 4], "big") for place in (24, 92))
        ours = generation_of(connection)
        # A counter that another program moved stands in the header twice; one that flipped does not.
        same_counter = counter == seal.generation.counter or counter != valid_for
        return same_counter and ours == seal.generation[1:]

    def take_off(self) -> bool:
        """Before the first byte is written, and once it was checked; whether there was one."""
        was = _read(self._path)
        # Of a file with another time it is not known which pages are those of the seal.
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

    def put_back(self) -> None:
        """Nothing was written after all: what was sealed still is."""
        was, self._was = self._was, None
        if was is not None and (was.size, was.written_ns) == _written(self._database):
            with contextlib.suppress(OSError):
                os.replace(self._off, self._path)
        else:
            self.leave_off()

    def note_commit(self) -> None:
        self._has_written = True
        self.note_log()

    def note_log(self) -> None:
        """Remember which log there is, as a later one may overwrite it."""
        if self._log is None:
            self._log = _log_salt(self._database)

    def changed_pages(self) -> set[int] | None:
        """Which pages the log holds; None when it does not tell of all that changed."""
        log = _log_salt(self._database)
        if self._was is None or log != self._log:
            return None
        try:
            return set(_pages_in_log(self._database, self._was.page_bytes)) if log else set()
        except OSError:
            return None

    def put_on(self, changed: set[int] | None, generation: tuple[int, int]) -> None:
        """When the log is folded in and nobody writes. A full disk leaves the database without a seal."""
        was, self._was = self._was, None
        with contextlib.suppress(OSError):
            if was is not None and not changed and (was.size, was.written_ns) == _written(self._database):
                os.replace(self._off, self._path)
                return
            # Written, and no page in the log: it took a way that is not known here.
            known = None if self._has_written and not changed else changed
            _write(self._path, _summed(self._database, was, known, generation))
        self.leave_off()

    def leave_off(self) -> None:
        """What is written now cannot be sealed."""
        with contextlib.suppress(OSError):
            os.remove(self._off)

    def forget(self) -> None:
        """There is another database now, or none."""
        self._was = None
        for path in (self._path, self._off):
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)


def generation_of(connection: sqlite3.Connection) -> tuple[int, int]:
    """What of a generation only the database itself knows."""
    revision, run = connection.execute(_GENERATION).fetchone()
    return int(revision or 0), int(run or 0)


def _written(path: str) -> tuple[int, int] | None:
    """Size and time of the last change."""
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_size, facts.st_mtime_ns


def _read_header(path: str) -> tuple[int, int] | None:
    try:
        with open(own_files.open_regular(path), "rb", buffering=0) as handle:
            magic, _, _, size, written_ns, *_ = _HEADER.unpack(handle.read(_HEADER.size))
    except (OSError, struct.error):
        return None
    return (size, written_ns) if magic == _MAGIC else None


def _read(path: str) -> _Sums | None:
    """A seal that cannot be read is none."""
    try:
        data = own_files.read(path, _MOST_BYTES)
        magic, page_bytes, pages, size, written_ns, *generation, check = _HEADER.unpack_from(data)
    except (OSError, struct.error):
        return None
    body = data[_HEADER.size :]
    if magic != _MAGIC or len(body) != 4 * pages or zlib.crc32(body) != check or page_bytes < 512:
        return None
    return _Sums(page_bytes, _swapped(array.array("I", body)), size, written_ns, Generation(*generation))


def _write(path: str, seal: _Sums) -> None:
    body = _swapped(array.array("I", seal.sums)).tobytes()
    header = _HEADER.pack(
        _MAGIC,
        seal.page_bytes,
        len(seal.sums),
        seal.size,
        seal.written_ns,
        *seal.generation,
        zlib.crc32(body),
    )
    # Not synced: one that a power cut tears fails its own checksum.
    own_files.replace(path, header, body, synced=False)


def _swapped(sums: array.array[int]) -> array.array[int]:
    """Little-endian on every machine."""
    if sys.byteorder == "big":
        sums.byteswap()
    return sums


def _differing(database: str, seal: _Sums) -> Iterator[int]:
    """The numbers of the pages, from 1, that are not what they were, or are missing, or too many."""
    with _opened(database) as handle:
        number = 0
        for number, found in enumerate(_sums_of(handle, seal.page_bytes), 1):
            if number > len(seal.sums) or found != seal.sums[number - 1]:
                yield number
        if number < len(seal.sums):
            yield number + 1


def _summed(database: str, was: _Sums | None, changed: set[int] | None, generation: tuple[int, int]) -> _Sums:
    with _opened(database) as handle:
        facts = os.fstat(handle.fileno())
        header = handle.read(100)
        page_bytes = int.from_bytes(header[16:18], "big")
        page_bytes = 65_536 if page_bytes == 1 else page_bytes
        if page_bytes < 512:
            raise OSError(f"{database} is no database any more")
        sums = array.array("I", _sums_of(handle, page_bytes))
    counter = int.from_bytes(header[24:28], "big")
    seal = _Sums(page_bytes, sums, facts.st_size, facts.st_mtime_ns, Generation(counter, *generation))
    if was is None or changed is None or was.page_bytes != page_bytes:
        return seal
    return _doubted(seal, was, changed)


def _doubted(seal: _Sums, was: _Sums, changed: set[int]) -> _Sums:
    """The same; where a page is another one that nobody wrote, a seal that the next reader finds broken."""
    sums, first = seal.sums, min(len(seal.sums), len(was.sums))
    wrong = [page for page in range(1, first + 1) if sums[page - 1] != was.sums[page - 1]]
    wrong = [page for page in wrong if page not in changed]
    lost = was.sums[first:] if 1 not in changed else was.sums[:0]  # who shortens it writes its first page
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
    while block := memoryview(_whole(handle, step)):
        for start in range(0, len(block), page_bytes):
            yield zlib.crc32(block[start : start + page_bytes])


def _whole(handle: BinaryIO, size: int) -> bytes:
    """As many bytes as asked for, or all that are left: a network file system may give less at a time."""
    block = handle.read(size)
    while block and len(block) < size and (more := handle.read(size - len(block))):
        block += more
    return block


@contextlib.contextmanager
def _opened(database: str) -> Iterator[BinaryIO]:
    """The file itself, beside SQLite.

    Closing any descriptor of a file drops all POSIX locks that the process has on it, and so
    those of SQLite's connections. Where locks are of that kind it is left open, once a file.
    """
    if os.name == "nt":
        with open(database, "rb", buffering=0) as handle:
            yield handle
        return
    with _descriptors_lock:
        _close_deleted()
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


def _close_deleted() -> None:
    """Of a file without a name there is no lock to be lost, but room on the disk to be freed."""
    for key, descriptor in list(_descriptors.items()):
        if os.fstat(descriptor).st_nlink == 0:
            os.close(_descriptors.pop(key))


def _log_salt(database: str) -> bytes | None:
    """What a log that was begun anew has another one of; None when there is no log."""
    try:
        with open(_log_of(database), "rb", buffering=0) as handle:
            header = handle.read(_LOG_HEADER_BYTES)
    except OSError:  # `put_on` trusts no empty log whose database has changed
        return None
    return header[12:24] if len(header) == _LOG_HEADER_BYTES else None


def _log_of(database: str) -> str:
    return os.path.realpath(database) + "-wal"  # SQLite follows a link, too


def _pages_in_log(database: str, page_bytes: int) -> Iterator[int]:
    with open(_log_of(database), "rb", buffering=0) as handle:
        place, size = _LOG_HEADER_BYTES, os.fstat(handle.fileno()).st_size
        while place + _FRAME_HEADER_BYTES + page_bytes <= size:
            handle.seek(place)
            yield int.from_bytes(handle.read(4), "big")
            place += _FRAME_HEADER_BYTES + page_bytes
