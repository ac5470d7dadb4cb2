"""What each filter and word of a query costs: how many hits there would be without it. Pure.

Makes the shorter queries, worth asking where the whole one finds nothing. Counts nothing
itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kebab_tui.search.query_language import ParsedQuery

MOST = 8
"""So many shorter queries are asked at most."""
_WORDS = ("word", "phrase", "prefix", "negation")


@dataclass(frozen=True, slots=True)
class Cost:
    """Without `label` the query is `text`, and finds `total` hits."""

    label: str
    text: str
    is_filter: bool
    total: int = 0


def shorter(text: str, parsed: ParsedQuery) -> tuple[Cost, ...]:
    """The query without each of its filters, then without each of its words."""
    made = [Cost(chip.label, _without(text, chip.start, chip.end), True) for chip in parsed.chips]
    made += [Cost(text[start:end], _without(text, start, end), False) for start, end in _words(text, parsed)]
    whole = " ".join(text.split())
    return tuple(cost for cost in made if cost.text and cost.text != whole)[:MOST]


def ordered(costs: Iterable[Cost]) -> tuple[Cost, ...]:
    """Those that would help, filters before words: a word is what is looked for."""
    helpful = (cost for cost in costs if cost.total)
    return tuple(sorted(helpful, key=lambda cost: (not cost.is_filter, -cost.total)))


def _words(text: str, parsed: ParsedQuery) -> Iterator[tuple[int, int]]:
    """Where the words stand; what is negated goes with its sign, a phrase with its quotes."""
    for token in parsed.tokens:
        if token.role in _WORDS and any(char.isalnum() for char in text[token.start : token.end]):
            yield token.start, token.end


def _without(text: str, start: int, end: int) -> str:
    return " ".join(f"{text[:start]} {text[end:]}".split())
