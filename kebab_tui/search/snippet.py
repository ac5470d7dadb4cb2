"""One line of a chunk that shows why it was found.

White space is collapsed, a heading at the top is left to the heading path, and the
window lies where the most different things were found, the rare ones first. The text
never exceeds its limit, ellipses included; highlights are offsets into it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from kebab_tui.domain.hit import Highlight
from kebab_tui.search.graphemes import border_after, border_before
from kebab_tui.search.highlight import Mark, marks, merged
from kebab_tui.search.phrases import Phrase

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
