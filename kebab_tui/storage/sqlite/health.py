"""The checks of `kebab doctor`. Reports findings, repairs nothing.

Leaves the mark for damage that `kebab ingest` can repair. Skips the full-text check, with a
warning, while another process writes: it needs a writing connection, as FTS5 takes its commands as
inserts.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator

from kebab_tui.domain.errors import KebabError, StoreBusyError, StoreDamagedError, StoreError
from kebab_tui.formats import registry
from kebab_tui.storage.lock import DataFolder, WriterLock
from kebab_tui.storage.ports import Finding
from kebab_tui.storage.sqlite import recovery, schema
from kebab_tui.storage.sqlite.catalogue import StoreCatalogue
from kebab_tui.storage.sqlite.checksum import PageChecksums, generation_of
from kebab_tui.storage.sqlite.connection import open_writer

_REBUILD = "run `kebab index --rebuild-fts`"
_START_OVER = "run `kebab ingest`: it sets a damaged index aside and rebuilds from your notes"
_FREE_BYTES = 100 << 20

_PARITY = (
    "SELECT (SELECT count(*) FROM chunks), (SELECT count(*) FROM chunks_fts_docsize), "
    "(SELECT count(*) FROM chunks WHERE id NOT IN (SELECT id FROM chunks_fts_docsize)), "
    "(SELECT count(*) FROM chunks_fts_docsize WHERE id NOT IN (SELECT id FROM chunks))"
)


def check_index(folder: DataFolder, chunker: str) -> Iterator[Finding]:
    """All checks in order; stops early if the database cannot be opened."""
    yield Finding("sqlite", "ok", f"SQLite {sqlite3.sqlite_version} with FTS5")
    yield _disk(folder)
    _, errors = recovery.examine_sources(folder.sources)
    if errors:
        hint = "run `kebab ingest`: it writes the list again, from the database if there is one"
        yield Finding("folders", "warning", f"{folder.sources} {errors}", hint)
    try:
        connection = recovery.open_verified(folder)
    except KebabError as error:
        yield Finding("database", "problem", error.message, error.hint)
        return
    current = True
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        current = version == schema.SCHEMA_VERSION
        detail = f"schema {version}, {_megabytes(folder.database_bytes())}"
        if current:
            yield Finding("database", "ok", detail)
        else:
            detail += f"; this version makes schema {schema.SCHEMA_VERSION}"
            yield Finding("database", "warning", detail, "run `kebab ingest`: it upgrades the index")
        yield from _integrity(connection, folder)
        yield from _contents(StoreCatalogue(connection), chunker)
    except (sqlite3.DatabaseError, TypeError, ValueError) as error:  # also for a damaged value
        recovery.mark_suspect(folder)
        yield Finding("database", "problem", str(error), _START_OVER)
    finally:
        connection.close()
    if current:  # the check needs a writer, which would upgrade an older index
        yield from _lock_and_full_text(folder)


def _disk(folder: DataFolder) -> Finding:
    if not os.path.isdir(folder.root):
        return Finding("disk", "warning", f"no data folder yet: {folder.root}", "run `kebab ingest FOLDER`")
    free = shutil.disk_usage(folder.root).free
    detail = f"{_megabytes(free)} free in {folder.root}"
    if not os.access(folder.root, os.W_OK):
        return Finding("disk", "warning", f"read-only: {folder.root}", "make it writable to index again")
    if free < _FREE_BYTES:
        return Finding("disk", "problem", detail, "free some space, or move the index with --data-dir")
    return Finding("disk", "ok", detail)


def _integrity(connection: sqlite3.Connection, folder: DataFolder) -> Iterator[Finding]:
    """Pages, row parity and orphans."""
    answer = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)")]
    try:
        recovery.verify_checksums(folder, every_page=True)
    except StoreDamagedError as error:
        answer = [error.message]
    if answer == ["ok"]:
        yield Finding("pages", "ok", "every page of the database is intact")
    else:
        recovery.mark_suspect(folder)
        yield Finding("pages", "problem", "; ".join(answer), _START_OVER)

    chunks, indexed, missing, extra = connection.execute(_PARITY).fetchone()
    if missing or extra:
        detail = f"{chunks} passages, {indexed} in the full text: {missing} missing, {extra} too many"
        yield Finding("row parity", "problem", detail, _REBUILD)
    else:
        yield Finding("row parity", "ok", f"{chunks} passages, all in the full text")

    orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
    if orphans:
        recovery.mark_suspect(folder)
        tables = ", ".join(sorted({str(row[0]) for row in orphans}))
        yield Finding("orphans", "problem", f"{len(orphans)} orphan rows in {tables}", _START_OVER)
    else:
        yield Finding("orphans", "ok", "every passage has its note, every note its source")


def _contents(catalogue: StoreCatalogue, chunker: str) -> Iterator[Finding]:
    """Versions, formats, sources and files that could not be read."""
    figures, makers, made_by = catalogue.figures(), catalogue.makers(), registry.made_by(chunker)
    if figures.fts_signature != schema.fts_signature():
        detail = "the full text was built by another version"
        yield Finding("index version", "warning", detail, "run `kebab ingest`")
    elif upgrade := registry.upgrade_of(makers, chunker):
        done, total = upgrade
        detail = f"{total - done} of {total} files were read by an older version"
        yield Finding("index version", "warning", detail, "run `kebab ingest`")
    elif figures.made_by not in ("", registry.all_made_by(chunker)):
        detail = f"notes were read by {figures.made_by}, this version is {registry.all_made_by(chunker)}"
        yield Finding("index version", "warning", detail, "run `kebab ingest`")
    else:
        yield Finding("index version", "ok", figures.lexical_version)
    counts = [f"{name} {makers.get(maker, 0)}" for name, maker in made_by.items()]
    yield Finding("formats", "ok", f"files read by the present version: {', '.join(counts)}")

    for source in catalogue.sources():
        name, root = f"source {source.source_id}", source.root
        if source.use == "paused":
            yield Finding(name, "ok", f"paused; {source.documents} files in {root}")
        elif not os.path.isdir(root):
            detail = "not a folder" if os.path.exists(root) else "folder not found"
            hint = f"restore the folder, or run `kebab source remove {source.source_id}`"
            yield Finding(name, "warning", f"{detail}: {root}", hint)
        elif source.state == "paused":
            yield Finding(
                name,
                "warning",
                f"rejected by the last scan: {root}",
                "run `kebab ingest`, which reports the reason",
            )
        else:
            yield Finding(name, "ok", f"{source.documents} files, {source.chunks} passages in {root}")

    if figures.failed:
        detail = f"{figures.failed} of {figures.documents} files could not be read"
        yield Finding("notes", "warning", detail, "run `kebab list --state failed` to see why")
    else:
        yield Finding("notes", "ok", f"{figures.documents} files, none failed, {figures.skipped} skipped")


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
        yield Finding("lock", "ok", "no other process is writing")
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
        error_text, generation = recovery.full_text_error(connection), generation_of(connection)
    finally:
        connection.close()
    if was_sealed:
        seal.write(None, generation)
    if error_text:
        return Finding("full text", "problem", f"differs from the notes' text ({error_text})", _REBUILD)
    return Finding("full text", "ok", "the index agrees with the text")


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB" if count >= 1e6 else f"{count / 1e3:,.0f} kB"
