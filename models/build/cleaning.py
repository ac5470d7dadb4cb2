"""What makes a program's string fit to learn from: no markup, no keyboard accelerators, no placeholders.

Decides only by the two strings themselves, never by where they come from.
"""

from __future__ import annotations

import html
import re
import unicodedata

TAG = re.compile(r"<[^<>]{0,300}>")
PLACEHOLDER = re.compile(
    r"%\([A-Za-z_0-9]*\)[-#0 +]*\d*(?:\.\d+)?[sdifrgxuc]"  # Python
    r"|%(?:\d+\$)?[-#0+]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|j|t|q)?[sdifFgGxXucpeEoSPQ](?![A-Za-z])"  # C
    r"|%(?:L?\d{1,2})(?!\d|%)|%%"  # Qt
    r"|\$\{[^{}]*\}|\{\{[^{}]*\}\}|\{[^{}]*\}|\$(?:\d|[A-Z_]{2,})\$?"  # templates, Chromium
    r"|&lt;|&gt;|%[A-Z_]{3,}%?|@[a-z-]+@|\[%[^\]]*%\]"  # LibreOffice
)
SPELLED_ACCELERATOR = re.compile(r"\s*\((?:[&_~][A-Za-z0-9]|[A-Z])\)\s*(?=\.\.\.|…|:|$)")
MARKED_ACCELERATOR = re.compile(r"(?:(?<=\W)|^|(?<=\w))[&~](?=\w)")
LEADING_UNDERSCORE = re.compile(r"(?:^|(?<=[\s(]))_(?=[A-Za-z가-힣])")
INNER_UNDERSCORE = re.compile(r"(?<=[A-Za-z])_(?=[a-z]{1,20}(?:\s|$|\.\.\.|…))")
CONTROL = re.compile(r"\\[nrt]|[\n\r\t\x04]+")
SPACES = re.compile(r"\s+")
EDGES = " \"'`“”‘’*|#-–—:;,=[]<>"  # the curly quotes and dashes are meant

# A particle written both ways, because the word before it is not known: keep the one after a consonant.
PARTICLES = (
    (re.compile(r"\(이\)가|이\(가\)|가\(이\)"), "이"),
    (re.compile(r"을\(를\)|\(을\)를|를\(을\)"), "을"),
    (re.compile(r"은\(는\)|\(은\)는|는\(은\)"), "은"),
    (re.compile(r"와\(과\)|과\(와\)"), "와"),
    (re.compile(r"\(으\)로"), "로"),
)

HANGUL = re.compile(r"[\uac00-\ud7a3]")
LATIN = re.compile(r"[A-Za-z]")
MAX_ENGLISH, MAX_KOREAN = 700, 500  # characters
SHORT = 14  # characters: below this, lengths of two languages differ more
IDENTIFIER = 25  # characters: a single longer word with underscores is a name, not a menu entry


def clean(text: str) -> str:
    """The words of a string, in NFC, on one line."""
    text = TAG.sub(" ", html.unescape(text))
    text = CONTROL.sub(" ", text)
    text = SPELLED_ACCELERATOR.sub("", text)
    text = PLACEHOLDER.sub(" ", text)
    text = MARKED_ACCELERATOR.sub("", text)
    text = LEADING_UNDERSCORE.sub("", text)
    if " " in text or len(text) < IDENTIFIER:
        text = INNER_UNDERSCORE.sub("", text)
    for written, kept in PARTICLES:
        text = written.sub(kept, text)
    return SPACES.sub(" ", unicodedata.normalize("NFC", text)).strip(EDGES)


def is_pair(english: str, korean: str) -> bool:
    """Whether two cleaned strings look like one sentence in two languages."""
    hangul, latin, letters = (
        len(found) for found in (HANGUL.findall(korean), LATIN.findall(korean), LATIN.findall(english))
    )
    if hangul < 2 or letters < 3 or HANGUL.search(english) or hangul < 0.35 * (hangul + latin):
        return False
    if len(english) > MAX_ENGLISH or len(korean) > MAX_KOREAN:
        return False
    ratio = (hangul + 0.5 * latin) / letters
    return 0.12 <= ratio <= 1.5 or (max(len(english), len(korean)) < SHORT and ratio <= 2.5)
