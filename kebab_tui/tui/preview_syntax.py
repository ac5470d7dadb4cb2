"""What kind of text each stretch of a line is, for colouring: only of the blocks that are shown.

A block is lexed with some lines before it, from the opening of a Markdown fence when it
begins inside one, and only the beginnings of very long lines: a colour may be missing
there, never a character. Knows kinds, not colours.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple

from textual.cache import LRUCache

from kebab_tui.tui.preview_lexers import MARKDOWN
from kebab_tui.tui.preview_source import Lines, WholeText

if TYPE_CHECKING:
    from pygments.lexer import Lexer  # type: ignore[import-untyped]
    from pygments.token import _TokenType  # type: ignore[import-untyped]

    from kebab_tui.tui.preview_lexers import Lexers

Kind = Literal["heading", "strong", "emphasis", "comment", "keyword", "string", "number", "name", "link"]
KINDS: tuple[Kind, ...] = (
    "heading", "strong", "emphasis", "comment", "keyword", "string", "number", "name", "link",
)  # fmt: skip

_BLOCK = 64
_BEFORE = 48
_LINE = 400
_LONGEST_FENCE = 300
_FENCE = re.compile(r" {0,3}(?:[-*+>] )?(```|~~~)")


class Stretch(NamedTuple):
    start: int
    end: int
    kind: Kind


class Syntax:
    """The kinds of text in one note, by the ending of its file's name."""

    def __init__(self, name: str, lines: Lines) -> None:
        self._ending = os.path.splitext(name)[1].lower()
        self._lines = lines
        self._blocks: LRUCache[tuple[int, int], list[list[Stretch]]] = LRUCache(64)

    def of(self, number: int, lexers: Lexers) -> Sequence[Stretch]:
        """The stretches of a line, as far as the lexers for it are there."""
        version = lexers.version
        lexer = lexers.of_file(self._ending)
        if lexer is None:
            return ()
        block, at = divmod(number - 1, _BLOCK)
        known = self._blocks.get((block, version))
        if known is None:
            known = self._blocks[block, version] = self._lexed(lexer, block)
        return known[at] if at < len(known) else ()

    def _lexed(self, lexer: Lexer, block: int) -> list[list[Stretch]]:
        first = block * _BLOCK + 1
        start = self._start(first)
        texts = [text[:_LINE] for text in self._lines.slice(start, first + _BLOCK - 1)]
        front = _front_matter(texts) if start == 1 and self._ending in MARKDOWN else 0
        found = _by_line(lexer, [""] * front + texts[front:])
        # Facts about the note; the lexer would take the last of them for a heading.
        found[:front] = [[Stretch(0, len(text), "comment")] for text in texts[:front]]
        return found[first - start :]

    def _start(self, first: int) -> int:
        """Where lexing has to begin for line `first` to be understood."""
        if self._ending not in MARKDOWN:
            return max(1, first - _BEFORE)
        before = bisect_right(self._fences, first - 1)
        opening = self._fences[before - 1] if before % 2 else first
        return opening if first - opening <= _LONGEST_FENCE else first

    @cached_property
    def _fences(self) -> list[int]:
        """The lines of a Markdown text that open or close a fence, in turn."""
        if not isinstance(self._lines, WholeText):
            return []
        return [number for number, text in enumerate(self._lines.lines, 1) if _FENCE.match(text)]


def _front_matter(texts: Sequence[str]) -> int:
    """How many lines at the beginning of a note are front matter."""
    if not texts or texts[0].rstrip() != "---":
        return 0
    ends = (number for number, text in enumerate(texts[1:], 2) if text.rstrip() in ("---", "..."))
    return next(ends, 0)


def _by_line(lexer: Lexer, texts: Sequence[str]) -> list[list[Stretch]]:
    starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
    found: list[list[Stretch]] = [[] for _ in texts]
    for start, end, kind in _stretches(lexer, "\n".join([*texts, ""])):
        line = bisect_right(starts, start) - 1
        while line < len(texts) and starts[line] < end:
            begin, last = max(start - starts[line], 0), min(end - starts[line], len(texts[line]))
            if begin < last:
                found[line].append(Stretch(begin, last, kind))
            line += 1
    return found


def _stretches(lexer: Lexer, text: str) -> Iterator[tuple[int, int, Kind]]:
    for start, token, value in lexer.get_tokens_unprocessed(text):
        kind = _kind(token)
        if kind is not None:
            yield start, start + len(value), kind


@lru_cache(maxsize=256)
def _kind(token: _TokenType) -> Kind | None:
    kinds = _kinds()
    wanted: _TokenType | None = token
    while wanted is not None:
        if wanted in kinds:
            return kinds[wanted]
        wanted = wanted.parent
    return None


@lru_cache(maxsize=1)
def _kinds() -> Mapping[_TokenType, Kind]:
    from pygments.token import Comment, Generic, Keyword, Literal, Name

    return {
        Generic.Heading: "heading",
        Generic.Subheading: "heading",
        Generic.Strong: "strong",
        Generic.Emph: "emphasis",
        Comment: "comment",
        Keyword: "keyword",
        Literal.String: "string",
        Literal.Number: "number",
        Name.Function: "name",
        Name.Class: "name",
        Name.Tag: "link",
        Name.Attribute: "link",
    }
