"""Finding by words: chunks with all of them first, then, to fill the page, with any.

Ranked by bm25, ties by row; relaxed hits stand below strict ones whatever their score.
Pages are cut from one fixed order, so they fit together while the corpus stands still.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
_UNFINISHED = 48
_COMMON = 16
_EMPTY = Answer("lexical", "bm25")


@dataclass(frozen=True, slots=True)
class Question:
    """What FTS5 is asked: all the words, and any of them."""

    strict: Expression | None
    relaxed: Expression | None


@dataclass(frozen=True, slots=True)
class Leg:
    """The words' part of a hybrid search: chunks with any of them, and which have all."""

    found: list[Scored]
    strict: set[ChunkRow]
    phrases: tuple[Phrase, ...]


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
        return _above(_raw(snapshot, parsed.raw, filters, query, watch), query)
    question = ask(snapshot, parsed, query, first_answer)
    if question.strict is None:
        return _EMPTY
    if first_answer:
        return _above(_quick(snapshot, question.strict, filters, query, watch), query)
    return _above(_ranked(snapshot, question.strict, question.relaxed, filters, query, watch), query)


def leg(
    snapshot: Snapshot, parsed: ParsedQuery, query: SearchQuery, filters: SearchFilters, depth: int
) -> Leg:
    """Any-word ranking: measured to be the better half of a fusion than all-words-first."""
    question = ask(snapshot, parsed, query)
    strict, loose = question.strict, question.relaxed or question.strict
    if strict is None or loose is None:
        return Leg([], set(), ())
    found = snapshot.rank(loose.match, filters, depth, without=loose.excluded)
    rows = [scored.row for scored in found]
    if loose.match == strict.match:
        return Leg(found, set(rows), loose.phrases)
    return Leg(found, snapshot.matching(strict.match, rows, without=strict.excluded), loose.phrases)


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
    loose = expression.relaxed(parsed, unfinished=unfinished, instead=instead, starred=starred)
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
        found = snapshot.rank(strict.match, filters, wanted, without=strict.excluded)
        total = len(found)
        if total == wanted:
            total = snapshot.count(strict.match, filters, without=strict.excluded)
        stage.kept = total
    page = _numbered(found, 0)
    if loose is None or loose.match == strict.match or len(found) == wanted:
        return replace(_EMPTY, page=tuple(page[query.offset :]), total=total, phrases=strict.phrases)
    with watch.stage("any word") as stage:
        listed = [scored.row for scored in found]
        left = wanted - len(found)
        more = snapshot.rank(loose.match, filters, left, without=loose.excluded, leaving_out=listed)
        total = max(total, snapshot.count(loose.match, filters, without=loose.excluded))
        stage.kept = total
    page += _numbered(more, len(found), relaxed=True)
    return replace(
        _EMPTY,
        page=tuple(page[query.offset :]),
        total=total,
        phrases=strict.phrases,
        relaxed_phrases=loose.phrases,
    )


def _quick(
    snapshot: Snapshot, strict: Expression, filters: SearchFilters, query: SearchQuery, watch: Stopwatch
) -> Answer:
    """A first answer from the newest matches; the full ranking replaces it."""
    with watch.stage("newest") as stage:
        wanted = query.offset + query.k
        found = snapshot.rank(strict.match, filters, wanted, without=strict.excluded, newest=FIRST_ANSWER)
        stage.kept = len(found)
    page = tuple(_numbered(found, 0)[query.offset :])
    return replace(_EMPTY, page=page, total=len(found), phrases=strict.phrases, complete=False)


def _raw(
    snapshot: Snapshot, match: str, filters: SearchFilters, query: SearchQuery, watch: Stopwatch
) -> Answer:
    with watch.stage("raw") as stage:
        found = snapshot.rank(match, filters, query.offset + query.k)
        total = stage.kept = snapshot.count(match, filters)
    return replace(_EMPTY, page=tuple(_numbered(found, 0)[query.offset :]), total=total)


def _numbered(found: Sequence[Scored], after: int, relaxed: bool = False) -> list[Ranked]:
    return [_place(scored, rank, relaxed) for rank, scored in enumerate(found, after + 1)]


def _place(scored: Scored, rank: int, relaxed: bool) -> Ranked:
    score = normalised(scored.bm25)
    detail = RetrievalDetail("lexical", lexical_score=score, lexical_rank=rank, fusion_score=score)
    return Ranked(scored.row, rank, score, detail, relaxed)


def _above(answer: Answer, query: SearchQuery) -> Answer:
    """Without what is below the asked score, saying how many that were."""
    least = query.min_score
    if least is None:
        return answer
    page = tuple(one for one in answer.page if one.score >= least)
    dropped = len(answer.page) - len(page)
    if not dropped:
        return answer
    notice = Notice("below_score", f"{dropped} hits of this page are below {least:g}.")
    total = answer.total - dropped
    return replace(answer, page=page, total=total, notices=(*answer.notices, notice))
