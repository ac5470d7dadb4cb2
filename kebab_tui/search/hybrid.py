"""Finding by words and by meaning at once, and making one list of both.

The list begins with the fused pool: each leg goes equally deep, always, so that its order
depends on no page. Behind the pool stand the further keyword matches, by bm25. Pages are
cut from this one order. Both legs pass the same filters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kebab_tui.domain.hit import Notice, RetrievalDetail, ScoreKind
from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.domain.text import is_hangul
from kebab_tui.search import lexical, match_tree, semantic
from kebab_tui.search.answer import Answer, EncodedQuery, Ranked, Stopwatch
from kebab_tui.search.lexical import LexicalLeg, Tier
from kebab_tui.search.limits import HybridOptions, Limits
from kebab_tui.search.ports import Scored, Snapshot
from kebab_tui.search.query_language import ParsedQuery
from kebab_tui.search.ranking import Evidence, Fused, FusionSettings, fuse, normalised, rrf_part
from kebab_tui.search.semantic import Legs, NearestSearch, Scripts, among
from kebab_tui.search.words import Phrase

DEPTH = 300
"""Candidates of each leg, whatever page is asked for."""


def find(
    snapshot: Snapshot,
    asked: EncodedQuery,
    parsed: ParsedQuery,
    query: SearchQuery,
    filters: SearchFilters,
    options: HybridOptions,
    limits: Limits,
    scripts: Scripts,
    watch: Stopwatch,
) -> Answer:
    """The page `query.offset .. query.offset + query.k` of the list."""
    searching = None
    if not match_tree.rules_out(parsed, query.strict):
        with watch.stage("meaning"):
            searching = NearestSearch(asked, semantic.scopes(snapshot, asked, filters, scripts, None), DEPTH)
    with watch.stage("words") as stage:
        words = lexical.leg(snapshot, parsed, query, filters, DEPTH)
        stage.kept = len(words.found)
    with watch.stage("meaning") as stage:
        if searching is None:
            admitted = lexical.admission(snapshot, words.question, query.strict)
            searching = NearestSearch(
                asked, semantic.scopes(snapshot, asked, filters, scripts, admitted), DEPTH
            )
        near, notices = _near_enough(searching.legs(snapshot), asked, nothing_else=not words.found)
        stage.kept = len(near.own) + len(near.other)
    settings = options.fusion(asked.text, query)
    with watch.stage("fusion") as stage:
        with_ids = not settings.rerank
        evidence = gather(snapshot, asked, words, near, filters, scripts, with_ids=with_ids)
        fused = fuse(evidence, settings)
        kept = [one for one in fused if is_above(one, limits)] if limits.cut else fused
        stage.kept = len(kept)
    first, end = query.offset, query.offset + query.k
    page = [
        _ranked(rank, one, words.phrases, settings) for rank, one in enumerate(kept[first:end], first + 1)
    ]
    total = len(kept)
    dropped = len(fused) - len(kept)
    if words.further:
        with watch.stage("further") as stage:
            more, count, all_there_are = _further(
                snapshot, words, fused, filters, limits, end - len(kept), settings
            )
            page += [replace(one, rank=len(kept) + one.rank) for one in more if len(kept) + one.rank > first]
            total = stage.kept = len(kept) + count
            dropped += all_there_are - count
    return Answer(
        mode="hybrid",
        page=tuple(page),
        total=total,
        notices=(*notices, *lexical.below_limits(total, total + dropped)),
        asked=asked,
        fused=tuple(fused),
        fusion=settings,
    )


def _further(
    snapshot: Snapshot,
    words: LexicalLeg,
    pool: Sequence[Fused],
    filters: SearchFilters,
    limits: Limits,
    wanted: int,
    settings: FusionSettings,
) -> tuple[list[Ranked], int, int]:
    """The first `wanted` keyword matches behind the pool, how many reach the limits, how many there are.

    Their keyword ranks go on where those of the pool end.
    """
    leaving_out = [one.evidence.row for one in pool]
    depth = len(words.found)
    found: list[Ranked] = []
    count = without_limits = 0
    for tier in words.further:
        more, size = lexical.listed(snapshot, tier, filters, wanted - count, limits, leaving_out)
        found += [_behind(tier, one, rank, depth, settings) for rank, one in enumerate(more, count + 1)]
        count += size
        if limits.least_score is not None:
            without_limits += lexical.count(snapshot, tier.wanted, filters, Limits(), leaving_out)
    without_limits = max(without_limits, count)
    if limits.last_rank is not None:
        count = min(count, max(0, limits.last_rank - depth))
    return found[:count], count, without_limits


def _behind(tier: Tier, scored: Scored, rank: int, depth: int, settings: FusionSettings) -> Ranked:
    score, place = normalised(scored.bm25), depth + rank
    raw = rrf_part(settings.lexical_weight, settings.rrf_k, place)
    detail = RetrievalDetail(
        "hybrid", lexical_score=score, lexical_rank=place, fusion_score=raw / settings.best_raw, rrf_raw=raw
    )
    return Ranked(
        scored.row, rank, score, "bm25", detail, tier.wanted.phrases, relaxed=tier.relaxed, further=True
    )


def gather(
    snapshot: Snapshot,
    asked: EncodedQuery,
    words: LexicalLeg,
    near: Legs,
    filters: SearchFilters,
    scripts: Scripts,
    *,
    with_ids: bool,
) -> list[Evidence]:
    """What the legs say of every candidate; who was not among the nearest gets its cosine too."""
    by_words = {scored.row: (rank, -scored.bm25) for rank, scored in enumerate(words.found, 1)}
    by_meaning = {
        one.row: (rank, one.cosine) for leg in (near.own, near.other) for rank, one in enumerate(leg, 1)
    }
    unseen = [row for row in by_words if row not in by_meaning]
    unheard = [row for row in by_meaning if row not in by_words]
    cosines = asked.semantics.index.cosines(asked.vector, unseen)
    others = {one.row for one in near.other}
    if others:  # nothing is "other" where the notes know only one script
        hangul, rest = scripts.of(snapshot, filters)
        others |= among(unseen, rest if is_hangul(asked.text) else hangul)
    ids = snapshot.chunk_ids(unheard) if with_ids else {}
    found = []
    for row, (rank, strength) in by_words.items():
        vector_rank, cosine = by_meaning.get(row) or (None, cosines.get(row))
        relaxed = row not in words.strict
        found.append(Evidence(row, rank, strength, vector_rank, cosine, row in others, relaxed))
    for row in unheard:
        vector_rank, cosine = by_meaning[row]
        found.append(Evidence(row, None, None, vector_rank, cosine, row in others, chunk_id=ids.get(row, "")))
    return found


def _near_enough(near: Legs, asked: EncodedQuery, *, nothing_else: bool) -> tuple[Legs, tuple[Notice, ...]]:
    """Without what is too far away. A vector is always near some other, so nonsense would find something.

    Where nothing else is found, what is far away is better than nothing.
    """
    floor = asked.semantics.floor
    close = Legs(*([one for one in leg if one.cosine >= floor] for leg in (near.own, near.other)))
    if not nothing_else or close.own or close.other or not (near.own or near.other):
        return close, ()
    return near, (Notice("distant", "Nothing has these words or is near in meaning: these are the nearest."),)


def is_above(one: Fused, limits: Limits) -> bool:
    """Whether it reaches both limits: the threshold is on the raw RRF, the least score on the score shown."""
    return limits.admit_raw(one.rrf_raw) and limits.admit(one.score)


def _ranked(rank: int, one: Fused, phrases: tuple[Phrase, ...], settings: FusionSettings) -> Ranked:
    evidence = one.evidence
    detail = RetrievalDetail(
        method="hybrid",
        lexical_score=None if evidence.strength is None else normalised(-evidence.strength),
        lexical_rank=evidence.lexical_rank,
        vector_score=None if evidence.vector_rank is None else max(evidence.cosine or 0.0, 0.0),
        vector_rank=evidence.vector_rank,
        fusion_score=one.fusion_score,
        fusion_rank=one.fusion_rank,
        rrf_raw=one.rrf_raw,
        rerank_score=one.rerank_score,
    )
    kind: ScoreKind = "look" if settings.rerank else "rrf"
    return Ranked(evidence.row, rank, one.score, kind, detail, phrases, evidence.relaxed, fused=one)
