"""Which stretches of a text a query matched, in the index's own terms.

Words match by stem or beginning, CJK by its syllables, C++ with its marks, phrases
where their words are neighbours. Offsets are characters of the text as given, end
exclusive, also where it is not in NFC. Returns places, never markup.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from kebab_tui.domain.hit import Highlight
from kebab_tui.domain.tokens import CJK, OTHER, Token, folded_tokens, plain_words, stem
from kebab_tui.search.phrases import Phrase

_SCRIPTS = rf"{OTHER}+"
"""Compiled by the first text with CJK in it, which a short search may not see."""
_ANY_CJK = re.compile(rf"[{CJK}]")
_JAMO = re.compile("[\u1160-\u11ff]")


class Mark(NamedTuple):
    """One match; `phrase` is the place of what it matched among the phrases."""

    start: int
    end: int
    phrase: int


def highlight(text: str, phrases: Sequence[Phrase]) -> tuple[Highlight, ...]:
    """Find every match in `text`; what overlaps is one."""
    return merged(marks(text, phrases))


def marks(text: str, phrases: Sequence[Phrase]) -> list[Mark]:
    """Find every match in `text` and what it matched, in the order of the text."""
    found = [*_word_marks(text, phrases), *_gram_marks(text, phrases)]
    return sorted(found)


def merged(found: Sequence[Mark]) -> tuple[Highlight, ...]:
    """Join sorted marks that overlap."""
    joined: list[Highlight] = []
    for start, end, _ in found:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)


def _word_marks(text: str, phrases: Sequence[Phrase]) -> Iterator[Mark]:
    wanted = [(i, phrase) for i, phrase in enumerate(phrases) if phrase.kind == "words"]
    if not wanted:
        return
    words = list(folded_tokens(text))
    single = [(i, phrase) for i, phrase in wanted if len(phrase.parts) == 1]
    if single:
        yield from _single_marks([*words, *_glued_words(text, words)], single)
    several = [(i, phrase) for i, phrase in wanted if len(phrase.parts) > 1]
    if several:
        words = [Token(start, end, stem(word)) for start, end, word in words]
    for i, phrase in several:
        yield from _neighbours(words, phrase, i)


def _single_marks(words: Sequence[Token], wanted: Sequence[tuple[int, Phrase]]) -> Iterator[Mark]:
    initials = {phrase.parts[0][0] for _, phrase in wanted}  # a stem keeps its first letter
    whole = {phrase.parts[0]: i for i, phrase in wanted if not phrase.prefix}
    starts = {phrase.parts[0]: i for i, phrase in wanted if phrase.prefix}
    beginnings = tuple(starts)
    for start, end, word in words:
        if word[0] not in initials:
            continue
        term = stem(word)
        if term in whole:
            yield Mark(start, end, whole[term])
        elif term.startswith(beginnings):
            yield Mark(start, end, next(starts[b] for b in beginnings if term.startswith(b)))


def _glued_words(text: str, words: Sequence[Token]) -> Iterator[Token]:
    """The Latin parts of words with CJK in them, as the grams hold them."""
    if not _ANY_CJK.search(text):
        return
    scripts = re.compile(_SCRIPTS)
    for start, end, _ in words:
        if not _ANY_CJK.search(text, start, end):
            continue
        for part in scripts.finditer(text, start, end):
            if folded := plain_words(part.group()):
                yield Token(part.start(), part.end(), folded[0])


def _neighbours(words: Sequence[Token], phrase: Phrase, i: int) -> Iterator[Mark]:
    *others, last = phrase.parts
    length = len(phrase.parts)
    terms = [word.term for word in words]
    for at in range(len(words) - length + 1):
        final = terms[at + length - 1]
        if (
            terms[at] == phrase.parts[0]
            and terms[at : at + length - 1] == others
            and (final == last or (phrase.prefix and final.startswith(last)))
        ):
            yield Mark(words[at].start, words[at + length - 1].end, i)


def _gram_marks(text: str, phrases: Sequence[Phrase]) -> Iterator[Mark]:
    wanted = [(i, phrase) for i, phrase in enumerate(phrases) if phrase.kind != "words"]
    if not wanted:
        return
    if unicodedata.is_normalized("NFC", text):
        composed, places = text, None
    else:
        composed, places = _composed(text)
    for i, phrase in wanted:
        for match in _pattern(phrase.kind, phrase.parts).finditer(composed):
            start, end = match.span()
            yield Mark(places[start][0], places[end - 1][1], i) if places else Mark(start, end, i)


@lru_cache(maxsize=256)
def _pattern(kind: str, parts: tuple[str, ...]) -> re.Pattern[str]:
    body = r"[\W_]{1,40}".join(map(re.escape, parts))
    if kind == "marked":
        ending = "(?![A-Za-z0-9_#])" if parts[0].endswith("#") else ""
        return re.compile(f"(?i)(?<![A-Za-z0-9]){body}{ending}")
    border = rf"(?<!{OTHER})" if not _ANY_CJK.match(parts[0]) else ""
    return re.compile(f"(?i){border}{body}")


def _composed(text: str) -> tuple[str, list[Highlight]]:
    """Compose `text`; also say where in it each of the new characters stood."""
    composed: list[str] = []
    places: list[Highlight] = []
    for start, end in _clusters(text):
        cluster = unicodedata.normalize("NFC", text[start:end])
        composed.append(cluster)
        if len(cluster) == end - start:
            places += [(at, at + 1) for at in range(start, end)]
        else:
            places += [(start, end)] * len(cluster)
    return "".join(composed), places


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Stretches that compose independently of each other."""
    start = 0
    for at in range(1, len(text)):
        if not unicodedata.combining(text[at]) and not _JAMO.match(text[at]):
            yield start, at
            start = at
    if text:
        yield start, len(text)
