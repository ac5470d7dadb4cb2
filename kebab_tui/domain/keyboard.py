"""The two-set keyboard of Korean: the keys of a syllable, and the syllables that differ in one letter."""

from __future__ import annotations

import re
from collections.abc import Iterator

_INITIALS = list("rRseEfaqQtTdwWczxvg")
_VOWELS = ["k", "o", "i", "O", "j", "p", "u", "P", "h", "hk", "ho", "hl", "y", "n", "nj", "np", "nl", "b"]
_VOWELS += ["m", "ml", "l"]
_FINALS = ["", "r", "R", "rt", "s", "sw", "sg", "e", "f", "fr", "fa", "fq", "ft", "fx", "fv", "fg", "a"]
_FINALS += ["q", "qt", *"tTdwczxvg"]
"""In the order of Unicode, as all of them."""
_CONSONANTS = [*_FINALS[1:8], "E", *_FINALS[8:18], "Q", *_FINALS[18:23], "W", *_FINALS[23:]]
_LETTERS = dict(zip(map(chr, range(ord("ㄱ"), ord("ㅣ") + 1)), [*_CONSONANTS, *_VOWELS], strict=True))
_SHIFTED = frozenset("RETQWOP")
_A_VOWEL = "[koiOjpuPhynbml]"
_SYLLABLE = re.compile(
    rf"([rRseEfaqQtTdwWczxvg])(h[kol]|n[jpl]|ml|{_A_VOWEL})"
    rf"(?:(rt|s[wg]|f[raqtxvg]|qt|[rRsefaqtTdwczxvg])(?!{_A_VOWEL}))?"
)
_FIRST, _LAST = ord("가"), ord("힣")


def hangul_keys(typed: str) -> str | None:
    """The Korean word of the same keys as Latin letters; None unless they are complete syllables."""
    keys = "".join(key if key in _SHIFTED else key.lower() for key in typed)
    syllables, at = [], 0
    while at < len(keys):
        found = _SYLLABLE.match(keys, at)
        if found is None:
            return None
        initial, vowel, final = found.groups("")
        syllables.append(_syllable(_INITIALS.index(initial), _VOWELS.index(vowel), _FINALS.index(final)))
        at = found.end()
    return "".join(syllables)


def is_hangul(typed: str) -> bool:
    """Whether all of it is syllables and letters that this keyboard types."""
    return all(one in _LETTERS or _FIRST <= ord(one) <= _LAST for one in typed)


def keys_of(typed: str) -> str:
    """The keys of syllables and letters of Hangul; a capital is a key with shift."""
    keys = []
    for one in typed:
        if one in _LETTERS:
            keys.append(_LETTERS[one])
        else:
            initial, vowel, final = _parts(one)
            keys.append(_INITIALS[initial] + _VOWELS[vowel] + _FINALS[final])
    return "".join(keys)


def neighbours(syllable: str) -> Iterator[str]:
    """The syllables that differ in one letter."""
    initial, vowel, final = _parts(syllable)
    yield from (_syllable(other, vowel, final) for other in range(len(_INITIALS)) if other != initial)
    yield from (_syllable(initial, other, final) for other in range(len(_VOWELS)) if other != vowel)
    for other, keys in enumerate(_FINALS):
        if other != final and len(keys) < 2:  # two consonants are two slips
            yield _syllable(initial, vowel, other)


def _syllable(initial: int, vowel: int, final: int) -> str:
    return chr(_FIRST + (initial * len(_VOWELS) + vowel) * len(_FINALS) + final)


def _parts(syllable: str) -> tuple[int, int, int]:
    rest, final = divmod(ord(syllable) - _FIRST, len(_FINALS))
    initial, vowel = divmod(rest, len(_VOWELS))
    return initial, vowel, final
