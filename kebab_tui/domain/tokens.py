"""The words of a text as the index sees them: folding, stemming, and the tokens of the grams column.

Folding follows the tokenizer `porter unicode61 remove_diacritics 2`: letters, numbers and
private-use characters make words, case and diacritics are removed, a combining accent
stays inside its word. Offsets are characters of the given text, end exclusive.

SQLite's tables are those of Unicode 6.1 and treat unknown characters as letters, so newer
emoji, symbols and scripts are listed here. Known differences, 0.06 % of all characters
and rare in notes: newer marks and punctuation of older scripts, letters with a later
capital (Cherokee, Georgian Mtavruli), and about 25 letters of New Tai Lue and Vedic that
changed their category.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

from kebab_tui.domain.text import HANGUL

# Folding

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


Token: TypeAlias = tuple[int, int, str]
"""Start and end of a word, and its folded form; the index has the stem of that.

A plain tuple: highlighting makes thousands of them per screen.
"""


class _Shadow(dict[int, int]):
    """Maps each character to its indexed form, a space, or a dropped accent."""

    def __missing__(self, code: int) -> int:
        character = chr(code)
        category = unicodedata.category(character)
        is_letter = category[0] in "LN" or category in {"Co", "Cn"}
        if code in _ACCENTS:
            folded = _DROPPED
        elif is_letter or (code > 0x2000 and any(first <= code <= last for first, last in _UNKNOWN_TO_61)):
            lower = character.casefold()
            if len(lower) > 1:
                lower = character.lower()[0]
            bare = unicodedata.normalize("NFD", lower)[0]
            folded = ord(bare if bare.isascii() else lower)
        else:
            folded = _SPACE
        self[code] = folded
        return folded


_SHADOW = _Shadow()


def folded_tokens(text: str) -> Iterator[Token]:
    """Yield the words of `text`, folded but not stemmed."""
    if text.isascii():
        for match in _ASCII_WORD.finditer(text.lower()):
            yield match.start(), match.end(), match[0]
        return
    for match in _WORD.finditer(text.translate(_SHADOW)):
        yield match.start(), match.end(), match[0].replace("\0", "")


def plain_words(text: str) -> list[str]:
    """List the folded words of `text`, unstemmed, in order and with repetitions."""
    return [term for _, _, term in folded_tokens(text)]


# Stemming

_SHORTEST, _LONGEST = 3, 64
_Rules = tuple[tuple[str, str], ...]

_STEP_2: _Rules = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("logi", "log"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
)
_STEP_3: _Rules = (
    ("ical", "ic"),
    ("ness", ""),
    ("icate", "ic"),
    ("iciti", "ic"),
    ("ful", ""),
    ("ative", ""),
    ("alize", "al"),
)
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism",
    "ate", "iti", "ous", "ive", "ize",
)  # fmt: skip


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Reduce a folded word to its indexed form, as the `porter` tokenizer of FTS5 does.

    Highlighting must mark what the index matched, so this follows FTS5 where it differs from the
    paper: words below 3 or above 64 bytes stay as they are, a suffix never covers the whole word,
    `-bli` and `-logi` are rules of step 2, letters outside ASCII are consonants, one per byte of
    UTF-8.
    """
    if word.isascii():
        return _stem(word)
    octets = word.encode("utf-8", "surrogatepass").decode("latin-1")
    return _stem(octets).encode("latin-1").decode("utf-8", "replace")


def _stem(word: str) -> str:
    if not _SHORTEST <= len(word) <= _LONGEST:
        return word
    word = _past(_plural(word))
    if word[-1] == "y" and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _suffix(word, _STEP_2)
    word = _suffix(word, _STEP_3)
    return _tidy(_ending(word))


def _plural(word: str) -> str:
    if word[-1] != "s" or word[-2] == "s":
        return word
    if word[-2] == "e" and ((len(word) > 4 and word[-4:-2] == "ss") or (len(word) > 3 and word[-3] == "i")):
        return word[:-2]
    return word[:-1]


def _past(word: str) -> str:
    if len(word) > 3 and word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for suffix in ("ed", "ing"):
        if len(word) > len(suffix) and word.endswith(suffix):
            start = word[: -len(suffix)]
            return _repaired(start) if _has_vowel(start) else word
    return word


def _repaired(start: str) -> str:
    """Restore the ending after -ed or -ing was removed: conflat(e), hop(p)."""
    if len(start) > 2 and start.endswith(("at", "bl", "iz")):
        return start + "e"
    last = start[-1]
    if last not in "aeioulsz" and start[-2:-1] == last:
        return start[:-1]
    if _measure(start) == 1 and _is_short(start):
        return start + "e"
    return start


def _suffix(word: str, rules: _Rules) -> str:
    for suffix, instead in rules:
        if len(word) > len(suffix) and word.endswith(suffix):
            start = word[: -len(suffix)]
            return start + instead if _measure(start) else word
    return word


def _ending(word: str) -> str:
    for suffix in _STEP_4:
        if len(word) > len(suffix) and word.endswith(suffix):
            start = word[: -len(suffix)]
            allowed = suffix != "ion" or start[-1] in "st"
            return start if allowed and _measure(start) > 1 else word
    return word


def _tidy(word: str) -> str:
    start = word[:-1]
    if word[-1] == "e":
        measure = _measure(start)
        if measure > 1 or (measure == 1 and not _is_short(start)):
            word, start = start, start[:-1]
    if word.endswith("ll") and _measure(start) > 1:
        return start
    return word


def _shape(letters: str) -> str:
    """Spell letters as c(onsonants) and v(owels); y is a vowel after a consonant."""
    shape = []
    consonant = False
    for letter in letters:
        consonant = letter not in "aeiou" and not (consonant and letter == "y")
        shape.append("c" if consonant else "v")
    return "".join(shape)


def _measure(letters: str) -> int:
    return _shape(letters).count("vc")


def _is_short(letters: str) -> bool:
    return letters[-1:] not in {"w", "x", "y"} and _shape(letters).endswith("cvc")


def _has_vowel(letters: str) -> bool:
    return any(letter in "aeiou" for letter in letters) or "y" in letters[1:]


# The grams column

CJK = (
    rf"{HANGUL}\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
)
"""The inside of a regular expression's character class."""

OTHER = rf"[^\W_{CJK}]"
"""One letter or digit of any other script, as a regular expression."""

_RUN = rf"([{CJK}]+)|((?<=[{CJK}]){OTHER}+|(?<!{OTHER}){OTHER}++(?=[{CJK}]))"
_ANY_CJK = re.compile(rf"[{CJK}]")
MARKED = r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9]{0,15}(?:\+\+|#(?![A-Za-z0-9_#]))"
"""A name that ends in marks, as a regular expression: C++, g++, C#, F#."""

_CAMEL = re.compile("[A-Z](?:(?<=[a-z0-9][A-Z])|[A-Z]{2}[a-z]{2})[A-Za-z0-9]*")
"""An identifier from its first border on; begins with the rarest letters, because every text is searched."""
_PART = re.compile("[0-9]*[A-Z]{2,}(?=[A-Z][a-z]{2})|[0-9]*[A-Z]*[a-z0-9]+|[0-9]*[A-Z]+")
_LONGEST_IDENTIFIER = 64
_ASCII_LETTERS_AND_DIGITS = frozenset(map(chr, (*range(48, 58), *range(65, 91), *range(97, 123))))
_PRODUCTS = frozenset(
    "javascript typescript coffeescript github gitlab youtube linkedin whatsapp powerpoint mysql".split()  # noqa: SIM905
)
"""Names in camelCase whose parts are other things: a note on JavaScript is not about Java."""

_MARKED = re.compile(MARKED)
_MARKS = re.compile(r"\+\+(?<=[A-Za-z0-9]\+\+)|#(?<=[A-Za-z0-9]#)(?![A-Za-z0-9_#])")
_SPELLED = str.maketrans({"+": "\ue02b", "#": "\ue023"})


def grams(text: str) -> str:
    """The extra tokens of `text` for words that the tokenizer cannot split, separated by spaces.

    The tokenizer reads `충돌은` and `package를` as one token each. For every word with Hangul, Han
    or Kana, the grams column therefore has the pairs of adjacent syllables and the last syllable
    (`충돌은` -> `충돌 돌은 은`), and the part in the other script as a separate word (`package 를`).
    A query word then matches as a phrase of its pairs. Names such as C++ and C# are kept with
    their marks spelled in private-use letters, because the tokenizer drops the marks; `.NET` is
    not, since `net` is rare enough. The parts of each different identifier in camelCase follow
    one another (`getUserName` -> `get User Name`). Works on NFC; knows no stems.
    """
    found = []
    if not text.isascii() and _ANY_CJK.search(normal := unicodedata.normalize("NFC", text)):
        for run, other in re.findall(_RUN, normal):  # compiled on first use, which only indexing needs
            found += [run[i : i + 2] for i in range(len(run))] if run else [other]
    if ("++" in text or "#" in text) and _MARKS.search(text):
        found += [marked_token(name) for name in _MARKED.findall(text)]
    for parts in dict.fromkeys(parts for _, parts in identifiers(text)):
        found += parts
    return " ".join(found)


def identifiers(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the place and the parts of each identifier in camelCase.

    An acronym is one part, and digits belong to the letters before them: `parseJSON2Html` has `parse`,
    `JSON2` and `Html`. A single letter and a word are no identifier (`iPhone`, `getX`), nor is a
    mixture with several single letters, which is data in base64 or the like.
    """
    for match in _CAMEL.finditer(text):
        start, end = match.span()
        first = max(end - _LONGEST_IDENTIFIER - 1, 0)
        while start > first and text[start - 1] in _ASCII_LETTERS_AND_DIGITS:
            start -= 1
        around = text[start - 1 : start] + text[end : end + 1]
        is_whole = around.isascii() or not any(one.isalnum() and not _ANY_CJK.match(one) for one in around)
        if end - start > _LONGEST_IDENTIFIER or not is_whole:
            continue
        if parts := _parts_of(text[start:end]):
            yield start, parts


@lru_cache(maxsize=4_096)
def _parts_of(word: str) -> tuple[str, ...]:
    parts = tuple(_PART.findall(word))
    single = sum(len(part) == 1 for part in parts)
    return parts if single <= 1 and len(parts) - single > 1 and word.lower() not in _PRODUCTS else ()


def gram_phrase(word: str) -> tuple[str, ...]:
    """The adjacent tokens of the grams column that match a run of CJK.

    A single syllable must be matched as a prefix: every syllable begins some token.
    """
    return tuple(word[i : i + 2] for i in range(len(word) - 1)) or (word,)


def marked_token(name: str) -> str:
    """The single token for a name such as C++."""
    return name.lower().translate(_SPELLED)
