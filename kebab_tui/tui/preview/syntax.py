"""What kind of text each stretch of a line is, for colouring: only of the blocks that are shown.

A block is lexed with some lines before it, from the opening of a Markdown fence when it
begins inside one, and only the beginnings of very long lines: a colour may be missing
there, never a character. Knows kinds, not colours.
"""

from __future__ import annotations

import importlib
import os
import re
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from textual.cache import LRUCache

from kebab_tui.tui.preview.source_lines import SourceLines, WholeText

if TYPE_CHECKING:
    from pygments.lexer import Lexer  # type: ignore[import-untyped]
    from pygments.token import _TokenType  # type: ignore[import-untyped]


# Pygments' lexers, loaded by threads: one takes up to 40 ms, and no key waits for that.
#
# Until a lexer is there its text has no colours; whoever asked is told when it is. Names are
# looked up in Pygments' own table and nowhere else: its search by name asks all installed
# packages for plugins, again for every fence in a language that nobody knows.

MARKDOWN = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mdx"})
_PLAIN = frozenset({"", ".txt", ".text"})
_FENCED_CODE = (
    r"^(?P<opening>[ \t]*(?:[-*+>] )?(?P<mark>```|~~~)[`~]*[ \t]*(?P<name>[\w+#.-]*)[^`\n]*\n)"
    r"(?P<code>[\s\S]*?)"
    r"(?P<closing>^[ \t]*(?P=mark)[`~]*[ \t]*(?:\n|\Z)|\Z)"
)
_ready: dict[str, type[Lexer]] = {}
"""Those that are loaded, by what they were asked for; shared, as they never change."""


class Lexers:
    """Those of one preview. `arrived` is called, by a thread, when one more is there.

    Without it nobody waits for later: they are loaded when they are asked for.
    """

    def __init__(self, arrived: Callable[[], object] | None = None) -> None:
        self._arrived = arrived
        self._wanted: set[str] = set()
        self._made: dict[str, Lexer] = {}
        self.version = 0
        """Moves when one more is there: what was coloured before may lack it."""

    def of_file(self, ending: str) -> Lexer | None:
        """The lexer for an ending such as `.md`; None where there is none, or none yet."""
        if ending in _PLAIN:
            return None
        return self.named("markdown" if ending in MARKDOWN else f"*{ending}")

    def named(self, name: str) -> Lexer | None:
        """The lexer of a language, or of a pattern of file names such as `*.py`."""
        name = "markdown" if name == "md" else name  # Pygments' own looks for plugins
        if name not in _ready and name not in self._wanted:
            self._wanted.add(name)
            if self._arrived is None:
                _load(name)
            elif not _is_unknown(name):
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
    found()  # the first of its kind puts its patterns together
    _ready[name] = found
    return True


def _is_unknown(name: str) -> bool:
    """Whether that can be told at once."""
    return name != "markdown" and _table.cache_info().currsize > 0 and name not in _table()


@lru_cache(maxsize=1)
def _table() -> dict[str, tuple[str, str]]:
    """Module and class of each lexer, by its names and by the patterns of its files."""
    from pygments.lexers import LEXERS  # type: ignore[import-untyped]

    found: dict[str, tuple[str, str]] = {}
    for class_name, (module, _, names, patterns, _) in LEXERS.items():
        for name in (*names, *patterns):
            found.setdefault(name, (module, class_name))
    return found


@lru_cache(maxsize=1)
def _markdown() -> type[Lexer]:
    """Markdown whose fences are coloured by the lexers that are there."""
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


Kind = Literal["heading", "strong", "emphasis", "comment", "keyword", "string", "number", "name", "link"]
KINDS: tuple[Kind, ...] = (
    "heading", "strong", "emphasis", "comment", "keyword", "string", "number", "name", "link",
)  # fmt: skip

_BLOCK = 64
_BEFORE = 48
_LINE = 400
_LONGEST_FENCE = 300
_FENCE = re.compile(r" {0,3}(?:[-*+>] )?(```|~~~)")


class StyledRange(NamedTuple):
    start: int
    end: int
    kind: Kind


class Syntax:
    """The kinds of text in one note, by the ending of its file's name."""

    def __init__(self, name: str, lines: SourceLines) -> None:
        self._ending = os.path.splitext(name)[1].lower()
        self._lines = lines
        self._blocks: LRUCache[tuple[int, int], list[list[StyledRange]]] = LRUCache(64)

    def of(self, number: int, lexers: Lexers) -> Sequence[StyledRange]:
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

    def _lexed(self, lexer: Lexer, block: int) -> list[list[StyledRange]]:
        first = block * _BLOCK + 1
        start = self._start(first)
        texts = [text[:_LINE] for text in self._lines.slice(start, first + _BLOCK - 1)]
        front = _front_matter(texts) if start == 1 and self._ending in MARKDOWN else 0
        found = _by_line(lexer, [""] * front + texts[front:])
        # Facts about the note; the lexer would take the last of them for a heading.
        found[:front] = [[StyledRange(0, len(text), "comment")] for text in texts[:front]]
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


def _by_line(lexer: Lexer, texts: Sequence[str]) -> list[list[StyledRange]]:
    starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
    found: list[list[StyledRange]] = [[] for _ in texts]
    for start, end, kind in _stretches(lexer, "\n".join([*texts, ""])):
        line = bisect_right(starts, start) - 1
        while line < len(texts) and starts[line] < end:
            begin, last = max(start - starts[line], 0), min(end - starts[line], len(texts[line]))
            if begin < last:
                found[line].append(StyledRange(begin, last, kind))
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
