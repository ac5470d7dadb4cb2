"""Other queries in place of one without hits or with an error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from kebab_tui.search.query_language import ParsedQuery

MOST_SUGGESTIONS = 8
_WORD_ROLES = ("word", "phrase", "prefix", "negation")

SuggestionKind = Literal["instead", "everywhere", "without filter", "without word"]
_KINDS: tuple[SuggestionKind, ...] = get_args(SuggestionKind)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Another query: with `part` instead, or without it, or the same one in all folders."""

    kind: SuggestionKind
    part: str
    text: str
    total: int | None = None
    """How many hits it has, if that was counted."""


def shorter(text: str, parsed: ParsedQuery) -> tuple[Suggestion, ...]:
    """The query without each of its filters, then without each of its words."""

    def without(start: int, end: int) -> str:
        return " ".join(f"{text[:start]} {text[end:]}".split())

    made = [Suggestion("without filter", one.label, without(one.start, one.end)) for one in parsed.chips]
    for token in parsed.tokens:
        word = text[token.start : token.end]
        if token.role in _WORD_ROLES and any(character.isalnum() for character in word):
            made.append(Suggestion("without word", word, without(token.start, token.end)))
    whole = " ".join(text.split())
    return tuple(query for query in made if query.text and query.text != whole)[:MOST_SUGGESTIONS]


def ordered(suggestions: Iterable[Suggestion]) -> tuple[Suggestion, ...]:
    """Those with hits: corrections, all folders, filters, and last the words, the subject of the search."""
    helpful = (one for one in suggestions if one.total)
    return tuple(sorted(helpful, key=lambda one: (_KINDS.index(one.kind), -(one.total or 0))))


def first_shorter(suggestions: Sequence[Suggestion]) -> Suggestion | None:
    """The suggestion that drops the filter or the word that excludes most."""
    return next((one for one in suggestions if one.kind.startswith("without")), None)
