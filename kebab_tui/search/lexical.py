"""Keyword search: chunks with all the words first, then chunks with any of them.

Above them are the notes whose name is the whole query, with one chunk each. The list consists of
tiers. Each is ranked by bm25, ties by chunk id, and leaves out the chunks of the tiers above it,
whatever their scores. Pages are cut from this one order, so they fit together while the corpus
does not change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import NamedTuple

from kebab_tui.domain.hit import Notice, RetrievalDetail
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.query import SearchFilters
from kebab_tui.search import match_tree, name_leg
from kebab_tui.search.answer import Answer, Ranked, Search
from kebab_tui.search.bm25 import normalised
from kebab_tui.search.match import Not, Term, parse_raw
from kebab_tui.search.match_tree import Expression, SoughtWord
from kebab_tui.search.ports import Among, Scored

FIRST_ANSWER = 1_000
"""How many of the newest matches a first answer scores: a fraction of a frame's time."""
Rows = Sequence[ChunkRow]

_UNFINISHED = 48
COMMON = 16


class Tier(NamedTuple):
    """A part of the list. `relaxed`: its chunks need not have all the words."""

    name: str
    wanted: Expression
    relaxed: bool = False


class LexicalQuery(NamedTuple):
    """The expressions of a query.

    `strict`: all the words. `begun`: all of them, the last one as a prefix; only set if the last
    word is also indexed as it is. `relaxed`: any of the words.
    """

    strict: Expression | None
    begun: Expression | None = None
    relaxed: Expression | None = None

    @property
    def tiers(self) -> tuple[Tier, ...]:
        """Best first; no chunk is in two of them."""
        if self.strict is None:
            return ()
        tiers = [Tier("all words", self.strict)]
        if self.begun is not None:
            tiers.append(Tier("unfinished word", _except(self.begun, tiers)))
        if self.relaxed is not None and self.relaxed.match != self.strict.match:
            tiers.append(Tier("any word", _except(self.relaxed, tiers), relaxed=True))
        return tuple(tiers)


def _except(wanted: Expression, tiers: Sequence[Tier]) -> Expression:
    above = (tier.wanted.match for tier in tiers)
    return wanted._replace(excluded=tuple(dict.fromkeys((*wanted.excluded, *above))))


class LexicalLeg(NamedTuple):
    """The keyword part of a hybrid search: the best chunks with any of the words.

    `strict`: those that have all of them. `further`: the tiers of the matches behind `found`.
    """

    lexical_query: LexicalQuery
    found: Sequence[Scored] = ()
    strict: Set[ChunkRow] = frozenset()
    phrases: tuple[Term, ...] = ()
    further: tuple[Tier, ...] = ()


def find(search: Search, *, first_answer: bool = False) -> Answer:
    """The page `query.offset .. query.offset + query.k` of the ranking."""
    query, limits = search.query, search.limits
    tiers = _tiers(search, first_answer)
    if first_answer and search.parsed.raw is None:
        return _newest(search, tiers)
    if search.snapshot.remote:
        wanted = [tier.wanted for tier in tiers]
        _expect(search, wanted, query.offset + query.k + name_leg.MOST_EXACT, by_name=True)
    ranked = named = _named(search, tiers)
    rows, total = [one.row for one in named], len(named)
    if search.snapshot.remote:
        _expect_page(search, tiers, rows)
    for tier in tiers:
        with search.watch.stage(tier.name) as stage:
            found, size = listed(search, tier, query.offset + query.k - total, rows)
            ranked = ranked + _numbered(tier, found, total)
            total = stage.kept = total + size
    kept = total if limits.last_rank is None else min(total, limits.last_rank)
    page = tuple(ranked[query.offset : min(query.offset + query.k, kept)])
    without_limits = kept
    if limits.cut:
        without_limits = len(named) + sum(count(search, tier.wanted, rows) for tier in tiers)
    return Answer("lexical", page, kept, below_limits(kept, without_limits))


def count_by_source(search: Search) -> Mapping[str, int]:
    """The matches of the first tier that has any, by source; of a query of only filters, what passes."""
    for tier in _tiers(search):
        if found := search.snapshot.count_by_source(tier.wanted.among(search.filters)):
            return found
    is_list = search.parsed.is_only_filters and search.parsed.filters.active
    return search.snapshot.count_by_source(Among(search.filters)) if is_list else {}


def _tiers(search: Search, first_answer: bool = False) -> tuple[Tier, ...]:
    if search.parsed.raw is not None:
        return (Tier("raw", Expression(parse_raw(search.parsed.raw), ())),)
    return prepare(search, first_answer).tiers


def _named(search: Search, tiers: Sequence[Tier]) -> list[Ranked]:
    """The best chunk of each note whose name is the whole query, or its first one."""
    found: list[Ranked] = []
    if search.query.rerank is False:
        return found
    with search.watch.stage("names") as stage:
        for note in name_leg.exact(search):
            own = replace(search.filters, doc_ids=(note.doc,))
            rank, detail = len(found) + 1, RetrievalDetail("lexical", fusion_score=1.0)
            row, phrases = note.row, tiers[0].wanted.phrases if tiers else ()
            for tier in tiers:
                if best := search.snapshot.rank(tier.wanted.among(own), 1, scored=tier.wanted.scored):
                    row, phrases = best[0].row, tier.wanted.phrases
                    detail = replace(detail, lexical_score=normalised(best[0].bm25), lexical_rank=rank)
                    break
            if detail.lexical_rank is not None or not search.query.strict:
                found.append(Ranked(row, rank, 1.0, "name", detail, phrases))
        stage.kept = len(found)
    return found


def _newest(search: Search, tiers: Sequence[Tier]) -> Answer:
    """A first answer from the newest matches; the full ranking replaces it."""
    query, limits = search.query, search.limits
    if search.snapshot.remote:
        wanted = [tier.wanted for tier in tiers if not tier.relaxed]
        _expect(search, wanted, query.offset + query.k, by_name=True, newest=FIRST_ANSWER)
    ranked = _named(search, tiers)
    rows = [one.row for one in ranked]
    for tier in tiers:
        left = query.offset + query.k - len(ranked)
        if left > 0 and not tier.relaxed:
            with search.watch.stage("newest") as stage:
                found = _rank(search, tier.wanted, left, leaving_out=rows, newest=FIRST_ANSWER)
                found = [one for one in found if limits.admit(normalised(one.bm25))]
                ranked += _numbered(tier, found, len(ranked))
                stage.kept = len(ranked)
    kept = ranked[: limits.last_rank]
    return Answer("lexical", tuple(kept[query.offset : query.offset + query.k]), len(kept), complete=False)


def _numbered(tier: Tier, found: Sequence[Scored], after: int) -> list[Ranked]:
    numbered = []
    for rank, one in enumerate(found, after + 1):
        score = normalised(one.bm25)
        detail = RetrievalDetail("lexical", lexical_score=score, lexical_rank=rank, fusion_score=score)
        numbered.append(
            Ranked(one.row, rank, score, "bm25", detail, tier.wanted.phrases, relaxed=tier.relaxed)
        )
    return numbered


def leg(search: Search, depth: int, lexical_query: LexicalQuery) -> LexicalLeg:
    """OR ranking: measured to fuse better than AND first."""
    strict, loose = lexical_query.strict, lexical_query.relaxed or lexical_query.strict
    if strict is None or loose is None:
        return LexicalLeg(lexical_query)
    if search.snapshot.remote:
        _expect(search, [loose], depth, strict)
    found = _rank(search, loose, depth)
    rows = [scored.row for scored in found]
    is_strict = loose.match == strict.match
    matching = set(rows)
    if not is_strict:
        matching = search.snapshot.which(rows, strict.among(SearchFilters()))
    further = [tier for tier in lexical_query.tiers if tier.name == "unfinished word"]
    if len(found) == depth:
        # The tier of the unfinished word lacks the chunks with all the words: this tier has them.
        above = (Not(tier.wanted.match, strict.match) for tier in further)
        rest = loose._replace(excluded=(*loose.excluded, *above))
        further.append(Tier("any word", rest, relaxed=not is_strict))
    return LexicalLeg(lexical_query, found, matching, loose.phrases, tuple(further))


def _expect(
    search: Search,
    wanted: Sequence[Expression],
    limit: int,
    strict: Expression | None = None,
    *,
    by_name: bool = False,
    newest: int | None = None,
) -> None:
    from kebab_tui.search import forecast  # a search on this machine needs none

    # The names of a corrected query are asked in the same trip.
    is_known = by_name and search.query.rerank is not False and not search.corrections
    notes = name_leg.exact(search) if is_known else ()
    similar = None
    if strict is not None and search.query.rerank:
        similar = name_leg.similar_to(search, [term for one in wanted for term in one.phrases])
    rankings = forecast.of_rankings(wanted, limit, search.filters, strict, similar, newest, notes)
    search.snapshot.expect(rankings)


def _expect_page(search: Search, tiers: Sequence[Tier], named: Rows) -> None:
    """Ask for the passages of the page, and what there is to count, in one trip."""
    from kebab_tui.search import forecast  # as above

    first, end = search.query.offset, search.query.offset + search.query.k
    rows, counted = list(named), []
    for tier in tiers:
        found = _rank(search, tier.wanted, end - len(rows), leaving_out=named)
        if len(found) >= end - len(rows):
            counted.append(tier.wanted)
        rows += [one.row for one in found]
    search.snapshot.expect(forecast.of_page(rows[first:end], counted, named, search.filters, search.limits))


def admitted(search: Search, lexical_query: LexicalQuery) -> Among:
    """The chunks that filters and words do not rule out, though they need not have any of the words."""
    strict = lexical_query.strict
    if strict is None:
        return Among(search.filters)
    return Among(search.filters, None, strict.match if search.query.strict else None, strict.excluded)


def prepare(search: Search, first_answer: bool = False) -> LexicalQuery:
    """The expressions for a query; unfinished words are completed with indexed ones."""
    snapshot, parsed, query = search.snapshot, search.parsed, search.query
    starred = {word: snapshot.unfinished(word, _UNFINISHED) for word in match_tree.starred_words(parsed)}
    prefix = match_tree.unfinished_word(parsed) if query.typing else None
    unfinished = instead = None
    if prefix is not None and first_answer:
        instead = snapshot.common_words(prefix, COMMON) or None
    if prefix is not None and instead is None:
        unfinished = snapshot.unfinished(prefix, _UNFINISHED)
    begun = None
    finished = match_tree.open_end(parsed) if prefix is not None else None
    if finished is not None and snapshot.has(finished, shareable=search.filters.shareable):
        begun = match_tree.strict(parsed, unfinished=unfinished, instead=instead, starred=starred)
        unfinished = instead = None
    strict = match_tree.strict(parsed, unfinished=unfinished, instead=instead, starred=starred)
    common = snapshot.too_frequent(match_tree.wanted_words(parsed))
    loose = match_tree.relaxed(parsed, unfinished=unfinished, instead=instead, starred=starred, common=common)
    return LexicalQuery(strict, begun, None if query.strict else loose)


def sought_words(search: Search) -> tuple[SoughtWord, ...]:
    """The words and phrases of the query that count, for an explanation."""
    snapshot, parsed = search.snapshot, search.parsed
    starred = {word: snapshot.unfinished(word, _UNFINISHED) for word in match_tree.starred_words(parsed)}
    prefix = match_tree.unfinished_word(parsed) if search.query.typing else None
    unfinished = None if prefix is None else snapshot.unfinished(prefix, _UNFINISHED)
    common = snapshot.too_frequent(match_tree.wanted_words(parsed))
    return match_tree.sought(parsed, unfinished=unfinished, starred=starred, common=common)


def listed(search: Search, tier: Tier, wanted: int, leaving_out: Rows = ()) -> tuple[list[Scored], int]:
    """The first `wanted` chunks of a tier with the least score, and the number of all such chunks."""
    found: list[Scored] = []
    if wanted > 0:
        ranked = _rank(search, tier.wanted, wanted, leaving_out=leaving_out)
        found = [one for one in ranked if search.limits.admit(normalised(one.bm25))]
        if len(found) < wanted:
            return found, len(found)
    return found, count(search, tier.wanted, leaving_out, search.limits.worst_bm25)


def count(search: Search, wanted: Expression, leaving_out: Rows = (), worst: float | None = None) -> int:
    """How many chunks match; with `worst`, only those with at least as good a raw bm25."""
    among = wanted.among(search.filters)
    return search.snapshot.count(among, scored=wanted.scored, leaving_out=leaving_out, worst=worst)


def _rank(
    search: Search, wanted: Expression, limit: int, *, leaving_out: Rows = (), newest: int | None = None
) -> list[Scored]:
    return search.snapshot.rank(
        wanted.among(search.filters), limit, scored=wanted.scored, leaving_out=leaving_out, newest=newest
    )


def below_limits(kept: int, total: int) -> tuple[Notice, ...]:
    """A notice with the number of hits that the limits leave out, if there are any."""
    if kept == total:
        return ()
    return (Notice("below_score", f"{total - kept} of {total} hits are below the minimum score."),)
