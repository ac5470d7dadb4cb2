"""One family of errors that a person can act on.

Raised where the fact is known, shown once at the edge. An error carries what
happened (`message`), what to do next (`hint`) and how a script sees it (`code`,
`exit_code`). Nothing here formats or prints.
"""

from __future__ import annotations


class KebabError(Exception):
    """A failure whose cause and cure can be told to the user."""

    code = "error"
    exit_code = 2

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(KebabError):
    """The request itself makes no sense: clashing flags, a bad value."""

    code = "invalid_input"


class ConfigError(KebabError):
    """A configuration file, variable or flag could not be understood."""

    code = "config_invalid"


class SourceError(KebabError):
    """A folder of notes is missing, unreadable or not a folder."""

    code = "source_invalid"


class NotIndexedError(KebabError):
    """There is nothing to search yet."""

    code = "not_indexed"


class NotFoundError(KebabError):
    """The named note, chunk or source is not in the index."""

    code = "not_found"


class RawQueryError(KebabError):
    """A query given in FTS5's own syntax was refused by FTS5."""

    code = "bad_raw_query"


class StoreError(KebabError):
    """The index could not be read or written."""

    code = "store_error"


class StoreDamagedError(StoreError):
    """The database is not a database any more; the notes can rebuild it."""

    code = "store_damaged"


class StoreLostError(StoreDamagedError):
    """The database is gone, but which folders it covered is still known."""

    code = "store_lost"


class StoreTooNewError(StoreError):
    """The database was written by a newer version of the program."""

    code = "store_too_new"


class StoreBusyError(StoreError):
    """Another process holds the writer's lock."""

    code = "store_busy"


class StoreReadOnlyError(StoreError):
    """The data folder cannot be written; searching still works."""

    code = "readonly"


class DiskFullError(StoreError):
    """There is no room left; what was committed before is safe."""

    code = "disk_full"


class DiskFaultError(StoreError):
    """The disk failed to read or to write; whether the index is damaged is another question."""

    code = "disk_fault"


TEMPORARY = (StoreBusyError, StoreReadOnlyError, DiskFullError, DiskFaultError)
"""What keeps the index from being written for a while; the work that waits is tried again."""


class UnreadableFileError(KebabError):
    """One file could not become a document. A row in the report, never a crash."""

    code = "file_unreadable"


class UnsuitableFileError(UnreadableFileError):
    """The file could be read, but is no note: too large, or not text."""

    code = "file_skipped"


class VectorError(KebabError):
    """A vector is not what the index holds: another length, not finite, not of unit norm."""

    code = "vector_invalid"


class ModelError(KebabError):
    """A model's files or card cannot be used; searching by words goes on."""

    code = "model_invalid"
