"""How two rankings become one.

Reciprocal Rank Fusion chooses and orders the candidates: `raw = sum of w / (rrf_k + rank)`.
A second look then orders the best of them by one number that a person can read:
`look = l * bm25 / best bm25 of this query + (1 - l) * cosine`, with l = 0.3. Where the
notes hold two scripts, hits in the other script than the query's stand in a leg of
their own; they have no fair bm25, so theirs is `0.95 * cosine`, and one place in three,
from the fourth on, is kept for them while they are near enough.

Pure: the same evidence and settings give the same order, so a what-if needs no search.
Ranks are 1-based; ties go by lexical rank, then by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kebab_tui.domain.embedded import is_hangul
from kebab_tui.domain.identity import ChunkRow
from kebab_tui.domain.query import SearchQuery

OTHER_SCRIPT_SHARE = 0.95
PLACE_EVERY = 3
NEAR_ENOUGH = 0.3
_LAST = 1 << 60


@dataclass(frozen=True, slots=True)
class FusionSettings:
    """`vector_weight` is the weight for the query at hand: it depends on the query's script."""

    rrf_k: int = 60
    lexical_weight: float = 1.0
    vector_weight: float = 1.0
    second_look: bool = True
    look_depth: int = 75
    look_lexical: float = 0.3


@dataclass(frozen=True, slots=True)
class HybridOptions:
    """How hybrid lists are made, whatever the query; `fusion` says it for one."""

    rrf_k: int = 60
    vector_weight: float = 1.0
    vector_weight_hangul: float = 0.35
    second_look: bool = True

    def fusion(self, query: SearchQuery) -> FusionSettings:
        weight = self.vector_weight_hangul if is_hangul(query.text) else self.vector_weight
        look = self.second_look if query.second_look is None else query.second_look
        return FusionSettings(rrf_k=self.rrf_k, vector_weight=weight, second_look=look)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the legs say of one candidate. `strength` is minus its raw bm25.

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


@dataclass(frozen=True, slots=True)
class Fused:
    """One candidate after fusion, with every part its place was made of."""

    evidence: Evidence
    lexical_part: float
    vector_part: float
    rrf_raw: float
    fusion_score: float
    fusion_rank: int
    look_lexical: float | None = None
    look_vector: float | None = None
    look: float | None = None
    look_rank: int | None = None
    rank: int = 0
    kept_place: bool = False
    """It stands where it does because a place was kept for its script."""

    @property
    def score(self) -> float:
        return self.fusion_score if self.look is None else self.look


def fuse(evidence: Sequence[Evidence], settings: FusionSettings) -> list[Fused]:
    """Order the candidates, best first."""
    fused = _by_rank(evidence, settings)
    if settings.second_look:
        fused = _looked_at(fused, settings)
    return _with_places(fused)


def refuse(
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


def _by_rank(evidence: Sequence[Evidence], settings: FusionSettings) -> list[Fused]:
    best = (settings.lexical_weight + settings.vector_weight) / (settings.rrf_k + 1)
    found = []
    for one in evidence:
        lexical = _part(settings.lexical_weight, settings.rrf_k, one.lexical_rank)
        vector = _part(settings.vector_weight, settings.rrf_k, one.vector_rank)
        raw = lexical + vector
        found.append(Fused(one, lexical, vector, raw, raw / best if best else 0.0, 0))
    found.sort(key=lambda one: (-one.rrf_raw, *_tie(one)))
    return [replace(one, fusion_rank=rank, rank=rank) for rank, one in enumerate(found, 1)]


def _part(weight: float, rrf_k: int, rank: int | None) -> float:
    return 0.0 if rank is None else weight / (rrf_k + rank)


def _looked_at(fused: list[Fused], settings: FusionSettings) -> list[Fused]:
    head, tail = fused[: settings.look_depth], fused[settings.look_depth :]
    strongest = max((one.evidence.strength or 0.0 for one in fused), default=0.0)
    seen = [_look(one, settings.look_lexical, strongest) for one in head]
    seen.sort(key=lambda one: (-one.score, *_tie(one)))
    ordered = [replace(one, look_rank=rank) for rank, one in enumerate(seen, 1)] + tail
    return [replace(one, rank=rank) for rank, one in enumerate(ordered, 1)]


def _look(one: Fused, share: float, strongest: float) -> Fused:
    cosine = max(one.evidence.cosine or 0.0, 0.0)
    words = (one.evidence.strength or 0.0) / strongest if strongest > 0 else 0.0
    lexical, vector = share * words, (1 - share) * cosine
    if one.evidence.other_script and lexical + vector < OTHER_SCRIPT_SHARE * cosine:
        lexical, vector = 0.0, OTHER_SCRIPT_SHARE * cosine
    return replace(one, look_lexical=lexical, look_vector=vector, look=lexical + vector)


def _with_places(fused: list[Fused]) -> list[Fused]:
    """Let the other script have one place in three, from the fourth on, while it is near enough."""
    waiting = [one for one in fused if _deserves_a_place(one)]
    if not waiting:
        return fused
    placed: list[Fused] = []
    given: set[ChunkRow] = set()
    since = 0
    for one in fused:
        if one.evidence.row in given:
            continue
        if since >= PLACE_EVERY - 1 and len(placed) >= PLACE_EVERY and not one.evidence.other_script:
            waiting = [other for other in waiting if other.evidence.row not in given]
            if waiting:
                placed.append(replace(waiting[0], kept_place=True))
                given.add(waiting[0].evidence.row)
                since = 0
        placed.append(one)
        given.add(one.evidence.row)
        since = 0 if one.evidence.other_script else since + 1
    return [replace(one, rank=rank) for rank, one in enumerate(placed, 1)]


def _deserves_a_place(one: Fused) -> bool:
    return one.evidence.other_script and (one.evidence.cosine or 0.0) >= NEAR_ENOUGH


def _tie(one: Fused) -> tuple[int, int]:
    return (one.evidence.lexical_rank or _LAST, one.evidence.row)
