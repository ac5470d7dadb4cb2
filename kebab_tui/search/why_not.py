"""Why a note or passage is not among the hits, or not higher: the first stage that drops it, with the reason.

What filters drop is counted here, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING, Literal

from kebab_tui.domain.document import Document, Trust
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.query import SearchFilters
from kebab_tui.search import lexical
from kebab_tui.search.answer import Answer, Ranked, Search
from kebab_tui.search.bm25 import normalised
from kebab_tui.search.match import parse_raw
from kebab_tui.search.match_tree import Expression, excluded_alone
from kebab_tui.search.ports import Among, Browsed, Forecast

if TYPE_CHECKING:
    from kebab_tui.search.explanation import ExplainedHit
    from kebab_tui.search.headline import HitComparison

WhyNotStage = Literal["not indexed", "filtered", "no match", "below score", "ranked", "listed"]

_FILTER_NAMES = {
    "types": "type", "kinds": "kind", "langs": "lang", "sources": "in", "paths": "path",
    "paths_none": "-path", "trust_min": "trust", "after_ns": "after", "before_ns": "before",
    "modified_after_ns": "modified", "modified_before_ns": "modified",
    "doc_ids": "doc", "titles": "title", "headings": "heading",
}  # fmt: skip
_NOT_SINGLE = (
    "facets", "links", "has", "within", "scope", "without", "shareable", "versions", "version_ids"
)  # fmt: skip
_OTHER_WORDS = "use fewer or other words"


@dataclass(frozen=True, slots=True)
class WhyNot:
    """`below score`: it matches, but below the limits of the query.
    `ranked`: it is on another page. `listed`: it is on this page.
    """

    path: str
    stage: WhyNotStage
    detail: str
    advice: str = ""
    rank: int | None = None
    score: float | None = None
    row: ChunkRow | None = None
    """The best passage of those that were judged, if it has a rank."""
    passage: ExplainedHit | None = None
    first: ExplainedHit | None = None
    """The first hit of the list."""
    comparison: HitComparison | None = None
    """Why the passage comes after the first hit; None of the first hit itself, and without scores."""


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
class Judged:
    """A note, or some of its passages. `what`: how messages call it."""

    document: Document
    rows: Sequence[ChunkRow]
    what: Literal["note", "passage"] = "note"


def judge(search: Search, judged: Judged) -> WhyNot:
    """Check a note against every stage of a keyword search that could drop it."""
    snapshot, document, rows = search.snapshot, judged.document, judged.rows
    path = document.path
    single = list(_single_filters(search.filters))
    dropping = [name for name, one in single if not snapshot.passes(rows, one)]
    if search.filters.shareable and not snapshot.passes(rows, SearchFilters(shareable=True)):
        return WhyNot(path, "filtered", "it is private, or not known not to be")
    scope = search.filters.scope
    if scope and not snapshot.passes(rows, SearchFilters(scope=scope)):
        names = ", ".join(one.source for one in scope)
        return WhyNot(path, "filtered", f"only {names} is searched", "search all sources to see it")
    if not dropping and search.filters.chosen and not snapshot.passes(rows, search.filters):
        dropping = [f"{' and '.join(name for name, _ in single)} together"]
    if dropping:
        return WhyNot(path, "filtered", f"left out by {', '.join(dropping)}", "drop the filter to see it")
    if search.parsed.raw is not None:
        found = _placed(search, Expression(parse_raw(search.parsed.raw), ()), judged, 0)
        return found or WhyNot(path, "no match", "no passage matches", _OTHER_WORDS)
    lexical_query = lexical.prepare(search)
    if lexical_query.strict is None:
        excluded = excluded_alone(search.parsed)
        why = "it contains an excluded word" if excluded else "the query has no word to search for"
        return WhyNot(path, "no match", why)
    phrases = lexical_query.strict.phrases
    absent = [phrase.label for phrase in phrases if not snapshot.which(rows, Among(match=phrase))]
    missing = f" (missing from the {judged.what}: {', '.join(dict.fromkeys(absent))})" if absent else ""
    above = 0
    for tier in lexical_query.tiers:
        found = _placed(search, tier.wanted, judged, above)
        if found is not None:
            partly = f"; no passage has all the words{missing}" if tier.relaxed else ""
            return replace(found, detail=f"{found.detail}{partly}")
        above += lexical.count(search, tier.wanted, worst=search.limits.worst_bm25)
    return WhyNot(path, "no match", f"no passage matches{missing}", _OTHER_WORDS)


def count_filtered(search: Search) -> Filtered | None:
    """The effect of all filters together and of each alone; None without filters.

    Private notes that are left out are not counted at all, nor notes of other versions.
    """
    if not search.filters.chosen:
        return None

    def own(filters: SearchFilters) -> SearchFilters:
        own = search.filters
        return replace(
            filters,
            within=own.within,
            scope=own.scope,
            without=own.without,
            shareable=own.shareable,
            version_ids=own.version_ids,
        )

    alone = [(name, own(one)) for name, one in _single_filters(search.filters)]
    every, together = own(SearchFilters()), own(search.filters)
    if search.snapshot.remote:
        counted = (every, *(one for _, one in alone), together)
        search.snapshot.expect(Forecast(browsed=tuple(Browsed(one, 0, 0) for one in counted)))

    def count(filters: SearchFilters) -> int:
        return search.snapshot.browse(filters, 0, 0)[1]

    notes = count(every)
    dropped = tuple((name, notes - count(one)) for name, one in alone)
    return Filtered(notes, count(together), dropped)


def _single_filters(filters: SearchFilters) -> Iterator[tuple[str, SearchFilters]]:
    """Each filter alone, with its text as a user would type it."""
    for one in filters.facets:
        yield str(one), SearchFilters((one,))
    for link in filters.links:
        yield str(link), SearchFilters(links=(link,))
    for has in filters.has:
        yield str(has), SearchFilters(has=(has,))
    for field in fields(filters):
        value = getattr(filters, field.name)
        if field.name in _NOT_SINGLE or value in ((), None):
            continue
        if field.name.endswith("_ns"):
            moment = datetime.fromtimestamp(value // 10**9, UTC).astimezone()
            text = moment.date().isoformat() if moment.time() == time() else f"{moment:%Y-%m-%dT%H:%M}"
        elif isinstance(value, Trust):
            text = value.label
        else:
            text = ",".join(map(str, value))
        yield f"{_FILTER_NAMES[field.name]}:{text}", replace(SearchFilters(), **{field.name: value})


def _placed(search: Search, wanted: Expression, judged: Judged, above: int) -> WhyNot | None:
    """The rank of the best judged chunk in a tier that has `above` chunks before it."""
    snapshot, limits, filters, document = search.snapshot, search.limits, search.filters, judged.document
    own = replace(filters, doc_ids=(document.doc_id,))
    most = 1 if judged.what == "note" else len(snapshot.chunk_rows(document.doc_id))
    ranked = snapshot.rank(wanted.among(own), most, scored=wanted.scored)
    best = [one for one in ranked if one.row in judged.rows]
    if not best:
        return None
    score = normalised(best[0].bm25)
    if not limits.admit(score):
        return _below(document, score, f"its score {score:.4f} is below {search.query.min_score:g}")
    better = snapshot.better(wanted.among(filters), best[0], scored=wanted.scored)
    rank = above + better + 1
    if not limits.admit_rank(rank):
        return _below(document, score, _rank_below_threshold(search, rank))
    return _at(search, document, rank, score, best[0].row)


def in_list(search: Search, answer: Answer, judged: Judged, by_words: WhyNot) -> WhyNot:
    """The rank of a note in `answer`, a whole list without limits; `by_words` is the keyword verdict."""
    document, own = judged.document, set(judged.rows)
    mine = [ranked for ranked in answer.page if ranked.row in own]
    if not mine:
        if answer.encoded is None:
            return by_words
        what = "words and meaning" if answer.mode == "hybrid" else "meaning"
        candidates = len(answer.fused) or len(answer.page)
        detail = f"not among the {candidates} candidates of {what}; by words: {by_words.detail}"
        return WhyNot(document.path, "no match", detail, by_words.advice)
    within = [ranked for ranked in answer.page if _limit_missed(search, ranked) is None]
    best = next((place for place, ranked in enumerate(within, 1) if ranked.row in own), None)
    if best is None:
        return _below(document, mine[0].score, _limit_missed(search, mine[0]) or "")
    return _at(search, document, best, within[best - 1].score, within[best - 1].row)


def _limit_missed(search: Search, ranked: Ranked) -> str | None:
    """The limit of the query that a hit misses."""
    query, limits = search.query, search.limits
    if not limits.admit(ranked.score):
        return f"its score {ranked.score:.4f} is below {query.min_score:g}"
    raw = ranked.detail.rrf_raw
    if raw is not None and not limits.admit_raw(raw):
        return f"its raw RRF {raw:.4f} is below the threshold {query.threshold:g}"
    if raw is None and not limits.admit_rank(ranked.rank):
        return _rank_below_threshold(search, ranked.rank)
    return None


def _rank_below_threshold(search: Search, rank: int) -> str:
    threshold = search.query.threshold
    return f"its raw RRF 1/({search.limits.rrf_k}+{rank}) is below the threshold {threshold:g}"


def _below(document: Document, score: float, detail: str) -> WhyNot:
    return WhyNot(document.path, "below score", detail, "lower the limit to see it", None, score)


def _at(search: Search, document: Document, rank: int, score: float, row: ChunkRow) -> WhyNot:
    first, last = search.query.offset + 1, search.query.offset + search.query.k
    if first <= rank <= last:
        return WhyNot(document.path, "listed", f"rank {rank}", "", rank, score, row)
    detail = f"rank {rank}, the list shows {first}-{last}"
    return WhyNot(document.path, "ranked", detail, f"ask for more: -n {rank}", rank, score, row)
