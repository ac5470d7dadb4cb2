"""What a model reads of a passage, and the name under which its vector is kept.

The text is the note's title, the headings that the passage stands under and the passage
itself. Its hash names the vector: a renamed or restored note costs no embedding.
"""

from __future__ import annotations

import re
import unicodedata

from kebab_tui.domain.chunk import HEADING_SEPARATOR

RECIPE_VERSION = 2
"""Raised when `embedded_text` changes: every vector is then made anew."""

_HANGUL_SHARE = 0.15
_HANGUL = re.compile("[\u3131-\u318e\uac00-\ud7a3]")
_CONJOINING = re.compile("[\u1100-\u11ff]")
"""Letters that make syllables together: how some file systems and editors write Korean."""


def embedded_text(title: str, heading_path: str, text: str) -> str:
    """What is given to the model."""
    if f"{heading_path}{HEADING_SEPARATOR}".startswith(f"{title}{HEADING_SEPARATOR}"):
        return f"{heading_path}\n{text}"
    return f"{HEADING_SEPARATOR.join(filter(None, (title, heading_path)))}\n{text}"


def embedded_hash(title: str, heading_path: str, text: str) -> bytes:
    """16 bytes that stand for that text."""
    from _blake2 import blake2b  # what hashlib offers; that would load OpenSSL besides, 2 ms of a search

    whole = embedded_text(title, heading_path, text)
    return blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def is_hangul(text: str) -> bool:
    """Whether a text is Korean by its script: a good share of its letters are Hangul."""
    if text.isascii():
        return False
    if _CONJOINING.search(text):
        text = unicodedata.normalize("NFC", text)
    hangul = len(_HANGUL.findall(text))
    return hangul > 0 and hangul >= _HANGUL_SHARE * sum(map(str.isalpha, text))
