"""The Porter stemmer, to the letter of SQLite's FTS5.

Highlighting must mark what the index matched, so this follows the `porter` tokenizer
and not the paper where the two differ: words below 3 or above 64 bytes are left alone,
a suffix never swallows the whole word, `-bli` and `-logi` are rules of step 2, letters
outside ASCII are consonants, one per byte of UTF-8. Takes a folded word; splitting text
into words and folding them is `words`.
"""

from __future__ import annotations

from functools import lru_cache

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
    """Reduce a folded word to the form that the index holds."""
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
    """Give back what a removed -ed or -ing had taken: conflat(e), hop(p)."""
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
