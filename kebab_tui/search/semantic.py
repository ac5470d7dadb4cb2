"""Semantic search: the chunks whose vectors are nearest to the query's.

The model reads the text of a query without filters, operators and excluded words.
Filters narrow the vector search itself, so a narrow filter costs no recall.
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
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.text import has_hangul, is_korean
from kebab_tui.search import lexical, match_tree
from kebab_tui.search.answer import Answer, EncodedQuery, Ranked, Search
from kebab_tui.search.lexical import Rows
from kebab_tui.search.ports import Near, Semantics, Snapshot
from kebab_tui.search.query_language import ParsedQuery

_UNREAD = frozenset({"filter_key", "filter_value", "negation", "operator", "unknown_key"})


def read_text(query: str, parsed: ParsedQuery) -> str:
    """The part of a query that the model reads."""
    kept, at = [], 0
    for token in parsed.tokens:
        if token.role in _UNREAD:
            kept.append(query[at : token.start])
            at = token.end
    kept.append(query[at:])
    text = " ".join("".join(kept).replace('"', " ").split())
    return text.encode("utf-8", "replace").decode("utf-8")


def encode(search: Search, semantics: Semantics) -> EncodedQuery | Notice:
    """The query as a vector, or why this model cannot encode it."""
    if search.parsed.raw is not None:
        return Notice("no_meaning", "A raw FTS5 query has no text to search by meaning.")
    text = read_text(search.query.text, search.parsed)
    if not text or search.parsed.terms is None:
        return Notice("no_meaning", "The query has no text to search by meaning.")
    if not semantics.knows_hangul and has_hangul(text):
        return Notice("model_language", "The model does not support Korean.", "warning")
    try:
        if not semantics.encoder.understands(text):
            return Notice("no_meaning", "The model knows none of these words.")
        with search.watch.stage("read query"):
            return EncodedQuery(semantics, text, semantics.encoder.query(text))
    except ModelError as error:
        return Notice("no_model", f"{error.message}.", "warning")


def find(search: Search, encoded: EncodedQuery) -> Answer:
    """The page of chunks by cosine alone."""
    snapshot, query, limits = search.snapshot, search.query, search.limits
    wanted = query.offset + query.k
    with search.watch.stage("meaning") as stage:
        allowed = _passing(snapshot, search.filters) if search.filters.active else None
        if match_tree.rules_out(search.parsed, query.strict):
            rows = _passing(snapshot, SearchFilters()) if allowed is None else allowed
            allowed = lexical.admission(search, lexical.prepare(search))(rows)
        near = _nearest(snapshot, encoded, wanted, allowed)
        everything = len(near)
        if everything == wanted:
            everything = encoded.semantics.index.count if allowed is None else len(allowed)
        total = everything
        if limits.least_score is not None:
            while len(near) < everything and limits.admit(_score(near[-1])):
                near = _nearest(snapshot, encoded, 4 * len(near), allowed)
            total = sum(limits.admit(_score(one)) for one in near)
        if limits.last_rank is not None:
            total = min(total, limits.last_rank)
        stage.kept = total
    page = []
    for rank, one in enumerate(near[query.offset : min(total, wanted)], query.offset + 1):
        detail = RetrievalDetail(
            "vector", vector_score=_score(one), vector_rank=rank, fusion_score=_score(one)
        )
        page.append(Ranked(one.row, rank, _score(one), "cosine", detail))
    return Answer("vector", tuple(page), total, lexical.below_limits(total, everything), encoded=encoded)


def _score(near: Near) -> float:
    return max(near.cosine, 0.0)


@dataclass(frozen=True, slots=True)
class Legs:
    """The nearest chunks in the query's script, and in the other one if the corpus has both."""

    own: list[Near]
    other: list[Near]


def scopes(
    search: Search, encoded: EncodedQuery, scripts: Scripts, admitted: Callable[[Rows], Rows] | None
) -> list[Rows | None]:
    """The rows to search, None for all: one list per script, so that neither script fills the other's leg.

    The query's script comes first. `admitted` drops the rows that the query's words rule out.
    """
    everything = admitted is None and not search.filters.active
    if everything and not scripts.are_both_there(search.snapshot):
        return [None]
    hangul, others = scripts.of(search.snapshot, search.filters)
    own, other = (hangul, others) if is_korean(encoded.text) else (others, hangul)
    if admitted is not None:
        own, other = admitted(own), admitted(other)
    return [own, other] if own and other else [own or other]


class NearestSearch:
    """Searches the vectors in a thread, in parallel with the keyword search on another core."""

    def __init__(self, encoded: EncodedQuery, scopes: Sequence[Rows | None], depth: int) -> None:
        self._encoded = encoded
        self._scopes = scopes
        self._depth = depth
        self._found: list[list[Near]] = []
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._search, name="kebab-vectors", daemon=True)
        self._thread.start()

    def legs(self, snapshot: Snapshot) -> Legs:
        """Wait for the result."""
        self._thread.join()
        if self._failure is not None:
            raise self._failure
        found = zip(self._scopes, self._found, strict=True)
        own, *other = [_nearest(snapshot, self._encoded, self._depth, scope, near) for scope, near in found]
        return Legs(own, other[0] if other else [])

    def _search(self) -> None:
        index, vector = self._encoded.semantics.index, self._encoded.vector
        try:
            self._found = [index.nearest(vector, self._depth + 1, scope) for scope in self._scopes]
        except BaseException as failure:  # noqa: BLE001 - raised again by `legs`
            self._failure = failure


class Scripts:
    """Caches the chunks of each script for the last revision and filters: every keystroke needs them."""

    def __init__(self) -> None:
        self._both: tuple[int, bool] | None = None
        self._rows: tuple[tuple[int, SearchFilters], tuple[Rows, Rows]] | None = None

    def are_both_there(self, snapshot: Snapshot) -> bool:
        """Whether the corpus has both scripts; much cheaper than `of`."""
        if self._both is None or self._both[0] != snapshot.revision:
            self._both = snapshot.revision, snapshot.has_both_scripts()
        return self._both[1]

    def of(self, snapshot: Snapshot, filters: SearchFilters) -> tuple[Rows, Rows]:
        """The rows that pass: those in Hangul, and all others."""
        key, known = (snapshot.revision, filters), self._rows
        if known is None or known[0] != key:
            self._rows = known = key, snapshot.rows_by_script(filters)
        return known[1]


def among(rows: Sequence[ChunkRow], ordered: Rows) -> set[ChunkRow]:
    """Which of a few rows are among many ordered ones; a set of all would cost more than the search."""
    places = ((row, bisect_left(ordered, row)) for row in rows)
    return {row for row, place in places if place < len(ordered) and ordered[place] == row}


def _nearest(
    snapshot: Snapshot, encoded: EncodedQuery, k: int, allowed: Rows | None, near: list[Near] | None = None
) -> list[Near]:
    """The `k` nearest, ties by chunk id. `near`: the `k + 1` nearest, if the index was already searched.

    The index may be of another revision than the snapshot; deleted chunks take no places.
    """
    index = encoded.semantics.index
    depth = k + 1
    if near is None:
        near = index.nearest(encoded.vector, depth, allowed)
    if allowed is None and len(snapshot.known([one.row for one in near])) < len(near):
        allowed = _passing(snapshot, SearchFilters())
        near = index.nearest(encoded.vector, depth, allowed)
    while len(near) == depth and near[k - 1].cosine == near[-1].cosine:  # a tie that extends beyond the k-th
        depth *= 2
        near = index.nearest(encoded.vector, depth, allowed)
    tied = {one.cosine for one, following in pairwise(near) if one.cosine == following.cosine}
    if tied:
        ids = snapshot.chunk_ids([one.row for one in near if one.cosine in tied])
        near = sorted(near, key=lambda one: (-one.cosine, ids.get(one.row, "")))
    return near[:k]


def _passing(snapshot: Snapshot, filters: SearchFilters) -> Rows:
    hangul, others = snapshot.rows_by_script(filters)
    return [*hangul, *others]
