"""Runs one SELECT of the user's own for `kebab sql`: read-only, within limits.

The connection can only read, under an authorizer that allows SELECT, reading, functions and recursion, and
the PRAGMAs that describe tables. A statement is stopped after a time; an answer ends at a number of rows
and of bytes. An index of an older schema is read through views.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Sequence

from kebab_tui.domain.errors import SqlError
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.ports import Cell, SqlLimits, SqlResult
from kebab_tui.storage.sqlite import recovery
from kebab_tui.storage.sqlite.connection import raise_if_interrupted, translate

_ALLOWED = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
_DESCRIBING = frozenset(
    {"data_version", "table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo"}
)
"""PRAGMAs that change nothing; FTS5 asks for the first."""
_REFUSED_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer"})
_VIRTUAL = (
    "chunks_fts", "names_fts", "json_each('[]')", "json_tree('[]')", "pragma_table_info('notes')",
    "pragma_table_list", "pragma_index_list('notes')",
)  # fmt: skip
_STEPS = 10_000
"""Steps of SQLite between two looks at the clock."""
_HINT = "`kebab sql` runs one SELECT; docs/sql.md lists the tables"


def select(folder: DataFolder, statement: str, limits: SqlLimits) -> SqlResult:
    """Raises SqlError for a statement that is not allowed, wrong or too slow."""
    from sqlite_utils import Database

    connection = recovery.open_verified(folder)
    try:
        if limits.heap_bytes:
            connection.execute(f"PRAGMA hard_heap_limit = {limits.heap_bytes}")
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.bytes)
        for table in _VIRTUAL:  # the authorizer would refuse to connect them
            with contextlib.suppress(sqlite3.OperationalError):
                connection.execute(f"SELECT 1 FROM {table} LIMIT 0").fetchall()
        database = Database(connection, recursive_triggers=False, execute_plugins=False)
        end = time.monotonic() + limits.seconds
        connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        connection.set_authorizer(_authorize)
        try:
            found = database.execute(statement)
            if found.description is None:
                raise SqlError("the statement has no result", _HINT)
            columns = tuple(column[0] for column in found.description)
            return _limited(columns, found, limits)
        except (sqlite3.Warning, sqlite3.ProgrammingError):  # Python calls it one or the other
            raise SqlError("there is more than one statement, or a parameter", _HINT) from None
        except MemoryError:
            raise SqlError("the statement needs too much memory", "narrow it by WHERE or LIMIT") from None
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            if code == sqlite3.SQLITE_INTERRUPT and time.monotonic() > end:
                raise SqlError(
                    f"stopped after {limits.seconds:g} s", "narrow it by WHERE or LIMIT, or raise --timeout"
                ) from None
            raise_if_interrupted(error)
            if code in (sqlite3.SQLITE_AUTH, sqlite3.SQLITE_READONLY):
                raise SqlError(f"only reading is allowed ({error})", _HINT) from None
            if code in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH):
                raise SqlError(f"SQLite: {error}", _HINT) from None
            raise translate(error, folder.database) from error
    finally:
        connection.set_authorizer(None)
        connection.close()


def _limited(columns: Sequence[str], found: Iterable[Sequence[Cell]], limits: SqlLimits) -> SqlResult:
    """As many rows as the limits allow."""
    rows: list[tuple[Cell, ...]] = []
    left = limits.bytes
    for row in found:
        left -= sum(len(cell) if isinstance(cell, str | bytes) else 8 for cell in row)
        if len(rows) == limits.rows or left < 0:
            return SqlResult(tuple(columns), tuple(rows), cut="rows" if left >= 0 else "bytes")
        rows.append(tuple(row))
    return SqlResult(tuple(columns), tuple(rows))


def _authorize(action: int, name: str | None, detail: str | None, *_: str | None) -> int:
    is_function = action == sqlite3.SQLITE_FUNCTION
    if action in _ALLOWED and not (is_function and detail in _REFUSED_FUNCTIONS):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and name in _DESCRIBING:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY
