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
from kebab_tui.files.file_state import file_state
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.catalogue import StoreCatalogue
from kebab_tui.storage.sqlite.connection import open_writer
from kebab_tui.workspace import Callbacks, Workspace
from tests.torture import meaning
from tests.torture.company import ended, indexer, race, settled
from tests.torture.points import Point
from tests.torture.victim import SETTINGS

QUERIES = (
    "port conflict", "충돌", "install", '"running quickly"', "tag:port 백업", "title:code", "특별 -restore",
)  # fmt: skip

_ALL = 1_000_000
_DOCUMENTS = (
    "SELECT path, title, type, lang, trust, flags, size, content_hash, made_by, state, reason, "
    "(SELECT group_concat(kind || ':' || value) FROM "
    "(SELECT kind, value FROM facets f WHERE f.doc_id = d.doc_id ORDER BY ordinal)) "
    "FROM documents d ORDER BY raw_path"
)
_CHUNKS = (
    "SELECT d.path, c.ordinal, c.kind, c.line_first, c.line_last, c.heading_path, c.text, c.title, c.grams "
    "FROM chunks c JOIN documents d USING (doc_id) ORDER BY d.raw_path, c.ordinal"
)
_NAMES = (
    "SELECT d.path, n.names, n.grams FROM note_names n JOIN documents d USING (doc_id) ORDER BY d.raw_path"
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
    litter: list[str] = field(default_factory=list)
    """Harmless, but nobody will ever take it away."""

    @property
    def complaints(self) -> list[str]:
        return [*self.corrupt, *self.stale, *self.manual]


def judge(point: Point, data: str, notes: str, scratch: str, seed: int, *, mended: bool) -> Verdict:
    """Look at what the kill left behind, bring the index in step, and compare with a fresh one.

    `mended`: somebody else has brought it in step already.
    """
    verdict = Verdict()
    _look_at_leftovers(point, data, verdict)
    if not mended:
        mended, complaints = recover(point, data, notes, seed)
        verdict.manual += complaints
    workspace = Workspace(SETTINGS, data)
    try:
        _bring_in_step(workspace, point, notes, verdict, mended=mended)
        _compare(workspace, point, notes, scratch, verdict)
    except KebabError as error:
        verdict.manual.append(f"the next run failed: {error.message}")
    finally:
        workspace.close()
    return verdict


def _look_at_leftovers(point: Point, data: str, verdict: Verdict) -> None:
    folder = DataFolder(data)
    verdict.corrupt += _unreadable_sources(folder)
    if point.scene == "damaged" or not os.path.exists(folder.database):
        return
    verdict.corrupt += _unsound(folder)
    verdict.stale += _untrue(folder)
    if point.model is not None and _has_sources(folder):
        workspace = Workspace(SETTINGS, data)
        verdict.stale += meaning.left_behind(workspace)
        workspace.close()


def _bring_in_step(workspace: Workspace, point: Point, notes: str, verdict: Verdict, *, mended: bool) -> None:
    report = workspace.ingest([notes], Callbacks())
    if report.healed and point.scene != "damaged":
        verdict.corrupt.append("the next ingest took the index for damaged")
    if mended and (report.chunks_added or report.chunks_removed):
        verdict.stale.append(f"who had brought the index in step forgot {report}")
    if point.scene == "bad vectors":
        workspace.rebuild_vectors(Callbacks())


def _compare(workspace: Workspace, point: Point, notes: str, scratch: str, verdict: Verdict) -> None:
    folder = DataFolder(workspace._parts.index.folder)
    wanted = {notes, *filter(os.path.isdir, [f"{notes}-other"])}
    if {source.root for source in workspace.sources()} != wanted:
        verdict.manual.append("a folder was forgotten")
    if point.model is not None:
        verdict.stale += meaning.completed(workspace, os.path.join(scratch, "twin"))
    verdict.corrupt += _unsound(folder)
    fresh = Workspace(SETTINGS, os.path.join(scratch, "fresh"))
    fresh.ingest([notes], Callbacks())
    verdict.stale += [*_untrue(folder), *differences(workspace, fresh)]
    fresh.close()
    if os.path.exists(folder.suspect) or os.path.getsize(folder.lock):
        verdict.manual.append("a sign of damage or of a writer is left")
    verdict.litter += _litter(folder.root)


def recover(point: Point, data: str, notes: str, seed: int) -> tuple[bool, list[str]]:
    """Some are followed by two writers at once or by a new indexer; the others by a plain ingest later."""
    if point.company == "two writers":
        return True, list(race(data, notes))
    if point.job == "watch" and seed % 2:
        with indexer(data, notes) as process:
            return True, [*settled(data, process), *ended(process)]
    return False, []


def _litter(data: str) -> list[str]:
    """Files that a killed process has left; the next indexer writes its live file over the old one."""
    found = [os.path.join(folder, name) for folder, _, names in os.walk(data) for name in names]
    return [
        os.path.relpath(path, data)
        for path in found
        if path.endswith((".new", ".want")) or f"{os.sep}requests{os.sep}" in path
        if os.path.basename(path) != "live.json.new"
    ]


def _has_sources(folder: DataFolder) -> bool:
    with sqlite3.connect(folder.database) as connection:
        found = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'sources'").fetchone()
    connection.close()
    return bool(found[0])


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
        for table in ("chunks_fts", "names_fts"):
            connection.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
        chunks = connection.execute("SELECT id FROM chunks ORDER BY id").fetchall()
        if chunks != connection.execute("SELECT id FROM chunks_fts_docsize ORDER BY id").fetchall():
            yield "row parity"
        triggers = connection.execute(
            "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' "
            "AND tbl_name IN ('chunks', 'note_names')"
        ).fetchone()
        if triggers != (6,):
            yield "a trigger is missing"
    except sqlite3.DatabaseError as error:
        yield str(error)
    finally:
        connection.close()


def _untrue(folder: DataFolder) -> Iterator[str]:
    """Passages that are not the lines they cite, of files that are seen as unchanged."""
    workspace = Workspace(SETTINGS, folder.root)
    try:
        with workspace._parts.index.reader.catalogue() as catalogue:
            assert isinstance(catalogue, StoreCatalogue)
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


def differences(workspace: Workspace, fresh: Workspace) -> Iterator[str]:
    """What an index has otherwise than one that was made anew from the same notes."""
    for name, statement in (("documents", _DOCUMENTS), ("chunks", _CHUNKS), ("names", _NAMES)):
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


def _rows(workspace: Workspace, statement: str) -> list[tuple[object, ...]]:
    with workspace._parts.index.reader.catalogue() as catalogue:
        assert isinstance(catalogue, StoreCatalogue)
        return list(catalogue._connection.execute(statement))


def _answer(workspace: Workspace, query: str) -> list[tuple[float, str, bool, bool]]:
    """All hits; equal scores in the order of their citations, because rows are numbered as notes came."""
    hits = workspace.search(SearchQuery(query, mode="lexical", k=_ALL)).hits
    return sorted((round(-hit.score, 9), str(hit.citation), hit.relaxed, hit.stale) for hit in hits)
