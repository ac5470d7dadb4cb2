"""The vocabulary of a model without a tokenizer: its pieces, and which words it knows as a whole.

Keyword searches read it too, so it loads no engine.
"""

from __future__ import annotations

import contextlib
import json
import mmap
from functools import lru_cache
from typing import NamedTuple

from kebab_tui.embedding.card import ModelCard

_CACHED_WORDS = 65_536
_DIGITS = 9
_STARTS_A_WORD = ("", "\u2581", "\u0120")
"""The prefix of a piece that starts a word in a tokenizer.json: WordPiece, Unigram, BPE."""


class VocabularyPiece(NamedTuple):
    name: bytes
    number: int


class Pieces:
    """The lines of a `pieces.txt`. `inside` is the prefix of pieces that do not start a word."""

    def __init__(self, lines: bytes | mmap.mmap, inside: str) -> None:
        self._lines = lines
        self._inside = inside.encode()
        self.of = lru_cache(_CACHED_WORDS)(self._of)

    def number_of(self, name: str) -> int | None:
        found = self._last_up_to(name.encode())
        return found.number if found and found.name == name.encode() else None

    def has(self, name: str, begun: bool) -> bool:
        """Whether there is a piece of this name, or one that begins with it if it is only `begun`."""
        end = b"\xff" if begun else b""  # sorts behind any letter
        found = self._last_up_to(name.encode() + end)
        return found is not None and (
            found.name.startswith(name.encode()) if begun else found.name == name.encode()
        )

    def everything(self) -> dict[str, int]:
        """Return all pieces; raise ValueError unless they are sorted and unique."""
        *lines, rest = self._lines[:].split(b"\n")
        found = [_piece(line) for line in lines]
        if rest:
            raise ValueError("its last line has no line end")
        if sorted({piece.name for piece in found}) != [piece.name for piece in found]:
            raise ValueError("its lines are not sorted")
        return {piece.name.decode(): piece.number for piece in found}

    def _of(self, word: str) -> tuple[int, ...] | None:
        """The ids of the longest pieces of a word, one behind the other; None if any is unknown."""
        found = []
        rest, prefix = word.encode(), b""
        while rest:
            piece = self._longest_prefix(prefix + rest)
            if piece is None or len(piece.name) <= len(prefix):
                return None
            found.append(piece.number)
            rest = rest[len(piece.name) - len(prefix) :]
            prefix = self._inside
        return tuple(found)

    def _longest_prefix(self, text: bytes) -> VocabularyPiece | None:
        """Return the longest piece that is a prefix of the text."""
        while text and (piece := self._last_up_to(text)):
            if text.startswith(piece.name):
                return piece
            pairs = enumerate(zip(text, piece.name, strict=False))
            shorter = min(len(text), len(piece.name))
            text = text[: next((at for at, (one, other) in pairs if one != other), shorter)]
        return None

    def _last_up_to(self, name: bytes) -> VocabularyPiece | None:
        """Return the last piece that is not greater than `name`."""
        lines, low, high = self._lines, 0, len(self._lines)
        found = None
        while low < high:
            start = max(low, lines.rfind(b"\n", low, (low + high) // 2) + 1)
            end = lines.find(b"\n", start) % (len(lines) + 1)  # or the end, which `everything` rejects
            if lines[start:end].partition(b"\t")[0] <= name:
                found = lines[start:end]
                low = end + 1
            else:
                high = start
        return _piece(found) if found else None


def _piece(line: bytes) -> VocabularyPiece:
    name, _, number = line.partition(b"\t")
    if not number.isdigit() or len(number) > _DIGITS:
        raise ValueError(f"invalid line: {line[:40]!r}")
    return VocabularyPiece(name, int(number))


def knows_word(card: ModelCard, word: str, begun: bool) -> bool:
    """Whether a folded word is one piece of the model, or the beginning of one if it is only `begun`.

    False if its files cannot be read.
    """
    path = card.pieces if card.pieces_sha256 else card.tokenizer
    with (
        contextlib.suppress(OSError, ValueError),
        open(path, "rb", buffering=0) as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,  # a search touches few pages
    ):
        if card.pieces_sha256:
            return Pieces(mapped, "").has(word, begun)
        spelled = (
            json.dumps(start + word, ensure_ascii=escaped)[: -1 if begun else None]
            for start in _STARTS_A_WORD
            for escaped in (True, False)
        )
        return any(mapped.find(one.encode()) >= 0 for one in spelled)
    return False
