"""Classifies the text of the visible lines for colouring; knows kinds of text, not colours.

Lexes block by block, with some lines before each block or from the start of a Markdown
fence, and only the beginnings of very long lines: a colour may be missing, never a
character. Threads load the Pygments lexers (up to 40 ms each); until then the text has no
colours. Lexers are found in Pygments' own table: its search by name asks all installed
packages for plugins, again for each fence with an unknown language.
"""

from __future__ import annotations

import importlib
import os
import re
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from textual.cache import LRUCache

from kebab_tui.tui.preview.source_lines import SourceLines, WholeText, line_parts

if TYPE_CHECKING:
    from pygments.lexer import Lexer  # type: ignore[import-untyped]
    from pygments.token import _TokenType  # type: ignore[import-untyped]


Kind = Literal["heading", "strong", "emphasis", "comment", "keyword", "string", "number", "name", "link"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_BLOCK = 32
_BEFORE = 48
_LINE = 400
_LONGEST_FENCE = 300
_FENCE = re.compile(r" {0,3}(?:[-*+>] )?(```|~~~)")
MARKDOWN = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mdx"})
_PLAIN = frozenset({".txt", ".text"})
_FENCED_CODE = (
    r"^(?P<opening>[ \t]*(?:[-*+>] )?(?P<mark>```|~~~)[`~]*[ \t]*(?P<name>[\w+#.-]*)[^`\n]*\n)"
    r"(?P<code>[\s\S]*?)"
    r"(?P<closing>^[ \t]*(?P=mark)[`~]*[ \t]*(?:\n|\Z)|\Z)"
)
_ready: dict[str, type[Lexer]] = {}
"""The loaded lexer classes by requested name; never changed, so shared."""


class Lexers:
    """The lexers of one preview, loaded by threads, which then call `arrived`.

    Without `arrived`, a lexer is loaded at its first use.
    """

    def __init__(self, arrived: Callable[[], object] | None = None) -> None:
        self._arrived = arrived
        self._wanted: set[str] = set()
        self._made: dict[str, Lexer] = {}
        self.version = 0
        """Grows with each loaded lexer; blocks coloured before may lack it."""

    def named(self, name: str) -> Lexer | None:
        """The lexer of a language, or of a file pattern such as `*.py`."""
        name = "markdown" if name == "md" else name  # Pygments' Markdown lexer searches plugins
        if name not in _ready and name not in self._wanted:
            self._wanted.add(name)
            if self._arrived is None:
                _load(name)
            elif name == "markdown" or not _table.cache_info().currsize or name in _table():
                threading.Thread(target=self._fetch, args=(name,), name="colours", daemon=True).start()
        if name not in self._made and name in _ready:
            options = {"fenced": self.named} if name == "markdown" else {}
            self._made[name] = _ready[name](**options)
        return self._made.get(name)

    def _fetch(self, name: str) -> None:
        assert self._arrived is not None
        if _load(name):
            self.version += 1
            self._arrived()


def _load(name: str) -> bool:
    if name == "markdown":
        found = _markdown()
    elif (place := _table().get(name)) is not None:
        found = getattr(importlib.import_module(place[0]), place[1])
    else:
        return False
    found()  # the first instance compiles the patterns
    _ready[name] = found
    return True


@lru_cache(maxsize=1)
def _table() -> dict[str, tuple[str, str]]:
    """Module and class of each lexer, by its names and its file patterns."""
    from pygments.lexers import LEXERS  # type: ignore[import-untyped]

    found: dict[str, tuple[str, str]] = {}
    for class_name, (module, _, names, patterns, _) in LEXERS.items():
        for name in (*names, *patterns):
            found.setdefault(name, (module, class_name))
    return found


@lru_cache(maxsize=1)
def _markdown() -> type[Lexer]:
    """Markdown whose fences are coloured by the loaded lexers."""
    from pygments.lexer import inherit
    from pygments.lexers.markup import MarkdownLexer  # type: ignore[import-untyped]
    from pygments.token import String

    def fence(lexer: Any, match: re.Match[str]) -> Iterator[tuple[int, _TokenType, str]]:
        yield match.start("opening"), String.Backtick, match["opening"]
        inner = lexer.fenced(match["name"].lower()) if match["name"] else None
        if inner is None:
            yield match.start("code"), String, match["code"]
        else:
            for start, token, value in inner.get_tokens_unprocessed(match["code"]):
                yield match.start("code") + start, token, value
        yield match.start("closing"), String.Backtick, match["closing"]

    class Fenced(MarkdownLexer):  # type: ignore[misc]
        tokens = {"root": [(_FENCED_CODE, fence), inherit]}  # noqa: RUF012

        def __init__(self, fenced: Callable[[str], Lexer | None] = lambda _: None, **options: Any) -> None:
            super().__init__(**options)
            self.fenced = fenced

    return Fenced


class StyledRange(NamedTuple):
    start: int
    end: int
    kind: Kind


class Syntax:
    """The kinds of text in one note, by the suffix of its file name, or a whole name such as `Makefile`."""

    def __init__(self, name: str, lines: SourceLines) -> None:
        ending = os.path.splitext(name)[1].lower()
        self._is_markdown = ending in MARKDOWN
        self._language = (
            "markdown" if self._is_markdown else "" if ending in _PLAIN else f"*{ending}" if ending else name
        )
        self._lines = lines
        self._blocks: LRUCache[tuple[int, int], list[list[StyledRange]]] = LRUCache(64)

    def of(self, number: int, lexers: Lexers) -> Sequence[StyledRange]:
        """The styled ranges of a line, as far as its lexers are loaded."""
        version = lexers.version
        lexer = lexers.named(self._language) if self._language else None
        if lexer is None:  # there is none, or none yet
            return ()
        block, at = divmod(number - 1, _BLOCK)
        known = self._blocks.get((block, version))
        if known is None:
            known = self._blocks[block, version] = self._lexed(lexer, block)
        return known[at] if at < len(known) else ()

    def _lexed(self, lexer: Lexer, block: int) -> list[list[StyledRange]]:
        first = block * _BLOCK + 1
        start = self._start(first)
        texts = [text[:_LINE] for text in self._lines.slice(start, first + _BLOCK - 1)]
        front = front_matter(texts) if start == 1 and self._is_markdown else 0
        lexed = [""] * front + texts[front:]
        tokens = lexer.get_tokens_unprocessed("\n".join([*lexed, ""]))
        ranges = ((at, at + len(value), kind) for at, token, value in tokens if (kind := kind_of(token)))
        found: list[list[StyledRange]] = [[] for _ in lexed]
        for line, begin, end, kind in line_parts(lexed, ranges):
            found[line].append(StyledRange(begin, end, kind))
        # Front matter is coloured as a whole: the lexer would take its last line for a heading.
        found[:front] = [[StyledRange(0, len(text), "comment")] for text in texts[:front]]
        return found[first - start :]

    def _start(self, first: int) -> int:
        """The line where lexing must begin to classify line `first` correctly."""
        if not self._is_markdown:
            return max(1, first - _BEFORE)
        before = bisect_right(self._fences, first - 1)
        opening = self._fences[before - 1] if before % 2 else first
        return opening if first - opening <= _LONGEST_FENCE else first

    @cached_property
    def _fences(self) -> list[int]:
        """The lines of a Markdown text that open and close fences, alternately."""
        if not isinstance(self._lines, WholeText):
            return []
        return [
            number
            for number, text in enumerate(self._lines.lines, 1)
            if ("```" in text or "~~~" in text) and _FENCE.match(text)  # the first test alone is quick
        ]


def front_matter(texts: Sequence[str]) -> int:
    """The number of front matter lines at the beginning of a note."""
    if not texts or texts[0].rstrip() != "---":
        return 0
    ends = (number for number, text in enumerate(texts[1:], 2) if text.rstrip() in ("---", "..."))
    return next(ends, 0)


@lru_cache(maxsize=256)
def kind_of(token: _TokenType) -> Kind | None:
    from pygments.token import Comment, Generic, Keyword, Literal, Name

    kinds: dict[_TokenType, Kind] = {
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
    wanted: _TokenType | None = token
    while wanted is not None:
        if wanted in kinds:
            return kinds[wanted]
        wanted = wanted.parent
    return None
