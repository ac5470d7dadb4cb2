"""Looks an index over: is it whole, in step, and has it room? Finds, never repairs.

Damage that `kebab ingest` is to repair is left a sign of, so that it looks as closely.
The full-text check needs a writing connection (FTS5 takes its commands as inserts), so
it is left out, and said so, while another process writes.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kebab_tui.domain.document import Source
from kebab_tui.domain.errors import KebabError, StoreBusyError, StoreDamagedError, StoreError
from kebab_tui.storage.lock import DataFolder, WriterLock
from kebab_tui.storage.sqlite import recovery, schema
from kebab_tui.storage.sqlite.catalogue import Catalogue
from kebab_tui.storage.sqlite.checksum import PageChecksums, generation_of
from kebab_tui.storage.sqlite.connection import open_writer

FindingLevel = Literal["ok", "warning", "problem"]

_REBUILD = "run `kebab index --rebuild-fts`"
_START_OVER = "run `kebab ingest`: it sets a damaged index aside and rebuilds from your notes"
_ROOM_BYTES = 100 << 20

_PARITY = (
    "SELECT (SELECT count(*) FROM chunks), (SELECT count(*) FROM chunks_fts_docsize), "
    "(SELECT count(*) FROM chunks WHERE id NOT IN (SELECT id FROM chunks_fts_docsize)), "
    "(SELECT count(*) FROM chunks_fts_docsize WHERE id NOT IN (SELECT id FROM chunks))"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """`fix` is what the user can do about it; empty when all is well."""

    check: str
    level: FindingLevel
    detail: str
    fix: str = ""


def examine(folder: DataFolder, made_by: str) -> Iterator[Finding]:
    """Every check in order; stops early when the database cannot be opened at all."""
    yield _sqlite()
    yield _disk(folder)
    yield from _folders(folder)
    try:
        connection = recovery.open_known(folder)
    except KebabError as error:
        yield Finding("database", "problem", error.message, error.hint)
        return
    try:
        yield Finding(
            "database", "ok", f"schema {schema.SCHEMA_VERSION}, {_megabytes(folder.database_bytes())}"
        )
        yield _pages(connection, folder)
        yield _parity(connection)
        yield _orphans(connection, folder)
        yield from _versions(connection, made_by)
        yield from _notes(connection)
    except (sqlite3.DatabaseError, TypeError, ValueError) as error:  # damage may be in a value, too
        recovery.mark_suspect(folder)
        yield Finding("database", "problem", str(error), _START_OVER)
    finally:
        connection.close()
    yield from _lock_and_full_text(folder)


def _sqlite() -> Finding:
    return Finding("sqlite", "ok", f"SQLite {sqlite3.sqlite_version} with FTS5")


def _disk(folder: DataFolder) -> Finding:
    if not os.path.isdir(folder.root):
        return Finding("disk", "warning", f"no data folder yet: {folder.root}", "run `kebab ingest FOLDER`")
    free = shutil.disk_usage(folder.root).free
    detail = f"{_megabytes(free)} free in {folder.root}"
    if not os.access(folder.root, os.W_OK):
        return Finding("disk", "warning", f"read-only: {folder.root}", "make it writable to index again")
    if free < _ROOM_BYTES:
        return Finding("disk", "problem", detail, "free some space, or move the index with --data-dir")
    return Finding("disk", "ok", detail)


def _folders(folder: DataFolder) -> Iterator[Finding]:
    """The list of folders beside the database; silent when it is sound."""
    _, wrong = recovery.examine(folder.sources)
    if wrong:
        hint = "run `kebab ingest`: it writes the list anew, from the database if there is one"
        yield Finding("folders", "warning", f"{folder.sources} {wrong}", hint)


def _pages(connection: sqlite3.Connection, folder: DataFolder) -> Finding:
    answer = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)")]
    try:
        recovery.verify_checksums(folder, every_page=True)
    except StoreDamagedError as error:
        answer = [error.message]
    if answer == ["ok"]:
        return Finding("pages", "ok", "every page of the database is sound")
    recovery.mark_suspect(folder)
    return Finding("pages", "problem", "; ".join(answer), _START_OVER)


def _parity(connection: sqlite3.Connection) -> Finding:
    chunks, indexed, unindexed, ghosts = connection.execute(_PARITY).fetchone()
    if unindexed or ghosts:
        detail = f"{chunks} passages, {indexed} in the full text: {unindexed} missing, {ghosts} too many"
        return Finding("row parity", "problem", detail, _REBUILD)
    return Finding("row parity", "ok", f"{chunks} passages, all in the full text")


def _orphans(connection: sqlite3.Connection, folder: DataFolder) -> Finding:
    orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
    if orphans:
        recovery.mark_suspect(folder)
        tables = ", ".join(sorted({str(row[0]) for row in orphans}))
        return Finding("orphans", "problem", f"{len(orphans)} rows without an owner in {tables}", _START_OVER)
    return Finding("orphans", "ok", "every passage has its note, every note its source")


def _versions(connection: sqlite3.Connection, made_by: str) -> Iterator[Finding]:
    figures = Catalogue(connection).figures()
    if figures.fts_signature != schema.fts_signature():
        yield Finding("index version", "problem", "the full text was made with other settings", _REBUILD)
    elif figures.made_by not in ("", made_by):
        detail = f"notes were read by {figures.made_by}, this version is {made_by}"
        yield Finding("index version", "warning", detail, "run `kebab ingest`")
    else:
        yield Finding("index version", "ok", figures.lexical_version)


def _notes(connection: sqlite3.Connection) -> Iterator[Finding]:
    catalogue = Catalogue(connection)
    for source in catalogue.sources():
        yield _source(source)
    figures = catalogue.figures()
    if figures.failed:
        yield Finding(
            "notes", "warning", f"{figures.failed} of {figures.documents} files could not be read",
            "run `kebab list --state failed` to see why",
        )  # fmt: skip
    else:
        yield Finding("notes", "ok", f"{figures.documents} files, none failed, {figures.skipped} skipped")


def _source(source: Source) -> Finding:
    name = f"source {source.source_id}"
    if not os.path.isdir(source.root):
        what = "not a folder" if os.path.exists(source.root) else "the folder is not there"
        return Finding(
            name, "warning", f"paused: {what}: {source.root}",
            f"bring the folder back, or run `kebab source remove {source.source_id}`",
        )  # fmt: skip
    if source.state == "paused":
        return Finding(name, "warning", f"paused: {source.root}", "run `kebab ingest`, which says why")
    return Finding(name, "ok", f"{source.documents} files, {source.chunks} passages in {source.root}")


def _lock_and_full_text(folder: DataFolder) -> Iterator[Finding]:
    lock = WriterLock(folder.lock)
    try:
        lock.acquire("kebab doctor", 0, lambda _: None)
    except StoreBusyError as error:
        yield Finding("lock", "ok", error.message)
        yield Finding("full text", "warning", "not checked: the index is in use", "run it again later")
        return
    except StoreError as error:
        yield Finding("lock", "warning", error.message, error.hint)
        yield Finding("full text", "warning", "not checked: the index cannot be written", error.hint)
        return
    try:
        yield Finding("lock", "ok", "nobody is writing")
        yield _full_text(folder)
    finally:
        lock.release()


def _full_text(folder: DataFolder) -> Finding:
    seal = PageChecksums(folder)
    try:
        was_sealed = seal.remove()
        connection = open_writer(folder.database)
    except StoreError as error:
        return Finding("full text", "warning", f"not checked: {error.message}", error.hint)
    try:
        complaint, generation = recovery.full_text_complaint(connection), generation_of(connection)
    finally:
        connection.close()
    if was_sealed:
        seal.write(None, generation)
    if complaint:
        return Finding("full text", "problem", f"differs from the notes' text ({complaint})", _REBUILD)
    return Finding("full text", "ok", "the index agrees with the text")


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB" if count >= 1e6 else f"{count / 1e3:,.0f} kB"
