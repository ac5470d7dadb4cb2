"""Reads the sources, documents, chunks, runs and figures of an index. Changes nothing."""

from __future__ import annotations

import json
import os
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kebab_tui.domain.document import Chunk, Document, DocumentState, Fingerprint, OtherFiles, Source, Trust
from kebab_tui.domain.facets import FACETS
from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.text import display_path
from kebab_tui.storage.sqlite import rows, schema, version_rows
from kebab_tui.storage.sqlite.connection import meta_value
from kebab_tui.storage.sqlite.rows import Value

if TYPE_CHECKING:
    from kebab_tui.storage.ports import Figures, IndexRun, KnownFile, VersionNote

_DOCUMENTS_FROM = "FROM documents d JOIN sources s USING (source_id) WHERE s.use <> 'removed' AND"
_DOCUMENTS = f"SELECT {rows.DOCUMENT_COLUMNS} {_DOCUMENTS_FROM}"
_KNOWN = (
    "SELECT raw_path, doc_id, content_hash, made_by, state, reason, checked_ns, flags, "
    "size, mtime_ns, ctime_ns, inode FROM documents WHERE"
)
_SPELLINGS = 5
"""Notes that are asked how a value is spelled, if only the most frequent values are wanted."""


class StoreCatalogue:
    """Valid only during its read transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def sources(self, *, counted: bool = True) -> list[Source]:
        statement = (
            f"SELECT {rows.SOURCE_COLUMNS} FROM sources s "
            "WHERE s.use <> 'removed' ORDER BY s.added_ns, s.source_id"
        )
        sources = [rows.to_source(row) for row in self._connection.execute(statement)]
        if not counted:
            return sources
        by_source = "SELECT source_id, count(*) FROM documents GROUP BY source_id"
        documents: dict[str, int] = dict(self._connection.execute(by_source).fetchall())
        chunks: dict[str, int] = {}
        left = self._number("SELECT count(*) FROM chunks")
        of_source = "SELECT count(*) FROM documents d JOIN chunks c USING (doc_id) WHERE d.source_id = ?"
        # The largest source has the rest: most indexes have one folder, or one that is much the largest.
        for place, source in enumerate(sorted(documents, key=lambda one: documents[one]), 1):
            chunks[source] = left if place == len(documents) else self._number(of_source, (source,))
            left -= chunks[source]
        return [
            replace(
                source,
                documents=documents.get(source.source_id, 0),
                chunks=chunks.get(source.source_id, 0),
            )
            for source in sources
        ]

    def removed_sources(self) -> list[Source]:
        statement = f"SELECT {rows.SOURCE_COLUMNS} FROM sources s WHERE s.use = 'removed'"
        return [rows.to_source(row) for row in self._connection.execute(statement)]

    def known_files(self, source: SourceId, after: bytes = b"", limit: int = -1) -> dict[bytes, KnownFile]:
        return self._known("source_id = ? AND raw_path > ? ORDER BY raw_path LIMIT ?", source, after, limit)

    def known_files_at(self, source: SourceId, places: Iterable[bytes]) -> dict[bytes, KnownFile]:
        """The files at these paths and below them."""
        found: dict[bytes, KnownFile] = {}
        for place in places:
            found |= self._known("source_id = ? AND raw_path = ?", source, place)
            ends = (place + b"/", place + b"0")  # "0" is the byte after "/"
            found |= self._known("source_id = ? AND raw_path >= ? AND raw_path < ?", source, *ends)
        return found

    def _known(self, condition: str, *values: str | bytes | int) -> dict[bytes, KnownFile]:
        from kebab_tui.storage.ports import KnownFile  # a search never needs it

        known = {}
        for row in self._connection.execute(f"{_KNOWN} {condition}", values):
            path, doc_id, content_hash, made_by, state, reason, checked_ns, flags, *stamp = row
            facts = content_hash, made_by, state, reason, checked_ns, rows.to_flags(flags)
            known[path] = KnownFile(DocId(doc_id), Fingerprint(*stamp), *facts)
        return known

    def failed(self) -> int:
        """Number of notes that the last run could not read."""
        return self._number("SELECT count(*) FROM documents WHERE state = 'failed'")

    def makers(self) -> dict[str, int]:
        """The number of notes by `<format>@<version>/<chunker>` that read them.

        Without failed ones and those of paused folders.
        """
        statement = (
            "SELECT made_by, count(*) FROM documents d JOIN sources s USING (source_id) "
            "WHERE d.state <> 'failed' AND s.use = 'watched' GROUP BY made_by"
        )
        return dict(self._connection.execute(statement).fetchall())

    def documents(
        self, filters: SearchFilters, states: Sequence[DocumentState] = (), limit: int = -1, offset: int = 0
    ) -> tuple[list[Document], int]:
        """One page of the notes that pass the filters, by path, and their total number."""
        where, values = rows.predicate(filters)
        # Other filters need no chunk and keep notes without one (failed, empty).
        if filters.kinds or filters.headings:
            where = f"d.doc_id IN (SELECT c.doc_id FROM {rows.FROM} WHERE {where})"
        if states:
            where += " AND d.state IN (SELECT value FROM json_each(?))"
            values.append(json.dumps(list(states)))
        total = self._number(f"SELECT count(*) {_DOCUMENTS_FROM} {where}", values)
        statement = f"{_DOCUMENTS} {where} ORDER BY d.path, d.source_id, d.raw_path LIMIT ? OFFSET ?"
        page = self._connection.execute(statement, (*values, limit, offset))
        return [rows.to_document(row) for row in page], total

    def documents_at(self, path: str) -> list[Document]:
        """Notes of any source with this display path."""
        shown = display_path(path)
        forms = {os.fsencode(unicodedata.normalize(form, shown)) for form in ("NFC", "NFD")}
        # By the index on files; a path of another normalisation needs a look at every note.
        by_file = "d.source_id IN (SELECT source_id FROM sources) AND d.raw_path IN (?, ?, ?) AND d.path = ?"
        found: list[Document] = []
        for condition, values in (
            (by_file, (os.fsencode(path), min(forms), max(forms), shown)),
            ("d.path = ?", (shown,)),
        ):
            if not found:
                statement = f"{_DOCUMENTS} {condition} ORDER BY d.source_id, d.raw_path"
                found = [rows.to_document(row) for row in self._connection.execute(statement, values)]
        return found

    def documents_ending(self, ending: str, limit: int) -> list[Document]:
        """Notes whose path ends with these path components."""
        pattern = "/" + ending.lstrip("/")
        statement = f"{_DOCUMENTS} substr('/' || d.path, -length(?1)) = ?1 ORDER BY d.path LIMIT ?2"
        return [rows.to_document(row) for row in self._connection.execute(statement, (pattern, limit))]

    def root_of(self, source: SourceId) -> str:
        row = self._connection.execute("SELECT root FROM sources WHERE source_id = ?", (source,)).fetchone()
        return os.fsdecode(row[0])

    def document(self, doc_id: DocId) -> Document | None:
        row = self._connection.execute(f"{_DOCUMENTS} d.doc_id = ?", (doc_id,)).fetchone()
        return rows.to_document(row) if row else None

    def chunks_of(self, doc_id: DocId) -> list[Chunk]:
        statement = f"SELECT {rows.CHUNK_COLUMNS} FROM chunks c WHERE c.doc_id = ? ORDER BY c.ordinal"
        return [rows.to_chunk(row) for row in self._connection.execute(statement, (doc_id,))]

    def chunks_named(self, prefix: str) -> list[Chunk]:
        """At most two chunks whose id starts with `prefix`: two show that it is ambiguous."""
        statement = (
            f"SELECT {rows.CHUNK_COLUMNS} FROM chunks c "
            "WHERE substr(c.chunk_id, 1, 8) >= ?1 AND substr(c.chunk_id, 1, 8) < ?2 "
            "AND substr(c.chunk_id, 1, length(?3)) = ?3 ORDER BY c.chunk_id LIMIT 2"
        )
        values = (prefix[:8], prefix[:8] + "g", prefix)
        return [rows.to_chunk(row) for row in self._connection.execute(statement, values)]

    def values(self, kind: str, limit: int = -1) -> list[tuple[str, int]]:
        """Every value that a filter can have with the number of notes that it finds, most frequent first."""
        found = "SELECT doc_id, folded, value FROM facets WHERE kind = ?1"
        if not FACETS[kind].nested and limit >= 0:
            # By the index alone, which lacks the values themselves: those are looked up for the few.
            statement = (
                "SELECT (SELECT min(value) FROM (SELECT value FROM facets f WHERE f.kind = ?1 "
                f"AND f.folded = n.folded LIMIT {_SPELLINGS})), n.notes FROM (SELECT folded, "
                "count(DISTINCT doc_id) AS notes FROM facets WHERE kind = ?1 GROUP BY folded "
                "ORDER BY notes DESC, folded LIMIT ?2) n"
            )
            return list(self._connection.execute(statement, (kind, limit)))
        if FACETS[kind].nested:  # `a` and `a/b` of `a/b/c`, once a note
            cut = "rtrim(rtrim({0}, replace({0}, '/', '')), '/')"
            found = (
                f"WITH RECURSIVE part(doc_id, folded, value) AS ({found} AND instr(folded, '/') UNION "
                f"SELECT doc_id, {cut.format('folded')}, {cut.format('value')} FROM part "
                f"WHERE instr(folded, '/')) "
                f"{found} AND NOT instr(folded, '/') UNION ALL SELECT * FROM part"
            )
        counted = f"SELECT min(value), count(DISTINCT doc_id) AS n FROM ({found})"
        statement = f"{counted} GROUP BY folded ORDER BY n DESC, folded LIMIT ?2"
        return list(self._connection.execute(statement, (kind, limit)))

    def note_counts(self) -> dict[str, dict[str, int]]:
        """The number of searchable notes by filter key and value: `type`, `lang`, `kind`, `trust`."""
        counts: dict[str, Counter[str]] = {key: Counter() for key in ("type", "lang", "kind", "trust")}
        statement = (
            "SELECT d.type, d.lang, coalesce(d.trust, s.trust), count(*) FROM documents d "
            "JOIN sources s USING (source_id) WHERE d.state = 'ok' AND s.use <> 'removed' GROUP BY 1, 2, 3"
        )
        for type_, lang, trust, number in self._connection.execute(statement):
            counts["type"][type_] += number
            counts["lang"][lang] += number
            for level in Trust:
                counts["trust"][level.label] += number * (trust >= level)
        statement = "SELECT kind, count(*) FROM (SELECT DISTINCT doc_id, kind FROM chunks) GROUP BY kind"
        counts["kind"].update(dict(self._connection.execute(statement).fetchall()))
        return {key: dict(found) for key, found in counts.items()}

    def paths(self) -> list[str]:
        """The distinct display paths of searchable notes."""
        statement = f"SELECT DISTINCT path {_DOCUMENTS_FROM} d.state = 'ok' ORDER BY path"
        return [path for (path,) in self._connection.execute(statement)]

    def other_files(self, sources: Sequence[SourceId] = ()) -> OtherFiles:
        """The files of types that no format reads, as counted by the last scan of each folder."""
        statement = (
            "SELECT m.value FROM meta m JOIN sources s ON m.key = ? || s.source_id WHERE s.use <> 'removed'"
        )
        values: list[Value] = [rows.OTHER_FILES]
        if sources:
            statement += " AND s.source_id IN (SELECT value FROM json_each(?))"
            values.append(json.dumps(list(sources)))
        found = self._connection.execute(statement, values)
        return OtherFiles.total(rows.to_other_files(row[0]) for row in found)

    def root_id(self, source: SourceId) -> str:
        """Identity of the folder that the last ingest read; empty before the first."""
        row = self._connection.execute(
            "SELECT root_id FROM sources WHERE source_id = ?", (source,)
        ).fetchone()
        return str(row[0]) if row else ""

    def version_notes(self, versions: Sequence[SourceId]) -> list[VersionNote]:
        """The notes of versions; a shared one once for each."""
        return version_rows.notes_of(self._connection, versions)

    def version_counts(self) -> dict[str, tuple[int, int]]:
        """The numbers of notes and passages of each version."""
        return version_rows.counts(self._connection)

    def versions_of(self, docs: Sequence[DocId]) -> dict[DocId, set[str]]:
        """The versions that have each of these notes."""
        return version_rows.versions_of(self._connection, docs)

    def model(self) -> str | None:
        """The selected model; None for the bundled one."""
        model = meta_value(self._connection, "model")
        return None if model is None else str(model)

    def runs(self, limit: int) -> list[IndexRun]:
        from kebab_tui.storage.ports import IndexRun

        statement = "SELECT kind, started_ns, finished_ns, report FROM runs ORDER BY run_id DESC LIMIT ?"
        return [
            IndexRun(kind, started, finished, json.loads(report))
            for kind, started, finished, report in self._connection.execute(statement, (limit,))
        ]

    def figures(self) -> Figures:
        from kebab_tui.storage.ports import Figures

        states = dict(self._connection.execute("SELECT state, count(*) FROM documents GROUP BY state"))
        meta = dict(self._connection.execute("SELECT key, value FROM meta"))
        signature, made_by = str(meta["fts_signature"]), str(meta.get("made_by", ""))
        return Figures(
            documents=sum(states.values()),
            failed=states.get("failed", 0),
            skipped=states.get("skipped", 0),
            chunks=self._number("SELECT count(*) FROM chunks"),
            words=self._number("SELECT count(*) FROM words"),
            corpus_revision=int(meta["corpus_revision"]),
            schema_version=self._number("PRAGMA user_version"),
            lexical_version=schema.lexical_version(signature, made_by),
            fts_signature=signature,
            made_by=made_by,
        )

    def _number(self, statement: str, values: Sequence[Value] = ()) -> int:
        return int(self._connection.execute(statement, values).fetchone()[0])
