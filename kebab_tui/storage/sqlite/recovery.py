"""What is done about a database that may be none any more.

Whoever meets damage leaves a sign; the next writer then looks at every page, row and
word once, sets a damaged database aside (never deletes it) and begins anew.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sqlite3
import struct
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from kebab_tui import own_files
from kebab_tui.domain.document import Source
from kebab_tui.domain.errors import NotIndexedError, StoreDamagedError, StoreLostError
from kebab_tui.domain.text import embedded_hash
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.checksum import PageChecksums
from kebab_tui.storage.sqlite.connection import heed_signal, open_reader, translate, uri_of, write_error

_UNIT = 0.01
_VECTORS = (
    "SELECT text_hash, model, vector FROM embeddings WHERE text_hash >= ? AND text_hash < ? "
    "AND typeof(text_hash) = 'blob' AND typeof(model) = 'text' AND typeof(vector) = 'blob' "
    "ORDER BY text_hash {order}, model {order}"
)
_COMPANIONS = ("", "-wal", "-shm")
"""The database first: without its log it is only old, but a log without its database is nothing."""


def open_known(folder: DataFolder) -> sqlite3.Connection:
    """Open for reading. Without a database a list of folders says that there was one, and it is lost."""
    verify_checksums(folder)
    try:
        return open_reader(folder.database)
    except NotIndexedError:
        if folder.database_bytes() or not read(folder.sources):
            raise
        raise StoreLostError(
            f"the index is lost: {folder.database}", "run `kebab ingest`: it is rebuilt from your notes"
        ) from None


def verify_checksums(folder: DataFolder, *, every_page: bool = False) -> bool:
    """Raise StoreDamagedError if a database at rest is not what its writer left.

    False when the seal is of another state of the database, which may be sound: a sign is
    left, and whoever writes next looks at it by other means.
    """
    seal = PageChecksums(folder)
    try:
        if every_page:
            seal.check_pages()
        else:
            seal.check()
    except StoreDamagedError:
        if _is_of_this_state(seal, folder):
            raise
        mark_suspect(folder)
        return False
    return True


def _is_of_this_state(seal: PageChecksums, folder: DataFolder) -> bool:
    """One that is not ours, or is newer, is said to be that."""
    try:
        connection = open_reader(folder.database)
    except NotIndexedError:
        return True
    try:
        return seal.is_of(connection)
    except (sqlite3.Error, OSError, ValueError, TypeError):
        return True
    finally:
        connection.close()


_ALTERED = "the index is damaged: a passage is not the text that was stored"


def mark_suspect(folder: DataFolder) -> None:
    """Leave the sign; on a read-only disk there is no next writer to read it."""
    with contextlib.suppress(OSError):
        os.close(own_files.create(folder.suspicion))


def is_suspect(folder: DataFolder) -> bool:
    return os.path.exists(folder.suspicion)


def clear(folder: DataFolder) -> None:
    """Take the sign away, once the database is known to be sound; one that stays costs another look."""
    with contextlib.suppress(OSError):
        os.remove(folder.suspicion)


def set_aside(folder: DataFolder) -> str:
    """Move the database and its log out of the way; the caller holds the writer's lock."""
    PageChecksums(folder).forget()
    stem = f"{folder.database}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
    aside, number = stem, 2
    while os.path.exists(aside):
        aside, number = f"{stem}-{number}", number + 1
    for companion in _COMPANIONS:
        with contextlib.suppress(FileNotFoundError):
            os.replace(folder.database + companion, aside + companion)
    return aside


def full_check(folder: DataFolder, *, indexes: bool = False) -> None:
    """Look at every page, reference and text; raises StoreDamagedError when one is not sound.

    `indexes`: also whether every index agrees with its table, which takes longer.
    """
    if not os.path.exists(folder.database):
        return
    verify_checksums(folder, every_page=True)
    connection = sqlite3.connect(folder.database, isolation_level=None)
    try:
        check = "integrity_check" if indexes else "quick_check"
        answer = connection.execute(f"PRAGMA {check}(1)").fetchone()
        orphan = connection.execute("PRAGMA foreign_key_check").fetchone()
        altered = _has_altered_text(connection)
    except sqlite3.DatabaseError as error:
        raise translate(error, folder.database) from error
    finally:
        connection.close()
    if answer != ("ok",):
        raise StoreDamagedError(f"the index is damaged: {answer[0] if answer else 'no answer'}")
    if orphan is not None:
        raise StoreDamagedError(f"the index is damaged: a row of {orphan[0]} has lost its owner")
    if altered:
        raise StoreDamagedError(_ALTERED)


def readable_vectors(path: str) -> Iterator[tuple[bytes, str, bytes]]:
    """Text hash, model and vector of every row that reads well in a database that was set aside.

    Goes through the table in 256 parts, each from both ends: a bad page hides no more than itself.
    """
    connection = sqlite3.connect(f"{uri_of(path)}?mode=ro", uri=True)
    try:
        for first in range(256):
            part = (bytes([first]), bytes([first + 1]) if first < 255 else b"\xff" * 17)
            for order in ("ASC", "DESC"):
                try:
                    for row in connection.execute(_VECTORS.format(order=order), part):
                        if _is_vector(row[2]):
                            yield row
                    break
                except sqlite3.DatabaseError:
                    continue
    finally:
        connection.close()


def _is_vector(blob: bytes) -> bool:
    """Whether it is what every vector is, of unit length: a flipped bit mostly shows."""
    numbers = struct.unpack(f"<{len(blob) // 2}e", blob[: len(blob) & ~1])
    return bool(abs(math.hypot(*numbers) - 1) < _UNIT)


def require_unaltered(title: str, heading_path: str, text: str, text_hash: bytes) -> None:
    """A bit that flipped on the disk must not be shown as the note's own words: SQLite has no checksums."""
    try:
        unaltered = embedded_hash(title, heading_path, text) == text_hash
    except (TypeError, AttributeError):
        unaltered = False
    if not unaltered:
        raise StoreDamagedError(_ALTERED, "run `kebab ingest`: it rebuilds the index from your notes")


def _has_altered_text(connection: sqlite3.Connection) -> bool:
    if connection.execute("SELECT 1 FROM pragma_table_info('chunks') WHERE name = 'embed_hash'").fetchone():
        connection.create_function("kebab_embedded", 3, embedded_hash, deterministic=True)
        altered = "SELECT 1 FROM chunks WHERE embed_hash <> kebab_embedded(title, heading_path, text) LIMIT 1"
        return connection.execute(altered).fetchone() is not None
    return False


def full_text_complaint(connection: sqlite3.Connection) -> str:
    """What FTS5 says of its index compared with the text; empty when they agree.

    Needs a writing connection: FTS5 takes its commands as inserts.
    """
    try:
        connection.execute("INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        heed_signal(error)
        return str(error)
    return ""


# A copy of the list of folders beside the database.
#
# The notes can rebuild everything but this: which folders they are in. Written on every
# change of a source, read only when a lost or damaged database is made anew.

_DERIVED = ("state", "documents", "chunks")
_MOST_BYTES = 64 << 20
_SHOWN = 5


def write(path: str, sources: Iterable[Source]) -> None:
    """Replace the file as a whole or not at all."""
    facts = [{key: value for key, value in asdict(s).items() if key not in _DERIVED} for s in sources]
    try:
        own_files.replace(path, json.dumps(facts, indent=1).encode("ascii"))
    except OSError as error:
        raise write_error(error, path) from error


def read(path: str) -> list[Source]:
    """The sources as last written; none when there is no file or it is unreadable."""
    return examine(path)[0]


def examine(path: str) -> tuple[list[Source], str]:
    """The sources of all valid entries, and what is wrong with the file; empty when nothing is."""
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
    return sources, f"has {_invalid(bad)}" if bad else ""


def set_sources_aside(path: str) -> str:
    """Keep a list that cannot be read as a whole under another name; gives that name."""
    aside = f"{path}.unusable-{time.strftime('%Y%m%d-%H%M%S')}"
    with contextlib.suppress(OSError):  # it stays until the next list is written
        os.replace(path, aside)
    return aside


def _invalid(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:_SHOWN]))
    more = f" and {len(numbers) - _SHOWN} more" if numbers[_SHOWN:] else ""
    return f"{'invalid entries' if numbers[1:] else 'an invalid entry'} ({shown}{more})"


def _to_source(entry: Any) -> Source | None:
    """None for an entry that is invalid, or could not be stored."""
    import msgspec  # only whoever has lost a database needs it

    try:
        facts = {key: value for key, value in entry.items() if key not in _DERIVED}
        source = msgspec.convert(facts, Source)
        root = os.fsencode(source.root)
        f"{source.source_id}{source.version_label}".encode()
    except (AttributeError, ValueError, msgspec.ValidationError):
        return None
    is_sound = source.source_id and os.path.isabs(root) and b"\0" not in root and math.isfinite(source.weight)
    return source if is_sound else None
