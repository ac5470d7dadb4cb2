"""What the `grams` column holds: help for words that the tokenizer cannot split.

The index sees `충돌은` and `package를` as one token each. Beside the text it therefore
keeps, for every word with Hangul, Han or Kana in it, the pairs of neighbouring syllables
and the last syllable by itself (`충돌은` -> `충돌 돌은 은`) and the other script's part as a
word of its own (`package 를`). A word of a query then matches as a phrase of its pairs.
Names such as C++ and C#, whose marks the tokenizer drops, are kept with the marks
spelled in private-use letters, which it does not drop. A leading dot (`.NET`) is left to
the plain word: `net` is rare enough.

Works on NFC, ignores everything else, never stems and never reads a dictionary.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

CJK = (
    "\u1100-\u11ff\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3131-\u318e\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uf900-\ufaff\uff66-\uff9f\uffa0-\uffdc"
    "\U00020000-\U000323af"
)
"""The inside of a regular expression's character class."""

OTHER = rf"[^\W_{CJK}]"
"""One letter or digit of any other script, as a regular expression."""

_RUN = rf"([{CJK}]+)|((?<=[{CJK}]){OTHER}+|(?<!{OTHER}){OTHER}++(?=[{CJK}]))"
_ANY_CJK = re.compile(rf"[{CJK}]")
MARKED = r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9]{0,15}(?:\+\+|#(?![A-Za-z0-9_#]))"
"""A name that ends in marks, as a regular expression: C++, g++, C#, F#."""

_MARKED = re.compile(MARKED)
_MARKS = re.compile(r"\+\+(?<=[A-Za-z0-9]\+\+)|#(?<=[A-Za-z0-9]#)(?![A-Za-z0-9_#])")
_SPELLED = str.maketrans({"+": "\ue02b", "#": "\ue023"})


@lru_cache(maxsize=1)
def _compiled(pattern: str) -> re.Pattern[str]:
    """Only indexing needs it, and compiling it takes as long as a whole search."""
    return re.compile(pattern)


def grams(text: str) -> str:
    """Spell the extra tokens of `text`, separated by spaces."""
    found = []
    if not text.isascii():
        found += _split_words(text)
    if ("++" in text or "#" in text) and _MARKS.search(text):
        found += [marked_token(name) for name in _MARKED.findall(text)]
    return " ".join(found)


def gram_phrase(word: str) -> tuple[str, ...]:
    """List the neighbouring tokens of the grams column that a run of CJK matches.

    A single syllable is to be matched as a prefix: every syllable begins some token.
    """
    return tuple(word[i : i + 2] for i in range(len(word) - 1)) or (word,)


def marked_token(name: str) -> str:
    """Spell C++ as the one token that stands for it."""
    return name.lower().translate(_SPELLED)


def _split_words(text: str) -> list[str]:
    text = unicodedata.normalize("NFC", text)
    if not _ANY_CJK.search(text):
        return []
    pieces = []
    for run, other in _compiled(_RUN).findall(text):
        if run:
            pieces += [run[i : i + 2] for i in range(len(run))]
        else:
            pieces.append(other)
    return pieces
