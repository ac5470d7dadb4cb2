"""The pieces of a WordPiece tokenizer, looked up in a file instead of loaded: `pieces.txt`.

Its lines are `piece<tab>id`, ordered by their bytes. A query has a few words, for which no
table of 183,000 pieces needs to be made first (50 ms). Knows into which pieces a word
falls; which words a text has is the tokenizer's to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

_REMEMBERED_WORDS = 8_192
_DIGITS = 9


class Piece(NamedTuple):
    name: bytes
    number: int


class Pieces:
    """The lines of one file. `inside` begins every piece that does not begin its word."""

    def __init__(self, lines: bytes, inside: str) -> None:
        self._lines = lines
        self._inside = inside.encode()
        self.of = lru_cache(_REMEMBERED_WORDS)(self._of)

    def number_of(self, name: str) -> int | None:
        found = self._last_up_to(name.encode())
        return found.number if found and found.name == name.encode() else None

    def everything(self) -> dict[str, int]:
        """All pieces; ValueError unless they stand in their order, each once."""
        *lines, rest = self._lines.split(b"\n")
        found = [_piece(line) for line in lines]
        if rest:
            raise ValueError("its last line does not end")
        if sorted({piece.name for piece in found}) != [piece.name for piece in found]:
            raise ValueError("its lines are not in order")
        return {piece.name.decode(): piece.number for piece in found}

    def _of(self, word: str) -> Mapping[str, int]:
        """The pieces of a word with their ids, the longest first; only some when one cannot be found."""
        return {piece.name.decode(): piece.number for piece in self._cut(word.encode())}

    def _cut(self, rest: bytes) -> Iterator[Piece]:
        begun = b""
        while rest and (piece := self._longest_begin(begun + rest)) and len(piece.name) > len(begun):
            yield piece
            rest = rest[len(piece.name) - len(begun) :]
            begun = self._inside

    def _longest_begin(self, text: bytes) -> Piece | None:
        """The longest piece that the text begins with."""
        while text and (piece := self._last_up_to(text)):
            if text.startswith(piece.name):
                return piece
            text = text[: _shared(text, piece.name)]
        return None

    def _last_up_to(self, name: bytes) -> Piece | None:
        """The last piece that is not behind this name."""
        lines, low, high = self._lines, 0, len(self._lines)
        found = None
        while low < high:
            start = max(low, lines.rfind(b"\n", low, (low + high) // 2) + 1)
            end = lines.find(b"\n", start) % (len(lines) + 1)  # or the end, which `everything` refuses
            if lines[start:end].partition(b"\t")[0] <= name:
                found = lines[start:end]
                low = end + 1
            else:
                high = start
        return _piece(found) if found else None


def _shared(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


def _piece(line: bytes) -> Piece:
    name, _, number = line.partition(b"\t")
    if not number.isdigit() or len(number) > _DIGITS:
        raise ValueError(f"no piece with its id: {line[:40]!r}")
    return Piece(name, int(number))
