"""Finding by words and by meaning at once, and making one list of both.

Both legs pass the same filters and go equally deep, deeper than any page, so that pages
cut from the one fused order fit together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from kebab_tui.domain.embedded import is_hangul
from kebab_tui.domain.hit import Notice, RetrievalDetail
from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.search import expression, lexical, meaning
from kebab_tui.search.answer import Answer, Asked, Ranked
from kebab_tui.search.bm25 import normalised
from kebab_tui.search.fusion import NEAR_ENOUGH, Evidence, Fused, fuse
from kebab_tui.search.hybrid_options import HybridOptions
from kebab_tui.search.lexical import Leg
from kebab_tui.search.meaning import Legs, Scripts, among
from kebab_tui.search.ports import Near, Snapshot
from kebab_tui.search.query_language import ParsedQuery
from kebab_tui.search.stopwatch import Stopwatch

_DEPTH = 100
"""Candidates of each leg. The same for every page, or a deeper page would be cut from another order."""


def find(
    snapshot: Snapshot,
    asked: Asked,
    parsed: ParsedQuery,
    query: SearchQuery,
    filters: SearchFilters,
    options: HybridOptions,
    scripts: Scripts,
    watch: Stopwatch,
) -> Answer:
    """The page `query.offset .. query.offset + query.k` of the fused order."""
    depth = _DEPTH if query.k <= _DEPTH else 3 * query.k
    with watch.stage("words") as stage:
        words = lexical.leg(snapshot, parsed, query, filters, depth)
        stage.kept = len(words.found)
    with watch.stage("meaning") as stage:
        narrowed = partial(lexical.admitted, snapshot, words.question, query.strict)
        admitted = narrowed if expression.rules_out(parsed, query.strict) else None
        near = meaning.legs(snapshot, asked, filters, depth, scripts, admitted)
        near = Legs(_near_enough(near.own), _near_enough(near.other))
        stage.kept = len(near.own) + len(near.other)
    settings = options.fusion(asked.text, query)
    with watch.stage("fusion") as stage:
        fused = fuse(gather(snapshot, asked, words, near, filters, scripts), settings)
        kept, dropped = _above(fused, query)
        stage.kept = len(kept)
    end = query.offset + query.k
    page = tuple(_ranked(rank, one) for rank, one in enumerate(kept[query.offset : end], query.offset + 1))
    return Answer(
        mode="hybrid",
        score_kind="look" if settings.second_look else "rrf",
        page=page,
        total=len(kept),
        phrases=words.phrases,
        relaxed_phrases=words.phrases,
        notices=dropped,
        asked=asked,
        fused=tuple(fused),
        fusion=settings,
    )


def gather(
    snapshot: Snapshot,
    asked: Asked,
    words: Leg,
    near: Legs,
    filters: SearchFilters,
    scripts: Scripts,
) -> list[Evidence]:
    """What the legs say of every candidate; who was not among the nearest gets its cosine too."""
    by_words = {scored.row: (rank, scored.bm25) for rank, scored in enumerate(words.found, 1)}
    by_meaning = {
        one.row: (rank, one.cosine) for leg in (near.own, near.other) for rank, one in enumerate(leg, 1)
    }
    unseen = [row for row in by_words if row not in by_meaning]
    cosines = asked.semantics.index.cosines(asked.vector, unseen)
    candidates = list(dict.fromkeys([*by_words, *by_meaning]))
    # Nothing is "other" where the notes know only one script.
    hangul, rest = scripts.of(snapshot, filters) if near.other else ((), ())
    others = among(candidates, rest if is_hangul(asked.text) else hangul)
    found = []
    for row in candidates:
        lexical_rank, raw = by_words.get(row, (None, None))
        vector_rank, cosine = by_meaning.get(row, (None, cosines.get(row)))
        found.append(
            Evidence(
                row=row,
                lexical_rank=lexical_rank,
                strength=None if raw is None else -raw,
                vector_rank=vector_rank,
                cosine=cosine,
                other_script=row in others,
                relaxed=row in by_words and row not in words.strict,
            )
        )
    return found


def _near_enough(near: Sequence[Near]) -> list[Near]:
    """A vector is always near some other: without a floor nonsense would find something too."""
    return [one for one in near if one.cosine >= NEAR_ENOUGH]


def is_above(one: Fused, query: SearchQuery) -> bool:
    """Whether it reaches both limits: the threshold is on the raw RRF, the least score on what is shown."""
    above_threshold = query.threshold is None or one.rrf_raw >= query.threshold
    return above_threshold and (query.min_score is None or one.score >= query.min_score)


def _above(fused: list[Fused], query: SearchQuery) -> tuple[list[Fused], tuple[Notice, ...]]:
    """Without what is below the asked scores, saying how many that were."""
    kept = [one for one in fused if is_above(one, query)]
    if len(kept) == len(fused):
        return kept, ()
    return kept, (
        Notice(
            "below_score", f"{len(fused) - len(kept)} of {len(fused)} hits are below the score asked for."
        ),
    )


def _ranked(rank: int, one: Fused) -> Ranked:
    evidence = one.evidence
    detail = RetrievalDetail(
        method="hybrid",
        lexical_score=None if evidence.strength is None else normalised(-evidence.strength),
        lexical_rank=evidence.lexical_rank,
        vector_score=None if evidence.cosine is None else max(evidence.cosine, 0.0),
        vector_rank=evidence.vector_rank,
        fusion_score=one.fusion_score,
        fusion_rank=one.fusion_rank,
        rrf_raw=one.rrf_raw,
        look=one.look,
    )
    return Ranked(evidence.row, rank, one.score, detail, evidence.relaxed, one)
