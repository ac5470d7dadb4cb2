"""The names of notes that a query may mean: a leg of notes beside those of passages.

A name, alias or stated title matches with 1 if the query is equal to it; else with the harmonic mean
of two shares: of the query's words, by their rarity, that the name has, and of the name's words
that the query has. Words are compared by stem, Korean ones by pairs of syllables. A tag typed as
`#ops` counts as a name of the notes that have it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from kebab_tui.domain.facets import NAME_KINDS, TAG
from kebab_tui.domain.ids import ChunkRow, DocId
from kebab_tui.domain.names import name_key, typed_name_key
from kebab_tui.domain.query import SearchFilters, facet_filters
from kebab_tui.domain.tokens import stem
from kebab_tui.search import match_tree
from kebab_tui.search.answer import Search
from kebab_tui.search.bm25 import inverse_document_frequency
from kebab_tui.search.match import Match, Prefix, Term, any_of
from kebab_tui.search.ports import Among, NamedNote
from kebab_tui.search.query_language import merge, text_without
from kebab_tui.search.words import SHORTEST_UNFINISHED, STOP_WORDS, name_terms

MOST_EXACT = 3
"""How many notes with the query as their name come first."""
_NAMESAKES = 50
_SIMILAR = 30
TAGGED = 20
_COMMON_WEIGHT = 1.0
"""Of a word in so many passages that counting them would take long."""
_LEAST_MATCH = 0.2
"""Weaker matches do not count: a word that many names have says little."""
_MOST_IN_PART = 3
"""If more names have the query as a large part, it does not single out any."""
_LARGE_PART = 0.5
_TAG = re.compile(r"#[^\s#]+")
_FILTERS = frozenset({"filter_key", "filter_value"})


class NameEvidence(NamedTuple):
    """How well the names of a note match, and its first passage.

    `exact`, `partial`: its number among the notes whose name is the query, or has it as a large part; or 0.
    """

    row: ChunkRow
    match: float
    exact: int = 0
    partial: int = 0


def exact(search: Search) -> list[NamedNote]:
    """At most three notes whose name is the whole query, the likeliest first."""
    text = _typed(search)
    for key in dict.fromkeys((name_key(text), typed_name_key(text))):  # CI/CD is a name, ops/CI.md a path
        if key and (found := search.snapshot.named(key, search.filters, _NAMESAKES)):
            return sorted(found, key=partial(_order, key, text))[:MOST_EXACT]
    return []


def _order(key: str, text: str, note: NamedNote) -> tuple[int, bool, int, int, str]:
    """File names before aliases and titles; then the typed folder, the nearest one, the latest change."""
    kinds = [NAME_KINDS.index(kind) for kind, name in note.names if name_key(name) == key]
    folder, parent = (f"/{path}".rpartition("/")[0].strip("/[").casefold() for path in (text, note.path))
    is_elsewhere = not f"/{parent}/".endswith(f"/{folder}/") if folder else False
    return min(kinds, default=len(NAME_KINDS)), is_elsewhere, note.path.count("/"), -note.mtime_ns, note.path


def find(search: Search, terms: Sequence[Term]) -> dict[DocId, NameEvidence]:
    """The notes with a name like the query; `terms` are what the keyword leg searches for."""
    first = exact(search)
    found = {note.doc: NameEvidence(note.row, 1.0, exact=number) for number, note in enumerate(first, 1)}
    text = _typed(search)
    in_part: list[DocId] = []
    if (tagged := of_tag(text, search.filters)) is not None:
        rows, _ = search.snapshot.browse(tagged, TAGGED, 0)
        notes = search.snapshot.notes_of(rows)
        for row in rows:
            if (doc := notes[row]) not in found:
                found[doc] = NameEvidence(row, 1.0)
                in_part.append(doc)
    if (match := similar_to(search, terms)) is not None:
        prefix = match_tree.unfinished_word(search.parsed) if search.query.typing else None
        similar = search.snapshot.names_with(match, search.filters, _SIMILAR)
        weights = _rarities(search, _content(name_terms(text))) if similar else {}
        for note in similar:
            if note.doc not in found:
                likeness, is_part = _match(note, weights, prefix)
                if likeness >= _LEAST_MATCH:
                    found[note.doc] = NameEvidence(note.row, likeness)
                    in_part += [note.doc] if is_part else []
    if len(in_part) <= _MOST_IN_PART:
        found |= {doc: found[doc]._replace(partial=number) for number, doc in enumerate(in_part, 1)}
    return found


def similar_to(search: Search, terms: Sequence[Term]) -> Match | None:
    """What the names of notes are searched for, if the keyword leg searches for `terms`."""
    text = _typed(search)
    if not (terms and text and name_terms(text)):
        return None
    prefix = match_tree.unfinished_word(search.parsed) if search.query.typing else None
    if prefix is not None and len(prefix) >= SHORTEST_UNFINISHED:
        terms = (*terms, Prefix(prefix))  # the keyword leg may have read it as a whole word
    return any_of(tuple(dict.fromkeys(terms)))


def of_tag(text: str, filters: SearchFilters) -> SearchFilters | None:
    """The notes that have the tag, if the text is one."""
    return merge(filters, SearchFilters(facet_filters(TAG, "all", [text]))) if _TAG.fullmatch(text) else None


def _typed(search: Search) -> str:
    """The words of a query that may be a name; a query that excludes words is none."""
    parsed = search.parsed
    if parsed.raw is not None or match_tree.exclusions(parsed.terms):
        return ""
    return text_without(_FILTERS, search.query.text, parsed)


def _rarities(search: Search, terms: Mapping[str, Term]) -> dict[str, float]:
    """The weight of each word of the query, by the number of passages that have it."""
    if len(terms) == 1:
        return dict.fromkeys(terms, 1.0)
    snapshot = search.snapshot
    chunks, common = snapshot.collection().chunks, snapshot.too_frequent([one.text for one in terms.values()])
    return {
        key: _COMMON_WEIGHT
        if term.text in common
        else inverse_document_frequency(chunks, snapshot.count(Among(SearchFilters(), None, term)))
        for key, term in terms.items()
    }


def _match(note: NamedNote, weights: Mapping[str, float], prefix: str | None) -> tuple[float, bool]:
    """How well the best name matches, and whether the query is a large part of one."""
    best, is_part, whole = 0.0, False, sum(weights.values())
    for _, name in note.names:
        terms = _content(name_terms(name))
        had = weights.keys() & terms.keys()
        begun = {key for key, term in terms.items() if prefix and term.text.startswith(prefix)}
        in_name = len(had | begun) / max(len(terms), 1)  # a name of marks has no words
        if prefix and begun:
            had |= {stem(prefix)} & weights.keys()
        if had:
            in_query = sum(weights[key] for key in had) / whole
            best = max(best, 2 * in_query * in_name / (in_query + in_name))
            is_part = is_part or (len(had) == len(weights) and in_name >= _LARGE_PART)
    return min(best, 1.0), is_part


def _content(terms: Mapping[str, Term]) -> Mapping[str, Term]:
    """Without stop words, if there are others."""
    return {key: term for key, term in terms.items() if term.text not in STOP_WORDS} or terms
