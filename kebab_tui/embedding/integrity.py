"""Whether a model's files are the ones that its card names. Reads bytes; opens no session.

Every file is hashed each time a model opens, and no earlier result is remembered: for 44
MB that is 25 ms of processor time, and a bit that flipped under an unchanged stamp is
exactly what a remembered result would let through.
"""

from __future__ import annotations

import hashlib
import os
from typing import BinaryIO

from kebab_tui import own_files
from kebab_tui.domain.errors import ModelError
from kebab_tui.embedding.card import ONNX, ModelCard

# Checks that an ONNX file is whole and names no other file. Reads the headers of its fields only.
#
# A tensor may name another file that holds its data, anywhere on the disk. Versions of onnxruntime differ
# in which names they open, and no checksum covers that file: such a model is refused.

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
"""The fields of onnx.proto, by their numbers, that tensors are in."""
_DATA_LOCATION = 14
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MOST_DIGITS = 10


def problem(path: str) -> str:
    """What is wrong with the file; empty when nothing is."""
    try:
        with open(own_files.open_regular(path, follow=True), "rb") as file:
            names_another = _names_another_file(file)
    except ValueError:
        return "is not a model: its ONNX data is truncated or malformed"
    return "keeps data in another file (external data), which is not supported" if names_another else ""


def _names_another_file(file: BinaryIO) -> bool:
    """Raises ValueError for what is no protobuf message."""
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
    """A number, and the place after it."""
    number = 0
    for digit in range(_MOST_DIGITS):
        (octet,) = file.read(1)
        number |= (octet & 127) << 7 * digit
        if octet < 128:
            return number, place + digit + 1
    raise ValueError(place)


_BLOCK = 1 << 20
_IMPOSTORS = (
    (b"version https://git-lfs", "is a Git LFS pointer, not the file itself: fetch it with `git lfs pull`"),
    (b"<", "is a web page, not a model: the download went wrong"),
)


def sha256_of(path: str) -> str:
    """The checksum of a file, read in blocks."""
    digest, block = hashlib.sha256(), memoryview(bytearray(_BLOCK))
    with open(own_files.open_regular(path, follow=True), "rb", buffering=0) as file:
        while count := file.readinto(block):  # into the same memory: fresh pages cost as much as hashing
            digest.update(block[:count])
    return digest.hexdigest()


def verify(card: ModelCard) -> list[str]:
    """What is wrong with the model's files, one sentence for each; empty when nothing is."""
    problems = (_problem(card.folder, name, expected) for name, expected in card.checksums.items())
    return [problem for problem in problems if problem]


def require(card: ModelCard, problems: list[str]) -> None:
    """Raise the problems, if there are any."""
    if problems:
        raise ModelError(
            f"the model {card.model_id} cannot be used: {'; '.join(problems)}",
            f"put the right files into {card.folder}, or use another model; searching by words goes on",
        )


def _problem(folder: str, name: str, expected: str) -> str:
    path = os.path.join(folder, name)
    try:
        found = sha256_of(path)
        if found == expected:
            wrong = problem(path) if name == ONNX else ""
            return wrong and f"{name} {wrong}"
    except FileNotFoundError:
        return f"{name} is missing"
    except OSError as error:
        return f"{name} cannot be read: {error.strerror}"
    return f"{name} {_kind(path)} (sha256 {found[:12]}…, not {expected[:12]}…)"


def _kind(path: str) -> str:
    """Why a file is not the right one, judged by how it begins."""
    with open(path, "rb") as file:
        start = file.read(64).lstrip()
    if not start:
        return "is empty"
    damaged = "is damaged or another version"
    return next((what for mark, what in _IMPOSTORS if start.startswith(mark)), damaged)
