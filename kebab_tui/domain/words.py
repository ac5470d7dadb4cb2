"""The words of a text as the index sees them.

Follows the tokenizer `porter unicode61 remove_diacritics 2`: letters, numbers and
private-use characters make words, case and diacritics are folded away, a combining
accent stays inside its word. Offsets are characters of the given text, end exclusive.

SQLite's tables are those of Unicode 6.1, and what they do not know counts as a letter:
the newer emoji, symbols and scripts are listed here for that reason. Known differences,
0.06 % of all characters and none that a note is likely to hold: marks and punctuation
added since to older scripts, letters whose capital came later (Cherokee, Georgian
Mtavruli), and some 25 letters of New Tai Lue and Vedic that changed their category.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

_SPACE, _DROPPED = 0x20, 0x00
_ASCII_WORD = re.compile(r"[0-9a-z]+")
_WORD = re.compile(r"[^ \x00][^ ]*")
_ACCENTS = frozenset(
    {*range(0x300, 0x305), *range(0x306, 0x30D), 0x30F, 0x311, 0x31B}
    | {*range(0x323, 0x329), 0x32D, 0x32E, 0x330, 0x331}
)
_UNKNOWN_TO_61 = (
    (0x2066, 0x2069), (0x20BA, 0x20C0), (0x218A, 0x218B), (0x23F4, 0x23FF), (0x2700, 0x2700),
    (0x2B4D, 0x2B4F), (0x2B5A, 0x2BFF), (0x2E3C, 0x2E5D), (0x32FF, 0x32FF), (0x10B99, 0x10F89),
    (0x111C9, 0x1166C), (0x116B9, 0x11FFF), (0x12474, 0x16F4F), (0x16FE2, 0x1CFC3), (0x1D800, 0x1ED2E),
    (0x1F0BF, 0x1F0BF), (0x1F0E0, 0x1F10F),
    (0x1F12F, 0x1F12F), (0x1F16C, 0x1F16F), (0x1F19B, 0x1F1AD), (0x1F23B, 0x1F23B), (0x1F260, 0x1F265),
    (0x1F321, 0x1F32F), (0x1F336, 0x1F336), (0x1F37D, 0x1F37F), (0x1F394, 0x1F39F), (0x1F3C5, 0x1F3C5),
    (0x1F3CB, 0x1F3DF), (0x1F3F1, 0x1F3FF), (0x1F43F, 0x1F43F), (0x1F441, 0x1F441), (0x1F4F8, 0x1F4F8),
    (0x1F4FD, 0x1F4FF), (0x1F53E, 0x1F53F), (0x1F544, 0x1F54F), (0x1F568, 0x1F5FA), (0x1F641, 0x1F644),
    (0x1F650, 0x1F67F), (0x1F6C6, 0x1F6FC), (0x1F780, 0x1FBCA),
)  # fmt: skip


class Token(NamedTuple):
    """One word and its folded form; the index holds the stem of that.

    A tuple and not a dataclass: highlighting makes thousands of them per screen.
    """

    start: int
    end: int
    term: str


class _Shadow(dict[int, int]):
    """Maps each character to the one the index would hold, a space, or a dropped accent."""

    def __missing__(self, code: int) -> int:
        self[code] = folded = _folded(code)
        return folded


def folded_tokens(text: str) -> Iterator[Token]:
    """Yield the words of `text`, folded but not stemmed."""
    if text.isascii():
        for match in _ASCII_WORD.finditer(text.lower()):
            yield Token(*match.span(), match.group())
        return
    for match in _WORD.finditer(text.translate(_SHADOW)):
        yield Token(*match.span(), match.group().replace("\0", ""))


def plain_words(text: str) -> list[str]:
    """List the folded words of `text`, unstemmed, in order and with repetitions."""
    return [token.term for token in folded_tokens(text)]


def _folded(code: int) -> int:
    if code in _ACCENTS:
        return _DROPPED
    if not _is_word_character(code):
        return _SPACE
    lower = _lower(chr(code))
    bare = unicodedata.normalize("NFD", lower)[0]
    return ord(bare if bare.isascii() else lower)


def _lower(character: str) -> str:
    simple = character.casefold()
    return simple if len(simple) == 1 else character.lower()[0]


def _is_word_character(code: int) -> bool:
    category = unicodedata.category(chr(code))
    if category[0] in "LN" or category in {"Co", "Cn"}:
        return True
    return code > 0x2000 and any(first <= code <= last for first, last in _UNKNOWN_TO_61)


_SHADOW = _Shadow()
