"""What the query box understands.

Words are all wanted; `"a phrase"`, `word*`, `-word`, `AND OR NOT` and parentheses do
what they look like where they form a valid expression and are ordinary words (or
spaces) where they do not; `key:value` filters; a whole query in single quotes is FTS5's
own syntax. Parsing never raises, takes time in proportion to what it reads, and reads
no more than the first 4,000 characters and 32 words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, TypeVar

from kebab_tui.domain.hit import Notice
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.tokens import plain_words
from kebab_tui.search.filter_keys import TypedFilter, interpret, nearest
from kebab_tui.search.lexer import Piece, QueryToken, Role, pieces

# What a query asks of the text, as a tree: words and phrases joined by all, any and not.

LeafKind = Literal["word", "phrase", "prefix"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One word, phrase or beginning of a word; `text` is without its quotes, star or minus.

    `open` says that the text may go on: nothing closes it, neither a space nor a quote.
    """

    text: str
    kind: LeafKind
    open: bool = False


@dataclass(frozen=True, slots=True)
class Not:
    part: Node


@dataclass(frozen=True, slots=True)
class All:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Any:
    parts: tuple[Node, ...]


Node = Leaf | Not | All | Any


# Joins the pieces of a query into a tree.
#
# An operator counts where it has something on both sides, otherwise it is a word; the
# last one of a query is a sentence not yet finished and says nothing. Parentheses count
# when they are balanced and not absurdly deep, otherwise they are spaces.

_DEEPEST = 16


def grouped(found: Sequence[Piece], length: int) -> tuple[Node | None, frozenset[Piece]]:
    """Build the tree; also say which pieces act as operators. `length`: of the whole text."""
    if not _balanced(found):
        found = [piece for piece in found if piece.kind not in {"opening", "closing"}]
    joined = _operators(found)
    acting = frozenset(piece for piece in joined if piece.kind in {"operator", "opening", "closing"})
    return _Reader(_finished(joined), length).any(), acting


def _balanced(found: Sequence[Piece]) -> bool:
    depth = 0
    for piece in found:
        depth += (piece.kind == "opening") - (piece.kind == "closing")
        if not 0 <= depth <= _DEEPEST:
            return False
    return depth == 0


def _operators(found: Sequence[Piece]) -> list[Piece]:
    joined: list[Piece] = []
    for i, piece in enumerate(found):
        if piece.kind != "operator":
            joined.append(piece)
            continue
        before = bool(joined) and _ends(joined[-1])
        last = i + 1 == len(found)
        if _and_not(joined, piece) or (before and (last or _goes_on(found, i))):
            joined.append(piece)
        else:
            joined.append(replace(piece, kind="word"))
    return joined


def _finished(joined: Sequence[Piece]) -> Sequence[Piece]:
    return joined[:-1] if joined and joined[-1].kind == "operator" else joined


def _ends(piece: Piece) -> bool:
    return piece.kind not in {"operator", "opening"}


def _goes_on(found: Sequence[Piece], i: int) -> bool:
    """Whether something to look for follows the operator at `i`, perhaps behind AND NOT."""
    if i + 1 == len(found):
        return False
    following = found[i + 1]
    if following.kind == "operator":
        return found[i].text == "AND" and following.text == "NOT" and _goes_on(found, i + 1)
    return following.kind != "closing"


def _and_not(joined: Sequence[Piece], piece: Piece) -> bool:
    """AND was let in because this NOT follows it and is followed by something."""
    return bool(joined) and joined[-1].kind == "operator" and piece.text == "NOT"


class _Reader:
    """Reads the pieces once, from left to right; NOT binds tighter than AND, AND than OR."""

    def __init__(self, found: Sequence[Piece], length: int) -> None:
        self._found = found
        self._length = length
        self._at = 0

    def any(self) -> Node | None:
        parts = [self._all()]
        while self._takes("OR"):
            parts.append(self._all())
        kept = tuple(part for part in parts if part is not None)
        return Any(kept) if len(kept) > 1 else next(iter(kept), None)

    def _all(self) -> Node | None:
        parts: list[Node] = []
        while self._at < len(self._found) and not self._stops():
            self._takes("AND")
            negated = self._takes("NOT")
            part = self._operand()
            if part is not None:
                parts.append(Not(part) if negated else part)
        if len(parts) == 1:
            return parts[0]
        return All(tuple(parts)) if parts else None

    def _operand(self) -> Node | None:
        piece = self._found[self._at]
        self._at += 1
        part: Node | None
        if piece.kind == "opening":
            part = self.any()
            self._at += 1
        else:
            part = self._leaf(piece)
        return Not(part) if part is not None and piece.negated else part

    def _leaf(self, piece: Piece) -> Leaf:
        kinds: dict[str, LeafKind] = {"phrase": "phrase", "prefix": "prefix"}
        return Leaf(
            piece.text, kinds.get(piece.kind, "word"), open=not piece.closed and piece.end == self._length
        )

    def _stops(self) -> bool:
        piece = self._found[self._at]
        return piece.kind == "closing" or (piece.kind == "operator" and piece.text == "OR")

    def _takes(self, operator: str) -> bool:
        if self._at < len(self._found):
            piece = self._found[self._at]
            if piece.kind == "operator" and piece.text == operator:
                self._at += 1
                return True
        return False


T = TypeVar("T", bound=str)

MAX_WORDS = 32
_MAX_CHARACTERS = 4_000
_UNSPEAKABLE = re.compile("[\x00\ud800-\udfff]")
_KEYED = re.compile(r"-?([A-Za-z]{2,12}):(?![:/\\])[^\s]")


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter that is in force, at its place in the text."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """`terms` is None when the text asks for no words; `raw` is FTS5's own syntax."""

    terms: Node | None = None
    filters: SearchFilters = field(default_factory=SearchFilters)
    raw: str | None = None
    notices: tuple[Notice, ...] = ()
    tokens: tuple[QueryToken, ...] = ()
    chips: tuple[Chip, ...] = ()

    @property
    def is_only_filters(self) -> bool:
        """Whether no word is asked for: there is nothing to rank by."""
        return self.terms is None and self.raw is None

    @property
    def is_only_begun(self) -> bool:
        """Whether all there is so far are filters without a value that counts, or an opened quote."""
        return bool(self.tokens) and self.is_only_filters and all(map(_is_begun, self.tokens))


def _is_begun(token: QueryToken) -> bool:
    opened = token.role == "phrase" and token.end - token.start == 1
    return opened or token.role in ("filter_key", "filter_value")


def parse(text: str, now: datetime) -> ParsedQuery:
    """Understand what was typed; `now` is what `7d` and `today` count from."""
    notices: list[Notice] = []
    clean = _UNSPEAKABLE.sub(" ", text[:_MAX_CHARACTERS])
    if len(text) > _MAX_CHARACTERS and text[_MAX_CHARACTERS:].strip():
        notices.append(_cut(f"only the first {_MAX_CHARACTERS:,} characters were read"))
    if len(clean.strip()) >= 2 and clean.strip()[0] == clean.strip()[-1] == "'":
        return _raw(clean, notices)
    found = list(pieces(clean))
    wanted = [piece for piece in found if piece.kind != "filter" and _says_something(piece)]
    kept, is_whole = _within_budget(wanted)
    if not is_whole:
        notices.append(_cut(f"only the first {MAX_WORDS} words are searched"))
    terms, operators = grouped(kept, len(clean))
    filters, chips, complaints = _filters(clean, found, now)
    notices += [*complaints, *_mistyped(clean, found)]
    tokens = tuple(token for piece in found for token in _coloured(clean, piece, operators))
    return ParsedQuery(terms, filters, None, tuple(notices), tokens, chips)


def remove_chip(text: str, chip: Chip) -> str:
    """The text of the query without one of its filters."""
    return f"{text[: chip.start].rstrip()} {text[chip.end :].lstrip()}".strip()


def merge(a: SearchFilters, b: SearchFilters) -> SearchFilters:
    """Combine two sets of filters: lists are joined, the narrower of two limits holds."""
    return SearchFilters(
        tags_any=_joined(a.tags_any, b.tags_any),
        tags_all=_joined(a.tags_all, b.tags_all),
        tags_none=_joined(a.tags_none, b.tags_none),
        types=_joined(a.types, b.types),
        kinds=_joined(a.kinds, b.kinds),
        langs=_joined(a.langs, b.langs),
        sources=_joined(a.sources, b.sources),
        paths=_joined(a.paths, b.paths),
        paths_none=_joined(a.paths_none, b.paths_none),
        trust_min=max((t for t in (a.trust_min, b.trust_min) if t is not None), default=None),
        after_ns=max((t for t in (a.after_ns, b.after_ns) if t is not None), default=None),
        before_ns=min((t for t in (a.before_ns, b.before_ns) if t is not None), default=None),
        doc_ids=_joined(a.doc_ids, b.doc_ids),
        titles=_joined(a.titles, b.titles),
        headings=_joined(a.headings, b.headings),
    )


def _raw(text: str, notices: Sequence[Notice]) -> ParsedQuery:
    inside = text.strip()[1:-1].strip()
    start = len(text) - len(text.lstrip())
    token = QueryToken(start, start + len(text.strip()), "raw")
    return ParsedQuery(raw=inside or None, notices=tuple(notices), tokens=(token,))


def _cut(what: str) -> Notice:
    return Notice("query_cut", f"The query is long: {what}.")


def _says_something(piece: Piece) -> bool:
    return piece.kind in {"operator", "opening", "closing"} or bool(plain_words(piece.text))


def _within_budget(wanted: Sequence[Piece]) -> tuple[list[Piece], bool]:
    """The pieces that are searched, and whether nothing had to be left out."""
    budget = MAX_WORDS
    kept: list[Piece] = []
    for piece in wanted:
        if piece.kind not in {"opening", "closing"}:
            if budget <= 0:
                return kept, False
            budget -= len(plain_words(piece.text))
        kept.append(piece)
    return kept, budget >= 0


def _filters(
    text: str, found: Iterable[Piece], now: datetime
) -> tuple[SearchFilters, tuple[Chip, ...], list[Notice]]:
    filters = SearchFilters()
    chips, complaints = [], []
    for piece in found:
        if piece.kind != "filter" or not piece.values:
            continue
        meant = interpret(TypedFilter(piece.key, piece.values, piece.negated), now)
        if isinstance(meant, Notice):
            complaints.append(meant)
            continue
        if meant.tags_any and filters.tags_any:
            complaints.append(Notice("tags_joined", "Several lists of tags are read as one: any of them."))
        filters = merge(filters, meant)
        if meant.active:
            chips.append(Chip(piece.start, piece.end, text[piece.start : piece.end]))
    return filters, tuple(chips), complaints


def _mistyped(text: str, found: Iterable[Piece]) -> Iterator[Notice]:
    for piece in found:
        if key := _unknown_key(text, piece):
            meant = f"Did you mean {nearest(key)}:?"
            yield Notice("unknown_key", f"{key}: is not a filter and was searched as text. {meant}")


def _unknown_key(text: str, piece: Piece) -> str | None:
    """The key of a word that looks like a mistyped filter."""
    if piece.kind not in {"word", "prefix"}:
        return None
    keyed = _KEYED.match(text, piece.start, piece.end)
    return keyed[1] if keyed and nearest(keyed[1]) else None


def _coloured(text: str, piece: Piece, operators: frozenset[Piece]) -> Iterator[QueryToken]:
    start, end = piece.start, piece.end
    if piece.kind == "filter":
        colon = text.index(":", start) + 1
        yield QueryToken(start, colon, "filter_key")
        if colon < end:
            yield QueryToken(colon, end, "filter_value")
        return
    if key := _unknown_key(text, piece):
        colon = text.index(key, start) + len(key) + 1
        yield QueryToken(start, colon, "unknown_key")
        start = colon
    yield QueryToken(start, end, _role(piece, operators))


def _role(piece: Piece, operators: frozenset[Piece]) -> Role:
    if piece in operators:
        return "operator"
    if piece.negated:
        return "negation"
    if piece.kind == "phrase" or piece.kind == "prefix":
        return piece.kind
    return "word"


def _joined(a: tuple[T, ...], b: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys((*a, *b)))
