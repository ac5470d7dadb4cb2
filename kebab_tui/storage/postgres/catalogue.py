"""Reads the sources, notes, passages and figures of a shared index; implements `storage.ports.Catalogue`."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from kebab_tui.domain.document import Chunk, Document, DocumentState, Fingerprint, OtherFiles, Source, Trust
from kebab_tui.domain.facets import FACETS
from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.text import display_path
from kebab_tui.storage.ports import Figures, IndexRun, KnownFile
from kebab_tui.storage.postgres import schema
from kebab_tui.storage.postgres.cluster import Rows
from kebab_tui.storage.postgres.filter_sql import conditions
from kebab_tui.storage.postgres.match_sql import UP, array, literal
from kebab_tui.storage.postgres.read_session import ReadSession
from kebab_tui.storage.postgres.snapshot import CHUNK, DOCUMENT
from kebab_tui.storage.sqlite import rows as local_rows

_DOCUMENT = f"SELECT {DOCUMENT}d.facets, d.counts FROM doc d WHERE"
_KNOWN = (
    "SELECT raw_path, doc_id, content_hash, made_by, state, reason, checked_ns, flags, size, mtime_ns, "
    "ctime_ns, "
    "inode FROM doc WHERE"
)


class PostgresCatalogue:
    """Valid while its session lasts."""

    def __init__(self, session: ReadSession) -> None:
        self._session = session

    def sources(self, *, counted: bool = True) -> list[Source]:
        found = self._session.sources()
        if not counted:
            return list(found.values())
        notes: Counter[int] = Counter()
        chunks: Counter[int] = Counter()
        for src, docs, passages in self._session.all("SELECT src, docs, chunks FROM stat"):
            notes[src] += docs
            chunks[src] += passages
        return [replace(one, documents=notes[src], chunks=chunks[src]) for src, one in found.items()]

    def removed_sources(self) -> list[Source]:
        return []  # they are not copied

    def root_of(self, source: SourceId) -> str:
        return self._session.root_of(source)

    def root_id(self, source: SourceId) -> str:
        return ""

    def known_files(self, source: SourceId, after: bytes = b"", limit: int = -1) -> dict[bytes, KnownFile]:
        at_most = f" LIMIT {limit}" if limit >= 0 else ""
        found = self._files(
            f"source_id = {literal(source)} AND raw_path > {literal(after)} ORDER BY raw_path{at_most}"
        )
        return dict(sorted(found.items())[: limit if limit >= 0 else None])

    def known_files_at(self, source: SourceId, places: Iterable[bytes]) -> dict[bytes, KnownFile]:
        found: dict[bytes, KnownFile] = {}
        for place in places:
            below, end = literal(place + b"/"), literal(place + b"0")  # "0" is the byte after "/"
            found |= self._files(
                f"source_id = {literal(source)} AND "
                f"(raw_path = {literal(place)} OR (raw_path >= {below} AND raw_path < {end}))"
            )
        return found

    def _files(self, condition: str) -> dict[bytes, KnownFile]:
        known = {}
        for row in self._session.all(f"{_KNOWN} {condition}"):
            path, doc_id, content_hash, made_by, state, reason, checked_ns, flags, *stamp = row
            facts = content_hash, made_by, state, reason, checked_ns, local_rows.to_flags(flags)
            known[path] = KnownFile(DocId(doc_id), Fingerprint(*stamp), *facts)
        return known

    def failed(self) -> int:
        return self._number("SELECT count(*) FROM doc WHERE state = 'failed'")

    def makers(self) -> dict[str, int]:
        return _summed(
            self._session.all("SELECT made_by, count(*) FROM doc WHERE state <> 'failed' GROUP BY made_by")
        )

    def documents(
        self, filters: SearchFilters, states: Sequence[DocumentState] = (), limit: int = -1, offset: int = 0
    ) -> tuple[list[Document], int]:
        passes = conditions(filters)
        where = passes.note or "true"
        if passes.chunk:  # other filters keep notes without passages
            where += f" AND EXISTS (SELECT 1 FROM chunk c WHERE c.doc_id = d.doc_id AND {passes.chunk})"
        if states:
            where += f" AND d.state = ANY({array(list(states), 'text')})"
        total = f"SELECT count(*) FROM doc d WHERE {where}"
        cut = "" if limit < 0 else f" LIMIT {int(limit + offset)}"
        found = self._documents(f"{where} ORDER BY d.path, d.source_id, d.raw_path{cut}", total)
        found.sort(key=lambda one: (one.path, one.source, one.raw_path))
        return found[offset:] if limit < 0 else found[offset : offset + limit], self._number(total)

    def documents_at(self, path: str) -> list[Document]:
        shown = display_path(path)
        raw = {
            os.fsencode(path),
            *(os.fsencode(unicodedata.normalize(form, shown)) for form in ("NFC", "NFD")),
        }
        found = self._documents(f"d.path = {literal(shown)}")
        exact = [one for one in found if one.raw_path in raw] or found
        return sorted(exact, key=lambda one: (one.source, one.raw_path))

    def documents_ending(self, ending: str, limit: int) -> list[Document]:
        pattern = "/" + ending.lstrip("/")
        where = (
            f"right('/' || d.path, {len(pattern)}) = {literal(pattern)} ORDER BY d.path LIMIT {int(limit)}"
        )
        return sorted(self._documents(where), key=lambda one: one.path)[:limit]

    def document(self, doc_id: DocId) -> Document | None:
        return next(iter(self._documents(f"d.doc_id = {literal(doc_id)}")), None)

    def _documents(self, where: str, *more: str) -> list[Document]:
        return [local_rows.to_document(row) for row in self._session.all(f"{_DOCUMENT} {where}", *more)]

    def chunks_of(self, doc_id: DocId) -> list[Chunk]:
        read = self._session.all(f"SELECT {CHUNK} FROM chunk c WHERE c.doc_id = {literal(doc_id)}")
        return sorted(map(local_rows.to_chunk, read), key=lambda one: one.ordinal)

    def chunks_named(self, prefix: str) -> list[Chunk]:
        read = self._session.all(
            f"SELECT {CHUNK} FROM chunk c WHERE c.chunk_id >= {literal(prefix)} "
            f"AND c.chunk_id < {literal(prefix + UP)} ORDER BY c.chunk_id LIMIT 2"
        )
        return sorted(map(local_rows.to_chunk, read), key=lambda one: one.chunk_id)[:2]

    def values(self, kind: str, limit: int = -1) -> list[tuple[str, int]]:
        if FACETS[kind].nested:  # `a` and `a/b` of `a/b/c`, once a note
            part = "array_to_string((string_to_array({}, '/'))[1:n], '/')"
            read = self._session.all(
                f'SELECT {part.format("folded")} AS key, min({part.format("value")} COLLATE "C"), '
                "count(DISTINCT doc_id) FROM facet, generate_series(1, "
                "cardinality(string_to_array(folded, '/'))) n "
                f"WHERE kind = {literal(kind)} GROUP BY key"
            )
        else:
            read = self._session.all(
                'SELECT folded, min(value COLLATE "C"), count(DISTINCT doc_id) FROM facet '
                f"WHERE kind = {literal(kind)} GROUP BY folded"
            )
        values: dict[str, str] = {}
        notes: Counter[str] = Counter()
        for folded, value, number in read:
            values[folded] = min(value, values.get(folded, value))
            notes[folded] += number
        ordered = sorted(values, key=lambda folded: (-notes[folded], folded))
        return [(values[folded], notes[folded]) for folded in (ordered if limit < 0 else ordered[:limit])]

    def note_counts(self) -> dict[str, dict[str, int]]:
        kinds = "SELECT kind, count(DISTINCT doc_id) FROM chunk GROUP BY kind"
        read = self._session.all(
            "SELECT type, lang, trust, count(*) FROM doc WHERE state = 'ok' GROUP BY 1, 2, 3", kinds
        )
        counts: dict[str, Counter[str]] = {key: Counter() for key in ("type", "lang", "kind", "trust")}
        for type_, lang, trust, number in read:
            counts["type"][type_] += number
            counts["lang"][lang] += number
            for level in Trust:
                counts["trust"][level.label] += number * (trust >= level)
        counts["kind"].update(_summed(self._session.all(kinds)))
        return {key: dict(found) for key, found in counts.items()}

    def paths(self) -> list[str]:
        read = self._session.all("SELECT DISTINCT path FROM doc WHERE state = 'ok'")
        return sorted({path for (path,) in read})

    def other_files(self, sources: Sequence[SourceId] = ()) -> OtherFiles:
        of = f" WHERE source_id = ANY({array(list(sources), 'text')})" if sources else ""
        read = self._session.ask(f"SELECT other_files FROM source{of}")
        return OtherFiles.total(local_rows.to_other_files(row[0]) for row in (read[0] if read else []))

    def model(self) -> str | None:
        known = self._session.fleet.copy  # asked before every search: it need not wait for a trip
        return (known or self._session.copy).facts.model

    def runs(self, limit: int) -> list[IndexRun]:
        """The copy: it is all that is known of the past."""
        moment = self._session.copy.facts.published_ns
        return [IndexRun("publish", moment, moment, {})][:limit]

    def figures(self) -> Figures:
        facts = self._session.copy.facts
        totals = self._session.all(
            "SELECT coalesce(sum(docs), 0)::bigint, coalesce(sum(chunks), 0)::bigint FROM stat"
        )
        states = _summed(self._session.all("SELECT state, count(*) FROM doc GROUP BY state"))
        return Figures(
            documents=sum(row[0] for row in totals),
            failed=states.get("failed", 0),
            skipped=states.get("skipped", 0),
            chunks=sum(row[1] for row in totals),
            words=sum(row[0] for row in self._session.first("SELECT count(DISTINCT word) FROM word")),
            corpus_revision=facts.revision,
            schema_version=schema.SCHEMA_VERSION,
            lexical_version=facts.lexical_version,
            fts_signature=facts.signature,
            made_by=facts.made_by,
        )

    def _number(self, statement: str) -> int:
        return sum(row[0] for row in self._session.all(statement))


def _summed(rows: Rows) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for key, number in rows:
        counts[key] += number
    return dict(counts)
