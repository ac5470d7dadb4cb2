"""Fusion of the keyword and semantic rankings, and reranking.

Reciprocal Rank Fusion selects and orders the candidates: `raw = sum of w / (rrf_k + rank)`.
Reranking then orders the best of them, those with a similar name, and behind these the rest, by
`score = (l * bm25 / best bm25 of this query + (1 - l) * cosine + n * name) / (1 + n)`, with
l = 0.3 and n = 0.2. If the notes have two scripts, hits in the other script than the query's
form a leg of their own. They have no fair bm25, so `0.95 * cosine` stands for their words and
meaning, and from the fourth place on every third one is kept for them while they are near enough.

Notes whose name is the whole query come first, with one passage each and the score 1. Notes that
have it as a part of their name come within the first three. Without reranking, names do not count
and no places are kept.

Pure: the same evidence and settings give the same order, so a what-if needs no search.
Ranks are 1-based; ties go by lexical rank, then by chunk id. With reranking, hits without
a keyword match tie only if their cosines in one leg are equal, and that leg's ranks are
already ordered by chunk id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from kebab_tui.domain.ids import ChunkRow

ONE_WORD_KEYWORD = 0.6
"""`rerank_keyword` for a query of one word: a passage that has it comes before one that does not."""
OTHER_SCRIPT_SHARE = 0.95
PLACE_EVERY = 3
PLACES_BY_NAME = 3
SIMILAR_NAME = 0.5
"""The least match of a name that makes its note a candidate."""
NEAR_ENOUGH = 0.3
_USUALLY_NEAREST = 0.6
"""The cosine of a good hit, assumed while no vector is known."""
_USUAL_SEMANTIC = 0.7
_LAST = 1 << 60


@dataclass(frozen=True, slots=True)
class FusionSettings:
    """`vector_weight` is the weight for this query: it depends on the query's script."""

    rrf_k: int = 60
    lexical_weight: float = 1.0
    vector_weight: float = 1.0
    rerank: bool = True
    rerank_depth: int = 75
    rerank_keyword: float = 0.3
    rerank_name: float = 0.2

    @property
    def best_rerank(self) -> float:
        """The sum of the shares, by which the parts of a rerank score are divided."""
        return 1 + self.rerank_name

    @property
    def other_script_share(self) -> float:
        """The share of the cosine for a chunk in the other script, as much less as meaning counts less."""
        return OTHER_SCRIPT_SHARE * min((1 - self.rerank_keyword) / _USUAL_SEMANTIC, 1.0)

    @property
    def best_raw(self) -> float:
        """The raw RRF of a candidate that is first in both legs."""
        return sum(rrf_part(weight, self.rrf_k, 1) for weight in (self.lexical_weight, self.vector_weight))


class Evidence(NamedTuple):
    """The results of both legs for one candidate. `strength` is minus its raw bm25.

    `other_script`: the chunk is not in the query's script; its vector rank is then the rank
    among such chunks. `chunk_id` breaks ties when reranking is off. `name`: how well a name of
    its note matches the query, from 0 to 1. `exact_name`, `partial_name`: the number of its note
    among those whose name is the query, or has it as a large part; 0 for other notes.
    """

    row: ChunkRow
    lexical_rank: int | None = None
    strength: float | None = None
    vector_rank: int | None = None
    cosine: float | None = None
    other_script: bool = False
    relaxed: bool = False
    chunk_id: str = ""
    name: float = 0.0
    exact_name: int = 0
    partial_name: int = 0


@dataclass(slots=True)
class Fused:
    """A candidate after fusion, with every number that decided its place.

    Only `fuse` changes it: a keystroke has hundreds of candidates, so they are not copied at each step.
    """

    evidence: Evidence
    lexical_part: float
    vector_part: float
    rrf_raw: float
    fusion_score: float
    fusion_rank: int = 0
    rerank_keyword: float | None = None
    rerank_semantic: float | None = None
    rerank_name: float | None = None
    rerank_score: float | None = None
    rerank_rank: int | None = None
    assumed_cosine: float | None = None
    """The cosine that reranking assumes for a chunk without a vector."""
    rank: int = 0
    kept_place: bool = False
    """It has its rank because a place was kept for its script."""
    named: bool = False
    """It comes first because the query is a name of its note."""
    name_place: bool = False
    """It has its rank because a place was kept for its name."""

    @property
    def score(self) -> float:
        if self.named:
            return 1.0
        return self.fusion_score if self.rerank_score is None else self.rerank_score


def fuse(evidence: Sequence[Evidence], settings: FusionSettings) -> list[Fused]:
    """Order the candidates, best first."""
    best = settings.best_raw
    tied = []
    for one in sorted(evidence, key=_rerank_tie if settings.rerank else _tie):
        lexical = rrf_part(settings.lexical_weight, settings.rrf_k, one.lexical_rank)
        vector = rrf_part(settings.vector_weight, settings.rrf_k, one.vector_rank)
        raw = lexical + vector
        tied.append(Fused(one, lexical, vector, raw, raw / best if best else 0.0))
    # Sorting is stable: equals stay in the order of ties.
    candidates = sorted(tied, key=attrgetter("rrf_raw"), reverse=True)
    for rank, candidate in enumerate(candidates, 1):
        candidate.fusion_rank = rank
    if settings.rerank:
        candidates = _reranked(candidates, tied, settings)
    for rank, candidate in enumerate(candidates, 1):
        candidate.rank = rank
    return candidates


def _tie(one: Evidence) -> tuple[int, str, int]:
    return one.lexical_rank or _LAST, one.chunk_id, one.row


def _rerank_tie(one: Evidence) -> tuple[int, int, bool, int]:
    return one.lexical_rank or _LAST, one.vector_rank or _LAST, one.other_script, one.row


def rescore(
    fused: Sequence[Fused],
    settings: FusionSettings,
    *,
    rrf_k: int | None = None,
    vector_weight: float | None = None,
) -> list[Fused]:
    """Fuse the same candidates with other settings, without a search."""
    changed = replace(
        settings,
        rrf_k=settings.rrf_k if rrf_k is None else rrf_k,
        vector_weight=settings.vector_weight if vector_weight is None else vector_weight,
    )
    return fuse([one.evidence for one in fused], changed)


def rrf_part(weight: float, rrf_k: int, rank: int | None) -> float:
    return 0.0 if rank is None else weight / (rrf_k + rank)


def _reranked(candidates: Sequence[Fused], tied: Sequence[Fused], settings: FusionSettings) -> list[Fused]:
    """Score every candidate, so that a list has one kind of score, and order the best by it.

    `candidates`: in the order of fusion; `tied`: in the order of ties.
    """
    strongest = max((one.evidence.strength or 0.0 for one in candidates), default=0.0)
    nearest = max((one.evidence.cosine or 0.0 for one in candidates), default=0.0)
    other_script_share, best_rerank = settings.other_script_share, settings.best_rerank
    by_words, by_meaning, by_name = settings.rerank_keyword, 1 - settings.rerank_keyword, settings.rerank_name
    for one in candidates:
        evidence = one.evidence
        words = (evidence.strength or 0.0) / strongest if strongest > 0 else 0.0
        cosine = evidence.cosine
        if cosine is None:
            # No vector yet: the meaning is assumed to be as near as the words are strong.
            cosine = one.assumed_cosine = words * (nearest or _USUALLY_NEAREST)
        if cosine < 0.0:
            cosine = 0.0
        keyword, semantic = by_words * words, by_meaning * cosine
        if evidence.other_script and keyword + semantic < other_script_share * cosine:
            keyword, semantic = 0.0, other_script_share * cosine
        one.rerank_keyword, one.rerank_semantic = keyword, semantic
        one.rerank_name = by_name * evidence.name
        one.rerank_score = (keyword + semantic + one.rerank_name) / best_rerank
    by_score = sorted(tied, key=attrgetter("rerank_score"), reverse=True)
    depth = settings.rerank_depth
    head = [one for one in by_score if one.fusion_rank <= depth or one.evidence.name >= SIMILAR_NAME]
    for rank, one in enumerate(head, 1):
        one.rerank_rank = rank
    rest = (one for one in candidates[depth:] if one.evidence.name < SIMILAR_NAME)
    placed = _with_kept_places(_with_names_first(head), rest)
    given = {one.evidence.row for one in placed}
    return placed + [one for one in by_score if one.evidence.row not in given]


def _with_names_first(candidates: list[Fused]) -> list[Fused]:
    """First the notes whose name is the query; within three places those with it as a part of their name."""
    exact: dict[int, Fused] = {}
    partial: dict[int, Fused] = {}
    for one in candidates:
        if one.evidence.exact_name:
            exact.setdefault(one.evidence.exact_name, one)
        elif one.evidence.partial_name:
            partial.setdefault(one.evidence.partial_name, one)
    if not (exact or partial):
        return candidates
    first = [exact[number] for number in sorted(exact)]
    for one in first:
        one.named = True
    given = {one.evidence.row for one in first}
    others = [one for one in candidates if one.evidence.row not in given]
    places = max(PLACES_BY_NAME - len(first), 0)
    by_name = {one.evidence.row: one for one in list(partial.values())[:places]}
    free = places - len(by_name)
    for one in others[:places]:
        if by_name.pop(one.evidence.row, None) is not None:
            first.append(one)
        elif free:
            first.append(one)
            free -= 1
    for one in by_name.values():
        one.name_place = True
        first.append(one)
    given = {one.evidence.row for one in first}
    return first + [one for one in others if one.evidence.row not in given]


def _with_kept_places(head: list[Fused], rest: Iterable[Fused]) -> list[Fused]:
    """Give the other script every third place of the best, from the fourth on, while it is near enough."""
    waiting = (
        one
        for one in chain(head, rest)
        if one.evidence.other_script and (one.evidence.cosine or 0.0) >= NEAR_ENOUGH
    )
    placed: list[Fused] = []
    given: set[ChunkRow] = set()
    since = 0
    for one in head:
        if one.evidence.row in given:
            continue
        if since >= PLACE_EVERY - 1 and len(placed) >= PLACE_EVERY and not one.evidence.other_script:
            other = next((other for other in waiting if other.evidence.row not in given), None)
            if other is not None:
                other.kept_place = True
                placed.append(other)
                given.add(other.evidence.row)
                since = 0
        placed.append(one)
        given.add(one.evidence.row)
        since = 0 if one.evidence.other_script else since + 1
    for one in placed[len(head) :]:
        one.kept_place = False  # behind the best, the score alone decides
    return placed[: len(head)]
