"""Checks that an ONNX file is whole and names no other file. Reads the headers of its fields only.

A tensor may name another file that holds its data, anywhere on the disk. Versions of onnxruntime differ
in which names they open, and no checksum covers that file: such a model is refused.
"""

from __future__ import annotations

from typing import BinaryIO

from kebab_tui import own_files

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
