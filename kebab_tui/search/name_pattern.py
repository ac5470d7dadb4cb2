"""A typed name, and the letters by which names are compared.

Letters have no case, accents or separators, and Hangul is spelled in the letters that a keyboard types. So an
unfinished syllable is a prefix, and one wrong key is one edit.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from kebab_tui.domain.names import EXTENSION, typed_name

LONGEST = 200
"""Letters of a name that are compared, and of a query."""

LEADS = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
"""The initial consonants, in the order of the syllables."""
_VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
_TAILS = "ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"
_PARTS = {
    chr(first + number): letter
    for first, letters in ((0x1100, LEADS), (0x1161, _VOWELS), (0x11A8, _TAILS))
    for number, letter in enumerate(letters)
}
"""The parts of a decomposed syllable, as letters."""
_PAIRS = {
    "ㄳ": "ㄱㅅ", "ㄵ": "ㄴㅈ", "ㄶ": "ㄴㅎ", "ㄺ": "ㄹㄱ", "ㄻ": "ㄹㅁ", "ㄼ": "ㄹㅂ", "ㄽ": "ㄹㅅ",
    "ㄾ": "ㄹㅌ", "ㄿ": "ㄹㅍ", "ㅀ": "ㄹㅎ", "ㅄ": "ㅂㅅ", "ㅘ": "ㅗㅏ", "ㅙ": "ㅗㅐ", "ㅚ": "ㅗㅣ",
    "ㅝ": "ㅜㅓ", "ㅞ": "ㅜㅔ", "ㅟ": "ㅜㅣ", "ㅢ": "ㅡㅣ",
}  # fmt: skip
"""Letters that a keyboard types with two keys."""
_INITIALS = re.compile(f"[{LEADS}]+")


class _Spelling(dict[int, str]):
    """Maps a character to its letters, for `str.translate`."""

    def __missing__(self, code: int) -> str:
        letters = ""
        for character in unicodedata.normalize("NFD", chr(code).casefold()):
            part = _PARTS.get(character, character)
            if part in _PAIRS:
                letters += _PAIRS[part]
            elif part in "-_." or part.isspace():
                letters += " "
            elif unicodedata.category(part) not in ("Mn", "Cc", "Cf"):
                letters += part
        self[code] = letters
        return letters


SPELLING = _Spelling({ord("\n"): "\n", ord("\0"): "\0"})
"""Lines and records of a joined text stay apart."""


def letters_of(text: str) -> str:
    """The letters of a name; of many names line by line."""
    if text.isascii():
        text = text.lower().replace("-", " ").replace("_", " ").replace(".", " ").replace("\t", " ")
    else:
        text = text.translate(SPELLING)
    while "  " in text:
        text = text.replace("  ", " ")
    return text


# Typed names


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A typed name, in letters."""

    words: tuple[str, ...]
    """All must match, in any order; `infra/kub` is one word that matches a path."""

    @property
    def phrase(self) -> str:
        return " ".join(self.words).replace("/", " ")

    @property
    def has_folders(self) -> bool:
        return any("/" in word for word in self.words)


def name_pattern(typed: str) -> NamePattern:
    """Read a typed or pasted name: `[[Port conflict|ports]]`, `infra/Port conflict.md`, `kube op`."""
    text = EXTENSION.sub("", typed_name(typed[:LONGEST]))
    words = (word.strip("/") for word in letters_of(text.replace("\n", " ").replace("\0", " ")).split())
    return NamePattern(tuple(word for word in words if word))


def is_initials(word: str) -> bool:
    """Whether a word is initial consonants only, such as ㅎㅇ for 회의."""
    return _INITIALS.fullmatch(word) is not None


def allowed_edits(word: str) -> int:
    """How many typos a word may have."""
    return 0 if len(word) < 4 or is_initials(word) else 1 if len(word) < 9 else 2
