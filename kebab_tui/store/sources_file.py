"""A copy of the list of folders beside the database.

The notes can rebuild everything but this: which folders they are in. Written on every
change of a source, read only when a lost or damaged database is made anew.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, fields
from typing import Any

from kebab_tui.domain.document import Trust
from kebab_tui.domain.errors import StoreReadOnlyError
from kebab_tui.domain.source import Source
from kebab_tui.store.connection import disk_full

_LISTS = ("include", "exclude", "rules")
_DERIVED = ("state", "documents", "chunks")


def write(path: str, sources: Iterable[Source]) -> None:
    """Replace the file as a whole or not at all."""
    facts = [{key: value for key, value in asdict(s).items() if key not in _DERIVED} for s in sources]
    scratch = path + ".new"
    try:
        with open(scratch, "w", encoding="ascii") as handle:
            json.dump(facts, handle, indent=1)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(scratch, path)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise disk_full(path) from error
        raise StoreReadOnlyError(
            f"cannot write {path}: {error.strerror}", "make the data folder writable"
        ) from error


def read(path: str) -> list[Source]:
    """The sources as last written; none when there is no file or it is unreadable."""
    try:
        with open(path, encoding="ascii") as handle:
            return [_to_source(facts) for facts in json.load(handle)]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return []


def _to_source(facts: dict[str, Any]) -> Source:
    known = {field.name for field in fields(Source)} - set(_DERIVED)
    values = {key: value for key, value in facts.items() if key in known}
    values |= {key: tuple(values.get(key, ())) for key in _LISTS}
    values["trust"] = Trust(values["trust"])
    return Source(**values)
