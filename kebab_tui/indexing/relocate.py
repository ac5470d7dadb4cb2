"""Locates an indexed chunk in the present lines of its note. Pure; reads no file.

Searches for the exact text first: at its old lines, then the nearest occurrence. Then for the region with
most of its lines, then for the region with most of its words. Lines are 1-based and inclusive. Every step
is linear in the text, and the last two search only near the old lines: an 8 MB note takes a fraction of a
second.

A line longer than `cap` has several chunks: only in such a line may a chunk begin and end anywhere.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from kebab_tui.domain.citation import Located, SourceSpan
from kebab_tui.domain.document import ParsedNote

_WORD = re.compile(r"\w{2,}")
_ENOUGH = 0.4
"""Minimum share of a chunk, by letters, that a region must contain."""
_LINES_WITHIN = 100_000
_LETTERS_WITHIN = 1_000_000
_LONGEST_LINE = 8_000


class _Window(NamedTuple):
    """0-based lines, end exclusive, and how many letters of the chunk they contain."""

    begin: int
    end: int
    weight: int


def locate(text: str, span: SourceSpan, lines: Sequence[str], cap: int) -> Located:
    """Find the chunk `text`, indexed at `span`, in the present lines of the file."""
    passage = text.split("\n")
    if list(lines[span.first - 1 : span.last]) == passage:
        return Located(span, "same")
    first = _nearest(text, span.first, lines, cap)
    if first is not None:
        return _found(span, first, first + len(passage) - 1, exact=True)
    window = _by_lines(passage, span, lines) or _by_words(passage, span, lines)
    if window is not None:
        return _found(span, window.begin + 1, window.end, exact=False)
    return clipped(span, len(lines))


def locate_within(part: SourceSpan, text: str, span: SourceSpan, lines: Sequence[str], cap: int) -> Located:
    """Find the lines `part` of a chunk: they moved with it, or are somewhere in its changed text."""
    whole = locate(text, span, lines, cap)
    if whole.state != "changed":
        return _found(part, part.first + whole.shift, part.last + whole.shift, exact=True)
    skipped = part.first - span.first
    wanted = text.split("\n")[skipped : part.last - span.first + 1]
    before = whole.span.first - 1
    there = SourceSpan(skipped + 1, skipped + len(wanted))
    inner = locate("\n".join(wanted), there, lines[before : whole.span.last], cap)
    first, last = before + inner.span.first, before + inner.span.last
    return _found(part, first, last, exact=inner.state != "changed")


def locate_on_page(text: str, span: SourceSpan, note: ParsedNote, cap: int) -> Located:
    """Find a chunk in the present pages of its document."""
    start = note.pages[min(_page(span), len(note.pages)) - 1]
    found = locate(text, SourceSpan(start + span.first - 1, start + span.last - 1), note.lines, cap)
    page = max(1, bisect_right(note.pages, found.span.first))
    start = note.pages[page - 1]
    end = note.pages[page] - 1 if page < len(note.pages) else len(note.lines)
    last = min(found.span.last, max(end, found.span.first))
    there = SourceSpan(found.span.first - start + 1, last - start + 1, page)
    shift = page - _page(span)
    if found.state == "changed":
        return Located(there, "changed", shift)
    return Located(there, "moved" if shift else "same", shift)


def clipped_page(span: SourceSpan, note: ParsedNote) -> Located:
    """The old page of a lost chunk, or the last one that the document has."""
    page = min(_page(span), len(note.pages))
    return Located(SourceSpan(1, 1, page), "changed", page - _page(span))


def _page(span: SourceSpan) -> int:
    assert span.page is not None  # of a document with pages
    return span.page


def clipped(span: SourceSpan, count: int) -> Located:
    """The old lines of a lost chunk, as far as the file has them."""
    first = max(1, min(span.first, count))
    return Located(SourceSpan(first, max(first, min(span.last, count))), "changed", first - span.first)


def _found(span: SourceSpan, first: int, last: int, *, exact: bool) -> Located:
    shift = first - span.first
    if not exact:
        return Located(SourceSpan(first, last), "changed", shift)
    return Located(SourceSpan(first, last), "moved" if shift else "same", shift)


def _nearest(text: str, first: int, lines: Sequence[str], cap: int) -> int | None:
    """First line of the exact text, or the line with several chunks that contains it.

    Of several, the one that is nearest to the old line.
    """
    whole, needle = "\n".join(("", *lines, "")), f"\n{text}\n"
    anchor = sum(map(len, lines[: first - 1])) + len(lines[: first - 1])
    places = [whole.find(needle, anchor)]
    # Search backwards in reversed text: `rfind` is not linear on notes that repeat one line.
    head = whole[: anchor + len(needle) - 1]
    mirrored = head[::-1].find(needle[::-1])
    if mirrored >= 0:
        places.append(len(head) - mirrored - len(needle))
    found = [whole.count("\n", 0, place + 1) for place in places if place >= 0]
    if not found and "\n" not in text:
        found = [number for number, line in enumerate(lines, 1) if len(line) > cap and text in line]
    return min(found, key=lambda line: abs(line - first), default=None)


def _by_lines(passage: Sequence[str], span: SourceSpan, lines: Sequence[str]) -> _Window | None:
    """The region with most lines of the chunk; other lines may be inserted between them."""
    skipped = max(0, min(span.first, len(lines)) - _LINES_WITHIN)
    lines = lines[skipped : span.last + _LINES_WITHIN]
    weights = {line.strip(): sum(map(str.isalnum, line)) for line in passage}
    features = [(line,) if weights.get(line := row.strip()) else () for row in lines]
    length = len(passage) + max(2, len(passage) // 2)
    window = _heaviest(features, weights, length, span.first - 1 - skipped)
    if window is None:
        return None
    # Lines above the first match and below the last one were edited: they belong to the chunk.
    stripped = [line.strip() for line in passage]
    above = stripped.index(lines[window.begin].strip())
    below = stripped[::-1].index(lines[window.end - 1].strip())
    begin, end = max(0, window.begin - above), min(len(lines), window.end + below)
    return _Window(begin + skipped, end + skipped, window.weight)


def _by_words(passage: Sequence[str], span: SourceSpan, lines: Sequence[str]) -> _Window | None:
    """The region with most words of the chunk, near its old lines."""
    weights = {word: len(word) for line in passage for word in _words(line)}
    at = min(span.first - 1, len(lines))
    begin = at - _reach(lambda step: at - 1 - step, at, lines)
    end = at + _reach(lambda step: at + step, len(lines) - at, lines)
    features = [_words(line) & weights.keys() for line in lines[begin:end]]
    window = _heaviest(features, weights, len(passage), span.first - 1 - begin)
    return window and _Window(window.begin + begin, window.end + begin, window.weight)


def _words(line: str) -> set[str]:
    return set(_WORD.findall(line[:_LONGEST_LINE].casefold()))


def _reach(index: Callable[[int], int], most: int, lines: Sequence[str]) -> int:
    """Number of lines in one direction within the limit of letters."""
    letters = 0
    for step in range(most):
        letters += 1 + min(len(lines[index(step)]), _LONGEST_LINE)
        if letters > _LETTERS_WITHIN:
            return step
    return most


def _heaviest(
    features: Sequence[Collection[str]], weights: Mapping[str, int], length: int, home: int
) -> _Window | None:
    """The window with the highest weight, each feature counted once; of equal ones the nearest to home."""
    counts: Counter[str] = Counter()
    weight, best, place = 0, 0, 0
    for end, entering in enumerate(features):
        for feature in entering:
            weight += 0 if counts[feature] else weights[feature]
            counts[feature] += 1
        for feature in features[end - length] if end >= length else ():
            counts[feature] -= 1
            weight -= 0 if counts[feature] else weights[feature]
        begin = end - length + 1
        if weight > best or (weight == best and best and abs(begin - home) < abs(place - home)):
            best, place = weight, begin
    if best == 0 or best < _ENOUGH * sum(weights.values()):
        return None
    begin, end = max(0, place), min(len(features), place + length)
    hits = [index for index in range(begin, end) if features[index]]
    return _Window(hits[0], hits[-1] + 1, best)
