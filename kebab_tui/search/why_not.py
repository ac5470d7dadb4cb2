"""Why a note is not among the hits: the first stage that keeps it out, with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, time
from typing import Literal

from kebab_tui.domain.document import Document, Trust
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.search import lexical
from kebab_tui.search.answer import Answer, Ranked
from kebab_tui.search.limits import Limits
from kebab_tui.search.match_tree import Expression, excluded_alone
from kebab_tui.search.ports import Scored, Snapshot
from kebab_tui.search.query_language import ParsedQuery
from kebab_tui.search.ranking import normalised

WhyNotStage = Literal["not indexed", "filtered", "no match", "below score", "ranked", "listed"]

_FILTER_NAMES = {
    "tags_any": "tag", "tags_all": "tag", "tags_none": "-tag", "types": "type", "kinds": "kind",
    "langs": "lang", "sources": "in", "paths": "path", "paths_none": "-path", "trust_min": "trust",
    "after_ns": "after", "before_ns": "before", "doc_ids": "doc", "titles": "title", "headings": "heading",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class WhyNot:
    """`below score`: it matches, but not well enough for the limits that were asked for.
    `ranked`: it stands on another page. `listed`: it is there after all.
    """

    path: str
    stage: WhyNotStage
    detail: str
    advice: str = ""
    rank: int | None = None
    score: float | None = None


def judge(
    snapshot: Snapshot,
    parsed: ParsedQuery,
    query: SearchQuery,
    limits: Limits,
    filters: SearchFilters,
    document: Document,
) -> WhyNot:
    """Take a note through every stage that could have dropped it."""
    rows = snapshot.chunk_rows(document.doc_id)
    dropped = _dropping_filters(snapshot, rows, filters)
    if dropped:
        return WhyNot(
            document.path, "filtered", f"left out by {', '.join(dropped)}", "drop the filter to see it"
        )
    if parsed.raw is not None:
        found = _placed(snapshot, Expression(parsed.raw, ()), query, limits, filters, document, 0)
        return found or _unmatched(document)
    question = lexical.ask(snapshot, parsed, query)
    if question.strict is None:
        without = excluded_alone(parsed)
        why = "it has what the query rules out" if without else "the query has no word to look for"
        return WhyNot(document.path, "no match", why)
    missing = _missing(snapshot, question.strict, document)
    above = 0
    for tier in question.tiers:
        found = _placed(snapshot, tier.wanted, query, limits, filters, document, above)
        if found is not None:
            partly = f"; no passage has all the words{missing}" if tier.relaxed else ""
            return replace(found, detail=f"{found.detail}{partly}")
        above += lexical.count(snapshot, tier.wanted, filters, limits)
    return _unmatched(document, missing)


def _dropping_filters(snapshot: Snapshot, rows: list[ChunkRow], filters: SearchFilters) -> list[str]:
    single = list(single_filters(filters))
    alone = [name for name, one in single if not snapshot.passes(rows, one)]
    if alone or not filters.active or snapshot.passes(rows, filters):
        return alone
    return [f"{' and '.join(name for name, _ in single)} together"]


def single_filters(filters: SearchFilters) -> Iterator[tuple[str, SearchFilters]]:
    """Each filter by itself, with the words a user would know it by."""
    for field in fields(filters):
        value = getattr(filters, field.name)
        if value not in ((), None):
            alone = replace(SearchFilters(), **{field.name: value})
            spelled = _date(value) if field.name.endswith("_ns") else _spelled(value)
            yield f"{_FILTER_NAMES[field.name]}:{spelled}", alone


def _date(nanoseconds: int) -> str:
    moment = datetime.fromtimestamp(nanoseconds // 10**9, UTC).astimezone()
    return moment.date().isoformat() if moment.time() == time() else f"{moment:%Y-%m-%dT%H:%M}"


def _spelled(value: object) -> str:
    if isinstance(value, Trust):
        return value.label
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _placed(
    snapshot: Snapshot,
    wanted: Expression,
    query: SearchQuery,
    limits: Limits,
    filters: SearchFilters,
    document: Document,
    above: int,
) -> WhyNot | None:
    """Where the note's best passage stands, `above` others standing above the whole tier."""
    own = replace(filters, doc_ids=(document.doc_id,))
    best: list[Scored] = snapshot.rank(wanted.match, own, 1, without=wanted.excluded, scored=wanted.scored)
    if not best:
        return None
    score = normalised(best[0].bm25)
    if not limits.admit(score):
        return _below(document, score, f"its score {score:.4f} is below {query.min_score:g}")
    better = snapshot.better(wanted.match, filters, best[0], without=wanted.excluded, scored=wanted.scored)
    rank = above + better + 1
    if not limits.admit_rank(rank):
        why = f"its raw RRF 1/({limits.rrf_k}+{rank}) is below the threshold {query.threshold:g}"
        return _below(document, score, why)
    return _at(document, query, rank, score)


def _at(document: Document, query: SearchQuery, rank: int, score: float) -> WhyNot:
    listed = query.offset < rank <= query.offset + query.k
    return WhyNot(
        document.path,
        "listed" if listed else "ranked",
        f"it stands at place {rank}"
        + ("" if listed else f", the list shows {query.offset + 1}-{query.offset + query.k}"),
        "" if listed else f"ask for more: -n {rank}",
        rank,
        score,
    )


def _below(document: Document, score: float, detail: str) -> WhyNot:
    return WhyNot(document.path, "below score", detail, "lower the limit to see it", None, score)


def _missing(snapshot: Snapshot, strict: Expression, document: Document) -> str:
    own = SearchFilters(doc_ids=(document.doc_id,))
    absent = [phrase.label for phrase in strict.phrases if not snapshot.count(phrase.match, own)]
    return f" (missing from the note: {', '.join(dict.fromkeys(absent))})" if absent else ""


def _unmatched(document: Document, missing: str = "") -> WhyNot:
    return WhyNot(document.path, "no match", f"no passage matches{missing}", "use fewer or other words")


def in_list(
    snapshot: Snapshot,
    answer: Answer,
    query: SearchQuery,
    limits: Limits,
    document: Document,
    by_words: WhyNot,
) -> WhyNot:
    """Where a note stands in a list that is not ranked by words alone. `answer` is the whole list."""
    own = set(snapshot.chunk_rows(document.doc_id))
    mine = [ranked for ranked in answer.page if ranked.row in own]
    if not mine:
        return _no_candidate(answer, len(answer.fused) or len(answer.page), document, by_words)
    reaching = [ranked for ranked in answer.page if _limit(ranked, query, limits) is None]
    best = next((place for place, ranked in enumerate(reaching, 1) if ranked.row in own), None)
    if best is None:
        return _below(document, mine[0].score, _limit(mine[0], query, limits) or "")
    return _at(document, query, best, reaching[best - 1].score)


def _limit(ranked: Ranked, query: SearchQuery, limits: Limits) -> str | None:
    """Which of the limits that were asked for a hit does not reach."""
    if not limits.admit(ranked.score):
        return f"its score {ranked.score:.4f} is below {query.min_score:g}"
    raw = ranked.detail.rrf_raw
    if raw is not None and not limits.admit_raw(raw):
        return f"its raw RRF {raw:.4f} is below the threshold {query.threshold:g}"
    if raw is None and not limits.admit_rank(ranked.rank):
        return f"its raw RRF 1/({limits.rrf_k}+{ranked.rank}) is below the threshold {query.threshold:g}"
    return None


def _no_candidate(answer: Answer, candidates: int, document: Document, by_words: WhyNot) -> WhyNot:
    if answer.asked is None:
        return by_words
    what = "words and meaning" if answer.mode == "hybrid" else "meaning"
    detail = f"not among the {candidates} candidates of {what}; by words: {by_words.detail}"
    return WhyNot(document.path, "no match", detail, by_words.advice)
