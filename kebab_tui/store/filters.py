"""Search filters as SQL over `c` (chunks), `d` (documents) and `s` (sources).

The same predicate serves every leg of a search, so a narrow filter never costs recall.
Values travel as parameters; lists as one JSON parameter each.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from kebab_tui.domain.query import SearchFilters
from kebab_tui.store.rows import fold, storable

Condition = tuple[str, list[str | int]]

FROM = "chunks c JOIN documents d ON d.doc_id = c.doc_id JOIN sources s ON s.source_id = d.source_id"

_TAGGED = "SELECT 1 FROM document_tags t WHERE t.doc_id = d.doc_id AND t.folded"


def predicate(filters: SearchFilters) -> Condition:
    """One SQL condition for all filters; `1` when there are none."""
    return _all([*_of_notes(filters), *_of_chunks(filters)])


def passing_chunks(filters: SearchFilters, columns: str = "c.id") -> Condition:
    """A SELECT of columns of `c` over the chunks that pass.

    Notes are judged first, each once: a path filter is our own function, and dear.
    """
    of_notes, values = _all(_of_notes(filters))
    of_chunks, more = _all(_of_chunks(filters))
    if not values:
        return f"SELECT {columns} FROM chunks c WHERE {of_chunks}", more
    notes = f"SELECT d.doc_id FROM documents d JOIN sources s ON s.source_id = d.source_id WHERE {of_notes}"
    chunks = f"SELECT {columns} FROM ({notes}) n CROSS JOIN chunks c ON c.doc_id = n.doc_id"
    return f"{chunks} WHERE {of_chunks}", [*values, *more]


def _of_notes(filters: SearchFilters) -> list[Condition]:
    conditions = [*_tags(filters), *_lists(filters), *_paths(filters)]
    conditions += [("kebab_contains(?, d.title)", [part]) for part in filters.titles]
    if filters.trust_min is not None:
        conditions.append(("coalesce(d.trust, s.trust) >= ?", [int(filters.trust_min)]))
    if filters.after_ns is not None:
        conditions.append(("d.mtime_ns >= ?", [filters.after_ns]))
    if filters.before_ns is not None:
        conditions.append(("d.mtime_ns < ?", [filters.before_ns]))
    return conditions


def _of_chunks(filters: SearchFilters) -> list[Condition]:
    conditions = [_one_of("c.kind", filters.kinds)] if filters.kinds else []
    return conditions + [("kebab_contains(?, c.heading_path)", [part]) for part in filters.headings]


def _all(conditions: Sequence[Condition]) -> Condition:
    if not conditions:
        return "1", []
    sql = " AND ".join(f"({condition})" for condition, _ in conditions)
    return sql, [
        storable(value) if isinstance(value, str) else value for _, values in conditions for value in values
    ]


def _tags(filters: SearchFilters) -> list[Condition]:
    conditions: list[Condition] = []
    if filters.tags_any:
        conditions.append(
            (f"EXISTS ({_TAGGED} IN (SELECT value FROM json_each(?)))", [_folded(filters.tags_any)])
        )
    conditions += [(f"EXISTS ({_TAGGED} = ?)", [fold(tag)]) for tag in filters.tags_all]
    if filters.tags_none:
        conditions.append(
            (f"NOT EXISTS ({_TAGGED} IN (SELECT value FROM json_each(?)))", [_folded(filters.tags_none)])
        )
    return conditions


def _lists(filters: SearchFilters) -> list[Condition]:
    columns: list[tuple[str, Sequence[str]]] = [
        ("d.type", filters.types),
        ("d.lang", filters.langs),
        ("d.source_id", filters.sources),
        ("d.doc_id", filters.doc_ids),
    ]
    return [_one_of(column, values) for column, values in columns if values]


def _one_of(column: str, values: Sequence[str]) -> Condition:
    return f"{column} IN (SELECT value FROM json_each(?))", [json.dumps(list(values))]


def _paths(filters: SearchFilters) -> list[Condition]:
    conditions: list[Condition] = []
    if filters.paths:
        conditions.append((" OR ".join(["kebab_glob(?, d.path)"] * len(filters.paths)), list(filters.paths)))
    conditions += [("NOT kebab_glob(?, d.path)", [pattern]) for pattern in filters.paths_none]
    return conditions


def _folded(tags: Sequence[str]) -> str:
    return json.dumps([fold(tag) for tag in tags], ensure_ascii=False)
