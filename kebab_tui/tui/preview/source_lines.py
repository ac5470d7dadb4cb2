"""The file behind a citation as lines, without reading more of it than needed.

Lines count from 1 and end at a line feed only, as in the index. A file of ordinary size is
read whole and decoded as for the index. A larger one stays on disk, is decoded as UTF-8 and
indexed by counting line feeds per block; of a single line only the first megabyte is read.
Refuses files that are not regular or not text, and never maps a file into memory: one that
shrinks meanwhile would kill the process.
"""

from __future__ import annotations

import errno
import os
import stat
import weakref
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol, TypeVar

from textual.cache import LRUCache

from kebab_tui.domain.errors import KebabError, UnreadableFileError, UnsuitableFileError

_T = TypeVar("_T")
MEGABYTE = 1024 * 1024
AT_ONCE_BYTES = MEGABYTE
"""The most that is read and decoded between two frames; a thread reads larger files."""
WHOLE_BYTES = 16 * MEGABYTE
LONGEST_LINE = MEGABYTE
_BLOCK = 64 * 1024
_BLOCKS_AT_ONCE = 16
_LINES = 64
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Decode = Callable[[bytes], Sequence[str]]
"""Decodes the bytes of a file into lines, as for the index."""


class SourceLines(Protocol):
    """The lines of a text. `count` grows until all lines are counted."""

    @property
    def count(self) -> int: ...

    @property
    def characters(self) -> int:
        """About how many characters the lines have."""
        ...

    def slice(self, first: int, last: int) -> Sequence[str]:
        """The lines `first..last` that exist."""
        ...


@dataclass(frozen=True, slots=True)
class WholeText:
    lines: Sequence[str]

    @property
    def count(self) -> int:
        return len(self.lines)

    @property
    def characters(self) -> int:
        return sum(map(len, self.lines))

    def slice(self, first: int, last: int) -> Sequence[str]:
        return self.lines[first - 1 : last]


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """Changes when the file is replaced or written to."""

    path: bytes
    device: int
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: bytes, facts: os.stat_result) -> FileIdentity:
        return cls(path, facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns)


def identity(path: bytes) -> FileIdentity | None:
    """The identity of the file at a path; None if it cannot be read."""
    try:
        return FileIdentity.of(path, os.stat(path))
    except OSError:
        return None


class OpenFile:
    """A regular file, open for reading; closed when the object is garbage-collected."""

    def __init__(self, path: bytes) -> None:
        try:
            # Without O_NONBLOCK, opening a named pipe would block.
            self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise _explained(error) from error
        except ValueError as error:
            raise UnreadableFileError("gone", "This is not a valid file name.") from error
        weakref.finalize(self, os.close, self._descriptor)
        facts = os.fstat(self._descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise UnsuitableFileError("not a file", "Only regular files can be shown.")
        self.size = facts.st_size
        self.identity = FileIdentity.of(path, facts)

    def read(self, start: int, length: int) -> bytes:
        """Bytes from `start` on; fewer than `length` at the end, or if the file has shrunk."""
        try:
            return os.pread(self._descriptor, length, start)
        except OSError as error:
            raise _explained(error) from error


def whole_text(file: OpenFile, decode: Decode) -> WholeText:
    return WholeText(decode(file.read(0, file.size)))


class LargeText:
    """The lines of a file that stays on disk.

    One thread may count while another reads: counts are only appended.
    """

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self._feeds = array("Q", [0])
        """The number of line feeds before each counted block, and before the rest."""
        head = file.read(0, _BLOCK)
        if b"\0" in head[: 8 * 1024]:
            raise UnsuitableFileError("binary file", "The file is not text, or is large and not in UTF-8.")
        self._begin = len(_BYTE_ORDER_MARK) if head.startswith(_BYTE_ORDER_MARK) else 0
        self.characters = file.size * len(head.decode("utf-8", "replace")) // max(len(head), 1)
        """About as many as there are, if all is like the beginning."""
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
        # A file that has shrunk yields no data: missing blocks count as empty.
        feeds = [data.count(b"\n", at, at + _BLOCK) for at in range(0, len(data) or 1, _BLOCK)]
        self._feeds.extend(list(accumulate(feeds, initial=self._feeds[-1]))[1:])

    def slice(self, first: int, last: int) -> Sequence[str]:
        lines: list[str] = []
        while len(lines) <= last - first and (start := self._start(first + len(lines))) is not None:
            found = self._lines_at(start, last - first + 1 - len(lines))
            if not found:
                break
            lines += found
        return lines

    def _lines_at(self, start: int, wanted: int) -> list[str]:
        """The complete lines of the megabyte at `start`, or the first megabyte of a longer line."""
        data = self._file.read(start, LONGEST_LINE)
        *ended, rest = data.split(b"\n", wanted)
        lines = [line.decode("utf-8", "replace").removesuffix("\r") for line in ended]
        if rest and start + len(data) >= self._file.size and len(lines) < wanted:
            lines.append(rest.decode("utf-8", "replace"))
        elif rest and not lines:
            lines.append(rest.decode("utf-8", "replace") + "…")
        return lines

    def _start(self, number: int) -> int | None:
        """The offset of a line; None if it does not exist or is not counted yet."""
        if number > self.count:
            return None
        if number == 1:
            return self._begin
        block = bisect_left(self._feeds, number - 1) - 1
        data = self._file.read(block * _BLOCK, _BLOCK)
        rest = data.split(b"\n", number - 1 - self._feeds[block])[-1]
        return block * _BLOCK + len(data) - len(rest)


class InBlocks:
    """The lines of a large text, with a cache of blocks."""

    def __init__(self, text: LargeText) -> None:
        self._text = text
        self._blocks: LRUCache[int, Sequence[str]] = LRUCache(8)

    @property
    def count(self) -> int:
        return self._text.count

    @property
    def characters(self) -> int:
        return self._text.characters

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
            except KebabError as error:  # the disk fails while the file is open
                return [f"({error.message}: {error.hint})"]
            if len(known) == _LINES or self._text.counted_whole:
                self._blocks[block] = known
        return known


def _explained(error: OSError) -> KebabError:
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return UnreadableFileError(
                "gone", "The file does not exist any more; rescan to remove it from the index."
            )
        case errno.EACCES | errno.EPERM:
            return UnreadableFileError("no permission", "You have no permission to read the file.")
    return UnreadableFileError("unreadable", os.strerror(error.errno or errno.EIO))


def line_parts(
    texts: Sequence[str], ranges: Iterable[tuple[int, int, _T]]
) -> Iterator[tuple[int, int, int, _T]]:
    """Split ranges of the joined lines: index of the line, start and end in it, value of the range."""
    starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
    for start, end, value in ranges:
        line = bisect_right(starts, start) - 1
        while line < len(texts) and starts[line] < end:
            begin, last = max(start - starts[line], 0), min(end - starts[line], len(texts[line]))
            if begin < last:
                yield line, begin, last, value
            line += 1
