"""Highlights and snippets: where a text matches a query, and one line that shows it.

Matches follow the index: words by stem or prefix, CJK by syllables, C++ with its marks,
identifiers by their parts, phrases by adjacent words. Highlights are ranges of characters
of the given text, end exclusive; they never split a character as a reader sees it. A
snippet has no Markdown.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from typing import NamedTuple, TypeAlias

from kebab_tui.domain.hit import Highlight
from kebab_tui.domain.markup import strip_markup, trim_lines
from kebab_tui.domain.tokens import CJK, OTHER, Token, folded_tokens, identifiers, plain_words, stem
from kebab_tui.search.match import Gram, Prefix, Term, parse_raw, terms
from kebab_tui.search.match_tree import relaxed, unfinished_word
from kebab_tui.search.query_language import parse

_MOST_READ = 16_000
"""Four times the longest chunk; the rest is ignored."""
_SMALLEST_WINDOW = 8
_REACH = 24
"""How far a cut may move to fall between words."""
_SENTENCE_END = re.compile(r"[.!?]['\")\]]{0,3}\s|[。！？]|\n")
_SPACE = re.compile(r"[ \n]")
_HEADING = re.compile(r"\A\s*(?:#{1,6}[ \t][^\n]*|[^\n]+\n=+[ \t]*)(?:\n|\Z)")
_OTHER_WORD = rf"{OTHER}+"
"""Compiled by the first text with CJK; a short search may not need it."""
_ANY_CJK = re.compile(rf"[{CJK}]")
_CONTINUING_JAMO = re.compile("[\u1160-\u11ff]")
_Words: TypeAlias = tuple[int, tuple[str, ...], bool]
"""The place of a phrase, its stems, and whether the last one may be longer."""


class Snippet(NamedTuple):
    text: str
    highlights: tuple[Highlight, ...]


def snippet(text: str, phrases: Sequence[Term], limit: int = 220, *, is_code: bool = False) -> Snippet:
    """The `limit` characters of a chunk with the most different matches, then the rarest ones.

    Markup is removed, unless the text is code; white space is collapsed, and a heading at the top is
    omitted: the heading path shows it. The snippet begins with a sentence if the matches then fit, else
    with a word. It never exceeds the limit, ellipses included.
    """
    text = text[:_MOST_READ]
    lines = trim_lines(text) if is_code else _plain(text)
    found = marks(lines, phrases)
    if len(lines) <= limit:
        return Snippet(lines.replace("\n", " "), merged(found))
    if limit < _SMALLEST_WINDOW:
        start, end = 0, border_before(lines, max(limit - 1, 0))
    else:
        start, end = _window(lines, found, limit)
    before, after = "…" * (start > 0), "…" * (end < len(lines))
    shift = len(before) - start
    inside = tuple(
        (max(first, start) + shift, min(last, end) + shift)
        for first, last in merged(found)
        if max(first, start) < min(last, end)
    )
    shown = f"{before}{lines[start:end]}{after}"[: max(limit, 0)]
    return Snippet(shown.replace("\n", " "), inside)


@lru_cache(maxsize=256)
def _plain(text: str) -> str:
    """The passage as plain lines; cached, since a longer query finds many of the same passages."""
    return strip_markup(_HEADING.sub("", text, count=1)) or strip_markup(text)


@lru_cache(maxsize=16)
def highlight_phrases(query: str) -> tuple[Term, ...]:
    """The phrases to highlight in a text that no search has found, such as a whole note.

    They are those of the relaxed expression; an unfinished last word is a prefix. A raw query
    has none. Cached, since a note is highlighted block by block.
    """
    parsed = parse(query, datetime.now())  # noqa: DTZ005 - only filters have dates
    unfinished = () if unfinished_word(parsed) else None
    expression = relaxed(parsed, unfinished=unfinished)
    return expression.phrases if expression else ()


def searched_terms(query: str) -> tuple[Term, ...]:
    """The phrases to highlight; of a raw query, all of its terms."""
    raw = parse(query, datetime.now()).raw  # noqa: DTZ005 - only filters have dates
    return highlight_phrases(query) if raw is None else terms(parse_raw(raw))


class Mark(NamedTuple):
    """A match; `phrase` is the index of the matched phrase."""

    start: int
    end: int
    phrase: int


def highlight(text: str, phrases: Sequence[Term]) -> tuple[Highlight, ...]:
    """Every match in `text`, overlapping ones merged."""
    return merged(marks(text, phrases))


def marks(text: str, phrases: Sequence[Term]) -> list[Mark]:
    """Every match in `text`, in order."""
    words: list[_Words] = []
    grams: list[tuple[int, Gram]] = []
    for i, phrase in enumerate(phrases):
        if isinstance(phrase, Gram):
            grams.append((i, phrase))
        else:
            words.append((i, tuple(map(stem, phrase.text.split(" "))), isinstance(phrase, Prefix)))
    found = list(_word_marks(text, words)) if words else []
    return sorted([*found, *_gram_marks(text, grams)] if grams else found)


def merged(found: Sequence[Mark]) -> tuple[Highlight, ...]:
    """Merge sorted marks that overlap."""
    joined: list[Highlight] = []
    for start, end, _ in found:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)


def best_match(text: str, phrases: Sequence[Term]) -> int | None:
    """The place of the first match in the line with the most different words, the first such line."""
    text = text[:_MOST_READ]
    words: list[tuple[int, int, int]] = []
    for start, end, phrase in marks(text, phrases):
        if words and start < words[-1][1]:  # other forms of the same word
            words[-1] = (words[-1][0], max(end, words[-1][1]), min(phrase, words[-1][2]))
        else:
            words.append((start, end, phrase))
    line_starts = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))
    by_line: dict[int, list[tuple[int, int, int]]] = {}
    for word in words:
        by_line.setdefault(bisect_right(line_starts, word[0]), []).append(word)
    best = max(by_line.values(), key=lambda line: len({phrase for _, _, phrase in line}), default=None)
    return best[0][0] if best else None


def after_heading(text: str) -> int:
    """The beginning of the text below a heading at the top; 0 without a heading."""
    heading = _HEADING.match(text)
    below = text[heading.end() :] if heading else text
    return len(text) - len(below.lstrip()) if below.strip() else 0


def _word_marks(text: str, wanted: Sequence[_Words]) -> Iterator[Mark]:
    words = list(folded_tokens(text))
    by_parts: list[list[Token]] = []
    for at, parts in identifiers(text):
        places = pairwise(accumulate(map(len, parts), initial=at))
        by_parts.append([(*place, part.lower()) for place, part in zip(places, parts, strict=True)])
    whole = {parts[0]: i for i, parts, prefix in wanted if len(parts) == 1 and not prefix}
    starts = {parts[0]: i for i, parts, prefix in wanted if len(parts) == 1 and prefix}
    if whole or starts:
        initials = {part[0] for part in (*whole, *starts)}  # a stem keeps its first letter
        beginnings = tuple(starts)
        glued = _glued_words(text, words) if _ANY_CJK.search(text) else ()
        for first, after, word in (*words, *glued, *chain.from_iterable(by_parts)):
            if word[0] not in initials:
                continue
            term = stem(word)
            if term in whole:
                yield Mark(first, after, whole[term])
            elif term.startswith(beginnings):
                yield Mark(first, after, next(starts[b] for b in beginnings if term.startswith(b)))
    several = [each for each in wanted if len(each[1]) > 1]
    for tokens in (words, *by_parts) if several else ():
        terms = [stem(word) for _, _, word in tokens]
        for i, (*others, last), prefix in several:
            for at in range(len(tokens) - len(others)):
                end = at + len(others)
                if (
                    terms[at] == others[0]
                    and terms[at:end] == others
                    and (terms[end] == last or (prefix and terms[end].startswith(last)))
                ):
                    yield Mark(tokens[at][0], tokens[end][1], i)


def _glued_words(text: str, words: Sequence[Token]) -> Iterator[Token]:
    """The Latin parts of words that contain CJK, as the grams have them."""
    other_word = re.compile(_OTHER_WORD)
    for start, end, _ in words:
        if _ANY_CJK.search(text, start, end):
            for part in other_word.finditer(text, start, end):
                if folded := plain_words(part.group()):
                    yield part.start(), part.end(), folded[0]


def _gram_marks(text: str, wanted: Sequence[tuple[int, Gram]]) -> Iterator[Mark]:
    if unicodedata.is_normalized("NFC", text):
        composed, places = text, None
    else:
        composed, places = _composed(text)
    for i, phrase in wanted:
        for match in _pattern(phrase.marked, phrase.parts).finditer(composed):
            start, end = match.span()
            yield Mark(places[start][0], places[end - 1][1], i) if places else Mark(start, end, i)


@lru_cache(maxsize=256)
def _pattern(marked: bool, parts: tuple[str, ...]) -> re.Pattern[str]:
    body = r"[\W_]{1,40}".join(map(re.escape, parts))
    if marked:
        ending = "(?![A-Za-z0-9_#])" if parts[0].endswith("#") else ""
        return re.compile(f"(?i)(?<![A-Za-z0-9]){body}{ending}")
    border = rf"(?<!{OTHER})" if not _ANY_CJK.match(parts[0]) else ""
    return re.compile(f"(?i){border}{body}")


def _composed(text: str) -> tuple[str, list[Highlight]]:
    """Compose `text`; also return the range in it of each composed character."""
    composed: list[str] = []
    places: list[Highlight] = []
    starts = [0] + [
        at
        for at in range(1, len(text))
        if not unicodedata.combining(text[at]) and not _CONTINUING_JAMO.match(text[at])
    ]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        cluster = unicodedata.normalize("NFC", text[start:end])
        composed.append(cluster)
        if len(cluster) == end - start:
            places += [(at, at + 1) for at in range(start, end)]
        else:
            places += [(start, end)] * len(cluster)
    return "".join(composed), places


# Where to cut


def _window(text: str, found: Sequence[Mark], limit: int) -> Highlight:
    """Where to cut: at the sentence of the best matches, else with them in the middle; between words."""
    width = limit - 2
    first, last = _densest(found, width)
    last = min(last, first + width)
    start = max(first - (width - (last - first)) // 2, 0)
    if start == 0:
        return 0, _end(text, limit - 1, last, 0)
    if start + width >= len(text):
        return _start(text, len(text) - limit + 1, first), len(text)
    sentences = _SENTENCE_END.finditer(text, max(last - width, 1) - 1, min(first, len(text) - width))
    begin = max((end.end() for end in sentences), default=0) or _start(text, start, first)
    return begin, _end(text, begin + width, last, begin)


def _start(text: str, at: int, most: int) -> int:
    """Move a cut forward to the next word, but not into the matches."""
    space = _SPACE.search(text, at - 1, min(at + _REACH, most))
    return space.end() if space else border_after(text, at, most)


def _end(text: str, at: int, matched: int, begin: int) -> int:
    """Move a cut back to the end of a word, but not into the matches."""
    least = max(at - _REACH, matched)
    space = max(text.rfind(" ", least, at + 1), text.rfind("\n", least, at + 1))
    return space if space > begin else border_before(text, at, begin)


def _densest(found: Sequence[Mark], width: int) -> Highlight:
    """The range of at most `width` with the most different matches, then the rarest ones."""
    counts = Counter(mark.phrase for mark in found)
    inside: Counter[int] = Counter()
    best, best_worth, worth, right = (0, 0), 0.0, 0.0, 0
    for left, mark in enumerate(found):
        right = max(right, left)
        while right < len(found) and found[right].end - mark.start <= width:
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


# Character borders: a small rule, not all of UAX #29. Accents and other marks, variation
# selectors, skin tones, joined emoji, flags and Hangul jamo stay together.

_JOINERS = "\u200c\u200d"
_EXTENDING = ((0x1F3FB, 0x1F3FF), (0xE0020, 0xE007F), (0xFF9E, 0xFF9F), (0x1160, 0x11FF), (0xD7B0, 0xD7FB))
"""Skin tones, tags, half-width voice marks, and vowels and finals of decomposed Hangul."""
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
    extends = unicodedata.category(after)[0] == "M" or after in _JOINERS or _within(after, _EXTENDING)
    if extends or before == "\u200d":
        return False
    if _within(before, _INITIALS):
        return not (_within(after, _INITIALS) or _within(after, _SYLLABLES))
    if not _within(after, _FLAGS):
        return True
    first = at
    while first > 0 and _within(text[first - 1], _FLAGS):
        first -= 1
    return (at - first) % 2 == 0  # two letters make a flag


def border_before(text: str, at: int, least: int = 0) -> int:
    """The last border from `least` to `at`; `at` if there is none."""
    return next((i for i in range(at, least - 1, -1) if is_border(text, i)), at)


def border_after(text: str, at: int, most: int) -> int:
    """The first border from `at` to `most`; `most` if there is none."""
    return next((i for i in range(at, most) if is_border(text, i)), most)


def _within(character: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= ord(character) <= last for first, last in ranges)
