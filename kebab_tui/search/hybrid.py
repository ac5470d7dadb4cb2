"""Hybrid search: one list from the keyword and the semantic leg, and from the names of notes.

The list begins with the fused pool. Each leg always goes equally deep, so that the order
does not depend on the page. Behind the pool come the remaining keyword matches, by bm25.
Pages are cut from this one order. Both legs use the same filters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kebab_tui.domain.hit import Notice, RetrievalDetail, ScoreKind
from kebab_tui.domain.ids import ChunkRow, DocId
from kebab_tui.search import lexical, match_tree, name_leg
from kebab_tui.search.answer import Answer, EncodedQuery, Ranked, Search
from kebab_tui.search.bm25 import normalised
from kebab_tui.search.lexical import LexicalLeg
from kebab_tui.search.limits import HybridOptions
from kebab_tui.search.name_leg import NameEvidence
from kebab_tui.search.ports import Among
from kebab_tui.search.ranking import (
    ONE_WORD_KEYWORD,
    SIMILAR_NAME,
    Evidence,
    Fused,
    FusionSettings,
    fuse,
    rrf_part,
)
from kebab_tui.search.semantic import Legs, NearestSearch, script_of

DEPTH = 300
"""Candidates of each leg, whatever the page."""


def find(search: Search, encoded: EncodedQuery, options: HybridOptions) -> Answer:
    """The page `query.offset .. query.offset + query.k` of the list."""
    query, limits, watch = search.query, search.limits, search.watch
    searching = begin(search, encoded)
    with watch.stage("words") as stage:
        lexical_query = lexical.prepare(search)
    if searching is None:
        with watch.stage("meaning"):
            among = lexical.admitted(search, lexical_query)
            searching = NearestSearch(search, encoded, among, DEPTH)
    with watch.stage("words") as stage:
        words = lexical.leg(search, DEPTH, lexical_query)
        stage.kept = len(words.found)
    settings = options.fusion(encoded.text, query)
    if words.found and match_tree.is_one_word(search.parsed):
        settings = replace(settings, rerank_keyword=ONE_WORD_KEYWORD)
    named: dict[DocId, NameEvidence] = {}
    if settings.rerank:
        with watch.stage("names") as stage:
            named = name_leg.find(search, words.phrases)
            stage.kept = len(named)
    with watch.stage("meaning") as stage:
        legs = searching.legs()
        # Some vector is near even to nonsense. If nothing else is found, the distant hits are kept.
        floor = encoded.semantics.floor
        near = Legs(*([one for one in leg if one.cosine >= floor] for leg in (legs.own, legs.other)))
        is_found = words.found or near.own or near.other or any(map(is_candidate, named.values()))
        is_distant = not is_found and bool(legs.own or legs.other)
        near = legs if is_distant else near
        stage.kept = len(near.own) + len(near.other)
    with watch.stage("fusion") as stage:
        found = gather(search, encoded, words, near, named, with_ids=not settings.rerank)
        fused = fuse(found, settings)
        kept = fused
        if limits.cut:
            kept = [one for one in fused if limits.admit_raw(one.rrf_raw) and limits.admit(one.score)]
        stage.kept = len(kept)
    first, end = query.offset, query.offset + query.k
    page = []
    for rank, one in enumerate(kept[first:end], first + 1):
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
        kind: ScoreKind = "name" if one.named else "look" if settings.rerank else "rrf"
        relaxed = evidence.relaxed and not one.named
        page.append(
            Ranked(
                evidence.row, rank, one.score, kind, detail, words.phrases, relaxed,
                fused=one, distant=is_distant,
            )
        )  # fmt: skip
    total = len(kept)
    dropped = len(fused) - len(kept)
    if search.snapshot.remote and words.further:
        _expect_page(search, words, fused, [one.row for one in page], end - len(kept))
    if words.further:
        with watch.stage("further") as stage:
            more, count, without_limits = _further(search, words, fused, end - len(kept), settings)
            page += [replace(one, rank=len(kept) + one.rank) for one in more if len(kept) + one.rank > first]
            total = stage.kept = len(kept) + count
            dropped += without_limits - count
    notices = lexical.below_limits(total, total + dropped)
    if is_distant:
        text = "No passage has these words or a similar meaning: these are the nearest."
        notices = (Notice("distant", text), *notices)
    return Answer(
        mode="hybrid",
        page=tuple(page),
        total=total,
        notices=notices,
        encoded=encoded,
        fused=tuple(fused),
        fusion=settings,
    )


def begin(search: Search, encoded: EncodedQuery) -> NearestSearch | None:
    """Search the vectors, unless the words decide which of them."""
    if search.query.strict or match_tree.exclusions(search.parsed.terms):
        return None
    with search.watch.stage("meaning"):
        return NearestSearch(search, encoded, Among(search.filters), DEPTH)


def _expect_page(
    search: Search, words: LexicalLeg, pool: Sequence[Fused], page: Sequence[ChunkRow], missing: int
) -> None:
    """Ask for the passages of the page, and for the matches behind the pool, in one trip."""
    from kebab_tui.search import forecast  # a search on this machine needs none

    tiers = [tier.wanted for tier in words.further]
    out = [one.evidence.row for one in pool]
    if missing > 0:
        rankings = forecast.of_rankings(tiers, missing + len(out), search.filters)
        search.snapshot.expect(rankings, later=True)
    search.snapshot.expect(forecast.of_page(page, tiers, out, search.filters, search.limits))


def gather(
    search: Search,
    encoded: EncodedQuery,
    words: LexicalLeg,
    near: Legs,
    named: Mapping[DocId, NameEvidence],
    *,
    with_ids: bool,
) -> list[Evidence]:
    """The evidence of every candidate; those outside the semantic leg get their cosine too.

    Of a note that only its name finds, the first chunk is a candidate.
    """
    by_words = {scored.row: (rank, -scored.bm25) for rank, scored in enumerate(words.found, 1)}
    by_meaning = {
        one.row: (rank, one.cosine) for leg in (near.own, near.other) for rank, one in enumerate(leg, 1)
    }
    notes = search.snapshot.chunks_of(list(named)) if named else {}
    by_name = {row: named[doc] for row, doc in notes.items()}
    known = {notes[row] for row in by_name if row in by_words or row in by_meaning}
    only_names = [one.row for doc, one in named.items() if doc not in known and is_candidate(one)]
    if search.query.strict:
        only_names = []
    without_cosine = [row for row in by_words if row not in by_meaning] + only_names
    only_meaning = [row for row in by_meaning if row not in by_words]
    cosines = encoded.semantics.index.cosines(encoded.vector, without_cosine)
    others = {one.row for one in near.other}
    if others:  # a corpus of one script has no "other" one
        others |= search.snapshot.which(without_cosine, Among(script=script_of(encoded.text, other=True)))
    ids = search.snapshot.chunk_ids(only_meaning) if with_ids else {}
    found = []
    for row, (rank, strength) in by_words.items():
        vector_rank, cosine = by_meaning.get(row) or (None, cosines.get(row))
        relaxed = row not in words.strict
        found.append(Evidence(row, rank, strength, vector_rank, cosine, row in others, relaxed))
    for row in only_meaning:
        vector_rank, cosine = by_meaning[row]
        found.append(Evidence(row, None, None, vector_rank, cosine, row in others, chunk_id=ids.get(row, "")))
    found += [Evidence(row, cosine=cosines.get(row), other_script=row in others) for row in only_names]
    for at, one in enumerate(found) if by_name else ():
        if (name := by_name.get(one.row)) is not None:
            found[at] = one._replace(name=name.match, exact_name=name.exact, partial_name=name.partial)
    return found


def is_candidate(named: NameEvidence) -> bool:
    """Whether the name alone makes the note a candidate."""
    return named.match >= SIMILAR_NAME


def _further(
    search: Search, words: LexicalLeg, pool: Sequence[Fused], wanted: int, settings: FusionSettings
) -> tuple[list[Ranked], int, int]:
    """The first `wanted` keyword matches behind the pool, their number within the limits, and without.

    Their keyword ranks continue those of the pool.
    """
    limits, depth = search.limits, len(words.found)
    leaving_out = [one.evidence.row for one in pool]
    found: list[Ranked] = []
    count = without_limits = 0
    for tier in words.further:
        more, size = lexical.listed(search, tier, wanted - count, leaving_out)
        for rank, one in enumerate(more, count + 1):
            score = normalised(one.bm25)
            raw = rrf_part(settings.lexical_weight, settings.rrf_k, depth + rank)
            detail = RetrievalDetail(
                method="hybrid",
                lexical_score=score,
                lexical_rank=depth + rank,
                fusion_score=raw / settings.best_raw,
                rrf_raw=raw,
            )
            phrases = tier.wanted.phrases
            found.append(Ranked(one.row, rank, score, "bm25", detail, phrases, tier.relaxed, further=True))
        count += size
        if limits.least_score is not None:
            without_limits += lexical.count(search, tier.wanted, leaving_out)
    without_limits = max(without_limits, count)
    if limits.last_rank is not None:
        count = min(count, max(0, limits.last_rank - depth))
    return found[:count], count, without_limits
