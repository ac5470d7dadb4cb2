"""The seal on a database at rest: a checksum of every page, and when the file was last written.

SQLite keeps no checksums, so that a bit which flipped on the disk is data to it. Whoever
writes takes the seal off first, and puts it on again once the log is folded in; a killed
writer leaves none. A reader compares size and time, which costs one look at the folder,
and reads the pages only where these differ: a copied folder is sound, a patched file is not.
"""

from __future__ import annotations

import array
import contextlib
import os
import struct
import sys
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from kebab_tui.domain.errors import StoreDamagedError
from kebab_tui.store.folder import DataFolder

_MAGIC = b"KEBABSL1"
_HEADER = struct.Struct("<8sIIqqI")
"""Magic, bytes of a page, pages, bytes of the file, when it was written (ns), checksum of all sums."""
_LOG_HEADER_BYTES, _FRAME_HEADER_BYTES = 32, 24
_READ_BYTES = 1 << 20
_MEND = "run `kebab ingest`: it sets the file aside and rebuilds from your notes"
_descriptors: dict[tuple[int, int], int] = {}
_descriptors_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Sums:
    page_bytes: int
    sums: array.array[int]
    size: int
    written_ns: int


class Seal:
    """Of one data folder. All but `check` and `check_pages` are for the holder of the writer's lock."""

    def __init__(self, folder: DataFolder) -> None:
        self._database = folder.database
        self._path = folder.seal
        self._off = folder.seal + ".off"
        self._was: _Sums | None = None
        self._log: bytes | None = None

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

    def take_off(self) -> bool:
        """Before the first byte is written, and once it was checked; whether there was one."""
        self._was = _read(self._path)
        self._log = None
        with contextlib.suppress(FileNotFoundError):
            os.replace(self._path, self._off)
        return self._was is not None

    def note_log(self) -> None:
        """After a commit: remember which log it went to, as a later one may overwrite it."""
        if self._log is None:
            self._log = _log_salt(self._database)

    def changed_pages(self) -> set[int] | None:
        """Which pages the log holds; None when it does not tell of all that changed."""
        log = _log_salt(self._database)
        if self._was is None or log != self._log:
            return None
        return set(_pages_in_log(self._database, self._was.page_bytes)) if log else set()

    def put_on(self, changed: set[int] | None) -> None:
        """When the log is folded in and nobody writes. A full disk leaves the database without a seal."""
        was, self._was = self._was, None
        with contextlib.suppress(OSError):
            if was is not None and not changed and (was.size, was.written_ns) == _written(self._database):
                os.replace(self._off, self._path)
                return
            _write(self._path, _summed(self._database, was, changed))
        with contextlib.suppress(OSError):
            os.remove(self._off)

    def forget(self) -> None:
        """There is another database now, or none."""
        self._was = None
        for path in (self._path, self._off):
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)


def _written(path: str) -> tuple[int, int] | None:
    """Size and time of the last change."""
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_size, facts.st_mtime_ns


def _read_header(path: str) -> tuple[int, int] | None:
    try:
        with open(path, "rb", buffering=0) as handle:
            magic, _, _, size, written_ns, _ = _HEADER.unpack(handle.read(_HEADER.size))
    except (OSError, struct.error):
        return None
    return (size, written_ns) if magic == _MAGIC else None


def _read(path: str) -> _Sums | None:
    """A seal that cannot be read is none."""
    try:
        with open(path, "rb") as handle:
            magic, page_bytes, pages, size, written_ns, check = _HEADER.unpack(handle.read(_HEADER.size))
            body = handle.read()
    except (OSError, struct.error):
        return None
    if magic != _MAGIC or len(body) != 4 * pages or zlib.crc32(body) != check or page_bytes < 512:
        return None
    return _Sums(page_bytes, _swapped(array.array("I", body)), size, written_ns)


def _write(path: str, seal: _Sums) -> None:
    body = _swapped(array.array("I", seal.sums)).tobytes()
    header = _HEADER.pack(
        _MAGIC, seal.page_bytes, len(seal.sums), seal.size, seal.written_ns, zlib.crc32(body)
    )
    with open(path + ".tmp", "wb") as handle:
        handle.write(header + body)
    os.replace(path + ".tmp", path)  # not synced: one that a power cut tears fails its own checksum


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


def _summed(database: str, was: _Sums | None, changed: set[int] | None) -> _Sums:
    with _opened(database) as handle:
        facts = os.fstat(handle.fileno())
        page_bytes = int.from_bytes(handle.read(18)[16:], "big")
        page_bytes = 65_536 if page_bytes == 1 else page_bytes
        if was is None or changed is None or was.page_bytes != page_bytes:
            sums = array.array("I", _sums_of(handle, page_bytes))
        else:
            sums = _brought_up_to_date(handle, was, changed, facts.st_size // page_bytes)
    return _Sums(page_bytes, sums, facts.st_size, facts.st_mtime_ns)


def _brought_up_to_date(handle: BinaryIO, was: _Sums, changed: set[int], pages: int) -> array.array[int]:
    sums = was.sums[:pages]
    todo = {number for number in changed if number <= pages} | set(range(len(sums) + 1, pages + 1))
    sums.extend([0] * (pages - len(sums)))
    for number in sorted(todo):
        handle.seek((number - 1) * was.page_bytes)
        sums[number - 1] = zlib.crc32(handle.read(was.page_bytes))
    return sums


def _sums_of(handle: BinaryIO, page_bytes: int) -> Iterator[int]:
    handle.seek(0)
    step = max(1, _READ_BYTES // page_bytes) * page_bytes
    while block := memoryview(handle.read(step)):
        for start in range(0, len(block), page_bytes):
            yield zlib.crc32(block[start : start + page_bytes])


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
        facts = os.stat(database)
        key = facts.st_dev, facts.st_ino
        if key not in _descriptors:
            _descriptors[key] = os.open(database, os.O_RDONLY)
        with open(_descriptors[key], "rb", buffering=0, closefd=False) as handle:
            handle.seek(0)
            yield handle


def _log_salt(database: str) -> bytes | None:
    """What a log that was begun anew has another one of; None when there is no log."""
    try:
        with open(database + "-wal", "rb", buffering=0) as handle:
            header = handle.read(_LOG_HEADER_BYTES)
    except OSError:
        return None
    return header[12:24] if len(header) == _LOG_HEADER_BYTES else None


def _pages_in_log(database: str, page_bytes: int) -> Iterator[int]:
    with open(database + "-wal", "rb", buffering=0) as handle:
        place, size = _LOG_HEADER_BYTES, os.fstat(handle.fileno()).st_size
        while place + _FRAME_HEADER_BYTES + page_bytes <= size:
            handle.seek(place)
            yield int.from_bytes(handle.read(4), "big")
            place += _FRAME_HEADER_BYTES + page_bytes
