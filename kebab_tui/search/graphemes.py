"""Where a text may be cut without taking a character apart.

A small rule and not the whole of UAX #29: accents and other marks, variation selectors,
skin tones, joined emoji, flags and Hangul jamo stay together.
"""

from __future__ import annotations

import unicodedata

_JOINERS = "\u200c\u200d"
_EXTENDING = ((0x1F3FB, 0x1F3FF), (0xE0020, 0xE007F), (0xFF9E, 0xFF9F))
_VOWELS_AND_FINALS = ((0x1160, 0x11FF), (0xD7B0, 0xD7FB))
_INITIALS = ((0x1100, 0x115F), (0xA960, 0xA97C))
_SYLLABLES = ((0xAC00, 0xD7A3),)
_FLAGS = ((0x1F1E6, 0x1F1FF),)


def is_border(text: str, at: int) -> bool:
    """Whether a new character, as a reader sees it, begins at `at`."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if before.isascii() and after.isascii():
        return True
    if _extends(after) or before == "\u200d":
        return False
    if _within(before, _INITIALS):
        return not (_within(after, _INITIALS) or _within(after, _SYLLABLES))
    return not (_within(after, _FLAGS) and _flags_before(text, at) % 2)


def border_before(text: str, at: int, least: int = 0) -> int:
    """The last border from `least` to `at`; `at` itself where there is none."""
    return next((i for i in range(at, least - 1, -1) if is_border(text, i)), at)


def border_after(text: str, at: int, most: int) -> int:
    """The first border from `at` to `most`; `most` where there is none."""
    return next((i for i in range(at, most) if is_border(text, i)), most)


def _extends(character: str) -> bool:
    return (
        unicodedata.category(character)[0] == "M"
        or character in _JOINERS
        or _within(character, _EXTENDING)
        or _within(character, _VOWELS_AND_FINALS)
    )


def _flags_before(text: str, at: int) -> int:
    first = at
    while first > 0 and _within(text[first - 1], _FLAGS):
        first -= 1
    return at - first


def _within(character: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= ord(character) <= last for first, last in ranges)
