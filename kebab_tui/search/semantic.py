"""Finding by meaning: the chunks whose vectors are nearest to the query's.

What a model reads of a query is its text without filters, operators and what it
excludes. Filters go into the search, so a narrow one costs no recall.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kebab_tui.domain.errors import ModelError
from kebab_tui.domain.hit import Notice, RetrievalDetail
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.domain.text import is_hangul
from kebab_tui.search import lexical, match_tree
from kebab_tui.search.answer import Answer, EncodedQuery, Ranked, Stopwatch
from kebab_tui.search.limits import Limits
from kebab_tui.search.ports import Near, Semantics, Snapshot
from kebab_tui.search.query_language import ParsedQuery

Rows = Sequence[ChunkRow]

_UNREAD = frozenset({"filter_key", "filter_value", "negation", "operator", "unknown_key"})


def read_text(query: str, parsed: ParsedQuery) -> str:
    """The part of a query that says what is looked for."""
    kept, at = [], 0
    for token in parsed.tokens:
        if token.role in _UNREAD:
            kept.append(query[at : token.start])
            at = token.end
    kept.append(query[at:])
    text = " ".join("".join(kept).replace('"', " ").split())
    return text.encode("utf-8", "replace").decode("utf-8")


def ask(semantics: Semantics, query: str, parsed: ParsedQuery, watch: Stopwatch) -> EncodedQuery | Notice:
    """The query as a vector, or why this model has nothing to say to it."""
    if parsed.raw is not None:
        return Notice("no_meaning", "A query in FTS5's own syntax says nothing to a model.")
    text = read_text(query, parsed)
    if not text or parsed.terms is None:
        return Notice("no_meaning", "There is no text here to find by meaning.")
    if not semantics.knows_hangul and _has_hangul(text):
        return Notice("model_language", "This model knows no Korean.", "warning")
    try:
        if not semantics.encoder.understands(text):
            return Notice("no_meaning", "The model knows no part of this text.")
        with watch.stage("read query"):
            return EncodedQuery(semantics, text, semantics.encoder.query(text))
    except ModelError as error:
        return Notice("no_model", f"{error.message}.", "warning")


def find(
    snapshot: Snapshot,
    asked: EncodedQuery,
    parsed: ParsedQuery,
    query: SearchQuery,
    filters: SearchFilters,
    limits: Limits,
    watch: Stopwatch,
) -> Answer:
    """The page of chunks by cosine alone."""
    wanted = query.offset + query.k
    with watch.stage("meaning") as stage:
        allowed = _allowed(snapshot, filters)
        if match_tree.rules_out(parsed, query.strict):
            rows = _everything(snapshot) if allowed is None else allowed
            question = lexical.ask(snapshot, parsed, query)
            allowed = lexical.admission(snapshot, question, query.strict)(rows)
        near = _nearest(snapshot, asked, wanted, allowed)
        everything = asked.semantics.index.count if allowed is None else len(allowed)
        everything = everything if len(near) == wanted else len(near)
        total = stage.kept = _reaching(snapshot, asked, allowed, near, everything, limits)
    page = tuple(_ranked(rank, one) for rank, one in enumerate(near[:total], 1))[query.offset :]
    return Answer("vector", page, total, lexical.below_limits(total, everything), asked=asked)


def _reaching(
    snapshot: Snapshot,
    asked: EncodedQuery,
    allowed: Rows | None,
    near: list[Near],
    everything: int,
    limits: Limits,
) -> int:
    """How many chunks reach the limits: where the list ends, however much of it is shown."""
    total = everything
    if limits.least_score is not None:
        while len(near) < everything and limits.admit(_score(near[-1])):
            near = _nearest(snapshot, asked, 4 * len(near), allowed)
        total = sum(limits.admit(_score(one)) for one in near)
    return total if limits.last_rank is None else min(total, limits.last_rank)


@dataclass(frozen=True, slots=True)
class Legs:
    """The nearest chunks in the query's script, and those in the other where there are both."""

    own: list[Near]
    other: list[Near]


def scopes(
    snapshot: Snapshot,
    asked: EncodedQuery,
    filters: SearchFilters,
    scripts: Scripts,
    admitted: Callable[[Rows], Rows] | None,
) -> list[Rows | None]:
    """The rows to ask among, None for all: once for each script, so that neither fills the other's list.

    The query's script comes first. `admitted` narrows the rows to those that its words do not rule out.
    """
    everything = admitted is None and not filters.active
    if everything and not scripts.are_both_there(snapshot):
        return [None]
    hangul, others = scripts.of(snapshot, filters)
    own, other = (hangul, others) if is_hangul(asked.text) else (others, hangul)
    if admitted is not None:
        own, other = admitted(own), admitted(other)
    return [own, other] if own and other else [own or other]


class NearestSearch:
    """Asks the vectors in a thread of its own: they take as long as the words do, on another core."""

    def __init__(self, asked: EncodedQuery, scopes: Sequence[Rows | None], depth: int) -> None:
        self._asked = asked
        self._scopes = scopes
        self._depth = depth
        self._found: list[list[Near]] = []
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._search, name="kebab-vectors", daemon=True)
        self._thread.start()

    def legs(self, snapshot: Snapshot) -> Legs:
        """What was found, once it is."""
        self._thread.join()
        if self._failure is not None:
            raise self._failure
        found = zip(self._scopes, self._found, strict=True)
        own, *other = [_nearest(snapshot, self._asked, self._depth, scope, near) for scope, near in found]
        return Legs(own, other[0] if other else [])

    def _search(self) -> None:
        index, vector = self._asked.semantics.index, self._asked.vector
        try:
            self._found = [index.nearest(vector, self._depth + 1, scope) for scope in self._scopes]
        except BaseException as failure:  # noqa: BLE001 - raised again by `legs`
            self._failure = failure


class Scripts:
    """Remembers which chunks are Korean: a fact of a revision, asked for at every key."""

    def __init__(self) -> None:
        self._known: _Known | None = None
        self._both: tuple[int, bool] | None = None

    def are_both_there(self, snapshot: Snapshot) -> bool:
        """Whether anything is to be kept apart at all: much sooner known than what."""
        if self._both is None or self._both[0] != snapshot.revision:
            self._both = snapshot.revision, snapshot.has_both_scripts()
        return self._both[1]

    def of(self, snapshot: Snapshot, filters: SearchFilters) -> tuple[Rows, Rows]:
        """The rows that pass: those in Hangul, then all others."""
        known = self._look_up(snapshot, filters)
        return known.hangul, known.others

    def _look_up(self, snapshot: Snapshot, filters: SearchFilters) -> _Known:
        known = self._known
        if known is None or (known.revision, known.filters) != (snapshot.revision, filters):
            hangul, others = snapshot.rows_by_script(filters)
            self._known = known = _Known(snapshot.revision, filters, hangul, others)
        return known


def among(rows: Sequence[ChunkRow], ordered: Rows) -> set[ChunkRow]:
    """Which of a few rows are among many that are in order: a set of all would cost more than the search."""
    places = ((row, bisect_left(ordered, row)) for row in rows)
    return {row for row, place in places if place < len(ordered) and ordered[place] == row}


@dataclass(frozen=True, slots=True)
class _Known:
    revision: int
    filters: SearchFilters
    hangul: Rows
    others: Rows


def _nearest(
    snapshot: Snapshot, asked: EncodedQuery, k: int, allowed: Rows | None, near: list[Near] | None = None
) -> list[Near]:
    """The `k` nearest, ties by chunk id. `near`: one more than these, where somebody has asked already.

    The index may be a step off from this moment of the corpus; what is gone takes nobody's place.
    """
    index = asked.semantics.index
    depth = k + 1
    if near is None:
        near = index.nearest(asked.vector, depth, allowed)
    if allowed is None and len(snapshot.known([one.row for one in near])) < len(near):
        allowed = _everything(snapshot)
        near = index.nearest(asked.vector, depth, allowed)
    while len(near) == depth and near[k - 1].cosine == near[-1].cosine:  # a tie that goes on behind the k-th
        depth *= 2
        near = index.nearest(asked.vector, depth, allowed)
    tied = {one.cosine for one, following in pairwise(near) if one.cosine == following.cosine}
    if tied:
        ids = snapshot.chunk_ids([one.row for one in near if one.cosine in tied])
        near = sorted(near, key=lambda one: (-one.cosine, ids.get(one.row, "")))
    return near[:k]


def _allowed(snapshot: Snapshot, filters: SearchFilters) -> Rows | None:
    return _passing(snapshot, filters) if filters.active else None


def _everything(snapshot: Snapshot) -> Rows:
    return _passing(snapshot, SearchFilters())


def _passing(snapshot: Snapshot, filters: SearchFilters) -> Rows:
    hangul, others = snapshot.rows_by_script(filters)
    return [*hangul, *others]


def _ranked(rank: int, near: Near) -> Ranked:
    score = _score(near)
    detail = RetrievalDetail("vector", vector_score=score, vector_rank=rank, fusion_score=score)
    return Ranked(near.row, rank, score, "cosine", detail)


def _score(near: Near) -> float:
    return max(near.cosine, 0.0)


def _has_hangul(text: str) -> bool:
    return any(
        "\u1100" <= c <= "\u11ff" or "\u3131" <= c <= "\u318e" or "\uac00" <= c <= "\ud7a3" for c in text
    )
