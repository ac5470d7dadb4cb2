"""How two rankings become one.

Reciprocal Rank Fusion chooses and orders the candidates: `raw = sum of w / (rrf_k + rank)`.
Reranking then orders the best of them, and behind these the others, by one readable number:
`rerank score = l * bm25 / best bm25 of this query + (1 - l) * cosine`, with l = 0.3.
Where the notes hold two scripts, hits in the other script than the query's stand in a leg of
their own; they have no fair bm25, so theirs is `0.95 * cosine`, and one place in three,
from the fourth on, is kept for them while they are near enough. Without reranking
the order is the fusion's own, with no places kept.

Pure: the same evidence and settings give the same order, so a what-if needs no search.
Ranks are 1-based; ties go by lexical rank, then by chunk id. With reranking, equal
scores that no word found are equal cosines of one leg, whose ranks go by chunk id already.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kebab_tui.domain.ids import ChunkRow
from kebab_tui.search.ports import FieldCounts, FieldWeights

OTHER_SCRIPT_SHARE = 0.95
PLACE_EVERY = 3
NEAR_ENOUGH = 0.3
_USUALLY_NEAREST = 0.6
"""The cosine of a good hit, where not one vector is known."""
_LAST = 1 << 60


@dataclass(frozen=True, slots=True)
class FusionSettings:
    """`vector_weight` is the weight for the query at hand: it depends on the query's script."""

    rrf_k: int = 60
    lexical_weight: float = 1.0
    vector_weight: float = 1.0
    rerank: bool = True
    rerank_depth: int = 75
    rerank_keyword: float = 0.3

    @property
    def best_raw(self) -> float:
        """The raw RRF of a candidate that is first in both legs."""
        return sum(rrf_part(weight, self.rrf_k, 1) for weight in (self.lexical_weight, self.vector_weight))


class Evidence(NamedTuple):
    """What the legs say of one candidate. `strength` is minus its raw bm25.

    `chunk_id` orders candidates without a lexical rank when reranking is off.

    `other_script`: the chunk is not in the query's script; its vector rank is then the
    rank among those.
    """

    row: ChunkRow
    lexical_rank: int | None = None
    strength: float | None = None
    vector_rank: int | None = None
    cosine: float | None = None
    other_script: bool = False
    relaxed: bool = False
    chunk_id: str = ""


class Fused(NamedTuple):
    """One candidate after fusion, with every part its place was made of."""

    evidence: Evidence
    lexical_part: float
    vector_part: float
    rrf_raw: float
    fusion_score: float
    fusion_rank: int
    rerank_keyword: float | None = None
    rerank_semantic: float | None = None
    rerank_score: float | None = None
    rerank_rank: int | None = None
    assumed_cosine: float | None = None
    """The cosine that reranking assumes for a passage without a vector."""
    rank: int = 0
    kept_place: bool = False
    """It stands where it does because a place was kept for its script."""

    @property
    def score(self) -> float:
        return self.fusion_score if self.rerank_score is None else self.rerank_score


def fuse(evidence: Sequence[Evidence], settings: FusionSettings) -> list[Fused]:
    """Order the candidates, best first."""
    drafts = _by_rank(evidence, settings)
    if settings.rerank:
        drafts = _with_tail_in_order(_with_places(_reranked(drafts, settings)), settings)
    best = settings.best_raw
    return [draft.fused(rank, best) for rank, draft in enumerate(drafts, 1)]


def rescore(
    fused: Sequence[Fused],
    settings: FusionSettings,
    *,
    rrf_k: int | None = None,
    vector_weight: float | None = None,
) -> list[Fused]:
    """The same candidates under other settings, without asking the index again."""
    changed = replace(
        settings,
        rrf_k=settings.rrf_k if rrf_k is None else rrf_k,
        vector_weight=settings.vector_weight if vector_weight is None else vector_weight,
    )
    return fuse([one.evidence for one in fused], changed)


_Tie = tuple[int, str, int, bool, int]
"""What orders candidates that are equal otherwise."""


@dataclass(slots=True)
class _Candidate:
    """A candidate on its way through the steps: hundreds at every key, so none is copied at each."""

    evidence: Evidence
    lexical_part: float
    vector_part: float
    rrf_raw: float
    tie: _Tie
    fusion_rank: int = 0
    rerank_keyword: float | None = None
    rerank_semantic: float | None = None
    rerank_score: float | None = None
    rerank_rank: int | None = None
    assumed_cosine: float | None = None
    kept_place: bool = False

    def fused(self, rank: int, best: float) -> Fused:
        return Fused(
            self.evidence, self.lexical_part, self.vector_part, self.rrf_raw,
            self.rrf_raw / best if best else 0.0, self.fusion_rank,
            self.rerank_keyword, self.rerank_semantic, self.rerank_score, self.rerank_rank,
            self.assumed_cosine, rank, self.kept_place,
        )  # fmt: skip


def _by_rank(evidence: Sequence[Evidence], settings: FusionSettings) -> list[_Candidate]:
    drafts = []
    for one in evidence:
        lexical = rrf_part(settings.lexical_weight, settings.rrf_k, one.lexical_rank)
        vector = rrf_part(settings.vector_weight, settings.rrf_k, one.vector_rank)
        drafts.append(_Candidate(one, lexical, vector, lexical + vector, _tie(one, settings)))
    drafts.sort(key=lambda draft: (-draft.rrf_raw, draft.tie))
    for rank, draft in enumerate(drafts, 1):
        draft.fusion_rank = rank
    return drafts


def rrf_part(weight: float, rrf_k: int, rank: int | None) -> float:
    return 0.0 if rank is None else weight / (rrf_k + rank)


def _reranked(drafts: list[_Candidate], settings: FusionSettings) -> list[_Candidate]:
    """Score every candidate, so that a list has one kind of score; order the best by it."""
    strongest = max((draft.evidence.strength or 0.0 for draft in drafts), default=0.0)
    nearest = max((draft.evidence.cosine or 0.0 for draft in drafts), default=0.0)
    for draft in drafts:
        _set_rerank_score(draft, settings.rerank_keyword, strongest, nearest)
    head, tail = drafts[: settings.rerank_depth], drafts[settings.rerank_depth :]
    head.sort(key=_by_rerank)
    for rank, draft in enumerate(head, 1):
        draft.rerank_rank = rank
    return head + tail


def _by_rerank(draft: _Candidate) -> tuple[float, _Tie]:
    return -(draft.rerank_score or 0.0), draft.tie


def _set_rerank_score(draft: _Candidate, share: float, strongest: float, nearest: float) -> None:
    evidence = draft.evidence
    words = (evidence.strength or 0.0) / strongest if strongest > 0 else 0.0
    if evidence.cosine is None:
        # Not read by the model yet: its meaning is taken to be as near as its words are strong.
        draft.assumed_cosine = words * (nearest or _USUALLY_NEAREST)
    cosine = max(evidence.cosine or draft.assumed_cosine or 0.0, 0.0)
    lexical, vector = share * words, (1 - share) * cosine
    if evidence.other_script and lexical + vector < OTHER_SCRIPT_SHARE * cosine:
        lexical, vector = 0.0, OTHER_SCRIPT_SHARE * cosine
    draft.rerank_keyword, draft.rerank_semantic, draft.rerank_score = lexical, vector, lexical + vector


def _with_places(drafts: list[_Candidate]) -> list[_Candidate]:
    """Let the other script have one place in three, from the fourth on, while it is near enough."""
    waiting = deque(draft for draft in drafts if _deserves_a_place(draft.evidence))
    if not waiting:
        return drafts
    placed: list[_Candidate] = []
    given: set[ChunkRow] = set()
    since = 0
    for draft in drafts:
        if draft.evidence.row in given:
            continue
        if since >= PLACE_EVERY - 1 and len(placed) >= PLACE_EVERY and not draft.evidence.other_script:
            while waiting and waiting[0].evidence.row in given:
                waiting.popleft()
            if waiting:
                waiting[0].kept_place = True
                placed.append(waiting[0])
                given.add(waiting[0].evidence.row)
                since = 0
        placed.append(draft)
        given.add(draft.evidence.row)
        since = 0 if draft.evidence.other_script else since + 1
    return placed


def _with_tail_in_order(drafts: list[_Candidate], settings: FusionSettings) -> list[_Candidate]:
    """Behind the best, the rerank score alone decides: no place is kept there."""
    head, tail = drafts[: settings.rerank_depth], drafts[settings.rerank_depth :]
    for draft in tail:
        draft.kept_place = False
    return head + sorted(tail, key=_by_rerank)


def _deserves_a_place(one: Evidence) -> bool:
    return one.other_script and (one.cosine or 0.0) >= NEAR_ENOUGH


def _tie(one: Evidence, settings: FusionSettings) -> _Tie:
    lexical = one.lexical_rank or _LAST
    if settings.rerank:
        return (lexical, "", one.vector_rank or _LAST, one.other_script, one.row)
    return (lexical, one.chunk_id, 0, False, one.row)


# bm25 as FTS5 computes it, from its parts.
#
# `score = -sum(idf * f * (K1 + 1) / (f + norm))` over the phrases of a query, where f
# counts a phrase's occurrences weighted by field. Pure arithmetic: the figures come from
# the index, and adding them up here gives the index's own number.

K1 = 1.2
B = 0.75
_SMALLEST_IDF = 1e-6


def inverse_document_frequency(chunks: int, frequency: int) -> float:
    """How telling a phrase is; never quite nothing, even for one that stands everywhere."""
    idf = math.log((chunks - frequency + 0.5) / (frequency + 0.5))
    return idf if idf > 0 else _SMALLEST_IDF


def length_norm(length: int, average_length: float) -> float:
    """How many occurrences a chunk of this length must have to get half of the credit."""
    return K1 * (1 - B + B * length / average_length)


@dataclass(frozen=True, slots=True)
class TermWeight:
    """What one phrase of the query adds to one chunk's score."""

    label: str
    counts: FieldCounts
    weighted_count: float
    frequency: int
    idf: float
    contribution: float
    """Positive: the larger, the better."""


def term_weight(
    label: str, counts: FieldCounts, frequency: int, idf: float, norm: float, weights: FieldWeights
) -> TermWeight:
    weighted = (
        counts.heading * weights.heading
        + counts.text * weights.text
        + counts.title * weights.title
        + counts.grams * weights.grams
    )
    contribution = idf * weighted * (K1 + 1) / (weighted + norm) if weighted else 0.0
    return TermWeight(label, counts, weighted, frequency, idf, contribution)


def normalised(raw: float) -> float:
    """A raw bm25 as a positive score below 1; for display and thresholds, order is unchanged."""
    return -raw / (1 + abs(raw))
