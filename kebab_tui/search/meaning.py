"""Finding by meaning: the chunks whose vectors are nearest to the query's.

What a model reads of a query is its text without filters, operators and what it
excludes. Filters go into the search, so a narrow one costs no recall.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kebab_tui.domain.hit import Notice, RetrievalDetail
from kebab_tui.domain.identity import ChunkRow
from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.search.answer import Answer, Asked, Ranked
from kebab_tui.search.ports import Near, Semantics, Snapshot
from kebab_tui.search.query_language import ParsedQuery
from kebab_tui.search.stopwatch import Stopwatch

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


def ask(semantics: Semantics, query: str, parsed: ParsedQuery, watch: Stopwatch) -> Asked | Notice:
    """The query as a vector, or why this model has nothing to say to it."""
    text = read_text(query, parsed)
    if not text or parsed.raw is not None or parsed.terms is None:
        return Notice("no_meaning", "There is no text here to find by meaning.")
    if not semantics.knows_hangul and _has_hangul(text):
        return Notice("model_language", "This model knows no Korean: searched by words only.", "warning")
    if not semantics.encoder.understands(text):
        return Notice("no_meaning", "The model knows no part of this text: searched by words only.")
    with watch.stage("read query"):
        return Asked(semantics, semantics.encoder.query(text))


def find(
    snapshot: Snapshot, asked: Asked, query: SearchQuery, filters: SearchFilters, watch: Stopwatch
) -> Answer:
    """The page of chunks by cosine alone."""
    wanted = query.offset + query.k
    with watch.stage("meaning") as stage:
        allowed = _allowed(snapshot, filters)
        near = existing(snapshot, asked.semantics.index.nearest(asked.vector, wanted, allowed))
        total = stage.kept = asked.semantics.index.count if allowed is None else len(allowed)
    page = [_ranked(rank, one) for rank, one in enumerate(near, 1)]
    if query.min_score is not None:
        page = [one for one in page if one.score >= query.min_score]
        total = len(page)
    return Answer("vector", "cosine", tuple(page[query.offset :]), total, asked=asked)


@dataclass(frozen=True, slots=True)
class Legs:
    """The nearest chunks in the query's script, and those in the other where there are both."""

    own: list[Near]
    other: list[Near]


def legs(
    snapshot: Snapshot, asked: Asked, filters: SearchFilters, hangul_query: bool, depth: int, scripts: Scripts
) -> Legs:
    """Ask once for each script, so that hits of one do not fill the list of the other."""
    index = asked.semantics.index
    hangul, others = scripts.of(snapshot, filters)
    own, other = (hangul, others) if hangul_query else (others, hangul)
    if not own or not other:
        allowed = (own or other) if filters.active else None
        return Legs(existing(snapshot, index.nearest(asked.vector, depth, allowed)), [])
    return Legs(
        existing(snapshot, index.nearest(asked.vector, depth, own)),
        existing(snapshot, index.nearest(asked.vector, depth, other)),
    )


class Scripts:
    """Remembers which chunks are Korean: a fact of a revision, asked for at every key."""

    def __init__(self) -> None:
        self._known: _Known | None = None

    def of(self, snapshot: Snapshot, filters: SearchFilters) -> tuple[Rows, Rows]:
        """The rows that pass: those in Hangul, then all others."""
        known = self._look_up(snapshot, filters)
        return known.hangul, known.others

    def sets(
        self, snapshot: Snapshot, filters: SearchFilters
    ) -> tuple[frozenset[ChunkRow], frozenset[ChunkRow]]:
        known = self._look_up(snapshot, filters)
        return known.hangul_set, known.others_set

    def _look_up(self, snapshot: Snapshot, filters: SearchFilters) -> _Known:
        known = self._known
        if known is None or (known.revision, known.filters) != (snapshot.revision, filters):
            hangul, others = snapshot.rows_by_script(filters)
            known = _Known(snapshot.revision, filters, hangul, others, frozenset(hangul), frozenset(others))
            self._known = known
        return known


@dataclass(frozen=True, slots=True)
class _Known:
    revision: int
    filters: SearchFilters
    hangul: Rows
    others: Rows
    hangul_set: frozenset[ChunkRow]
    others_set: frozenset[ChunkRow]


def existing(snapshot: Snapshot, near: list[Near]) -> list[Near]:
    """Without chunks that this moment of the corpus does not know: the index may be a step off."""
    known = snapshot.known([one.row for one in near])
    return near if len(known) == len(near) else [one for one in near if one.row in known]


def _allowed(snapshot: Snapshot, filters: SearchFilters) -> list[ChunkRow] | None:
    if not filters.active:
        return None
    hangul, others = snapshot.rows_by_script(filters)
    return [*hangul, *others]


def _ranked(rank: int, near: Near) -> Ranked:
    score = max(near.cosine, 0.0)
    detail = RetrievalDetail("vector", vector_score=score, vector_rank=rank, fusion_score=score)
    return Ranked(near.row, rank, score, detail)


def _has_hangul(text: str) -> bool:
    return any(
        "\u1100" <= c <= "\u11ff" or "\u3131" <= c <= "\u318e" or "\uac00" <= c <= "\ud7a3" for c in text
    )
