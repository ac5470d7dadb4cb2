"""Explanations of hits: the numbers behind a rank, which add up.

Built only from the index; the front ends add no numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kebab_tui.domain.hit import SearchHit, SearchResponse
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.query import SearchFilters
from kebab_tui.search.answer import Answer, Search
from kebab_tui.search.bm25 import TermWeight, inverse_document_frequency, length_norm, normalised, term_weight
from kebab_tui.search.match import Term
from kebab_tui.search.ports import FieldCounts, FieldWeights, Snapshot
from kebab_tui.search.ranking import Fused, FusionSettings
from kebab_tui.search.why_not import single_filters

_NO_COUNTS = FieldCounts(0, 0, 0, 0)


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


@dataclass(frozen=True, slots=True)
class SemanticExplanation:
    """The cosine of the whole chunk, and its sentence nearest to the query."""

    cosine: float
    sentence: str
    sentence_start: int
    sentence_end: int
    sentence_cosine: float


@dataclass(frozen=True, slots=True)
class ExplainedHit:
    """Absent parts are None: a purely semantic hit may contain no word of the query."""

    hit: SearchHit
    lexical: LexicalExplanation | None
    semantic: SemanticExplanation | None
    fused: Fused | None


@dataclass(frozen=True, slots=True)
class Filtered:
    """The effect of the filters: all notes, those that pass, and how many each filter alone drops."""

    notes: int
    passing: int
    dropped: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        each = ", ".join(f"{name} leaves out {count:,}" for name, count in self.dropped)
        return f"filters: {self.passing:,} of {self.notes:,} notes pass ({each})"


@dataclass(frozen=True, slots=True)
class ExplainedResponse:
    """`candidates` are all fused candidates, in order, for `ranking.rescore`."""

    response: SearchResponse
    hits: tuple[ExplainedHit, ...]
    candidates: tuple[Fused, ...]
    fusion: FusionSettings | None
    filtered: Filtered | None = None
    """None without filters."""

    @property
    def strongest_bm25(self) -> float:
        """The best bm25 of all candidates, as a positive number; 0 if no word was found."""
        return max((one.evidence.strength or 0.0 for one in self.candidates), default=0.0)


def explain(
    search: Search, response: SearchResponse, answer: Answer, weights: FieldWeights
) -> ExplainedResponse:
    """Explain every hit of a page."""
    snapshot = search.snapshot
    by_phrases: dict[tuple[Term, ...], list[ChunkRow]] = {}
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
    # A what-if without reranking needs the chunk ids, which order equal scores.
    ids = snapshot.chunk_ids([one.evidence.row for one in answer.fused])
    candidates = tuple(
        one._replace(evidence=one.evidence._replace(chunk_id=ids.get(one.evidence.row, "")))
        for one in answer.fused
    )
    effect = None
    if search.filters.active:
        notes = snapshot.browse(SearchFilters(), 0, 0)[1]
        passing = snapshot.browse(search.filters, 0, 0)[1]
        dropped = (
            (name, notes - snapshot.browse(alone, 0, 0)[1]) for name, alone in single_filters(search.filters)
        )
        effect = Filtered(notes, passing, tuple(dropped))
    return ExplainedResponse(response, hits, candidates, answer.fusion, effect)


def explain_lexical(
    snapshot: Snapshot, phrases: Sequence[Term], rows: Sequence[ChunkRow], weights: FieldWeights
) -> dict[ChunkRow, LexicalExplanation]:
    """The bm25 tables of several chunks; each phrase is looked up once."""
    chunks, average = snapshot.collection()
    lengths = snapshot.lengths(rows)
    terms: dict[ChunkRow, list[TermWeight]] = {row: [] for row in rows}
    norms = {row: length_norm(lengths.get(row, 0), average or 1.0) for row in rows}
    for phrase in phrases:
        frequency = snapshot.frequency(phrase)
        idf = inverse_document_frequency(chunks, frequency)
        counts = snapshot.occurrences(phrase, rows)
        for row in rows:
            found = counts.get(row, _NO_COUNTS)
            terms[row].append(term_weight(phrase.label, found, frequency, idf, norms[row], weights))
    explained = {}
    for row in rows:
        bm25 = -sum(term.contribution for term in terms[row])
        explained[row] = LexicalExplanation(
            terms=tuple(terms[row]),
            bm25=bm25,
            score=normalised(bm25),
            length=lengths.get(row, 0),
            average_length=average,
            chunks=chunks,
            length_norm=norms[row],
            weights=weights,
        )
    return explained


def _semantic(hit: SearchHit, answer: Answer, fused: Fused | None) -> SemanticExplanation | None:
    cosine = hit.retrieval.vector_score if fused is None else fused.evidence.cosine
    if answer.encoded is None or cosine is None:
        return None
    nearest = answer.encoded.semantics.encoder.nearest_sentence(hit.text, answer.encoded.vector)
    if nearest is None:
        return SemanticExplanation(cosine, "", 0, 0, 0.0)
    return SemanticExplanation(
        cosine, hit.text[nearest.start : nearest.end], nearest.start, nearest.end, nearest.cosine
    )
