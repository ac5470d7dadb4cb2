"""What Kiwi, a Korean morphological analyser, knows: forms of morphemes and their vectors.

Reads the model files of the `kiwipiepy_model` package. Kiwi itself is asked only for the spelling and the class of each
morpheme; the product needs neither at run time.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.build.fetch import WrongChecksumError, checksum
from models.build.manifest import Morphemes

Floats = NDArray[np.float32]
HEADER = struct.Struct("<QQHHBBBBQQQQQ")
FIRST_MORPHEME, END_MORPHEME = 101, 70_488  # below: classes, not words; above: analyses of other morphemes
LONGEST_FORM = 8  # syllables
CONTENT_CLASSES = ("NN", "VV", "VA", "XR", "MA", "NR", "NP")
SENSES = 3  # of a form with several meanings, the first ones; Kiwi lists common ones first


@dataclass(frozen=True, slots=True)
class Morpheme:
    """One meaning of a written form; `index` is its row in the vectors."""

    index: int
    form: str
    word_class: str


def model_file(pinned: Morphemes) -> Path:
    """The vectors of the installed package, once their checksum is right."""
    spec = find_spec(pinned.package)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"{pinned.package} is not installed: install the `model` dependency group")
    path = Path(spec.submodule_search_locations[0], pinned.file)
    found = checksum(path)
    if found != pinned.sha256:
        raise WrongChecksumError(
            f"{pinned.package}: install {pinned.version}; {pinned.file} has sha256 {found}"
        )
    return path


def morphemes() -> list[Morpheme]:
    """Every morpheme written in Hangul alone."""
    from kiwipiepy import Kiwi  # 1 s and 300 MB

    kiwi = Kiwi()
    found = []
    for index in range(FIRST_MORPHEME, END_MORPHEME):
        try:
            morpheme = kiwi.morpheme(index)
        except (IndexError, ValueError):
            continue
        if morpheme.form and len(morpheme.form) <= LONGEST_FORM and is_hangul(morpheme.form):
            found.append(Morpheme(index, morpheme.form, str(morpheme.tag)))
    return found


def is_hangul(text: str) -> bool:
    """Whether a text is made of Hangul syllables only."""
    return all("\uac00" <= letter <= "\ud7a3" for letter in text)


def form_vectors(known: Sequence[Morpheme], vectors: Floats) -> dict[str, Floats]:
    """A vector of length √2 for each form, from its content words where it has any."""
    senses: dict[str, list[Morpheme]] = {}
    for morpheme in known:
        senses.setdefault(morpheme.form, []).append(morpheme)
    forms: dict[str, Floats] = {}
    for form, meanings in senses.items():
        content = [meaning for meaning in meanings if meaning.word_class.startswith(CONTENT_CLASSES)]
        mean = vectors[[meaning.index for meaning in (content or meanings)[:SENSES]]].mean(axis=0)
        forms[form] = (mean / max(float(np.linalg.norm(mean)), 1e-6) * np.sqrt(2)).astype(np.float32)
    return forms


def morpheme_vectors(path: Path) -> Floats:
    """The two embeddings of each morpheme (as a word, as a distant neighbour), each of length 1, side by side."""
    data = np.memmap(path, np.uint8, "r")
    count, contexts, width, _, _, window, bits, group, *offsets = HEADER.unpack(bytes(data[: HEADER.size]))
    if bits != 4 or not window:
        raise ValueError(f"{path.name}: an unknown kind of Kiwi model")
    record = width // 2 + 2 + width // group
    start = offsets[-1] + contexts * (record + 6)
    near = _unpack(data, start, count, record, width, group)
    far = _unpack(data, start + count * record, count, record + 4, width, group)
    return np.concatenate([_unit(near), _unit(far)], axis=1)


def _unpack(data: NDArray[np.uint8], start: int, count: int, stride: int, width: int, group: int) -> Floats:
    """A table of 4-bit numbers: per record the nibbles, one half-precision scale, and per group a scale and a zero."""
    packed = np.asarray(data[start : start + count * stride]).reshape(count, stride)
    nibbles, scale_end = packed[:, : width // 2], width // 2 + 2
    scale = packed[:, width // 2 : scale_end].copy().view(np.float16).astype(np.float32)
    groups = np.repeat(packed[:, scale_end : scale_end + width // group], group, axis=1)
    values = np.empty((count, width), np.float32)
    values[:, 0::2], values[:, 1::2] = nibbles & 15, nibbles >> 4
    zero, step = (groups >> 6).astype(np.float32) + 6, (groups & 63).astype(np.float32) + 9
    return ((values - zero) * step / 9 * scale).astype(np.float32)


def _unit(vectors: Floats) -> Floats:
    unit: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return unit
