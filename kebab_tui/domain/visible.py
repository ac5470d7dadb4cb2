"""The one sanitiser: text that somebody else wrote, made safe to show in a terminal.

Every character that a terminal would obey instead of show is replaced by one that can
be seen: control characters by their pictures, C1 controls and lone surrogates by
U+FFFD, direction marks and zero-width characters by U+2426 ("substitute"), and the
ninth and further combining marks in a row by U+FFFD. Newline and tab stay. One
character is always replaced by exactly one, so offsets into the text (highlights)
stay true. Joiners stay where they join emoji or the letters of a script that uses
them. Refuses to know about colour, width or markup.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST_MARK_RUN = 8
REPLACEMENT = "\ufffd"
INVISIBLE = "\u2426"

_OBEYED = r"\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"
_UNSEEN = (
    r"\u00ad\u061c\u115f\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
UNSAFE = f"[{_OBEYED}{_UNSEEN}]"
"""The class, as a regular expression, of what a terminal obeys or does not show, wherever it stands."""
_JOINING = r"\u0600-\u0dff\u2190-\u2bff\ufe0f\ufffd\U0001f000-\U0001faff"
_STRAY_JOINER = rf"(?<![{_JOINING}])[\u200c\u200d]|[\u200c\u200d](?![{_JOINING}])"
# The blocks that hold marks without a width of their own, letters among them: `unicodedata` narrows a run
# down. Vowels and finals of decomposed Hangul are such marks; Latin, whole Hangul, kana and Han are not.
_MARK_BLOCKS = (
    r"\u0300-\u036f\u0483-\u0489\u0590-\u10ff\u1160-\u1cff\u1dc0-\u1dff\u20d0-\u20ff\u2cef-\u2cf1\u2d7f\u2de0-\u2dff"
    r"\u302a-\u302f\u3099\u309a\ua66f-\uabff\ud7b0-\ud7ff\ufb1e\ufe00-\ufe2f\U00010000-\U0001efff\U000e0100-\U000e01ef"
)
_SUSPECT = re.compile(f"[{_OBEYED}{_UNSEEN}\u200c\u200d{_MARK_BLOCKS}]")
"""One class, so that clean text costs one fast search (5 ns a character)."""
_REPLACED = f"(?P<one>{UNSAFE}|{_STRAY_JOINER})|[{_MARK_BLOCKS}]{{{LONGEST_MARK_RUN + 1},}}"
"""Compiled by the first text that needs it; few do."""


def visible(text: str) -> str:
    """The text with everything in it that is not plain text made visible."""
    if _SUSPECT.search(text) is None:
        return text
    return re.sub(_REPLACED, _shown, text)


def _shown(match: re.Match[str]) -> str:
    character = match["one"]
    return _capped(match[0]) if character is None else _picture(character)


def _picture(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if code < 0xA0 or 0xD800 <= code <= 0xDFFF:
        return REPLACEMENT
    return INVISIBLE


def _capped(run: str) -> str:
    """The run with all but the first marks of each row replaced."""
    shown = []
    row = 0
    for character in run:
        row = row + 1 if _is_mark(character) else 0
        shown.append(REPLACEMENT if row > LONGEST_MARK_RUN else character)
    return "".join(shown)


def _is_mark(character: str) -> bool:
    if unicodedata.category(character) in ("Mn", "Me"):
        return True
    return "\u1160" <= character <= "\u11ff" or "\ud7b0" <= character <= "\ud7ff"
