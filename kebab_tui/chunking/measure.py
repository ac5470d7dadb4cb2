"""The text of a note with the sizes of its lines summed up, so that no span is counted twice."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate


class NoteText:
    """Lines are 1-based and inclusive; `sums[n]` is the length of the first n lines without line ends."""

    __slots__ = ("_text", "lines", "sums")

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.sums = list(accumulate(map(len, lines), initial=0))
        self._text = "\n".join(lines)

    def size(self, first: int, last: int) -> int:
        return self.sums[last] - self.sums[first - 1] + last - first

    def says_little(self, first: int, last: int, small: int) -> bool:
        """Whether the lines hold less than `small`; a syllable of Hangul says as much as two letters."""
        size = self.size(first, last)
        if size >= small:
            return False
        cut = self.cut(first, last)
        return cut.isascii() or size + (len(cut.encode("utf-8", "surrogatepass")) - size) // 2 < small

    def cut(self, first: int, last: int) -> str:
        return self._text[self.sums[first - 1] + first - 1 : self.sums[last] + last - 1]

    def written(self, first: int, last: int) -> int:
        """How many of the lines are not blank."""
        return len(list(filter(str.strip, self.lines[first - 1 : last])))
