"""Checks the files of a model against its card. Reads bytes, opens no session.

Hashes every file each time a model opens and caches no result: 44 MB take 25 ms of CPU time,
and only hashing finds a flipped bit under an unchanged time stamp. Also checks that an ONNX file
is complete and refers to no other file, reading only the headers of its fields: a tensor may keep
its data in another file anywhere on the disk, which no checksum covers and which versions of
onnxruntime treat differently. Such a model is rejected.
"""

from __future__ import annotations

import hashlib
import os
from typing import BinaryIO

from kebab_tui import own_files
from kebab_tui.domain.errors import ModelError
from kebab_tui.embedding.card import ONNX, ModelCard

_NESTED = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse tensor"},
    "node": {5: "attribute"},
    "attribute": {
        5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse tensor", 23: "sparse tensor",
    },
    "sparse tensor": {1: "tensor", 2: "tensor"},
    "tensor": {},
}  # fmt: skip
"""The fields of onnx.proto, by number, that contain tensors."""
_DATA_LOCATION = 14
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MOST_DIGITS = 10


_BLOCK = 1 << 20
_WRONG_FILES = (
    (b"version https://git-lfs", "is a Git LFS pointer, not the file itself: fetch it with `git lfs pull`"),
    (b"<", "is a web page, not a model: the download failed"),
)


def sha256_of(path: str) -> str:
    """Return the SHA-256 of a file in hex."""
    digest, block = hashlib.sha256(), memoryview(bytearray(_BLOCK))
    with open(own_files.open_regular(path, follow=True), "rb", buffering=0) as file:
        while count := file.readinto(block):  # one buffer: new pages cost as much as hashing
            digest.update(block[:count])
    return digest.hexdigest()


def verify(card: ModelCard) -> list[str]:
    """Return the problems of the model files, one sentence each."""
    problems = []
    for name, expected in card.checksums.items():
        path = os.path.join(card.folder, name)
        try:
            found = sha256_of(path)
            problem = onnx_problem(path) if found == expected and name == ONNX else ""
        except FileNotFoundError:
            problems.append(f"{name} is missing")
            continue
        except OSError as error:
            problems.append(f"{name} cannot be read: {error.strerror}")
            continue
        if found != expected:
            problem = f"{_describe(path)} (sha256 {found[:12]}…, not {expected[:12]}…)"
        if problem:
            problems.append(f"{name} {problem}")
    return problems


def _describe(path: str) -> str:
    """Describe a file with the wrong checksum by its first bytes."""
    with open(path, "rb") as file:
        start = file.read(64).lstrip()
    if not start:
        return "is empty"
    reasons = (reason for mark, reason in _WRONG_FILES if start.startswith(mark))
    return next(reasons, "is damaged or another version")


def require(card: ModelCard, problems: list[str]) -> None:
    """Raise if there are problems."""
    if problems:
        raise ModelError(
            f"the model {card.model_id} cannot be used: {'; '.join(problems)}",
            f"restore the files in {card.folder}, or use another model; keyword search still works",
        )


def onnx_problem(path: str) -> str:
    """Return the problem of an ONNX file, or an empty string."""
    try:
        with open(own_files.open_regular(path, follow=True), "rb") as file:
            external = _refers_to_other_file(file)
    except ValueError:
        return "is not a model: its ONNX data is truncated or malformed"
    return "keeps data in another file (external data), which is not supported" if external else ""


def _refers_to_other_file(file: BinaryIO) -> bool:
    """Raise ValueError if the file is not a protobuf message."""
    place, open_messages = 0, [("model", file.seek(0, 2))]
    file.seek(0)
    while open_messages:
        kind, end = open_messages[-1]
        if place >= end:
            open_messages.pop()
            continue
        key, place = _varint(file, place)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, place = _varint(file, place)
            if kind == "tensor" and number == _DATA_LOCATION and value:
                return True
            size = 0
        elif wire == _BYTES:
            size, place = _varint(file, place)
        elif wire in (_FIXED32, _FIXED64):
            size = 4 if wire == _FIXED32 else 8
        else:
            raise ValueError(wire)
        if place + size > end:
            raise ValueError(place)
        if wire == _BYTES and number in _NESTED[kind]:
            open_messages.append((_NESTED[kind][number], place + size))
        elif size:
            place = file.seek(place + size)
    return False


def _varint(file: BinaryIO, place: int) -> tuple[int, int]:
    """Return a number and the position after it."""
    number = 0
    for digit in range(_MOST_DIGITS):
        (octet,) = file.read(1)
        number |= (octet & 127) << 7 * digit
        if octet < 128:
            return number, place + digit + 1
    raise ValueError(place)
