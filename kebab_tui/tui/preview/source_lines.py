"""The file behind a citation as lines, and no more of them than are wanted.

Line numbers are 1-based, and a line ends at a line feed only, as it does in the index. A
file of ordinary size is read whole and decoded by the index's own rules. A larger one
stays on the disk, is taken to be UTF-8, and is found its way in by counting line feeds
block by block; of a single line no more than its first megabyte is ever read.
Refuses to open what is no regular file, to show what is no text, and to map a file into
memory: one that shrinks meanwhile would end the process.
"""

from __future__ import annotations

import errno
import os
import stat
import weakref
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

from textual.cache import LRUCache

from kebab_tui.domain.errors import KebabError, UnreadableFileError, UnsuitableFileError

MEGABYTE = 1024 * 1024
AT_ONCE_BYTES = MEGABYTE
"""What is read and decoded between two frames; more is for a thread."""
WHOLE_BYTES = 16 * MEGABYTE
LONGEST_LINE = MEGABYTE
_BLOCK = 64 * 1024
_BLOCKS_AT_ONCE = 16
_LINES = 64
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Decode = Callable[[bytes], Sequence[str]]
"""The index's way from the bytes of a file to its lines."""


class SourceLines(Protocol):
    """The lines of a text. `count` may grow until all of them have been counted."""

    @property
    def count(self) -> int: ...

    def slice(self, first: int, last: int) -> Sequence[str]:
        """Lines `first..last`, as far as there are such."""
        ...


@dataclass(frozen=True, slots=True)
class WholeText:
    lines: Sequence[str]

    @property
    def count(self) -> int:
        return len(self.lines)

    def slice(self, first: int, last: int) -> Sequence[str]:
        return self.lines[first - 1 : last]


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """Equal for two looks at a file that nobody replaced or wrote to between them."""

    path: bytes
    device: int
    inode: int
    size: int
    mtime_ns: int


class OpenFile:
    """A regular file, open for reading; it closes with the last one who holds it."""

    def __init__(self, path: bytes) -> None:
        self._descriptor = _open(path)
        weakref.finalize(self, os.close, self._descriptor)
        facts = os.fstat(self._descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise UnsuitableFileError("not a file", "Only regular files can be shown.")
        self.size = facts.st_size
        self.identity = FileIdentity(path, facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns)

    def read(self, start: int, length: int) -> bytes:
        """Bytes from `start` on; fewer than `length` at the end, or where the file has shrunk."""
        try:
            return os.pread(self._descriptor, length, start)
        except OSError as error:
            raise _explained(error) from error


def identity(path: bytes) -> FileIdentity | None:
    """Which file stands at a path now; None when it cannot be told."""
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return FileIdentity(path, facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns)


def whole_text(file: OpenFile, decode: Decode) -> WholeText:
    return WholeText(decode(file.read(0, file.size)))


class LargeText:
    """The lines of a file that stays on the disk.

    One thread counts on while another reads: the counts only ever grow at their end.
    """

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self._feeds = array("Q", [0])
        """How many line feeds stand before each block, and before what is not counted yet."""
        head = file.read(0, _BLOCK)
        if b"\0" in head[: 8 * 1024]:
            raise UnsuitableFileError(
                "binary file", "It is not text, or too large to be shown as anything but UTF-8."
            )
        self._begin = len(_BYTE_ORDER_MARK) if head.startswith(_BYTE_ORDER_MARK) else 0
        self._open_end = bool(file.size) and file.read(file.size - 1, 1) != b"\n"

    @property
    def counted_whole(self) -> bool:
        return (len(self._feeds) - 1) * _BLOCK >= self._file.size

    @property
    def count(self) -> int:
        return self._feeds[-1] + (self._open_end or not self.counted_whole)

    def count_on(self) -> None:
        """Count the line feeds of one more megabyte."""
        data = self._file.read((len(self._feeds) - 1) * _BLOCK, _BLOCK * _BLOCKS_AT_ONCE)
        # A file that has shrunk gives nothing: what is missing counts as blocks without a line.
        feeds = [data.count(b"\n", at, at + _BLOCK) for at in range(0, len(data) or 1, _BLOCK)]
        self._feeds.extend(list(accumulate(feeds, initial=self._feeds[-1]))[1:])

    def slice(self, first: int, last: int) -> Sequence[str]:
        lines: list[str] = []
        while len(lines) <= last - first and (start := self._start(first + len(lines))) is not None:
            some = self._some(start, last - first + 1 - len(lines))
            if not some:
                break
            lines += some
        return lines

    def _some(self, start: int, wanted: int) -> list[str]:
        """The whole lines of the megabyte at `start`, or the first megabyte of one longer than that."""
        data = self._file.read(start, LONGEST_LINE)
        *ended, rest = data.split(b"\n", wanted)
        lines = [line.decode("utf-8", "replace").removesuffix("\r") for line in ended]
        if rest and start + len(data) >= self._file.size and len(lines) < wanted:
            lines.append(rest.decode("utf-8", "replace"))
        elif rest and not lines:
            lines.append(rest.decode("utf-8", "replace") + "…")
        return lines

    def _start(self, number: int) -> int | None:
        """Where a line begins; None when it is not there, or not yet counted."""
        if number > self.count:
            return None
        if number == 1:
            return self._begin
        block = bisect_left(self._feeds, number - 1) - 1
        data = self._file.read(block * _BLOCK, _BLOCK)
        rest = data.split(b"\n", number - 1 - self._feeds[block])[-1]
        return block * _BLOCK + len(data) - len(rest)


class InBlocks:
    """The same lines, fetched some at a time and kept for a while."""

    def __init__(self, text: LargeText) -> None:
        self._text = text
        self._blocks: LRUCache[int, Sequence[str]] = LRUCache(8)

    @property
    def count(self) -> int:
        return self._text.count

    def slice(self, first: int, last: int) -> Sequence[str]:
        lines: list[str] = []
        for block in range((first - 1) // _LINES, (last - 1) // _LINES + 1):
            begin = block * _LINES + 1
            lines += self._block(block)[max(first - begin, 0) : last - begin + 1]
        return lines

    def _block(self, block: int) -> Sequence[str]:
        known = self._blocks.get(block)
        if known is None:
            try:
                known = self._text.slice(block * _LINES + 1, (block + 1) * _LINES)
            except KebabError as error:  # a disk that fails while its file is shown
                return [f"({error.message}: {error.hint})"]
            if len(known) == _LINES or self._text.counted_whole:
                self._blocks[block] = known
        return known


def _open(path: bytes) -> int:
    try:
        # Without O_NONBLOCK a named pipe would be waited for.
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _explained(error) from error
    except ValueError as error:
        raise UnreadableFileError("gone", "No file can have this name.") from error


def _explained(error: OSError) -> KebabError:
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return UnreadableFileError("gone", "There is no such file any more; rescan to forget it.")
        case errno.EACCES | errno.EPERM:
            return UnreadableFileError("no permission", "The file may not be read by you.")
    return UnreadableFileError("unreadable", os.strerror(error.errno or errno.EIO))
