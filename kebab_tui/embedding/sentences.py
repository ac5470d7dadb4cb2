"""Where the sentences of a passage stand, in Korean and in English notes.

A sentence ends at `.`, `?`, `!` or `…` before white space, at `。！？`, and where a line
does: at a blank line, before a list item, heading, quote or table row, and after a short
line. A long line without an end mark was wrapped and goes on. Offsets are characters,
end exclusive, without the white space and the list marks around a sentence; what holds
no letter or digit is none. Knows no grammar.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_STOP = re.compile(r"[.?!…]+[\"'”’)\]*_`]*(?=\s|\Z)|[。！？]+[\"'”’」』)）\]]*")
_ABBREVIATED = re.compile(
    r"(?:(?<!\w)(?:e\.g|i\.e|etc|vs|cf|dr|mr|mrs|ms|prof|no|fig|approx|st|[a-z])|(?:\A|\n)\s*\d{1,3})\.\Z",
    re.IGNORECASE,
)
_MARK = r"(?:[-*+•>|]|#{1,6}|\d{1,3}[.)])(?=\s)|```|~~~"
_MARKED = re.compile(rf"\s*(?:{_MARK}|\|)")
_EDGE = re.compile(rf"(?:\s|{_MARK})*")
_STOPPED = re.compile(r"[.?!…。！？:;|][\"'”’)\]*_`」』]*\s*\Z")
_WORD = re.compile(r"[^\W_]")
_WRAPPED = 40
"""A line of so many characters without an end mark was wrapped, by an editor or a hand."""


class Sentence(NamedTuple):
    start: int
    end: int


def sentences(text: str) -> list[Sentence]:
    """The sentences of a text in order; none overlap."""
    found = []
    for start, end in _blocks(text):
        for first, last in _cut(text, start, end):
            trimmed = _trimmed(text, first, last)
            if _WORD.search(text, *trimmed):
                found.append(trimmed)
    return found


def grouped(found: list[Sentence], most: int) -> list[Sentence]:
    """Neighbours joined until there are at most `most`, as even as can be."""
    size = -(-len(found) // most) if found else 1
    groups = (found[i : i + size] for i in range(0, len(found), size))
    return [Sentence(group[0].start, group[-1].end) for group in groups]


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Stretches of lines that go on into each other."""
    start = position = 0
    lines = text.split("\n")
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        position += len(line) + 1
        if not _goes_on(line, following):
            yield start, min(position, len(text))
            start = position


def _goes_on(line: str, following: str) -> bool:
    if len(line) < _WRAPPED or _STOPPED.search(line):
        return False
    return bool(following.strip()) and not _MARKED.match(following)


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A stretch of lines cut behind its end marks."""
    first = start
    for stop in _STOP.finditer(text, start, end):
        if not _ABBREVIATED.search(text[max(first, stop.end() - 12) : stop.end()]):
            yield first, stop.end()
            first = stop.end()
    if first < end:
        yield first, end


def _trimmed(text: str, start: int, end: int) -> Sentence:
    edge = _EDGE.match(text, start, end)
    start = edge.end() if edge else start
    return Sentence(start, start + len(text[start:end].rstrip()))
