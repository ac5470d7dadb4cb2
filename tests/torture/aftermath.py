"""What must be true of an index whose writer was killed, and of the next ingest.

Every check gives complaints; none means that the user has lost nothing and has nothing to do.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field

from kebab_tui.domain.errors import KebabError
from kebab_tui.domain.query import SearchQuery
from kebab_tui.store.connection import open_writer
from kebab_tui.store.file_state import file_state
from kebab_tui.store.folder import DataFolder
from kebab_tui.workspace import Callbacks, Workspace
from tests.torture.victim import SETTINGS

QUERIES = (
    "port conflict", "충돌", "install", '"running quickly"', "tag:port 백업", "title:code", "특별 -restore",
)  # fmt: skip

_DOCUMENTS = (
    "SELECT path, title, type, lang, trust, aliases, flags, size, content_hash, made_by, state, reason, "
    "(SELECT group_concat(folded) FROM "
    "(SELECT folded FROM document_tags t WHERE t.doc_id = d.doc_id ORDER BY folded)) "
    "FROM documents d ORDER BY raw_path"
)
_CHUNKS = (
    "SELECT d.path, c.ordinal, c.kind, c.line_first, c.line_last, c.heading_path, c.text, c.title, c.grams "
    "FROM chunks c JOIN documents d USING (doc_id) ORDER BY d.raw_path, c.ordinal"
)
_WORDS = "SELECT word, stem FROM words"
_CITED = (
    "SELECT s.root, d.raw_path, d.doc_id, c.line_first, c.line_last, c.text "
    "FROM chunks c JOIN documents d USING (doc_id) JOIN sources s USING (source_id) WHERE d.state = 'ok'"
)


@dataclass(slots=True)
class Verdict:
    corrupt: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    manual: list[str] = field(default_factory=list)

    @property
    def complaints(self) -> list[str]:
        return [*self.corrupt, *self.stale, *self.manual]


def judge(data: str, notes: str, scratch: str, damaged: bool) -> Verdict:
    """Look at what the kill left behind, then ingest once more and compare with a fresh index."""
    verdict = Verdict()
    folder = DataFolder(data)
    if os.path.exists(folder.database) and not damaged:
        verdict.corrupt += _unsound(folder)
        verdict.stale += _untrue(folder)
    verdict.corrupt += _unreadable_sources(folder)
    workspace = Workspace(SETTINGS, data)
    try:
        report = workspace.ingest([notes], Callbacks())
    except KebabError as error:
        verdict.manual.append(f"the next ingest failed: {error.message}")
        return verdict
    wanted = {notes, *filter(os.path.isdir, [f"{notes}-other"])}
    if {source.root for source in workspace.sources()} != wanted:
        verdict.manual.append("a folder was forgotten")
    if report.healed and not damaged:
        verdict.corrupt.append("the next ingest took the index for damaged")
    verdict.corrupt += _unsound(folder)
    verdict.stale += [*_untrue(folder), *_different(workspace, notes, scratch)]
    if os.path.exists(folder.suspicion) or os.path.getsize(folder.lock):
        verdict.manual.append("a sign of damage or of a writer is left")
    workspace.close()
    return verdict


def _unsound(folder: DataFolder) -> Iterator[str]:
    try:
        connection = open_writer(folder.database)
    except KebabError as error:
        yield f"cannot be opened: {error.message}"
        return
    try:
        if connection.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
            yield "quick_check"
        if connection.execute("PRAGMA foreign_key_check").fetchall():
            yield "rows without an owner"
        connection.execute("INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('integrity-check', 1)")
        chunks = connection.execute("SELECT id FROM chunks ORDER BY id").fetchall()
        if chunks != connection.execute("SELECT id FROM chunks_fts_docsize ORDER BY id").fetchall():
            yield "row parity"
        triggers = connection.execute("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'").fetchone()
        if triggers != (3,):
            yield "a trigger is missing"
    except sqlite3.DatabaseError as error:
        yield str(error)
    finally:
        connection.close()


def _untrue(folder: DataFolder) -> Iterator[str]:
    """Passages that are not the lines they cite, of files that are seen as unchanged."""
    workspace = Workspace(SETTINGS, folder.root)
    try:
        with workspace._parts.reader.catalogue() as catalogue:
            rows = catalogue._connection.execute(_CITED).fetchall()
            stamps = {row[2]: catalogue.document(row[2]) for row in rows}
    except KebabError as error:
        yield f"cannot be read: {error.message}"
        return
    finally:
        workspace.close()
    for root, raw_path, doc, first, last, text in rows:
        document = stamps[doc]
        assert document is not None
        if file_state(os.fsdecode(root), raw_path, document.fingerprint) == "same":
            with open(os.path.join(root, raw_path), encoding="utf-8") as handle:
                lines = handle.read().split("\n")
            if "\n".join(lines[first - 1 : last]) != text:
                yield f"{os.fsdecode(raw_path)}:L{first}-L{last} is not what it says"


def _unreadable_sources(folder: DataFolder) -> Iterator[str]:
    try:
        with open(folder.sources, encoding="ascii") as handle:
            if not isinstance(json.load(handle), list):
                yield "sources.json is no list"
    except FileNotFoundError:
        return
    except ValueError as error:
        yield f"sources.json: {error}"


def _different(workspace: Workspace, notes: str, scratch: str) -> Iterator[str]:
    fresh = Workspace(SETTINGS, scratch)
    fresh.ingest([notes], Callbacks())
    for name, statement in (("documents", _DOCUMENTS), ("chunks", _CHUNKS)):
        ours, theirs = _rows(workspace, statement), _rows(fresh, statement)
        if ours != theirs:
            odd = sorted(set(map(repr, ours)) ^ set(map(repr, theirs)))
            yield f"{name} differ from a fresh index: {odd[:2]}"
    missing = {*_rows(fresh, _WORDS)} - {*_rows(workspace, _WORDS)}
    if missing:
        yield f"words are missing: {sorted(missing)[:5]}"
    for query in QUERIES:
        if _answer(workspace, query) != _answer(fresh, query):
            yield f"another answer to {query!r} than from a fresh index"
    fresh.close()


def _rows(workspace: Workspace, statement: str) -> list[tuple[object, ...]]:
    with workspace._parts.reader.catalogue() as catalogue:
        return list(catalogue._connection.execute(statement))


def _answer(workspace: Workspace, query: str) -> list[tuple[float, str, bool, bool]]:
    """All hits; equal scores in the order of their citations, because rows are numbered as notes came."""
    hits = workspace.search(SearchQuery(query, mode="lexical", k=1000)).hits
    return sorted((round(-hit.score, 9), str(hit.citation), hit.relaxed, hit.stale) for hit in hits)
