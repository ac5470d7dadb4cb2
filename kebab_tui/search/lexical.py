"""Finding by words: chunks with all of them first, then, to fill the page, with any.

Ranked by bm25, ties by row; relaxed hits stand below strict ones whatever their score.
Pages are cut from one fixed order, so they fit together while the corpus stands still.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kebab_tui.domain.hit import Notice, RetrievalDetail
from kebab_tui.domain.identity import ChunkRow
from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.search import expression
from kebab_tui.search.answer import Answer, Ranked
from kebab_tui.search.bm25 import normalised
from kebab_tui.search.expression import Expression
from kebab_tui.search.phrases import Phrase
from kebab_tui.search.ports import Scored, Snapshot
from kebab_tui.search.query_language import ParsedQuery
from kebab_tui.search.stopwatch import Stopwatch

FIRST_ANSWER = 1_000
"""How many of the newest matches a first answer scores: a fraction of a frame's time."""
Rows = Sequence[ChunkRow]

_UNFINISHED = 48
_COMMON = 16
_LAST_ROW = 2**62
_EMPTY = Answer("lexical", "bm25")


@dataclass(frozen=True, slots=True)
class Question:
    """What FTS5 is asked: all the words, and, unless only those will do, any of them."""

    strict: Expression | None
    relaxed: Expression | None


@dataclass(frozen=True, slots=True)
class Leg:
    """The words' part of a hybrid search: chunks with any of them, and which have all."""

    question: Question
    found: list[Scored] = field(default_factory=list)
    strict: set[ChunkRow] = field(default_factory=set)
    phrases: tuple[Phrase, ...] = ()


def find(
    snapshot: Snapshot,
    parsed: ParsedQuery,
    query: SearchQuery,
    filters: SearchFilters,
    watch: Stopwatch,
    *,
    first_answer: bool = False,
) -> Answer:
    """The page `query.offset .. query.offset + query.k` of the ranking."""
    if parsed.raw is not None:
        return _raw(snapshot, parsed.raw, filters, query, watch)
    question = ask(snapshot, parsed, query, first_answer)
    if question.strict is None:
        return _EMPTY
    if first_answer:
        return _quick(snapshot, question.strict, filters, query, watch)
    return _ranked(snapshot, question.strict, question.relaxed, filters, query, watch)


def leg(
    snapshot: Snapshot, parsed: ParsedQuery, query: SearchQuery, filters: SearchFilters, depth: int
) -> Leg:
    """Any-word ranking: measured to be the better half of a fusion than all-words-first."""
    question = ask(snapshot, parsed, query)
    strict, loose = question.strict, question.relaxed or question.strict
    if strict is None or loose is None:
        return Leg(question)
    found = _rank(snapshot, loose, filters, depth)
    rows = [scored.row for scored in found]
    if loose.match == strict.match:
        return Leg(question, found, set(rows), loose.phrases)
    matching = snapshot.matching(strict.match, rows, without=strict.excluded)
    return Leg(question, found, matching, loose.phrases)


def admitted(snapshot: Snapshot, question: Question, only_strict: bool, rows: Rows) -> Rows:
    """The rows that the query's words do not rule out, by whatever else they are found."""
    strict = question.strict
    if strict is None or not (only_strict or strict.excluded):
        return rows
    if only_strict:
        matching = snapshot.matching(strict.match, rows, without=strict.excluded)
        return [row for row in rows if row in matching]
    unwanted = snapshot.matching(" OR ".join(f"({match})" for match in strict.excluded), rows)
    return [row for row in rows if row not in unwanted]


def ask(snapshot: Snapshot, parsed: ParsedQuery, query: SearchQuery, first_answer: bool = False) -> Question:
    """Put a query into FTS5's words; unfinished ones are completed from the corpus's own."""
    starred = {word: snapshot.unfinished(word, _UNFINISHED) for word in expression.starred_words(parsed)}
    prefix = expression.unfinished_word(parsed) if query.typing else None
    unfinished = instead = None
    if prefix is not None and first_answer:
        instead = snapshot.common_words(prefix, _COMMON) or None
    if prefix is not None and instead is None:
        unfinished = snapshot.unfinished(prefix, _UNFINISHED)
    strict = expression.strict(parsed, unfinished=unfinished, instead=instead, starred=starred)
    common = snapshot.commonplace(expression.wanted_words(parsed))
    loose = expression.relaxed(parsed, unfinished=unfinished, instead=instead, starred=starred, common=common)
    return Question(strict, None if query.strict else loose)


def _ranked(
    snapshot: Snapshot,
    strict: Expression,
    loose: Expression | None,
    filters: SearchFilters,
    query: SearchQuery,
    watch: Stopwatch,
) -> Answer:
    wanted = query.offset + query.k
    with watch.stage("all words") as stage:
        found, total = _best(snapshot, strict, filters, query)
        stage.kept = total
    answer = replace(_EMPTY, total=total, phrases=strict.phrases)
    if loose is None or loose.match == strict.match or len(found) == wanted:
        answer = replace(answer, notices=_below(snapshot, strict, filters, query, total))
        return _page(answer, _numbered(found, 0), query)
    with watch.stage("any word") as stage:
        more, total = _fill(snapshot, loose, filters, query, found)
        stage.kept = total
    below = _below(snapshot, loose, filters, query, total)
    answer = replace(answer, total=total, relaxed_phrases=loose.phrases, notices=below)
    return _page(answer, _numbered(found, 0) + _numbered(more, len(found), relaxed=True), query)


def _best(
    snapshot: Snapshot, wanted: Expression, filters: SearchFilters, query: SearchQuery
) -> tuple[list[Scored], int]:
    """The beginning of a ranking, and how long it is; below the least score it ends."""
    limit = query.offset + query.k
    ranked = _rank(snapshot, wanted, filters, limit)
    found = _above(ranked, query)
    if len(found) < limit:
        return found, len(found)
    return found, count(snapshot, wanted, filters, query)


def _fill(
    snapshot: Snapshot, loose: Expression, filters: SearchFilters, query: SearchQuery, found: list[Scored]
) -> tuple[list[Scored], int]:
    """What has only some of the words, and how many chunks there are with those that have all."""
    left = query.offset + query.k - len(found)
    listed = [scored.row for scored in found]
    more = _above(_rank(snapshot, loose, filters, left, leaving_out=listed), query)
    if len(more) < left:
        return more, len(found) + len(more)
    return more, max(len(found) + left, count(snapshot, loose, filters, query))


def _quick(
    snapshot: Snapshot, strict: Expression, filters: SearchFilters, query: SearchQuery, watch: Stopwatch
) -> Answer:
    """A first answer from the newest matches; the full ranking replaces it."""
    with watch.stage("newest") as stage:
        wanted = query.offset + query.k
        found = _above(_rank(snapshot, strict, filters, wanted, newest=FIRST_ANSWER), query)
        stage.kept = len(found)
    answer = replace(_EMPTY, total=len(found), phrases=strict.phrases, complete=False)
    return _page(answer, _numbered(found, 0), query)


def _raw(
    snapshot: Snapshot, match: str, filters: SearchFilters, query: SearchQuery, watch: Stopwatch
) -> Answer:
    with watch.stage("raw") as stage:
        wanted = Expression(match, ())
        found, total = _best(snapshot, wanted, filters, query)
        stage.kept = total
    below = _below(snapshot, wanted, filters, query, total)
    return _page(replace(_EMPTY, total=total, notices=below), _numbered(found, 0), query)


def _numbered(found: Sequence[Scored], after: int, relaxed: bool = False) -> list[Ranked]:
    return [_place(scored, rank, relaxed) for rank, scored in enumerate(found, after + 1)]


def _place(scored: Scored, rank: int, relaxed: bool) -> Ranked:
    score = normalised(scored.bm25)
    detail = RetrievalDetail("lexical", lexical_score=score, lexical_rank=rank, fusion_score=score)
    return Ranked(scored.row, rank, score, detail, relaxed)


def _page(answer: Answer, ranked: Sequence[Ranked], query: SearchQuery) -> Answer:
    return replace(answer, page=tuple(ranked[query.offset :]))


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


def _above(found: list[Scored], query: SearchQuery) -> list[Scored]:
    """Down to the least score that is asked for, itself included."""
    least = query.min_score
    return found if least is None else [one for one in found if normalised(one.bm25) >= least]


def count(snapshot: Snapshot, wanted: Expression, filters: SearchFilters, query: SearchQuery) -> int:
    """How many chunks there are, down to the least score."""
    least = query.min_score
    if least is None or least <= 0:
        return snapshot.count(wanted.match, filters, without=wanted.excluded)
    last = Scored(ChunkRow(_LAST_ROW), -least / (1 - least))
    return snapshot.better(wanted.match, filters, last, without=wanted.excluded, scored=wanted.scored)


def _below(
    snapshot: Snapshot, wanted: Expression, filters: SearchFilters, query: SearchQuery, total: int
) -> tuple[Notice, ...]:
    """What a least score costs is said, never left to be guessed."""
    if query.min_score is None:
        return ()
    dropped = snapshot.count(wanted.match, filters, without=wanted.excluded) - total
    text = f"{dropped} hits are below the score asked for, {query.min_score:g}."
    return (Notice("below_score", text),) if dropped > 0 else ()
