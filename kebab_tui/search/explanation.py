"""Why a hit stands where it does, in numbers that add up.

Built only from what the index says; whoever shows it adds nothing of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kebab_tui.domain.hit import SearchHit, SearchResponse
from kebab_tui.domain.identity import ChunkRow
from kebab_tui.search import bm25
from kebab_tui.search.bm25 import TermWeight
from kebab_tui.search.phrases import Phrase
from kebab_tui.search.ports import FieldCounts, FieldWeights, Snapshot

_NOWHERE = FieldCounts(0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class LexicalExplanation:
    """The bm25 of one chunk, term by term: `bm25` is minus the sum of the contributions."""

    terms: tuple[TermWeight, ...]
    bm25: float
    score: float
    length: int
    average_length: float
    chunks: int
    length_norm: float
    weights: FieldWeights


def explain_lexical(
    snapshot: Snapshot, phrases: Sequence[Phrase], rows: Sequence[ChunkRow], weights: FieldWeights
) -> dict[ChunkRow, LexicalExplanation]:
    """The tables of several chunks at once; each phrase is looked up one time."""
    collection = snapshot.collection()
    lengths = snapshot.lengths(rows)
    terms: dict[ChunkRow, list[TermWeight]] = {row: [] for row in rows}
    norms = {row: bm25.length_norm(lengths.get(row, 0), collection.average_length or 1.0) for row in rows}
    for phrase in phrases:
        frequency = snapshot.frequency(phrase.match)
        idf = bm25.inverse_document_frequency(collection.chunks, frequency)
        counts = snapshot.occurrences(phrase.match, rows)
        for row in rows:
            found = counts.get(row, _NOWHERE)
            terms[row].append(bm25.term_weight(phrase.label, found, frequency, idf, norms[row], weights))
    return {
        row: _explanation(terms[row], lengths.get(row, 0), norms[row], collection.average_length,
                          collection.chunks, weights)
        for row in rows
    }  # fmt: skip


def _explanation(
    terms: Sequence[TermWeight], length: int, norm: float, average: float, chunks: int, weights: FieldWeights
) -> LexicalExplanation:
    raw = -sum(term.contribution for term in terms)
    return LexicalExplanation(tuple(terms), raw, bm25.normalised(raw), length, average, chunks, norm, weights)


@dataclass(frozen=True, slots=True)
class ExplainedHit:
    hit: SearchHit
    lexical: LexicalExplanation | None


@dataclass(frozen=True, slots=True)
class ExplainedResponse:
    response: SearchResponse
    hits: tuple[ExplainedHit, ...]
