"""The errors that a user can act on.

An error is raised where the fact is known and shown once, by the command line or the
screen. It carries what happened (`message`), what to do next (`hint`) and the values
for scripts (`code`, `exit_code`). Nothing here formats or prints.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as a value, as every front end reports it."""

    code: str
    message: str
    hint: str = ""
    exit_code: int = 2
    is_healed_by_ingest: bool = False


def failure_of(error: BaseException) -> Failure | None:
    """The report of an error that a user can act on; None for a defect of the program."""
    if isinstance(error, KebabError):
        healed = error.is_healed_by_ingest
        return Failure(error.code, error.message, error.hint, error.exit_code, healed)
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return Failure(
            "disk_full", "no space left on the device", "free some space and run the command again"
        )
    return None


def defect(error: BaseException) -> Failure:
    """The report of an unexpected exception, in one line."""
    reason = str(error).partition("\n")[0][:200]
    return Failure("internal", f"internal error: {type(error).__name__}: {reason}")


class KebabError(Exception):
    """A failure with a cause and a remedy for the user."""

    code = "error"
    exit_code = 2
    is_healed_by_ingest = False

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(KebabError):
    """An invalid request: conflicting flags, a bad value."""

    code = "invalid_input"


class ConfigError(KebabError):
    """An invalid configuration file, variable or flag."""

    code = "config_invalid"


class SourceError(KebabError):
    """A folder of notes is missing, unreadable or not a folder."""

    code = "source_invalid"


class NotIndexedError(KebabError):
    """No index exists yet."""

    code = "not_indexed"


class NotFoundError(KebabError):
    """The named note, chunk or source is not in the index."""

    code = "not_found"


class RawQueryError(KebabError):
    """A raw query is invalid, or the index lacks one of its operators."""

    code = "bad_raw_query"


class SqlError(UsageError):
    """A statement of `kebab sql` is not allowed, wrong, or beyond a limit."""

    code = "bad_sql"


class FilterError(UsageError):
    """A filter in a query has no valid value; without it, the answer would be too wide."""

    code = "bad_filter"


class UnfinishedFilterError(FilterError):
    """The filter at the end of a query has no valid value yet, and is still being typed."""

    code = "unfinished_filter"


class StoreError(KebabError):
    """The index could not be read or written."""

    code = "store_error"


class StoreDamagedError(StoreError):
    """The database is damaged; it can be rebuilt from the notes."""

    code = "store_damaged"
    is_healed_by_ingest = True


class StoreLostError(StoreDamagedError):
    """The database is missing, but the list of its folders is still known."""

    code = "store_lost"


class StoreTooNewError(StoreError):
    """The database was written by a newer version of the program."""

    code = "store_too_new"


class StoreBusyError(StoreError):
    """Another process has the writer's lock."""

    code = "store_busy"


class StoreReadOnlyError(StoreError):
    """The data folder cannot be written; searching still works."""

    code = "readonly"


class DiskFullError(StoreError):
    """The disk is full; earlier commits are safe."""

    code = "disk_full"


class DiskFaultError(StoreError):
    """The disk failed to read or write; the index is not necessarily damaged."""

    code = "disk_fault"


TEMPORARY = (StoreBusyError, StoreReadOnlyError, DiskFullError, DiskFaultError)
"""Errors that stop writing for a while; the pending work is retried."""


class UnreadableFileError(KebabError):
    """A file could not become a document: a row in the report, never a crash."""

    code = "file_unreadable"


class UnsuitableFileError(UnreadableFileError):
    """The file was read but is not a note: too large, or not text."""

    code = "file_skipped"


class VectorError(KebabError):
    """A vector does not fit the index: wrong length, not finite, or not of unit norm."""

    code = "vector_invalid"


class ModelError(KebabError):
    """A model's files or card cannot be used; keyword search still works."""

    code = "model_invalid"
