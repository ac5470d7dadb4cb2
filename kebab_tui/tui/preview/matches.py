"""Where the words of the query stand in the lines of a note, looked up block by block.

Only blocks that are shown or searched through are ever looked at, and each once. Places
are (line, column), the line 1-based, the column 0-based in characters. What a query
matches is the engine's business: it is asked through `find`. Phrases are not followed
from one block to the next, nor across the pieces of a very long line.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain
from typing import NamedTuple, TypeVar

from textual.cache import LRUCache

from kebab_tui.domain.hit import Highlight
from kebab_tui.tui.preview.source_lines import SourceLines

Find = Callable[[str], Sequence[Highlight]]
"""Every match in a text, [start, end) in characters, in the order of the text."""

BLOCK = 64
LONG_LINE = 4000
_PIECE = 4000
_OVERLAP = 100


class MatchSpan(NamedTuple):
    line: int
    column: int


class Marks:
    """The matches of one query in one text."""

    def __init__(self, lines: SourceLines, find: Find) -> None:
        self._lines = lines
        self._find = find
        self._blocks: LRUCache[int, list[list[Highlight]]] = LRUCache(128)
        self._pieces: LRUCache[tuple[int, int], list[Highlight]] = LRUCache(128)

    def of(self, number: int, text: str, start: int, stop: int) -> Sequence[Highlight]:
        """The matches of a line; of a very long one those between two columns."""
        if len(text) <= LONG_LINE:
            block = self._block((number - 1) // BLOCK)
            at = (number - 1) % BLOCK
            return block[at] if at < len(block) else ()
        first = max(0, start - _OVERLAP) // _PIECE
        last = min(len(text), stop) // _PIECE
        return list(chain.from_iterable(self._piece(number, text, piece) for piece in range(first, last + 1)))

    def hunt(self, place: MatchSpan, forward: bool) -> Iterator[MatchSpan | None]:
        """The matches after (or before) `place` and on around the end; None after each piece looked through.

        The block that `place` stands in comes first and, for what lies behind it, last again.
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

    def _block(self, block: int) -> list[list[Highlight]]:
        known = self._blocks.get(block)
        if known is None:
            texts = self._lines.slice(block * BLOCK + 1, (block + 1) * BLOCK)
            known = self._blocks[block] = self._by_line(texts)
        return known

    def _by_line(self, texts: Sequence[str]) -> list[list[Highlight]]:
        """The matches of a block's lines, found in one go so that phrases run on from line to line."""
        shown = ["" if len(text) > LONG_LINE else text for text in texts]
        starts = list(accumulate((len(text) + 1 for text in shown), initial=0))
        found: list[list[Highlight]] = [[] for _ in shown]
        for start, end in self._find("\n".join(shown)):
            line = bisect_right(starts, start) - 1
            while line < len(shown) and starts[line] < end:
                last = min(end - starts[line], len(shown[line]))
                if last > (begin := max(start - starts[line], 0)):
                    found[line].append((begin, last))
                line += 1
        return found

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


_T = TypeVar("_T")


def _ordered(items: Sequence[_T], forward: bool) -> Sequence[_T]:
    return items if forward else items[::-1]
