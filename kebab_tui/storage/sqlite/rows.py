"""Maps rows to domain values and search filters to SQL. Runs no SQL itself.

Conditions use the aliases `c` (chunks), `d` (documents) and `s` (sources). Every leg of a search
gets the same condition, so that a narrow filter costs no recall. Values are parameters; a list is
one JSON parameter.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, cast

from kebab_tui.domain.citation import SourceSpan
from kebab_tui.domain.document import (
    Chunk,
    ChunkKind,
    Document,
    DocumentFlag,
    DocumentState,
    DocumentType,
    Fingerprint,
    Language,
    OtherFiles,
    Source,
    SourceState,
    SourceUse,
    Trust,
)
from kebab_tui.domain.facets import FACETS, NAME, NAME_KINDS, PAGES, Facet, FacetKind, day_of, split_property
from kebab_tui.domain.ids import ChunkId, ChunkRow, DocId, SourceId
from kebab_tui.domain.links import LinkedNote
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.scope import SourcePart
from kebab_tui.domain.text import storable as storable
from kebab_tui.domain.tokens import grams
from kebab_tui.search.ports import Script
from kebab_tui.storage.sqlite import path_globs

Row = sqlite3.Row | tuple[Any, ...]

MANY = 1_000_000
"""The first ordinal of the facets of kinds of which a note may have thousands."""
_OWN_FACETS = f"FROM facets f WHERE f.doc_id = d.doc_id AND f.ordinal {{}} {MANY}"
_FACETS = f"SELECT json_group_array(json_array(f.kind, f.value, f.line, f.target, f.extra)) {_OWN_FACETS}"
_DOCUMENT = (
    "d.doc_id, d.source_id, d.path, d.raw_path, d.title, d.type, d.lang, coalesce(d.trust, s.trust), "
    "d.size, d.mtime_ns, d.ctime_ns, d.inode, d.content_hash, "
    "d.state, d.reason, d.flags, d.indexed_ns, d.dated, d.dated_by, "
    "(SELECT count(*) FROM chunks c WHERE c.doc_id = d.doc_id), "
)
DOCUMENT_COLUMNS = (
    f"{_DOCUMENT}({_FACETS.format('<')}), (SELECT json_group_array(json_array(kind, n)) FROM "
    f"(SELECT f.kind, count(*) AS n {_OWN_FACETS.format('>=')} GROUP BY f.kind))"
)
HIT_FACETS = f"({_FACETS.format('<')} AND f.kind IN ('{NAME.id}', '{PAGES.id}'))"
HIT_DOCUMENT_COLUMNS = f"{_DOCUMENT}{HIT_FACETS}, '[]'"
"""All that a hit shows of its note, which may have a thousand facets and a hundred passages."""
IS_NAME = f"kind IN ({', '.join(map(repr, NAME_KINDS))})"
"""Not as values: so the index on names of a first load serves it."""
NAMES = (
    "(SELECT json_group_array(json_array(f.kind, f.value)) FROM facets f "
    f"WHERE f.doc_id = d.doc_id AND f.ordinal < {MANY} "
    f"AND f.{IS_NAME})"
)
"""The names of a note with their kinds, as JSON."""
LINKED_NOTE = "d.doc_id, d.source_id, s.root, d.path, d.raw_path, d.title"
LINKED_NOTE_WIDTH = 6
CHUNK_COLUMNS = (
    "c.id, c.chunk_id, c.doc_id, c.ordinal, c.kind, c.heading_path, c.text, c.line_first, c.line_last, c.page"
)
SOURCE_COLUMNS = (
    "s.source_id, s.title, s.root, s.description, s.include, s.exclude, s.trust, s.rules, s.version_label, "
    "s.weight, s.stars, s.code, s.use, s.state"
)

Value = str | float | bytes
Condition = tuple[str, list[Value]]

# A note without a hash was never read, and the first versions of two formats did not flag private notes. A
# failed note keeps flags, hash and version of its last reading.
PRIVATE = (
    "d.flags LIKE '%\"private%' OR d.content_hash = '' OR d.made_by NOT LIKE '%@%' "
    "OR d.made_by GLOB 'markdown@[12]/*' OR d.made_by GLOB 'note@[12]/*'"
)
"""Notes that the filter `shareable` leaves out."""

OF_VERSIONS = (
    "d.doc_id IN (SELECT v.doc_id FROM version_documents v "
    "WHERE v.version IN (SELECT value FROM json_each(?)))"
)
"""The notes of some versions."""

FROM = "chunks c JOIN documents d ON d.doc_id = c.doc_id JOIN sources s ON s.source_id = d.source_id"


@lru_cache
def to_flags(row: str) -> tuple[DocumentFlag, ...]:
    return cast(tuple[DocumentFlag, ...], tuple(json.loads(row)))


def to_document(row: Row) -> Document:
    return Document(
        doc_id=DocId(row[0]),
        source=SourceId(row[1]),
        path=row[2],
        raw_path=row[3],
        title=row[4],
        type=cast(DocumentType, row[5]),
        lang=cast(Language, row[6]),
        trust=Trust(row[7]),
        fingerprint=Fingerprint(row[8], row[9], row[10], row[11]),
        content_hash=row[12],
        state=cast(DocumentState, row[13]),
        reason=row[14],
        flags=to_flags(row[15]),
        indexed_ns=row[16],
        dated=row[17],
        dated_by=row[18],
        chunks=row[19],
        facets=tuple(Facet(*values) for values in json.loads(row[20])),
        counts=tuple((kind, number) for kind, number in json.loads(row[21])),
    )


def to_linked_note(row: Row) -> LinkedNote:
    return LinkedNote(DocId(row[0]), SourceId(row[1]), os.fsdecode(row[2]), row[3], row[4], row[5])


def to_chunk(row: Row) -> Chunk:
    return Chunk(
        row=ChunkRow(row[0]),
        chunk_id=ChunkId(row[1]),
        doc_id=DocId(row[2]),
        ordinal=row[3],
        kind=cast(ChunkKind, row[4]),
        heading_path=row[5],
        text=row[6],
        span=SourceSpan(row[7], row[8], row[9]),
    )


def to_source(row: Row, documents: int = 0, chunks: int = 0) -> Source:
    return Source(
        source_id=SourceId(row[0]),
        title=row[1],
        root=os.fsdecode(row[2]),
        description=row[3],
        include=tuple(json.loads(row[4])),
        exclude=tuple(json.loads(row[5])),
        trust=Trust(row[6]),
        rules=tuple(json.loads(row[7])),
        version_label=row[8],
        weight=row[9],
        stars=row[10],
        code=bool(row[11]),
        use=cast(SourceUse, row[12]),
        state=cast(SourceState, row[13]),
        documents=documents,
        chunks=chunks,
    )


def source_values(source: Source) -> tuple[Any, ...]:
    """Values for `SOURCE_COLUMNS` except the state, in order."""
    return (
        source.source_id,
        storable(source.title),
        os.fsencode(source.root),
        storable(source.description),
        as_json(source.include),
        as_json(source.exclude),
        int(source.trust),
        as_json(source.rules),
        source.version_label,
        source.weight,
        source.stars,
        source.code,
        source.use,
    )


OTHER_FILES = "other_files:"
"""The key in `meta` before the id of a source."""


def other_files_row(found: OtherFiles) -> str:
    return json.dumps([found.count, found.types])


def to_other_files(row: str) -> OtherFiles:
    count, types = json.loads(row)
    return OtherFiles(count, tuple((name, files) for name, files in types))


def facet_rows(document: Document) -> Iterator[tuple[str | int | None, ...]]:
    """Values for all columns of the table `facets`."""
    doc, few, many = document.doc_id, 0, MANY
    for facet in document.facets:
        kind = FACETS[facet.kind]
        value, target, extra = storable(facet.value), facet.target, facet.extra
        if target is not None:
            target = storable(target)
        if extra is not None:
            extra = storable(extra)
        if kind.many:
            ordinal, many = many, many + 1
        else:
            ordinal, few = few, few + 1
        yield doc, ordinal, kind.id, kind.fold(value), value, facet.line, target, extra


def as_json(values: Sequence[str]) -> str:
    return json.dumps([storable(value) for value in values], ensure_ascii=False)


def indexed_grams(title: str, heading_path: str, text: str) -> str:
    """The grams column of a chunk, for matches inside words."""
    return grams(f"{title}\n{heading_path}\n{text}")


def predicate(filters: SearchFilters) -> Condition:
    """One SQL condition for all filters; `1` without filters."""
    return _all([*_document_conditions(filters), *_chunk_conditions(filters)])


def document_predicate(filters: SearchFilters) -> Condition:
    """The filters on notes; `1` without any."""
    return _all(_document_conditions(filters))


def chunk_predicate(filters: SearchFilters) -> Condition:
    """The filters on chunks; `1` without any."""
    return _all(_chunk_conditions(filters))


def passing_chunks(filters: SearchFilters, script: Script | None = None, columns: str = "c.id") -> Condition:
    """A SELECT of columns of `c` over the chunks that pass, in one script or in any.

    Filters documents first, each once: some filters call a Python function, which is slow.
    """
    in_script = {None: "1", "hangul": "c.hangul", "other": "NOT c.hangul"}[script]
    if not filters.active:
        return f"SELECT {columns} FROM chunks c WHERE {in_script}", []
    of_document, of_chunk = _document_conditions(filters), _chunk_conditions(filters)
    if filters.shareable and len(of_document) == 1:  # mostly few notes are private, unlike those that pass
        of_document = []
        of_chunk.append((f"c.doc_id NOT IN (SELECT d.doc_id FROM documents d WHERE {PRIVATE})", []))
    where_document, values = _all(of_document)
    where_chunk, more = _all([*of_chunk, (in_script, [])])
    if not of_document:
        return f"SELECT {columns} FROM chunks c WHERE {where_chunk}", more
    sources = "" if filters.trust_min is None else "JOIN sources s ON s.source_id = d.source_id "
    documents = f"SELECT d.doc_id FROM documents d {sources}WHERE {where_document}"
    chunks = f"SELECT {columns} FROM ({documents}) n CROSS JOIN chunks c ON c.doc_id = n.doc_id"
    return f"{chunks} WHERE {where_chunk}", [*values, *more]


def _document_conditions(filters: SearchFilters) -> list[Condition]:
    conditions: list[Condition] = []
    for one in filters.facets:
        groups = [(value,) for value in one.values] if one.match == "all" else [one.values]
        conditions += [_with_facet(FACETS[one.kind], group, one.match == "none") for group in groups]
    columns: list[tuple[str, Sequence[str]]] = [
        ("d.type", filters.types),
        ("d.lang", filters.langs),
        ("d.source_id", filters.sources),
        ("d.source_id", filters.within),
        ("d.doc_id", filters.doc_ids),
    ]
    conditions += [_one_of(column, values) for column, values in columns if values]
    if filters.scope:
        conditions.append(_in_scope(filters.scope))
    if filters.without:
        removed, values = _one_of("d.source_id", filters.without)
        conditions.append((f"NOT {removed}", values))
    if filters.version_ids:
        conditions.append((OF_VERSIONS, [json.dumps(filters.version_ids)]))
    if filters.paths:
        globs = [path_globs.condition(pattern) for pattern in filters.paths]
        anywhere = " OR ".join(f"({passes})" for passes, _ in globs)
        conditions.append((anywhere, [value for _, values in globs for value in values]))
    for passes, values in map(path_globs.condition, filters.paths_none):
        conditions.append((f"NOT ({passes})", values))
    conditions += [("kebab_contains(?, d.title)", [part]) for part in filters.titles]
    if filters.trust_min is not None:
        conditions.append(("coalesce(d.trust, s.trust) >= ?", [int(filters.trust_min)]))
    for sign, moment in ((">=", filters.after_ns), ("<", filters.before_ns)):
        if moment is not None:
            stated = f"CASE d.dated WHEN '' THEN d.mtime_ns {sign} ? ELSE d.dated {sign} ? END"
            conditions.append((stated, [moment, day_of(moment)]))
    for sign, moment in ((">=", filters.modified_after_ns), ("<", filters.modified_before_ns)):
        if moment is not None:
            conditions.append((f"d.mtime_ns {sign} ?", [moment]))
    for link in filters.links:
        if link.docs is None:
            raise ValueError(f"{link} is not resolved")
        passing = f"+d.doc_id {'NOT ' * link.negated}IN (SELECT value FROM json_each(?))"
        conditions.append((passing, [json.dumps(link.docs)]))
    for has in filters.has:
        some = (
            f"EXISTS (SELECT 1 FROM facets f WHERE f.doc_id = d.doc_id AND f.kind = ? "
            f"AND f.ordinal {'>=' if FACETS[kind].many else '<'} {MANY})"
            for kind in has.kinds
        )
        conditions.append((f"{'NOT ' * has.negated}({' OR '.join(some)})", list(has.kinds)))
    if filters.shareable:
        conditions.append((f"NOT ({PRIVATE})", []))
    return conditions


def _chunk_conditions(filters: SearchFilters) -> list[Condition]:
    conditions = [_one_of("c.kind", filters.kinds)] if filters.kinds else []
    return conditions + [("kebab_contains(?, c.heading_path)", [part]) for part in filters.headings]


def _in_scope(scope: Sequence[SourcePart]) -> Condition:
    """Notes of one of these sources or folders, by the index on files."""
    whole = [part.source for part in scope if not part.below]
    parts = ["d.source_id IN (SELECT value FROM json_each(?))"]
    values: list[Value] = [json.dumps(whole)]
    for part in scope:
        if part.below:
            folder = os.fsencode(part.below)
            parts.append("d.source_id = ? AND d.raw_path > ? AND d.raw_path < ?")
            values += [part.source, folder + b"/", folder + b"0"]  # "0" is the byte after "/"
    return " OR ".join(parts), values


def _with_facet(kind: FacetKind, values: Sequence[str], excluded: bool) -> Condition:
    """Notes with one of these values, or without all of them; finds them by the index on values."""
    folded = [kind.fold(value) for value in values]
    # Plus: documents in the order of their rows, so that the ids of their chunks come nearly sorted.
    condition = f"+d.doc_id {'NOT ' if excluded else ''}IN "
    if kind.within:
        parts = " OR ".join(["instr(f.folded, ?)"] * len(folded))
        kinds = ", ".join("?" * len(kind.within))
        return f"{condition}(SELECT f.doc_id FROM facets f WHERE f.kind IN ({kinds}) AND ({parts}))", [
            *kind.within,
            *folded,
        ]
    if kind.compared:
        found = [_compared(kind, value) for value in values]
        selects = " UNION ALL ".join(select for select, _ in found)
        return f"{condition}({selects})", [value for _, parts in found for value in parts]
    select = "SELECT f.doc_id FROM json_each(?) w CROSS JOIN facets f ON f.kind = ? AND"
    both = [(f"{select} f.folded = w.value", folded)]
    if kind.nested:  # "0" is the character after "/"; `=a` finds nothing below
        below = [value for value in folded if not value.startswith("=")]
        both = [
            (f"{select} f.folded = w.value", [value.removeprefix("=") for value in folded]),
            (f"{select} f.folded >= w.value || '/' AND f.folded < w.value || '0'", below),
        ]
    selects = " UNION ALL ".join(select for select, _ in both)
    return f"{condition}({selects})", [one for _, wanted in both for one in (as_json(wanted), kind.id)]


def _compared(kind: FacetKind, value: str) -> Condition:
    """A SELECT of the notes with a key, a value of it, or one that compares with it."""
    key, how, other = split_property(value)
    folded = kind.fold(key)
    of_key = "SELECT f.doc_id FROM facets f WHERE f.kind = ? AND f.folded >= ? AND f.folded < ?"
    values: list[Value] = [kind.id, f"{folded}=", f"{folded}>"]  # ">" is the character after "="
    if not how:
        return of_key, values
    return f"{of_key} AND kebab_compare(substr(f.folded, ?), ?, ?)", [*values, len(folded) + 2, how, other]


def _one_of(column: str, values: Sequence[str]) -> Condition:
    return f"{column} IN (SELECT value FROM json_each(?))", [json.dumps(list(values))]


def _all(conditions: Sequence[Condition]) -> Condition:
    if not conditions:
        return "1", []
    sql = " AND ".join(f"({condition})" for condition, _ in conditions)
    return sql, [
        storable(value) if isinstance(value, str) else value for _, values in conditions for value in values
    ]
