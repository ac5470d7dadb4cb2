"""Where the lines of a passage stand in the present text of its note. Pure; reads no file.

The exact text first: at its old lines, else the occurrence nearest to them. Then what
resembles it: the neighbourhood that holds most of its lines; where too few lines are
left as they were, the neighbourhood that holds most of its words. Lines are 1-based
and inclusive. Every step is linear in the text, and resemblance is looked for only within
a fixed distance from the old place: an 8 MB note costs a fraction of a second.

`cap` is the size above which a line is more than one passage: only in such a line may a
passage begin and end anywhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from kebab_tui.domain.citation import Located, SourceSpan

_WORD = re.compile(r"\w{2,}")
_ENOUGH = 0.4
"""The share of a passage, by letters, that must be found for a place to count as it."""
_LINES_WITHIN = 100_000
_LETTERS_WITHIN = 1_000_000
_LONGEST_LINE = 8_000


class _Window(NamedTuple):
    """Lines by 0-based index, end exclusive, with the letters of the passage that they hold."""

    begin: int
    end: int
    weight: int


def locate(text: str, span: SourceSpan, lines: Sequence[str], cap: int) -> Located:
    """Find the passage `text`, indexed at `span`, in the lines of the file as it is now."""
    passage = text.split("\n")
    if list(lines[span.first - 1 : span.last]) == passage:
        return Located(span, "same")
    first = _nearest_occurrence(text, span.first, lines) or _nearest_part(text, span.first, lines, cap)
    if first is not None:
        return _found(span, first, first + len(passage) - 1, exact=True)
    window = _resembling(passage, span, lines)
    if window is not None:
        return _found(span, window.begin + 1, window.end, exact=False)
    return clipped(span, len(lines))


def locate_within(part: SourceSpan, text: str, span: SourceSpan, lines: Sequence[str], cap: int) -> Located:
    """Find the lines `part` of a passage: they go where it went, or where they are in what became of it."""
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


def clipped(span: SourceSpan, count: int) -> Located:
    """The old lines of a passage that is found nowhere, as far as the file has them."""
    first = max(1, min(span.first, count))
    return Located(SourceSpan(first, max(first, min(span.last, count))), "changed", first - span.first)


def _found(span: SourceSpan, first: int, last: int, *, exact: bool) -> Located:
    shift = first - span.first
    if not exact:
        return Located(SourceSpan(first, last), "changed", shift)
    return Located(SourceSpan(first, last), "moved" if shift else "same", shift)


def _nearest_occurrence(text: str, first: int, lines: Sequence[str]) -> int | None:
    """The first line of the exact text that is nearest to where it was."""
    whole, needle = "\n".join(("", *lines, "")), f"\n{text}\n"
    anchor = sum(map(len, lines[: first - 1])) + len(lines[: first - 1])
    places = [whole.find(needle, anchor)]
    # Backwards as a mirrored search: `rfind` has no linear bound, and notes may repeat one line for ever.
    head = whole[: anchor + len(needle) - 1]
    mirrored = head[::-1].find(needle[::-1])
    if mirrored >= 0:
        places.append(len(head) - mirrored - len(needle))
    found = [whole.count("\n", 0, place + 1) for place in places if place >= 0]
    return min(found, key=lambda line: abs(line - first), default=None)


def _nearest_part(text: str, first: int, lines: Sequence[str], cap: int) -> int | None:
    """The line that is nearest to where it was and holds the text as one of several passages."""
    if "\n" in text:
        return None
    places = (number for number, line in enumerate(lines, 1) if len(line) > cap and text in line)
    return min(places, key=lambda line: abs(line - first), default=None)


def _resembling(passage: Sequence[str], span: SourceSpan, lines: Sequence[str]) -> _Window | None:
    by_lines = _by_lines(passage, span, lines)
    return by_lines or _by_words(passage, span, lines)


def _by_lines(passage: Sequence[str], span: SourceSpan, lines: Sequence[str]) -> _Window | None:
    """Where most of its lines are, allowing for some that were put in between."""
    skipped = max(0, min(span.first, len(lines)) - _LINES_WITHIN)
    lines = lines[skipped : span.last + _LINES_WITHIN]
    weights = {line.strip(): sum(map(str.isalnum, line)) for line in passage}
    features = [(line,) if weights.get(line := row.strip()) else () for row in lines]
    length = len(passage) + max(2, len(passage) // 2)
    window = _heaviest(features, weights, length, span.first - 1 - skipped)
    if window is None:
        return None
    # Lines above the first one that was found, and below the last, were edited: they belong to it.
    stripped = [line.strip() for line in passage]
    above = stripped.index(lines[window.begin].strip())
    below = stripped[::-1].index(lines[window.end - 1].strip())
    begin, end = max(0, window.begin - above), min(len(lines), window.end + below)
    return _Window(begin + skipped, end + skipped, window.weight)


def _by_words(passage: Sequence[str], span: SourceSpan, lines: Sequence[str]) -> _Window | None:
    """Where most of its words are, not far from where it was."""
    weights = {word: len(word) for line in passage for word in _words(line)}
    begin, end = _around(lines, span.first - 1)
    features = [_words(line) & weights.keys() for line in lines[begin:end]]
    window = _heaviest(features, weights, len(passage), span.first - 1 - begin)
    return window and _Window(window.begin + begin, window.end + begin, window.weight)


def _words(line: str) -> set[str]:
    return set(_WORD.findall(line[:_LONGEST_LINE].casefold()))


def _around(lines: Sequence[str], at: int) -> tuple[int, int]:
    """The part of the lines around an index that may be looked at word by word."""
    at = min(at, len(lines))
    begin = _reach(lambda step: at - 1 - step, at, lines)
    end = _reach(lambda step: at + step, len(lines) - at, lines)
    return at - begin, at + end


def _reach(index: Callable[[int], int], most: int, lines: Sequence[str]) -> int:
    """How many lines in one direction hold as many letters as may be looked at."""
    letters = 0
    for step in range(most):
        letters += 1 + min(len(lines[index(step)]), _LONGEST_LINE)
        if letters > _LETTERS_WITHIN:
            return step
    return most


def _heaviest(
    features: Sequence[Collection[str]], weights: Mapping[str, int], length: int, home: int
) -> _Window | None:
    """The window with most of the passage in it, each part counted once; of equals the nearest to home."""
    held: Counter[str] = Counter()
    weight, best, place = 0, 0, 0
    for end, entering in enumerate(features):
        leaving = features[end - length] if end >= length else ()
        weight += _entered(held, entering, weights) - _left(held, leaving, weights)
        begin = end - length + 1
        if weight > best or (weight == best and best and abs(begin - home) < abs(place - home)):
            best, place = weight, begin
    if best == 0 or best < _ENOUGH * sum(weights.values()):
        return None
    begin, end = max(0, place), min(len(features), place + length)
    hits = [index for index in range(begin, end) if features[index]]
    return _Window(hits[0], hits[-1] + 1, best)


def _entered(held: Counter[str], features: Collection[str], weights: Mapping[str, int]) -> int:
    gained = 0
    for feature in features:
        gained += 0 if held[feature] else weights[feature]
        held[feature] += 1
    return gained


def _left(held: Counter[str], features: Collection[str], weights: Mapping[str, int]) -> int:
    lost = 0
    for feature in features:
        held[feature] -= 1
        lost += 0 if held[feature] else weights[feature]
    return lost
