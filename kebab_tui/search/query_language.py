"""The query language.

Words are combined by AND. `"a phrase"`, `word*`, `-word`, `AND OR NOT` and parentheses
have their usual meaning in a valid expression and are words (or spaces) elsewhere.
`key:value` filters. A whole query in single quotes is raw FTS5 syntax. Parsing never
raises, takes linear time, and reads at most 4,000 characters and 32 words. A filter without
a valid value is the error of the query: it must not be answered as if the filter were not there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from itertools import accumulate
from typing import Literal

from kebab_tui.domain.errors import FilterError, UnfinishedFilterError
from kebab_tui.domain.facets import FACETS
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.query import FacetFilter, SearchFilters
from kebab_tui.domain.tokens import plain_words
from kebab_tui.search.filter_keys import (
    FILTER_KEYS,
    TypedFilter,
    interpret,
    nearest_key,
)
from kebab_tui.search.lexer import Piece, QueryToken, pieces

MAX_WORDS = 32
_MAX_CHARACTERS = 4_000
_DEEPEST = 16
_UNREADABLE = re.compile("[\x00\ud800-\udfff]")
_KEYED = re.compile(r"-?([A-Za-z]{2,20}):(?![:/\\])(\S+)")
_PLAUSIBLE = re.compile(r'(?!L[0-9]+)["#]?[^\W\d][^:@\\]*')
"""A value of an unknown key; not a port, a version, a citation's lines, an address or a path of Windows."""
_NO_KEYS = frozenset({"http", "https", "ftp", "mailto", "urn", "data", "doi", "localhost", "std"})

LeafKind = Literal["word", "phrase", "prefix"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A word, phrase or prefix; `text` is without quotes, star or minus.

    `open`: the text may continue, since no space or quote closes it.
    """

    text: str
    kind: LeafKind
    open: bool = False


@dataclass(frozen=True, slots=True)
class Excluded:
    part: Node


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Node, ...]


Node = Leaf | Excluded | And | Or


@dataclass(frozen=True, slots=True)
class Chip:
    """An active filter with its range in the text."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """`terms` is None for a text without search words; `raw` is FTS5 syntax."""

    terms: Node | None = None
    filters: SearchFilters = field(default_factory=SearchFilters)
    raw: str | None = None
    notices: tuple[Notice, ...] = ()
    tokens: tuple[QueryToken, ...] = ()
    chips: tuple[Chip, ...] = ()
    error: FilterError | None = None
    """Why the query must not be answered: a filter without a valid value."""
    refused: Chip | None = None
    """The filter that the error is about."""

    @property
    def is_only_filters(self) -> bool:
        """Whether there are no search words, so that there is nothing to rank by."""
        return self.terms is None and self.raw is None

    @property
    def is_only_begun(self) -> bool:
        """Whether the text so far is only filters without a valid value, or an opening quote."""
        return (
            bool(self.tokens)
            and self.is_only_filters
            and all(
                token.role in ("filter_key", "filter_value")
                or (token.role == "phrase" and token.end - token.start == 1)
                for token in self.tokens
            )
        )


def text_without(roles: Set[str], query: str, parsed: ParsedQuery) -> str:
    """The text of a query without its parts of these roles and without quotes."""
    kept, at = [], 0
    for token in parsed.tokens:
        if token.role in roles:
            kept.append(query[at : token.start])
            at = token.end
    kept.append(query[at:])
    return " ".join("".join(kept).replace('"', " ").split())


def parse(text: str, now: datetime, *, typing: bool = False) -> ParsedQuery:
    """Parse a query; relative dates such as `7d` and `today` count from `now`.

    `typing`: the last word or value may be unfinished, so there is no notice about it that the next
    letters can refute.
    """
    clean = _UNREADABLE.sub(" ", text[:_MAX_CHARACTERS])
    parsed, found, unknown = _without_filters(clean, bool(text[_MAX_CHARACTERS:].strip()))
    filters = SearchFilters()
    chips, complaints = [], []
    errors: list[tuple[FilterError, Chip]] = []
    for piece in found:
        chip = Chip(piece.start, piece.end, clean[piece.start : piece.end])
        is_last = typing and piece.end == len(clean)
        is_open = is_last and not (piece.values and clean.endswith('"'))
        typed = TypedFilter(piece.key, piece.values, piece.negated, is_open)
        try:
            meant = interpret(typed, now)
        except FilterError as error:
            if isinstance(error, UnfinishedFilterError) and not piece.values:
                complaints.append(Notice(error.code, f"{error.message}."))  # nothing to be narrowed yet
            else:
                errors.append((error, chip))
            continue
        lists = {one.kind for one in filters.facets if one.match == "any"}
        for one in meant.facets:
            if one.match == "any" and one.kind in lists:
                plural = FACETS[one.kind].plural
                message = f"Several {one.kind} lists were combined: any of the {plural}."
                complaints.append(Notice(f"{plural}_joined", message))
        filters = merge(filters, meant)
        chips.append(chip)
    named = {notice: None for end, notice in unknown if not (typing and end == len(clean))}
    # A value that can no longer become valid is more urgent.
    first = min(errors, key=lambda found: isinstance(found[0], UnfinishedFilterError), default=(None, None))
    return replace(
        parsed,
        filters=filters,
        chips=tuple(chips),
        notices=(*parsed.notices, *complaints, *named),
        error=first[0],
        refused=first[1],
    )


@lru_cache(maxsize=8)
def _without_filters(
    clean: str, cut: bool
) -> tuple[ParsedQuery, tuple[Piece, ...], tuple[tuple[int | None, Notice], ...]]:
    """What does not depend on the time, then the filters, and where unclear keys end, with a notice each.

    Cached: for each letter the query box, two searches and the highlights parse the same text.
    """
    notices = [_too_long(f"{_MAX_CHARACTERS:,} characters")] if cut else []
    bare = clean.strip()
    if len(bare) >= 2 and bare[0] == bare[-1] == "'":
        start = len(clean) - len(clean.lstrip())
        token = QueryToken(start, start + len(bare), "raw")
        return ParsedQuery(raw=bare[1:-1].strip() or None, notices=tuple(notices), tokens=(token,)), (), ()
    found = list(pieces(clean))
    kept, is_whole = _within_budget(found)
    if not is_whole:
        notices.append(_too_long(f"{MAX_WORDS} words"))
    terms, operators = _grouped(kept, len(clean))
    unknown: list[tuple[int | None, Notice]] = []
    for piece in found:
        if key := _unknown_key(clean, piece):
            near = nearest_key(key)
            known = ", ".join(f"{name}:" for name in FILTER_KEYS)
            hint = f"Did you mean {near}:?" if near else f"The filters are {known}."
            message = f"Unknown filter {key}: searched as text. {hint}"
            # The value of a key that is like none may yet become text; a mistyped key stays one.
            unknown.append((None if near else piece.end, Notice("unknown_key", message)))
    tokens = tuple(token for piece in found for token in _coloured(clean, piece, operators))
    parsed = ParsedQuery(terms, notices=tuple(notices), tokens=tokens)
    return parsed, tuple(piece for piece in found if piece.kind == "filter"), tuple(unknown)


def _too_long(limit: str) -> Notice:
    return Notice("query_cut", f"The query is too long: only the first {limit} are searched.")


def _within_budget(found: Sequence[Piece]) -> tuple[list[Piece], bool]:
    """The pieces that are searched, without filters, and whether they are all there are."""
    budget = MAX_WORDS
    kept: list[Piece] = []
    for piece in found:
        words = len(plain_words(piece.text))
        if piece.kind == "filter" or (piece.kind in {"word", "prefix", "phrase"} and not words):
            continue
        if piece.kind not in {"opening", "closing"}:
            if budget <= 0:
                return kept, False
            budget -= words
        kept.append(piece)
    return kept, budget >= 0


def _grouped(found: Sequence[Piece], length: int) -> tuple[Node | None, frozenset[Piece]]:
    """Build the tree of a text of `length`; also return the pieces that act as operators.

    An operator counts if it has operands on both sides, otherwise it is a word; at the end of a
    query it is ignored. Parentheses count if they are balanced and not too deep.
    """
    depths = list(accumulate((piece.kind == "opening") - (piece.kind == "closing") for piece in found))
    if depths and not (depths[-1] == 0 and all(0 <= depth <= _DEEPEST for depth in depths)):
        found = [piece for piece in found if piece.kind not in {"opening", "closing"}]
    joined: list[Piece] = []
    for i, piece in enumerate(found):
        if piece.kind == "operator":
            before = joined[-1].kind if joined else "opening"
            and_not = before == "operator" and piece.text == "NOT"  # this NOT has let the AND count
            is_last = i + 1 == len(found)
            between = before not in {"operator", "opening"} and (is_last or _has_operand(found, i))
            if not (and_not or between):
                piece = replace(piece, kind="word")
        joined.append(piece)
    acting = frozenset(piece for piece in joined if piece.kind in {"operator", "opening", "closing"})
    if joined and joined[-1].kind == "operator":
        joined.pop()
    return _PieceReader(joined, length).any(), acting


def _has_operand(found: Sequence[Piece], i: int) -> bool:
    """Whether an operand follows the operator at `i`, perhaps after AND NOT."""
    if i + 1 == len(found):
        return False
    following = found[i + 1]
    if following.kind == "operator":
        return found[i].text == "AND" and following.text == "NOT" and _has_operand(found, i + 1)
    return following.kind != "closing"


@dataclass(slots=True)
class _PieceReader:
    """Recursive descent over the pieces; NOT binds tighter than AND, AND than OR."""

    found: Sequence[Piece]
    length: int
    at: int = 0

    def any(self) -> Node | None:
        parts = [self._all()]
        while self._takes("OR"):
            parts.append(self._all())
        kept = tuple(part for part in parts if part is not None)
        return Or(kept) if len(kept) > 1 else next(iter(kept), None)

    def _all(self) -> Node | None:
        parts: list[Node] = []
        while self.at < len(self.found):
            piece = self.found[self.at]
            if piece.kind == "closing" or (piece.kind == "operator" and piece.text == "OR"):
                break
            self._takes("AND")
            negated = self._takes("NOT")
            piece = self.found[self.at]
            self.at += 1
            part: Node | None
            if piece.kind == "opening":
                part = self.any()
                self.at += 1
            else:
                kind = piece.kind if piece.kind == "phrase" or piece.kind == "prefix" else "word"
                part = Leaf(piece.text, kind, open=not piece.closed and piece.end == self.length)
            if part is not None:
                part = Excluded(part) if piece.negated else part
                parts.append(Excluded(part) if negated else part)
        if len(parts) == 1:
            return parts[0]
        return And(tuple(parts)) if parts else None

    def _takes(self, operator: str) -> bool:
        if self.at < len(self.found):
            piece = self.found[self.at]
            if piece.kind == "operator" and piece.text == operator:
                self.at += 1
                return True
        return False


def _unknown_key(text: str, piece: Piece) -> str | None:
    """The key of a word that looks like a filter, and is none."""
    if piece.kind not in {"word", "prefix"}:
        return None
    keyed = _KEYED.match(text, piece.start, piece.end)
    if keyed is None:
        return None
    key, value = keyed.groups()
    # `Foo:bar` and `note:x` may be meant as filters; `TODO:x` and `someClass:method` are text.
    plausible = key[1:].islower() and key.lower() not in _NO_KEYS and _PLAUSIBLE.fullmatch(value)
    return key if plausible or nearest_key(key) else None


def _coloured(text: str, piece: Piece, operators: frozenset[Piece]) -> Iterator[QueryToken]:
    start, end = piece.start, piece.end
    if piece.kind == "filter":
        colon = text.index(":", start) + 1
        yield QueryToken(start, colon, "filter_key")
        if colon < end:
            yield QueryToken(colon, end, "filter_value")
        return
    if (key := _unknown_key(text, piece)) and nearest_key(key):
        colon = text.index(key, start) + len(key) + 1
        yield QueryToken(start, colon, "unknown_key")
        start = colon
    if piece in operators:
        yield QueryToken(start, end, "operator")
    elif piece.negated:
        yield QueryToken(start, end, "negation")
    elif piece.kind == "phrase" or piece.kind == "prefix":
        yield QueryToken(start, end, piece.kind)
    else:
        yield QueryToken(start, end, "word")


def remove_chip(text: str, chip: Chip) -> str:
    """The text of the query without one of its filters."""
    return f"{text[: chip.start].rstrip()} {text[chip.end :].lstrip()}".strip()


def merge(a: SearchFilters, b: SearchFilters) -> SearchFilters:
    """Combine two sets of filters: lists are joined; of two limits, the narrower one applies."""
    joined: dict[str, object] = {}
    for name in SearchFilters.__dataclass_fields__:
        ours, theirs = getattr(a, name), getattr(b, name)
        if name == "facets":
            values: dict[tuple[str, str], FacetFilter] = {}
            for one in (*ours, *theirs):
                known = values.get((one.kind, one.match))
                if known is not None:
                    one = replace(one, values=tuple(dict.fromkeys((*known.values, *one.values))))
                values[one.kind, one.match] = one
            joined[name] = tuple(values.values())
        elif isinstance(ours, tuple):
            joined[name] = tuple(dict.fromkeys((*ours, *theirs)))
        else:
            limits = [limit for limit in (ours, theirs) if limit is not None]
            joined[name] = (min if name.endswith("before_ns") else max)(limits, default=None)
    return SearchFilters(**joined)  # type: ignore[arg-type]  # each value has the type of its field
