"""Why a hit stands where it does, in numbers that add up.

Built only from what the index says; whoever shows it adds nothing of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kebab_tui.domain.hit import SearchHit, SearchResponse
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.query import SearchFilters
from kebab_tui.search import ranking
from kebab_tui.search.answer import Answer
from kebab_tui.search.ports import FieldCounts, FieldWeights, Snapshot
from kebab_tui.search.ranking import Fused, FusionSettings, TermWeight
from kebab_tui.search.why_not import single_filters
from kebab_tui.search.words import Phrase

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
    norms = {row: ranking.length_norm(lengths.get(row, 0), collection.average_length or 1.0) for row in rows}
    for phrase in phrases:
        frequency = snapshot.frequency(phrase.match)
        idf = ranking.inverse_document_frequency(collection.chunks, frequency)
        counts = snapshot.occurrences(phrase.match, rows)
        for row in rows:
            found = counts.get(row, _NOWHERE)
            terms[row].append(ranking.term_weight(phrase.label, found, frequency, idf, norms[row], weights))
    return {
        row: _explanation(terms[row], lengths.get(row, 0), norms[row], collection.average_length,
                          collection.chunks, weights)
        for row in rows
    }  # fmt: skip


def _explanation(
    terms: Sequence[TermWeight], length: int, norm: float, average: float, chunks: int, weights: FieldWeights
) -> LexicalExplanation:
    raw = -sum(term.contribution for term in terms)
    return LexicalExplanation(
        tuple(terms), raw, ranking.normalised(raw), length, average, chunks, norm, weights
    )


@dataclass(frozen=True, slots=True)
class SemanticExplanation:
    """The cosine of the whole passage, and its sentence that is nearest to the query."""

    cosine: float
    sentence: str
    sentence_start: int
    sentence_end: int
    sentence_cosine: float


@dataclass(frozen=True, slots=True)
class ExplainedHit:
    """Absent parts are None: a hit by meaning alone may have no word of the query in it."""

    hit: SearchHit
    lexical: LexicalExplanation | None
    semantic: SemanticExplanation | None
    fused: Fused | None


@dataclass(frozen=True, slots=True)
class Filtered:
    """What the filters of a query leave: notes in all, those that pass, and what each alone leaves out."""

    notes: int
    passing: int
    dropped: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        each = ", ".join(f"{name} leaves out {count:,}" for name, count in self.dropped)
        return f"filters: {self.passing:,} of {self.notes:,} notes pass ({each})"


def filtered(snapshot: Snapshot, filters: SearchFilters) -> Filtered | None:
    """None without filters."""
    if not filters.active:
        return None

    def passing(some: SearchFilters) -> int:
        return snapshot.browse(some, 0, 0)[1]

    notes = passing(SearchFilters())
    dropped = tuple((name, notes - passing(one)) for name, one in single_filters(filters))
    return Filtered(notes, passing(filters), dropped)


@dataclass(frozen=True, slots=True)
class ExplainedResponse:
    """`candidates` are all that were fused, in order: what `fusion.refuse` re-orders."""

    response: SearchResponse
    hits: tuple[ExplainedHit, ...]
    candidates: tuple[Fused, ...]
    fusion: FusionSettings | None
    filtered: Filtered | None = None
    """None without filters."""


def explain(
    snapshot: Snapshot, response: SearchResponse, answer: Answer, weights: FieldWeights
) -> ExplainedResponse:
    """Explain every hit of a page."""
    by_phrases: dict[tuple[Phrase, ...], list[ChunkRow]] = {}
    for ranked in answer.page:
        if ranked.detail.lexical_rank is not None and ranked.phrases:
            by_phrases.setdefault(ranked.phrases, []).append(ranked.row)
    tables: dict[ChunkRow, LexicalExplanation] = {}
    for phrases, rows in by_phrases.items():
        tables |= explain_lexical(snapshot, phrases, rows, weights)
    fused = {ranked.row: ranked.fused for ranked in answer.page}
    hits = tuple(
        ExplainedHit(hit, tables.get(hit.row), _semantic(hit, answer, fused[hit.row]), fused[hit.row])
        for hit in response.hits
    )
    return ExplainedResponse(response, hits, _identified(snapshot, answer.fused), answer.fusion)


def _identified(snapshot: Snapshot, fused: Sequence[Fused]) -> tuple[Fused, ...]:
    """With the chunk ids, which order equal scores when a what-if turns reranking off."""
    ids = snapshot.chunk_ids([one.evidence.row for one in fused])
    return tuple(
        one._replace(evidence=one.evidence._replace(chunk_id=ids.get(one.evidence.row, ""))) for one in fused
    )


def _semantic(hit: SearchHit, answer: Answer, fused: Fused | None) -> SemanticExplanation | None:
    cosine = hit.retrieval.vector_score if fused is None else fused.evidence.cosine
    if answer.asked is None or cosine is None:
        return None
    nearest = answer.asked.semantics.encoder.nearest_sentence(hit.text, answer.asked.vector)
    if nearest is None:
        return SemanticExplanation(cosine, "", 0, 0, 0.0)
    return SemanticExplanation(
        cosine, hit.text[nearest.start : nearest.end], nearest.start, nearest.end, nearest.cosine
    )
