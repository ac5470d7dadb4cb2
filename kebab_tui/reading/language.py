"""Tells Korean from English by the letters of a note.

Korean notes about technical things are full of English words, English notes hold
hardly any Hangul (in the sample vault no note lies between 3 and 24 per cent): a share of
15 per cent already makes a note Korean. Without a letter,
or where most letters belong to neither, the language is undetermined. Looks at a
bounded sample of a long text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kebab_tui.domain.document import Language

_HANGUL = re.compile("[가-힣ㄱ-ㆎᄀ-ᇿ]")
_ACCENTED = re.compile("[À-ɏ]")
_LETTER = re.compile(r"[^\W\d_]")
_ASCII = bytes(range(128))
_NOT_LATIN = bytes(code for code in range(256) if code > 127 or not chr(code).isalpha())
_KOREAN_SHARE = 0.15
_SAMPLE = 20_000


def language_of(lines: Iterable[str]) -> Language:
    """Judge by the first lines that hold about 20,000 characters."""
    text = "".join(lines)[:_SAMPLE]
    if text.isascii():
        return "en" if _LETTER.search(text) else "und"
    # Bytes are counted and taken out many times faster than characters, and most letters are ASCII.
    data = text.encode("utf-8", "surrogatepass")
    latin = len(data.translate(None, _NOT_LATIN))
    rest = data.translate(None, _ASCII).decode("utf-8", "surrogatepass")
    letters = latin + len(_LETTER.findall(rest))
    hangul = len(_HANGUL.findall(rest))
    if hangul and hangul >= _KOREAN_SHARE * letters:
        return "ko"
    latin += len(_ACCENTED.findall(rest))
    return "en" if latin and latin >= letters / 2 else "und"
