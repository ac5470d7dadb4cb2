"""The vector index as one file: a header, a checksum, and the arrays of one snapshot.

The arrays are mapped read-only, so that all processes share one copy of them, which the system may drop
and read again. So the file must never change in place: `write` replaces it, and a process that has mapped
the old one keeps that.

FAISS loads flipped bits and zeroed pages silently, and its parser crashes on some bytes. So the
checksum of header and payload is compared before the first use, and FAISS parses nothing: the payload is
plain arrays, whose sizes and slots are checked. Any defect is an `UnusableFileError` with a reason;
the vectors are also in the store.

A valid checksum is remembered in a file beside it (`.checked`), with inode, size and times, so that only
one process reads the whole file: until it changes, for a week at most, or until `doctor` checks it.

The checksum is the sha256 of the header and of the CRC-32 of each payload block. It detects disk
errors as well as a sha256 of everything, in a quarter to a third of the time.

Layout, little-endian, each part padded to 64 bytes: header and checksum, base rows, base codes, deleted
slots, delta rows, delta codes, coarse index.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
import struct
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from typing import Any

import numpy as np
import numpy.typing as npt

from kebab_tui import own_files
from kebab_tui.domain.errors import VectorError
from kebab_tui.vectors.faiss_index import Room, VectorSnapshot, in_memory
from kebab_tui.vectors.segment import Codes, FaissSegment, Rows, SlotMask

_MAGIC = b"kebabvec"
_VERSION = 5
_HEADER = struct.Struct("<8sII32sqQQQQ")
_DIGEST_BYTES = 32
_ROW_BYTES, _NUMBER_BYTES = 8, 2
_ALIGNMENT = 64
_START_BYTES = 128
"""Header and checksum, padded."""
_NOT_FINITE = 0x7C00
"""The exponent of infinity and NaN in fp16."""
_BLOCK = 256 << 10
"""Bytes per checksum block, small enough for the processor's cache. Part of the format."""
_CHECKED, _SCRATCH = ".checked", ".scratch"
_CHECKED_MOST_BYTES = 4_096
_CHECK_EVERY_S = 7 * 24 * 3_600


class UnusableFileError(VectorError):
    """The file is missing, damaged, or of another kind; the message has the reason."""

    code = "vector_file_unusable"


@dataclass(frozen=True, slots=True)
class Saved:
    snapshot: VectorSnapshot
    revision: int


@dataclass(frozen=True, slots=True)
class Header:
    magic: bytes
    version: int
    dims: int
    fingerprint: bytes
    revision: int
    base: int
    deleted: int
    delta: int
    coarse_bytes: int

    def sizes(self) -> tuple[int, ...]:
        """Bytes of each part of the payload, without padding."""
        codes = _NUMBER_BYTES * self.dims
        return (
            _ROW_BYTES * self.base, codes * self.base, _ROW_BYTES * self.deleted,
            _ROW_BYTES * self.delta, codes * self.delta, self.coarse_bytes,
        )  # fmt: skip


def write(path: str, model: str, saved: Saved) -> None:
    """Replace the file as a whole; on OSError the old one stays."""
    snapshot = saved.snapshot
    base, delta = snapshot.base, snapshot.delta
    dead = () if snapshot.alive is None else np.flatnonzero(~snapshot.alive.mask)
    coarse = base.coarse_bytes()
    header = _HEADER.pack(
        _MAGIC, _VERSION, snapshot.base.dims, _fingerprint(model), saved.revision,
        len(base), snapshot.deleted, len(delta), len(coarse),
    )  # fmt: skip
    arrays: list[npt.NDArray[Any]] = [
        base.rows, base.codes, np.asarray(dead, np.int64), delta.rows, delta.codes, coarse,
    ]  # fmt: skip
    parts = [part for array in arrays for part in _padded(_memory(array))]
    checksum = _Checksum(header)
    for part in parts:
        checksum.add(part)
    start = header + checksum.digest()
    _set_folder_aside(path)
    own_files.replace(path, *_padded(memoryview(start)), *parts)
    with contextlib.suppress(OSError):
        _remember(path, os.stat(path), checksum.digest())


def read_header(path: str, model: str, dims: int) -> Header:
    """The header of the file of this model; UnusableFileError for any other content."""
    with _opened(path) as file:
        return _checked_start(file, model, dims)[0]


def read(path: str, model: str, dims: int, *, fully: bool = False) -> Saved:
    """The saved index of this model; UnusableFileError for any other content.

    `fully`: compare the checksum even if it is remembered as valid.
    """
    with _opened(path) as file:
        return _read(path, file, model, dims, fully)


def discard(path: str) -> None:
    """Delete the file, its scratch file and what is remembered of it; OSError if that fails."""
    _set_folder_aside(path)
    for name in (path, f"{path}.new", path + _CHECKED):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def on_disk(path: str) -> Room:
    """Room in scratch files beside the file, which the system writes out when memory is short.

    A process that builds a large index then holds it once, in the cache of the disk. Each scratch file has
    no name, so that a killed process leaves none; its blocks are reserved, because a full disk would end a
    process that writes to mapped memory. Without room there, or on other systems, memory is used.
    """

    def room(count: int, dims: int) -> Codes:
        size = _NUMBER_BYTES * count * dims
        if size and hasattr(os, "posix_fallocate"):
            with contextlib.suppress(OSError):
                scratch = own_files.create(path + _SCRATCH, os.O_RDWR)
                try:
                    os.unlink(path + _SCRATCH)
                    os.posix_fallocate(scratch, 0, size)
                    mapped = mmap.mmap(scratch, size)
                finally:
                    os.close(scratch)
                return np.frombuffer(mapped, np.float16).reshape(count, dims)
        return in_memory(count, dims)

    return room


@contextlib.contextmanager
def _opened(path: str) -> Iterator[FileIO]:
    try:
        with open(own_files.open_regular(path), "rb", buffering=0) as file:
            yield file
    except FileNotFoundError as error:
        raise UnusableFileError("there is no file yet") from error
    except OSError as error:
        raise UnusableFileError(f"the file cannot be read: {error.strerror}") from error


def _set_folder_aside(path: str) -> None:
    """Rename a folder in place of the file: the program did not create it and must not delete it."""
    if os.path.isdir(path) and not os.path.islink(path):
        number = 1
        while os.path.lexists(f"{path}.folder-{number}"):
            number += 1
        os.rename(path, f"{path}.folder-{number}")


def _read(path: str, file: FileIO, model: str, dims: int, fully: bool) -> Saved:
    before = os.fstat(file.fileno())
    header, start, digest = _checked_start(file, model, dims)
    is_known = not fully and _is_remembered(path, before, digest)
    if not is_known:
        _compare_checksum(file, start, digest)
    content, place = _mapped(file), _START_BYTES
    parts: list[npt.NDArray[Any]] = []
    for size, number in zip(header.sizes(), (np.int64, np.float16, np.int64) * 2, strict=True):
        kind = np.uint8 if len(parts) == 5 else number
        parts.append(np.frombuffer(content, kind, size // np.dtype(kind).itemsize, place))
        place += _aligned(size)
    rows, codes, deleted, delta_rows, delta_codes, coarse = parts
    base = FaissSegment(rows, dims, codes.reshape(-1, dims))
    delta = FaissSegment(delta_rows, dims, delta_codes.reshape(-1, dims))
    are_slots = not len(deleted) or bool(deleted.min() >= 0 and deleted.max() < len(base))
    if not are_slots or not (is_known or (_are_sorted(rows) and _are_sorted(delta_rows))):
        raise UnusableFileError("the file is damaged: its rows are not in order")
    if not is_known and not (_are_finite(codes) and _are_finite(delta_codes)):
        raise UnusableFileError("the file is damaged: it has vectors that are not finite")
    if header.coarse_bytes:
        try:
            base.load_coarse(coarse)
        except ValueError as error:
            raise UnusableFileError(str(error)) from error
    if not is_known and _stamp(os.fstat(file.fileno())) == _stamp(before):
        _remember(path, before, digest)
    alive = None
    if len(deleted):
        mask = np.ones(len(base), bool)
        mask[deleted] = False
        alive = SlotMask(mask)
    return Saved(VectorSnapshot(base, alive, delta), header.revision)


def _checked_start(file: FileIO, model: str, dims: int) -> tuple[Header, bytes, bytes]:
    """The parsed header, its bytes, and the checksum behind it."""
    start = file.read(_START_BYTES)
    if len(start) < _START_BYTES:
        raise UnusableFileError("the file is too short")
    header = Header(*_HEADER.unpack_from(start))
    if (header.magic, header.version) != (_MAGIC, _VERSION):
        raise UnusableFileError("the file has another format")
    if (header.fingerprint, header.dims) != (_fingerprint(model), dims):
        raise UnusableFileError("the file belongs to another model")
    if os.fstat(file.fileno()).st_size != _START_BYTES + sum(map(_aligned, header.sizes())):
        raise UnusableFileError("the file is damaged: its length differs")
    end = _HEADER.size + _DIGEST_BYTES
    if any(start[end:]):
        raise UnusableFileError("the file is damaged: its checksum differs")
    return header, start[: _HEADER.size], start[_HEADER.size : end]


def _compare_checksum(file: FileIO, header: bytes, digest: bytes) -> None:
    """Read the payload into a small buffer: an error of the disk in mapped memory would end the process."""
    checksum, buffer = _Checksum(header), memoryview(bytearray(_BLOCK))
    while block := _filled(file, buffer):
        checksum.add(block)
    if checksum.digest() != digest:
        raise UnusableFileError("the file is damaged: its checksum differs")


def _filled(file: FileIO, buffer: memoryview) -> memoryview:
    """The next block; shorter only at the end of the file."""
    count = 0
    while count < len(buffer) and (more := file.readinto(buffer[count:])):
        count += more
    return buffer[:count]


def _mapped(file: FileIO) -> mmap.mmap | bytes:
    if os.name == "nt":  # a mapped file cannot be replaced there
        file.seek(0)
        return file.read()
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _is_remembered(path: str, status: os.stat_result, digest: bytes) -> bool:
    """Whether this state of the file was found valid, and not long ago."""
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
        known = own_files.read_json(path + _CHECKED, _CHECKED_MOST_BYTES)
        is_same = (known.get("file"), known.get("checksum")) == (_stamp(status), digest.hex())
        return bool(is_same and 0 <= time.time() - known.get("checked") < _CHECK_EVERY_S)
    return False


def _remember(path: str, status: os.stat_result, digest: bytes) -> None:
    """A failure costs the next process one comparison."""
    known = {"file": _stamp(status), "checksum": digest.hex(), "checked": int(time.time())}
    with contextlib.suppress(OSError):
        own_files.replace(path + _CHECKED, json.dumps(known).encode(), synced=False)


def _stamp(status: os.stat_result) -> list[int]:
    return [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


class _Checksum:
    """Of the header, and of everything behind it in blocks, however it is divided."""

    def __init__(self, header: bytes) -> None:
        self._whole = hashlib.sha256(header)
        self._sum = self._count = 0

    def add(self, part: memoryview) -> None:
        while part:
            piece = part[: _BLOCK - self._count]
            self._sum = zlib.crc32(piece, self._sum)
            self._count += len(piece)
            part = part[len(piece) :]
            if self._count == _BLOCK:
                self._end_block()

    def digest(self) -> bytes:
        if self._count:
            self._end_block()
        return self._whole.digest()

    def _end_block(self) -> None:
        self._whole.update(self._sum.to_bytes(4, "little"))
        self._sum = self._count = 0


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _padded(part: memoryview) -> list[memoryview]:
    return [part, memoryview(bytes(_aligned(len(part)) - len(part)))]


def _are_sorted(rows: Rows) -> bool:
    return bool((rows[1:] >= rows[:-1]).all())


def _are_finite(codes: Codes) -> bool:
    """Compare the exponent bits: an eighth of the time of `np.isfinite`."""
    bits = codes.view(np.uint16)
    blocks = (bits[start : start + _BLOCK] for start in range(0, len(bits), _BLOCK))
    return all((block & 0x7FFF).max() < _NOT_FINITE for block in blocks)


def _memory(array: npt.NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _fingerprint(model: str) -> bytes:
    return hashlib.sha256(model.encode()).digest()
