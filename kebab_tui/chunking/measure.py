"""How large lines of a note are together, and how much they say.

Lines are 1-based and inclusive; sizes count the line feeds between the lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate


def text_of(lines: Sequence[str], first: int, last: int) -> str:
    return "\n".join(lines[first - 1 : last])


def says_little(text: str, small: int) -> bool:
    """Whether a text holds less than `small`; a syllable of Hangul says as much as two letters."""
    size = len(text)
    if size >= small or text.isascii():
        return size < small
    return size + (len(text.encode("utf-8", "surrogatepass")) - size) // 2 < small


def written(lines: Sequence[str], first: int, last: int) -> int:
    """How many of the lines are not blank."""
    return len(list(filter(str.strip, lines[first - 1 : last])))


class LineSizes:
    """The sizes of some neighbouring lines summed up, so that no span of them is counted twice."""

    __slots__ = ("_before", "_sums")

    def __init__(self, lines: Sequence[str], first: int, last: int) -> None:
        self._before = first - 1
        self._sums = list(accumulate(map(len, lines[first - 1 : last]), initial=0))

    def size(self, first: int, last: int) -> int:
        sums, before = self._sums, self._before
        return sums[last - before] - sums[first - 1 - before] + last - first
