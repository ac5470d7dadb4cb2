"""Semantic search: the chunks whose vectors are nearest to the query's.

The model reads the text of a query without filters, operators and excluded words.
Filters narrow the vector search itself, so a narrow filter costs no recall.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from kebab_tui.domain.errors import ModelError
from kebab_tui.domain.hit import Notice, RetrievalDetail
from kebab_tui.domain.text import has_hangul, is_korean
from kebab_tui.search import lexical, match_tree
from kebab_tui.search.answer import Answer, EncodedQuery, Ranked, Search
from kebab_tui.search.ports import Among, Counted, Forecast, Near, Script, Semantics, Snapshot
from kebab_tui.search.query_language import ParsedQuery, text_without

_UNREAD = frozenset({"filter_key", "filter_value", "negation", "operator", "unknown_key"})


def read_text(query: str, parsed: ParsedQuery) -> str:
    """The part of a query that the model reads."""
    text = text_without(_UNREAD, query, parsed)
    return text.encode("utf-8", "replace").decode("utf-8")


def encode(search: Search, semantics: Semantics) -> EncodedQuery | Notice:
    """The query as a vector, or why this model cannot encode it."""
    if search.parsed.raw is not None:
        return Notice("no_meaning", "A raw FTS5 query has no text for semantic search.")
    text = read_text(search.query.text, search.parsed)
    if not text or search.parsed.terms is None:
        return Notice("no_meaning", "The query has no text for semantic search.")
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
        among = Among(search.filters) if search.filters.active else None
        if query.strict or match_tree.exclusions(search.parsed.terms):
            among = lexical.admitted(search, lexical.prepare(search))
        if snapshot.remote and among is not None:
            snapshot.expect(Forecast(counts=(Counted(among),)))
        near = _nearest(snapshot, encoded, wanted, among)
        everything = len(near)
        if everything == wanted:
            everything = encoded.semantics.index.count if among is None else snapshot.count(among)
        total = everything
        if limits.least_score is not None:
            while len(near) < everything and limits.admit(_score(near[-1])):
                near = _nearest(snapshot, encoded, 4 * len(near), among)
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


def begin(search: Search, encoded: EncodedQuery) -> None:
    """Search the vectors, unless the words decide which of them."""
    if not (search.query.strict or match_tree.exclusions(search.parsed.terms)):
        among = Among(search.filters) if search.filters.active else None
        depth = search.query.offset + search.query.k + 1
        encoded.semantics.index.begin(encoded.vector, depth, [among])


@dataclass(frozen=True, slots=True)
class Legs:
    """The nearest chunks in the query's script, and in the other one if the corpus has both."""

    own: list[Near]
    other: list[Near]


def script_of(text: str, *, other: bool = False) -> Script:
    """The script of a text, or the other one."""
    return "hangul" if is_korean(text) != other else "other"


class NearestSearch:
    """Searches the vectors beside the keyword search, so that both use a core.

    One search per script, so that neither script fills the other's leg; the query's script comes first.
    """

    def __init__(self, search: Search, encoded: EncodedQuery, among: Among, depth: int) -> None:
        self._snapshot, self._encoded, self._depth = search.snapshot, encoded, depth
        self._scopes: list[Among | None] = [among if among != Among() else None]
        if search.snapshot.has_both_scripts():
            scripts = (script_of(encoded.text), script_of(encoded.text, other=True))
            self._scopes = [replace(among, script=script) for script in scripts]
        self._found = encoded.semantics.index.begin(encoded.vector, depth + 1, self._scopes)

    def legs(self) -> Legs:
        """Wait for the result."""
        found = [
            _nearest(self._snapshot, self._encoded, self._depth, scope, near)
            for scope, near in zip(self._scopes, self._found(), strict=True)
        ]
        own, other = found if len(found) == 2 else (found[0], [])
        if not own and other and self._scopes[0] and not self._snapshot.count(self._scopes[0]):
            return Legs(other, [])  # no chunk of the query's script passes
        return Legs(own, other)


def _nearest(
    snapshot: Snapshot,
    encoded: EncodedQuery,
    k: int,
    among: Among | None,
    near: Sequence[Near] | None = None,
) -> list[Near]:
    """The `k` nearest, ties by chunk id. `near`: the `k + 1` nearest, if the index was already searched.

    The index may be of another revision than the snapshot; deleted chunks take no places.
    """
    index = encoded.semantics.index
    depth = k + 1
    if near is None:
        near = index.nearest(encoded.vector, depth, among)
    if among is None and len(snapshot.which([one.row for one in near], Among())) < len(near):
        among = Among()
        near = index.nearest(encoded.vector, depth, among)
    while len(near) == depth and near[k - 1].cosine == near[-1].cosine:  # a tie that extends beyond the k-th
        depth *= 2
        near = index.nearest(encoded.vector, depth, among)
    tied = {one.cosine for one, following in pairwise(near) if one.cosine == following.cosine}
    if tied:
        ids = snapshot.chunk_ids([one.row for one in near if one.cosine in tied])
        near = sorted(near, key=lambda one: (-one.cosine, ids.get(one.row, "")))
    return list(near[:k])
