"""Finding by words: chunks with all of them first, then chunks with any.

The list is made of tiers. Each is ranked by bm25, ties by chunk id, and leaves out the
chunks of the tiers above it, whatever their scores. Pages are cut from this one order,
so they fit together while the corpus stands still.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from typing import NamedTuple

from kebab_tui.domain.hit import Notice, RetrievalDetail
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.search import match_tree
from kebab_tui.search.answer import Answer, Ranked, Stopwatch
from kebab_tui.search.limits import Limits
from kebab_tui.search.match_tree import Expression
from kebab_tui.search.ports import Scored, Snapshot
from kebab_tui.search.query_language import ParsedQuery
from kebab_tui.search.ranking import normalised
from kebab_tui.search.words import Phrase

FIRST_ANSWER = 1_000
"""How many of the newest matches a first answer scores: a fraction of a frame's time."""
Rows = Sequence[ChunkRow]

_UNFINISHED = 48
_COMMON = 16
_EMPTY = Answer("lexical")


class Tier(NamedTuple):
    """One part of the list. `relaxed`: its chunks need not have all the words."""

    name: str
    wanted: Expression
    relaxed: bool = False


class LexicalQuery(NamedTuple):
    """What FTS5 is asked.

    `strict`: all the words. `begun`: all of them, where the last one may go on, which is asked only
    if the last word also stands in the index as it is. `relaxed`: any of the words.
    """

    strict: Expression | None
    begun: Expression | None = None
    relaxed: Expression | None = None

    @property
    def tiers(self) -> tuple[Tier, ...]:
        """Best first; none holds a chunk of one above it."""
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
    """The words' part of a hybrid search: the best chunks with any of them, and which have all.

    `further`: where the matches behind these chunks are.
    """

    question: LexicalQuery
    found: Sequence[Scored] = ()
    strict: Set[ChunkRow] = frozenset()
    phrases: tuple[Phrase, ...] = ()
    further: tuple[Tier, ...] = ()


def find(
    snapshot: Snapshot,
    parsed: ParsedQuery,
    query: SearchQuery,
    filters: SearchFilters,
    limits: Limits,
    watch: Stopwatch,
    *,
    first_answer: bool = False,
) -> Answer:
    """The page `query.offset .. query.offset + query.k` of the ranking."""
    if parsed.raw is not None:
        return _answer(snapshot, [Tier("raw", Expression(parsed.raw, ()))], filters, query, limits, watch)
    tiers = ask(snapshot, parsed, query, first_answer).tiers
    if first_answer:
        return _quick(snapshot, tiers, filters, query, limits, watch)
    return _answer(snapshot, tiers, filters, query, limits, watch)


def leg(
    snapshot: Snapshot, parsed: ParsedQuery, query: SearchQuery, filters: SearchFilters, depth: int
) -> LexicalLeg:
    """Any-word ranking: measured to fuse better than all words first."""
    question = ask(snapshot, parsed, query)
    strict, loose = question.strict, question.relaxed or question.strict
    if strict is None or loose is None:
        return LexicalLeg(question)
    found = _rank(snapshot, loose, filters, depth)
    rows = [scored.row for scored in found]
    one_question = loose.match == strict.match
    matching = set(rows)
    if not one_question:
        matching = snapshot.matching(strict.match, rows, without=strict.excluded)
    further = [tier for tier in question.tiers if tier.name == "unfinished word"]
    if len(found) == depth:
        # The tier of the unfinished word lacks the chunks with all the words: they come in this one.
        above = (f"({tier.wanted.match}) NOT ({strict.match})" for tier in further)
        rest = loose._replace(excluded=(*loose.excluded, *above))
        further.append(Tier("any word", rest, relaxed=not one_question))
    return LexicalLeg(question, found, matching, loose.phrases, tuple(further))


def admission(snapshot: Snapshot, question: LexicalQuery, only_strict: bool) -> Callable[[Rows], Rows]:
    """Keeps of some rows those that the query's words do not rule out, by whatever else they are found."""
    strict = question.strict
    if strict is not None and only_strict:
        wanted = snapshot.matching(strict.match, without=strict.excluded)
        return lambda rows: [row for row in rows if row in wanted]
    if strict is not None and strict.excluded:
        unwanted = snapshot.matching(" OR ".join(f"({match})" for match in strict.excluded))
        return lambda rows: [row for row in rows if row not in unwanted]
    return lambda rows: rows


def ask(
    snapshot: Snapshot, parsed: ParsedQuery, query: SearchQuery, first_answer: bool = False
) -> LexicalQuery:
    """Put a query into FTS5's words; unfinished ones are completed from the corpus's own."""
    starred = {word: snapshot.unfinished(word, _UNFINISHED) for word in match_tree.starred_words(parsed)}
    prefix = match_tree.unfinished_word(parsed) if query.typing else None
    unfinished = instead = None
    if prefix is not None and first_answer:
        instead = snapshot.common_words(prefix, _COMMON) or None
    if prefix is not None and instead is None:
        unfinished = snapshot.unfinished(prefix, _UNFINISHED)
    strict = begun = match_tree.strict(parsed, unfinished=unfinished, instead=instead, starred=starred)
    finished = match_tree.open_end(parsed) if prefix is not None else None
    if finished is not None and snapshot.has(finished):
        unfinished = instead = None
        strict = match_tree.strict(parsed, starred=starred)
    else:
        begun = None
    common = snapshot.commonplace(match_tree.wanted_words(parsed))
    loose = match_tree.relaxed(parsed, unfinished=unfinished, instead=instead, starred=starred, common=common)
    return LexicalQuery(strict, begun, None if query.strict else loose)


def _answer(
    snapshot: Snapshot,
    tiers: Sequence[Tier],
    filters: SearchFilters,
    query: SearchQuery,
    limits: Limits,
    watch: Stopwatch,
) -> Answer:
    ranked: list[Ranked] = []
    total = 0
    for tier in tiers:
        with watch.stage(tier.name) as stage:
            left = query.offset + query.k - total
            found, size = listed(snapshot, tier, filters, left, limits)
            ranked += _numbered(tier, found, total)
            total = stage.kept = total + size
    kept = total if limits.last_rank is None else min(total, limits.last_rank)
    page = tuple(one for one in ranked if query.offset < one.rank <= kept)
    below = _below(snapshot, tiers, filters, limits, kept)
    return replace(_EMPTY, page=page, total=kept, notices=below)


def listed(
    snapshot: Snapshot,
    tier: Tier,
    filters: SearchFilters,
    wanted: int,
    limits: Limits,
    leaving_out: Rows = (),
) -> tuple[list[Scored], int]:
    """The first `wanted` chunks of a tier that reach the least score, and how many there are."""
    found: list[Scored] = []
    if wanted > 0:
        ranked = _rank(snapshot, tier.wanted, filters, wanted, leaving_out=leaving_out)
        found = [one for one in ranked if limits.admit(normalised(one.bm25))]
        if len(found) < wanted:
            return found, len(found)
    return found, count(snapshot, tier.wanted, filters, limits, leaving_out)


def _quick(
    snapshot: Snapshot,
    tiers: Sequence[Tier],
    filters: SearchFilters,
    query: SearchQuery,
    limits: Limits,
    watch: Stopwatch,
) -> Answer:
    """A first answer from the newest matches; the full ranking replaces it."""
    ranked: list[Ranked] = []
    for tier in tiers:
        left = query.offset + query.k - len(ranked)
        if left > 0 and not tier.relaxed:
            with watch.stage("newest") as stage:
                found = _rank(snapshot, tier.wanted, filters, left, newest=FIRST_ANSWER)
                found = [one for one in found if limits.admit(normalised(one.bm25))]
                ranked += _numbered(tier, found, len(ranked))
                stage.kept = len(ranked)
    kept = [one for one in ranked if limits.admit_rank(one.rank)]
    return replace(_EMPTY, page=tuple(kept[query.offset :]), total=len(kept), complete=False)


def _numbered(tier: Tier, found: Sequence[Scored], after: int) -> list[Ranked]:
    return [_place(tier, scored, rank) for rank, scored in enumerate(found, after + 1)]


def _place(tier: Tier, scored: Scored, rank: int) -> Ranked:
    score = normalised(scored.bm25)
    detail = RetrievalDetail("lexical", lexical_score=score, lexical_rank=rank, fusion_score=score)
    return Ranked(scored.row, rank, score, "bm25", detail, tier.wanted.phrases, relaxed=tier.relaxed)


def _rank(
    snapshot: Snapshot,
    wanted: Expression,
    filters: SearchFilters,
    limit: int,
    *,
    leaving_out: Rows = (),
    newest: int | None = None,
) -> list[Scored]:
    return snapshot.rank(
        wanted.match, filters, limit, without=wanted.excluded, scored=wanted.scored,
        leaving_out=leaving_out, newest=newest,
    )  # fmt: skip


def count(
    snapshot: Snapshot,
    wanted: Expression,
    filters: SearchFilters,
    limits: Limits,
    leaving_out: Rows = (),
) -> int:
    """How many chunks reach the least score."""
    return snapshot.count(
        wanted.match, filters, without=wanted.excluded, scored=wanted.scored,
        leaving_out=leaving_out, worst=limits.worst_bm25,
    )  # fmt: skip


def _below(
    snapshot: Snapshot, tiers: Sequence[Tier], filters: SearchFilters, limits: Limits, kept: int
) -> tuple[Notice, ...]:
    """Say how many hits the limits leave out."""
    if not limits.cut:
        return ()
    total = sum(count(snapshot, tier.wanted, filters, Limits()) for tier in tiers)
    return below_limits(kept, total)


def below_limits(kept: int, total: int) -> tuple[Notice, ...]:
    if kept == total:
        return ()
    return (Notice("below_score", f"{total - kept} of {total} hits are below the score asked for."),)
