"""Finds the matches of the query in the lines of a note, block by block.

Only blocks that are shown or searched are read, each once. A place is (line, column): the
line counts from 1, the column from 0 in characters. The engine decides what matches
(`find`). A phrase is not found across blocks or across the pieces of a very long line.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

from textual.cache import LRUCache

from kebab_tui.domain.hit import Highlight
from kebab_tui.tui.preview.source_lines import SourceLines, line_parts

Find = Callable[[str], Sequence[Highlight]]
"""All matches in a text, [start, end) in characters, in text order."""

_T = TypeVar("_T")
BLOCK = 64
LONG_LINE = 4000
_PIECE = 4000
_OVERLAP = 100
_MOST_COUNTED = 100_000
"""Characters of a text whose matches are counted."""


class MatchSpan(NamedTuple):
    line: int
    column: int


class Marks:
    """The matches of one query in one text."""

    def __init__(self, lines: SourceLines, find: Find) -> None:
        self._lines = lines
        self._find = find
        self._every: list[MatchSpan] | None = None
        self._blocks: LRUCache[int, list[list[Highlight]]] = LRUCache(128)
        self._pieces: LRUCache[tuple[int, int], list[Highlight]] = LRUCache(128)

    def of(self, number: int, text: str, start: int, stop: int) -> Sequence[Highlight]:
        """The matches of a line; in a very long line only those between two columns."""
        if len(text) <= LONG_LINE:
            block, at = divmod(number - 1, BLOCK)
            known = self._blocks.get(block)
            if known is None:
                texts = self._lines.slice(block * BLOCK + 1, (block + 1) * BLOCK)
                # Searched as one text, so that a phrase may span lines.
                shown = ["" if len(text) > LONG_LINE else text for text in texts]
                known = self._blocks[block] = [[] for _ in shown]
                ranges = ((start, end, None) for start, end in self._find("\n".join(shown)))
                for line, begin, end, _ in line_parts(shown, ranges):
                    known[line].append((begin, end))
            return known[at] if at < len(known) else ()
        first = max(0, start - _OVERLAP) // _PIECE
        last = min(len(text), stop) // _PIECE
        return list(chain.from_iterable(self._piece(number, text, piece) for piece in range(first, last + 1)))

    def number_of(self, match: MatchSpan) -> str:
        """The number of a match among all; empty if the text is too long to count them."""
        if self._lines.characters > _MOST_COUNTED:
            return ""
        if self._every is None:
            self._every = sorted({found for found in self.search(MatchSpan(1, -1), forward=True) if found})
        return f"match {bisect_right(self._every, match):,} of {len(self._every):,}"

    def search(self, place: MatchSpan, forward: bool) -> Iterator[MatchSpan | None]:
        """The matches after (or before) `place`, wrapping around; None after each block or piece.

        The block of `place` comes first, and last again for its other part.
        """
        count = self._lines.count
        blocks = -(-count // BLOCK)
        here = (min(place.line, count) - 1) // BLOCK
        for distance in range(blocks + 1 if blocks else 0):
            block = (here + (distance if forward else -distance)) % blocks
            since = place if distance == 0 else None
            for found in self._places(block, forward, since):
                if found is None or since is None or (found > place if forward else found < place):
                    yield found

    def _places(self, block: int, forward: bool, since: MatchSpan | None) -> Iterator[MatchSpan | None]:
        first = block * BLOCK + 1
        texts = self._lines.slice(first, first + BLOCK - 1)
        for number in _ordered(range(first, first + len(texts)), forward):
            text = texts[number - first]
            if len(text) <= LONG_LINE:
                found = self.of(number, text, 0, len(text))
                yield from (MatchSpan(number, start) for start, _ in _ordered(found, forward))
            else:
                yield from self._places_in_long(number, text, forward, since)
        yield None

    def _places_in_long(
        self, number: int, text: str, forward: bool, since: MatchSpan | None
    ) -> Iterator[MatchSpan | None]:
        pieces = range(len(text) // _PIECE + 1)
        if since is not None and since.line == number:
            at = since.column // _PIECE
            pieces = range(at, len(pieces)) if forward else range(min(at + 1, len(pieces)))
        for piece in _ordered(pieces, forward):
            found = self._piece(number, text, piece)
            yield from (MatchSpan(number, start) for start, _ in _ordered(found, forward))
            yield None

    def _piece(self, number: int, text: str, piece: int) -> list[Highlight]:
        """The matches that begin in one piece of a very long line."""
        known = self._pieces.get((number, piece))
        if known is None:
            begin = max(0, piece * _PIECE - _OVERLAP)
            found = self._find(text[begin : (piece + 1) * _PIECE + _OVERLAP])
            known = [
                (begin + start, begin + end) for start, end in found if (begin + start) // _PIECE == piece
            ]
            self._pieces[number, piece] = known
        return known


def _ordered(items: Sequence[_T], forward: bool) -> Sequence[_T]:
    return items if forward else items[::-1]
