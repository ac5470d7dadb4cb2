"""Finding by words: chunks with all of them first, then, to fill the page, with any.

Ranked by bm25, ties by row; relaxed hits stand below strict ones whatever their score.
Pages are cut from one fixed order, so they fit together while the corpus stands still.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kebab_tui.domain.identity import ChunkRow
from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.search import expression
from kebab_tui.search.expression import Expression
from kebab_tui.search.phrases import Phrase
from kebab_tui.search.ports import Scored, Snapshot
from kebab_tui.search.query_language import ParsedQuery
from kebab_tui.search.stopwatch import Stopwatch

Tier = Literal["strict", "relaxed", "raw"]

FIRST_ANSWER = 1_000
"""How many of the newest matches a first answer scores: a fraction of a frame's time."""
_UNFINISHED = 48
_COMMON = 16


@dataclass(frozen=True, slots=True)
class Candidate:
    row: ChunkRow
    rank: int
    bm25: float
    tier: Tier


@dataclass(frozen=True, slots=True)
class LexicalAnswer:
    """A page of candidates; `phrases` are what was looked for, tier by tier."""

    candidates: tuple[Candidate, ...] = ()
    total: int = 0
    phrases: tuple[Phrase, ...] = ()
    relaxed_phrases: tuple[Phrase, ...] = ()
    complete: bool = True


@dataclass(frozen=True, slots=True)
class _Question:
    """What FTS5 is asked: all the words, and any of them."""

    strict: Expression | None
    relaxed: Expression | None


def find(
    snapshot: Snapshot,
    parsed: ParsedQuery,
    query: SearchQuery,
    filters: SearchFilters,
    watch: Stopwatch,
    *,
    first_answer: bool = False,
) -> LexicalAnswer:
    """The page `query.offset .. query.offset + query.k` of the ranking."""
    if parsed.raw is not None:
        return _raw(snapshot, parsed.raw, filters, query, watch)
    question = ask(snapshot, parsed, query, first_answer)
    if question.strict is None:
        return LexicalAnswer()
    if first_answer:
        return _quick(snapshot, question.strict, filters, query, watch)
    return _ranked(snapshot, question.strict, question.relaxed, filters, query, watch)


def ask(snapshot: Snapshot, parsed: ParsedQuery, query: SearchQuery, first_answer: bool = False) -> _Question:
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
    return _Question(strict, None if query.strict else loose)


def _ranked(
    snapshot: Snapshot,
    strict: Expression,
    loose: Expression | None,
    filters: SearchFilters,
    query: SearchQuery,
    watch: Stopwatch,
) -> LexicalAnswer:
    wanted = query.offset + query.k
    with watch.stage("all words") as stage:
        found = snapshot.rank(strict.match, filters, wanted, without=strict.excluded)
        total = len(found)
        if total == wanted:
            total = snapshot.count(strict.match, filters, without=strict.excluded)
        stage.kept = total
    candidates = _numbered(found, "strict", 0)
    if loose is None or loose.match == strict.match or len(found) == wanted:
        return LexicalAnswer(tuple(candidates[query.offset :]), total, strict.phrases)
    with watch.stage("any word") as stage:
        listed = [scored.row for scored in found]
        left = wanted - len(found)
        more = snapshot.rank(loose.match, filters, left, without=loose.excluded, leaving_out=listed)
        total = max(total, snapshot.count(loose.match, filters, without=loose.excluded))
        stage.kept = total
    candidates += _numbered(more, "relaxed", len(found))
    return LexicalAnswer(tuple(candidates[query.offset :]), total, strict.phrases, loose.phrases)


def _quick(
    snapshot: Snapshot, strict: Expression, filters: SearchFilters, query: SearchQuery, watch: Stopwatch
) -> LexicalAnswer:
    """A first answer from the newest matches; the full ranking replaces it."""
    with watch.stage("newest") as stage:
        wanted = query.offset + query.k
        found = snapshot.rank(strict.match, filters, wanted, without=strict.excluded, newest=FIRST_ANSWER)
        stage.kept = len(found)
    page = tuple(_numbered(found, "strict", 0)[query.offset :])
    return LexicalAnswer(page, len(found), strict.phrases, complete=False)


def _raw(
    snapshot: Snapshot, match: str, filters: SearchFilters, query: SearchQuery, watch: Stopwatch
) -> LexicalAnswer:
    with watch.stage("raw") as stage:
        found = snapshot.rank(match, filters, query.offset + query.k)
        total = stage.kept = snapshot.count(match, filters)
    return LexicalAnswer(tuple(_numbered(found, "raw", 0)[query.offset :]), total)


def _numbered(found: Sequence[Scored], tier: Tier, after: int) -> list[Candidate]:
    return [Candidate(s.row, after + place, s.bm25, tier) for place, s in enumerate(found, 1)]
