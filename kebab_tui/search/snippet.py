"""One line of a chunk that shows why it was found.

White space is collapsed, a heading at the top is left to the heading path, and the
window lies where the most different things were found, the rare ones first. The text
never exceeds its limit, ellipses included; highlights are offsets into it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from kebab_tui.domain.hit import Highlight
from kebab_tui.domain.tokens import CJK, OTHER, Token, folded_tokens, plain_words, stem
from kebab_tui.search.match_tree import relaxed, unfinished_word
from kebab_tui.search.query_language import parse
from kebab_tui.search.words import Phrase

# Which stretches of a text a query matched, in the index's own terms.
#
# Words match by stem or beginning, CJK by its syllables, C++ with its marks, phrases
# where their words are neighbours. Offsets are characters of the text as given, end
# exclusive, also where it is not in NFC. Returns places, never markup.

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


# Where a text may be cut without taking a character apart.
#
# A small rule and not the whole of UAX #29: accents and other marks, variation selectors,
# skin tones, joined emoji, flags and Hangul jamo stay together.

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


_MOST_READ = 16_000
"""Four times the longest chunk; nothing beyond is looked at."""
_SMALLEST_WINDOW = 8
_REACH = 24
"""How far a cut may move to fall between words."""

_HEADING = re.compile(r"\A\s*(?:#{1,6}[ \t][^\n]*|[^\n]+\n=+[ \t]*)(?:\n|\Z)")


class Snippet(NamedTuple):
    text: str
    highlights: tuple[Highlight, ...]


def snippet(text: str, phrases: Sequence[Phrase], limit: int = 220) -> Snippet:
    """Show the best `limit` characters of a chunk."""
    line = _one_line(text[:_MOST_READ])
    found = marks(line, phrases)
    if len(line) <= limit:
        return Snippet(line, merged(found))
    if limit < _SMALLEST_WINDOW:
        start, end = 0, border_before(line, max(limit - 1, 0))
    else:
        start, end = _window(line, found, limit)
    return _cut(line, merged(found), start, end, limit)


def _one_line(text: str) -> str:
    body = _HEADING.sub("", text, count=1)
    return " ".join((body if body.strip() else text).split())


def _cut(line: str, found: Sequence[Highlight], start: int, end: int, limit: int) -> Snippet:
    before, after = "…" * (start > 0), "…" * (end < len(line))
    shown = f"{before}{line[start:end]}{after}"[: max(limit, 0)]
    shift = len(before) - start
    inside = tuple(
        (max(first, start) + shift, min(last, end) + shift)
        for first, last in found
        if max(first, start) < min(last, end)
    )
    return Snippet(shown, inside)


def _window(line: str, found: Sequence[Mark], limit: int) -> Highlight:
    """Choose where to cut: the best matches in the middle, cuts between words."""
    room = limit - 2
    first, last = _densest(found, room)
    last = min(last, first + room)
    start = max(first - (room - (last - first)) // 2, 0)
    if start == 0:
        return 0, _end(line, limit - 1, last, 0)
    if start + room >= len(line):
        return _start(line, len(line) - limit + 1, first), len(line)
    begin = _start(line, start, first)
    return begin, _end(line, start + room, last, begin)


def _start(line: str, at: int, most: int) -> int:
    """Move a cut forward to the next word, but not into the matches."""
    space = line.find(" ", at - 1, min(at + _REACH, most))
    return space + 1 if space >= 0 else border_after(line, at, most)


def _end(line: str, at: int, matched: int, begin: int) -> int:
    """Move a cut back to the end of a word, but not into what matched."""
    space = line.rfind(" ", max(at - _REACH, matched), at + 1)
    return space if space > begin else border_before(line, at, begin)


def _densest(found: Sequence[Mark], room: int) -> Highlight:
    """The stretch of at most `room` with the most different, then the rarest matches."""
    counts = Counter(mark.phrase for mark in found)
    inside: Counter[int] = Counter()
    best, best_worth, worth, right = (0, 0), 0.0, 0.0, 0
    for left, mark in enumerate(found):
        right = max(right, left)
        while right < len(found) and found[right].end - mark.start <= room:
            worth += 1 / counts[found[right].phrase] + (not inside[found[right].phrase])
            inside[found[right].phrase] += 1
            right += 1
        if worth > best_worth:
            best_worth, best = worth, (mark.start, found[right - 1].end)
        if right > left:
            inside[mark.phrase] -= 1
            worth -= 1 / counts[mark.phrase] + (not inside[mark.phrase])
    if found and best == (0, 0):
        return found[0].start, found[0].end
    return best


# What a typed query looks for in a text that no search has found, such as the whole of a note.
#
# The words are those of the relaxed question: any of them, without the words that stand in
# every sentence. A last word that may be unfinished counts as a beginning. FTS5's own syntax
# names nothing here: it is not ours to read.


@lru_cache(maxsize=16)
def sought(query: str) -> tuple[Phrase, ...]:
    """The phrases to mark; a note is marked block by block, the query is read once."""
    parsed = parse(query, datetime.now())  # noqa: DTZ005 - dates are filters, which mark nothing
    unfinished = () if unfinished_word(parsed) else None
    expression = relaxed(parsed, unfinished=unfinished)
    return expression.phrases if expression else ()
