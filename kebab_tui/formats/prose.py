"""The prose of a note as one text: which line a place is on, and whether it is code or a comment."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate

from kebab_tui.domain.checkpoint import OFTEN, Checkpoint

_TICKS = re.compile("`+")
_BREAK = re.compile(r"\n(?=[ \t>]*(?:\n|[-+*|#]|[0-9]{1,9}[.)]))")
"""A code span ends in its paragraph, list item or row."""
_COMMENTS = (("<!--", "-->"), ("%%", "%%"))


class Prose:
    """Lines that belong to no block of code and no comment, with their numbers."""

    def __init__(self, lines: Sequence[str], numbers: Sequence[int], checkpoint: Checkpoint) -> None:
        self.text = "\n".join(lines)
        self._numbers = numbers
        self._checkpoint = checkpoint
        self._at = self._row = 0
        self._regions: dict[int, tuple[list[int], list[int]]] = {}

    def place(self, at: int) -> tuple[int, int]:
        """The line of a character, and its column in bytes; both count from 1. Fast for places in order."""
        if at < self._at:
            self._at = self._row = 0
        self._row += self.text.count("\n", self._at, at)
        self._at = at
        before = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        return self._numbers[self._row], len(before.encode("utf-8", "surrogatepass")) + 1

    def is_hidden(self, at: int) -> bool:
        """Whether a character is inside of code or of a comment."""
        if not self._has_marks:
            return False
        start, end = 0, len(self.text)
        if not self._has_comments:  # no code goes beyond an empty line
            start = self.text.rfind("\n\n", 0, at) + 1
            if start in self._regions:
                return _is_within(at, *self._regions[start])
            end = self.text.find("\n\n", at)
            end = len(self.text) if end < 0 else end
        if start not in self._regions:
            has_code = self.text.find("`", start, end) >= 0
            ranges = list(self._code(start, end)) if has_code else []
            if self._has_comments:
                ranges += [found for marks in _COMMENTS for found in self._between(*marks, ranges.copy())]
            ranges.sort()
            ends = list(accumulate((end for _, end in ranges), max))  # ranges may lie within others
            self._regions[start] = [start for start, _ in ranges], ends
        return _is_within(at, *self._regions[start])

    @cached_property
    def _has_marks(self) -> bool:
        return "`" in self.text or self._has_comments

    @cached_property
    def _has_comments(self) -> bool:
        return any(opening in self.text for opening, _ in _COMMENTS)

    def _code(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Code spans: a run of backticks up to the next run of the same length in the same paragraph."""
        text = self.text
        runs = [found.span() for found in _TICKS.finditer(text, first, last)]
        by_length: dict[int, list[int]] = defaultdict(list)
        for place, (start, end) in enumerate(runs):
            by_length[end - start].append(place)
        place = 0
        while place < len(runs) - 1:
            if not place & OFTEN:
                self._checkpoint()
            start, end = runs[place]
            if start and text[start - 1] == "\\":  # the first backtick is text
                start += 1
            same = by_length.get(end - start, [])
            later = bisect_right(same, place)
            place += 1
            if later < len(same) and end > start:
                closing = runs[same[later]]
                if text.find("\n", end, closing[0]) < 0 or not _BREAK.search(text, end, closing[0]):
                    yield start, closing[1]
                    place = same[later] + 1

    def _between(
        self, opening: str, closing: str, code: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[int, int]]:
        starts = [start for start, _ in code]

        def next_mark(mark: str, at: int) -> int:
            at = self.text.find(mark, at)
            while at >= 0 and (place := bisect_right(starts, at) - 1) >= 0 and at < code[place][1]:
                at = self.text.find(mark, code[place][1])
            return at

        at = 0
        while (start := next_mark(opening, at)) >= 0 and (
            end := next_mark(closing, start + len(opening))
        ) >= 0:
            at = end + len(closing)
            yield start, at


def _is_within(at: int, starts: Sequence[int], ends: Sequence[int]) -> bool:
    place = bisect_right(starts, at) - 1
    return place >= 0 and at < ends[place]
