"""Detects damage, sets a damaged database aside, and keeps a copy of the list of folders.

A process that finds damage leaves a mark. The next writer then checks every page, row and word
once, moves a damaged database away (never deletes it) and starts a new one. The notes can rebuild
everything but the list of their folders: a copy of it is written at each change of a source and
read only after the database is lost or damaged.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sqlite3
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from kebab_tui import own_files
from kebab_tui.domain.document import MOST_STARS, Source
from kebab_tui.domain.errors import DiskFaultError, NotIndexedError, StoreDamagedError, StoreLostError
from kebab_tui.domain.text import RECIPE_VERSION, embedded_hash
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.checksum import PageChecksums
from kebab_tui.storage.sqlite.connection import (
    open_reader,
    raise_if_interrupted,
    translate,
    uri_of,
    write_error,
)

_NORM_TOLERANCE = 0.01
_VECTORS = (
    "SELECT text_hash, model, vector, {version} FROM embeddings WHERE text_hash >= ? AND text_hash < ? "
    "AND typeof(text_hash) = 'blob' AND typeof(model) = 'text' AND typeof(vector) = 'blob' "
    "ORDER BY text_hash {order}, model {order}"
)
_COMPANIONS = ("", "-wal", "-shm")
"""The database first: without its log it is only old, but a log alone is useless."""
_ALTERED = "index corrupted: the text of a passage was altered"
_DERIVED = ("state", "documents", "chunks")
_MOST_BYTES = 64 << 20
_SHOWN = 5


def open_verified(folder: DataFolder) -> sqlite3.Connection:
    """Open for reading; StoreLostError if only the list of folders is left of an index."""
    verify_checksums(folder)
    try:
        return open_reader(folder.database)
    except NotIndexedError:
        if folder.database_bytes() or not read_sources(folder.sources):
            raise
        raise StoreLostError(
            f"the index is lost: {folder.database}",
            "run `kebab ingest`: it rebuilds the index from your notes",
        ) from None


def verify_checksums(folder: DataFolder, *, every_page: bool = False) -> bool:
    """Raise StoreDamagedError if the database differs from what its last writer left.

    False if the checksums belong to another state of the database, which may be intact: leaves the
    mark, so that the next writer checks it by other means.
    """
    seal = PageChecksums(folder)
    try:
        if every_page:
            seal.check_pages()
        else:
            seal.check()
    except StoreDamagedError:
        belongs = True
        try:
            with contextlib.closing(open_reader(folder.database)) as connection:
                belongs = seal.matches(connection)
        except OSError as error:
            raise DiskFaultError(
                f"cannot read the index: {error.strerror or error}", "run the command again; check the disk"
            ) from error
        except (NotIndexedError, sqlite3.Error, ValueError, TypeError):
            pass
        if belongs:
            raise
        mark_suspect(folder)
        return False
    return True


def mark_suspect(folder: DataFolder) -> None:
    """Leave the mark; a failure does not matter, as a read-only disk has no next writer."""
    with contextlib.suppress(OSError):
        os.close(own_files.create(folder.suspect))


def is_suspect(folder: DataFolder) -> bool:
    return os.path.exists(folder.suspect)


def clear_suspect(folder: DataFolder) -> None:
    """Remove the mark after a successful check; a mark that stays costs one more check."""
    with contextlib.suppress(OSError):
        os.remove(folder.suspect)


def set_aside(folder: DataFolder) -> str:
    """Rename the database and its log; returns the new path. The caller holds the writer's lock."""
    PageChecksums(folder).drop()
    stem = f"{folder.database}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
    aside, number = stem, 2
    while os.path.exists(aside):
        aside, number = f"{stem}-{number}", number + 1
    for companion in _COMPANIONS:
        with contextlib.suppress(FileNotFoundError):
            os.replace(folder.database + companion, aside + companion)
    return aside


def full_check(folder: DataFolder, *, indexes: bool = False) -> None:
    """Check every page, reference and text; raises StoreDamagedError.

    `indexes`: also compare every index with its table, which takes longer.
    """
    if not os.path.exists(folder.database):
        return
    verify_checksums(folder, every_page=True)
    connection = sqlite3.connect(folder.database, isolation_level=None)
    try:
        check = "integrity_check" if indexes else "quick_check"
        answer = connection.execute(f"PRAGMA {check}(1)").fetchone()
        orphan = connection.execute("PRAGMA foreign_key_check").fetchone()
        columns = [row[1] for row in connection.execute("PRAGMA table_info(chunks)")]
        altered = None
        if "embed_hash" in columns:
            connection.create_function("kebab_embedded", 3, embedded_hash, deterministic=True)
            altered = connection.execute(
                "SELECT 1 FROM chunks WHERE embed_hash <> kebab_embedded(title, heading_path, text) "
                "AND (SELECT value FROM meta WHERE key = 'embed_recipe') = ? LIMIT 1",
                (RECIPE_VERSION,),
            ).fetchone()
    except sqlite3.DatabaseError as error:
        raise translate(error, folder.database) from error
    finally:
        connection.close()
    if answer != ("ok",):
        raise StoreDamagedError(f"index corrupted: {answer[0] if answer else 'no check result'}")
    if orphan is not None:
        raise StoreDamagedError(f"index corrupted: orphan row in table {orphan[0]}")
    if altered:
        raise StoreDamagedError(_ALTERED)


def readable_vectors(path: str) -> Iterator[tuple[bytes, str, bytes, int]]:
    """Text hash, model, vectors and parts version of every readable row of a database that was set aside.

    Reads the table in 256 parts, each from both ends, so that a bad page hides no row but its own.
    """
    try:
        connection = sqlite3.connect(f"{uri_of(path)}?mode=ro", uri=True)
    except sqlite3.Error:
        return
    try:
        version = "0"
        with contextlib.suppress(sqlite3.Error):
            if any(row[1] == "parts_version" for row in connection.execute("PRAGMA table_info(embeddings)")):
                version = "iif(typeof(parts_version) = 'integer', parts_version, 0)"
        for first in range(256):
            part = (bytes([first]), bytes([first + 1]) if first < 255 else b"\xff" * 17)
            for order in ("ASC", "DESC"):
                try:
                    for row in connection.execute(_VECTORS.format(order=order, version=version), part):
                        blob = row[2]
                        numbers = struct.unpack(f"<{len(blob) // 2}e", blob[: len(blob) & ~1])
                        if _has_unit_norms(numbers):
                            yield row
                    break
                except sqlite3.Error:
                    continue
    finally:
        connection.close()


def _has_unit_norms(numbers: Sequence[float]) -> bool:
    """Whether it is one vector of length 1, or several one behind the other: shows most flipped bits."""
    square = math.fsum(number * number for number in numbers)
    count = round(square) if math.isfinite(square) else 0
    if count < 1 or len(numbers) % count:
        return False
    size = len(numbers) // count
    lengths = (math.hypot(*numbers[begin : begin + size]) for begin in range(0, len(numbers), size))
    return all(abs(length - 1) < _NORM_TOLERANCE for length in lengths)


def require_unaltered(title: str, heading_path: str, text: str, text_hash: bytes) -> None:
    """Raise StoreDamagedError if a stored text does not match its hash; SQLite itself has no checksums."""
    try:
        unaltered = embedded_hash(title, heading_path, text) == text_hash
    except (TypeError, AttributeError):
        unaltered = False
    if not unaltered:
        raise StoreDamagedError(_ALTERED, "run `kebab ingest`: it rebuilds the index from your notes")


def full_text_error(connection: sqlite3.Connection) -> str:
    """The error of FTS5's integrity check of index and text; empty if they agree.

    Needs a writing connection: FTS5 takes its commands as inserts.
    """
    try:
        for table in ("chunks_fts", "names_fts"):
            connection.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        raise_if_interrupted(error)
        return str(error)
    return ""


def write_sources(path: str, sources: Iterable[Source]) -> None:
    """Write the copy of the list of folders."""
    facts = [{key: value for key, value in asdict(s).items() if key not in _DERIVED} for s in sources]
    try:
        own_files.replace(path, json.dumps(facts, indent=1).encode("ascii"))
    except OSError as error:
        raise write_error(error, path) from error


def read_sources(path: str) -> list[Source]:
    """The valid entries of the copy; empty if the file is missing or unreadable."""
    return examine_sources(path)[0]


def examine_sources(path: str) -> tuple[list[Source], str]:
    """The valid entries of the copy, and a description of its errors, which may be empty."""
    try:
        entries = own_files.read_json(path, _MOST_BYTES)
    except FileNotFoundError:
        return [], ""
    except OSError as error:
        return [], f"cannot be read: {error.strerror}"
    except ValueError:
        return [], "is not valid JSON"
    if not isinstance(entries, list):
        return [], "is not a list of folders"
    sources: list[Source] = []
    bad: list[int] = []
    for number, source in enumerate(map(_to_source, entries), 1):
        if source is None or any(s.source_id == source.source_id or s.root == source.root for s in sources):
            bad.append(number)
        else:
            sources.append(source)
    if not bad:
        return sources, ""
    shown = ", ".join(map(str, bad[:_SHOWN])) + (f" and {len(bad) - _SHOWN} more" if bad[_SHOWN:] else "")
    return sources, f"has {'invalid entries' if bad[1:] else 'an invalid entry'} ({shown})"


def set_sources_aside(path: str) -> str:
    """Rename a partly unreadable copy, to keep it; returns the new path."""
    aside = f"{path}.unusable-{time.strftime('%Y%m%d-%H%M%S')}"
    with contextlib.suppress(OSError):  # it stays until the next write
        os.replace(path, aside)
    return aside


def _to_source(entry: Any) -> Source | None:
    """None for an entry that is invalid or cannot be stored."""
    import msgspec  # needed only after a database was lost; a search must not load it

    try:
        facts = {key: value for key, value in entry.items() if key not in _DERIVED}
        source = msgspec.convert(facts, Source)
        root = os.fsencode(source.root)
        f"{source.source_id}{source.version_label}".encode()
    except (AttributeError, ValueError, msgspec.ValidationError):
        return None
    is_valid = source.source_id and os.path.isabs(root) and b"\0" not in root
    is_valid = is_valid and math.isfinite(source.weight) and 0 <= source.stars <= MOST_STARS
    return source if is_valid else None
