"""Finds sources by name and content, and scores them: the library search of the specification.

Compares folded text, not SQL patterns: `%` and `_` are letters. The parts for size and for trust are
capped, so that no large source outranks the one that is called as asked.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kebab_tui.domain.document import Source
from kebab_tui.domain.query import SearchFilters, SearchQuery

EXACT, PREFIX, DESCRIPTION = 100.0, 50.0, 20.0
MOST_FOR_SIZE, MOST_FOR_CONTENT = 10.0, 20.0
PASSAGES_A_POINT = 100
_MOST_SOURCE_SCORE = 10.0


class LibraryParts(NamedTuple):
    """What a score is the sum of. `description`: also for the id; `trust`: the source score."""

    exact: float = 0.0
    prefix: float = 0.0
    description: float = 0.0
    size: float = 0.0
    trust: float = 0.0
    content: float = 0.0


@dataclass(frozen=True, slots=True)
class FoundLibrary:
    """A source with its score for a name. `content_hits`: its passages that match the query."""

    source: Source
    score: float
    parts: LibraryParts
    source_score: float
    content_hits: int


def source_score(source: Source, *, has_remote: bool) -> float:
    """How established a source is, from 0 to 10: stars, size, origin, state and description."""
    score = min(4.0, math.log10(source.stars + 1)) + min(3.0, source.chunks / 500)
    score += has_remote + (source.state == "indexed") + bool(source.description)
    return min(_MOST_SOURCE_SCORE, round(score, 1))


def library_parts(
    source: Source, name: str, source_score: float, content_hits: int = 0, most_hits: int = 0
) -> LibraryParts:
    """`most_hits`: those of the source that has most."""
    wanted, title = folded(name), folded(source.title)
    described = wanted in folded(source.description) or wanted in folded(source.source_id)
    return LibraryParts(
        EXACT * bool(wanted and title == wanted),
        PREFIX * bool(wanted and title.startswith(wanted)),
        DESCRIPTION * bool(wanted and described),
        min(MOST_FOR_SIZE, source.chunks / PASSAGES_A_POINT),
        source_score,
        round(MOST_FOR_CONTENT * content_hits / most_hits, 2) if most_hits else 0.0,
    )


def is_named(source: Source, name: str) -> bool:
    """Whether title, id or description contain a name; the empty name is in all of them."""
    wanted = folded(name)
    return any(wanted in folded(text) for text in (source.title, source.source_id, source.description))


def rank_libraries(
    sources: Iterable[Source],
    name: str,
    hits: Mapping[str, int],
    limit: int,
    rate: Callable[[Source], float],
) -> list[FoundLibrary]:
    """The indexed sources with this name or with hits, best first, ties by id; `rate`: their source score."""
    listed = [
        source
        for source in sources
        if source.state == "indexed" and (is_named(source, name) or hits.get(source.source_id))
    ]
    most = max((hits.get(source.source_id, 0) for source in listed), default=0)
    found = []
    for source in listed:
        rated, own = rate(source), hits.get(source.source_id, 0)
        parts = library_parts(source, name, rated, own, most)
        found.append(FoundLibrary(source, round(sum(parts), 2), parts, rated, own))
    return sorted(found, key=lambda one: (-one.score, one.source.source_id))[:limit]


def folded(text: str) -> str:
    """Text as it is compared: in any case, composed, words separated by one blank."""
    return unicodedata.normalize("NFC", " ".join(unicodedata.normalize("NFC", text).casefold().split()))


def content_query(name: str, query: str, filters: SearchFilters) -> SearchQuery:
    """What the passages of a source should have: the query, else all words of the name, literally."""
    if query.strip():
        return SearchQuery(query, "lexical", filters=filters)
    words = " ".join(f'"{word}"' for word in name.replace('"', " ").split())
    return SearchQuery(words, "lexical", filters=filters, strict=True, exact=True)
