"""Models of a few hundred bytes, written as ONNX by hand, so that a test can break one in any way it likes.

ONNX is protobuf; only the few fields that these graphs need are written. The tokenizer
knows a handful of words and adds no special tokens.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORDS = ("[UNK]", "port", "conflict", "backup", "포트", "충돌", "백업", "word")
_KINDS = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}


def varint(number: int) -> bytes:
    octets = bytearray()
    while number > 127:
        octets.append(number & 127 | 128)
        number >>= 7
    return bytes([*octets, number])


def field(number: int, value: int | str | bytes) -> bytes:
    """One field of a message: a number, or anything with a length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def tensor(name: str, values: NDArray[Any]) -> bytes:
    dims = b"".join(field(1, size) for size in values.shape)
    return dims + field(2, _KINDS[str(values.dtype)]) + field(8, name) + field(9, values.tobytes())


def external_tensor(name: str, shape: Sequence[int], location: str) -> bytes:
    """Floats that are in another file."""
    dims = b"".join(field(1, size) for size in shape)
    return (
        dims
        + field(2, _KINDS["float32"])
        + field(8, name)
        + field(13, field(1, "location") + field(2, location))
        + field(14, 1)
    )


def value_info(name: str, kind: str, shape: Sequence[int | str]) -> bytes:
    dims = b"".join(field(1, field(1 if isinstance(size, int) else 2, size)) for size in shape)
    return field(1, name) + field(2, field(1, field(1, _KINDS[kind]) + field(2, dims)))


def node(kind: str, inputs: Sequence[str], outputs: Sequence[str], attributes: bytes = b"") -> bytes:
    names = b"".join(field(1, name) for name in inputs) + b"".join(field(2, name) for name in outputs)
    return names + field(4, kind) + attributes


def ints_attribute(name: str, values: Sequence[int]) -> bytes:
    return field(5, field(1, name) + b"".join(field(8, value) for value in values) + field(20, 7))


def int_attribute(name: str, value: int) -> bytes:
    return field(5, field(1, name) + field(3, value) + field(20, 2))


def model(
    nodes: Sequence[bytes], tensors: Sequence[bytes], inputs: Sequence[bytes], outputs: Sequence[bytes]
) -> bytes:
    parts = ((1, nodes), (5, tensors), (11, inputs), (12, outputs))
    graph = field(2, "tiny") + b"".join(field(number, part) for number, those in parts for part in those)
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13))


@dataclass(frozen=True, slots=True)
class Tiny:
    """A graph that looks its tokens up in a table; with `pooled` it returns their mean."""

    dims: int = 4
    inputs: tuple[str, ...] = ("input_ids",)
    integer: str = "int64"
    pooled: bool = False
    nan_at: int | None = None
    """The word whose vector is not a number."""
    zero: bool = False
    known: int = len(WORDS)
    """How many words the table holds."""

    def table(self) -> NDArray[np.float32]:
        values = np.random.default_rng(1).normal(size=(self.known, self.dims)).astype(np.float32)
        if self.nan_at is not None:
            values[self.nan_at] = np.nan
        return values * np.float32(not self.zero)

    def onnx(self) -> bytes:
        nodes = [node("Gather", ["table", self.inputs[0]], ["states"])]
        if self.pooled:
            mean = ints_attribute("axes", [1]) + int_attribute("keepdims", 0)
            nodes.append(node("ReduceMean", ["states"], ["vector"], mean))
        shape: list[int | str] = ["batch", self.dims] if self.pooled else ["batch", "seq", self.dims]
        return model(
            nodes,
            [tensor("table", self.table())],
            [value_info(name, self.integer, ["batch", "seq"]) for name in self.inputs],
            [value_info("vector" if self.pooled else "states", "float32", shape)],
        )


def tokenizer() -> str:
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "normalizer": None,
            "pre_tokenizer": {"type": "Whitespace"},
            "post_processor": None,
            "decoder": None,
            "model": {
                "type": "WordLevel",
                "vocab": {word: number for number, word in enumerate(WORDS)},
                "unk_token": "[UNK]",
            },
        }
    )


def wordpiece(words: Sequence[str] = WORDS, added: Sequence[str] = ()) -> str:
    """A tokenizer whose pieces may be read from `pieces.txt`, unless it has `added` tokens."""
    usual = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    tokens = json.loads(tokenizer())
    tokens["added_tokens"] = [{"id": words.index(word), "content": word} | usual for word in added]
    tokens["model"] = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {word: number for number, word in enumerate(words)},
    }
    return json.dumps(tokens, ensure_ascii=False)


def card(onnx: bytes = b"", tokens: str = "", pieces: str = "", **changed: Any) -> str:
    """A card's text: unsigned unless the files are given; `changed` replaces values."""
    values: dict[str, Any] = {
        "id": "tiny",
        "name": "Tiny",
        "version": "1",
        "languages": ["ko", "en"],
        "licence": "MIT",
        "dims": 4,
        "max_tokens": 16,
        "pooling": "mean",
        "normalise": True,
    } | changed
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    if onnx:
        files = {"model.onnx": onnx, "tokenizer.json": tokens.encode(), "pieces.txt": pieces.encode()}
        sums = {name: sha256(data).hexdigest() for name, data in files.items() if data}
        lines += ["[sha256]", *(f'"{name}" = "{checksum}"' for name, checksum in sums.items())]
    return "\n".join(lines) + "\n"


def write_tiny(folder: Path, tiny: Tiny | None = None, *, signed: bool = True, **changed: Any) -> Path:
    """A whole model folder; the card fits the graph but for what is `changed`."""
    tiny = tiny or Tiny()
    onnx, tokens = tiny.onnx(), tokenizer()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(onnx)
    (folder / "tokenizer.json").write_text(tokens, "utf-8")
    facts = {"dims": tiny.dims, "pooling": "none" if tiny.pooled else "mean"} | changed
    (folder / "model.toml").write_text(card(onnx if signed else b"", tokens, **facts), "utf-8")
    return folder


def piece_lines(words: Sequence[str]) -> str:
    """A `pieces.txt` in which each word's number is its place."""
    return "".join(sorted(f"{word}\t{number}\n" for number, word in enumerate(words)))


def write_with_pieces(folder: Path, tokens: str = "", pieces: str = "") -> Path:
    """A model folder with a `pieces.txt`, by default one that holds the pieces of its tokenizer."""
    onnx = (write_tiny(folder) / "model.onnx").read_bytes()
    tokens, pieces = tokens or wordpiece(), pieces or piece_lines(WORDS)
    (folder / "tokenizer.json").write_bytes(tokens.encode())
    (folder / "pieces.txt").write_bytes(pieces.encode())
    (folder / "model.toml").write_text(card(onnx, tokens, pieces), "utf-8")
    return folder
