"""The queries asked before, newest last: one file in each data folder.

Remembers 200, each once. The file is replaced as a whole or not at all and is readable
by its owner only; one that is damaged or cannot be read counts as empty, and where it
cannot be written the queries live until the end of the session.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

from kebab_tui import own_files

MOST = 200
FILE = "queries.txt"
_LARGEST = 4 << 20


class History:
    """The queries of one data folder, and where the user stands among them."""

    def __init__(self, data_folder: str) -> None:
        self._path = os.path.join(data_folder, FILE)
        self._queries = list(_read(self._path))
        self._at = len(self._queries)
        self._draft = ""

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries, newest last."""
        return tuple(self._queries)

    def add(self, query: str) -> None:
        """Remember a query that was asked, as the newest one, and stand behind it."""
        query = " ".join(query.split())
        if query:
            # Another window may have added some meanwhile.
            self._queries = remembered([*self._queries, *_missing(_read(self._path), self._queries), query])
            _write(self._path, self._queries)
        self._at = len(self._queries)

    def older(self, present: str) -> str:
        """The query before the one that stands in the box; the oldest one stays."""
        if self._at == len(self._queries):
            self._draft = present
        while self._at > 0:
            self._at -= 1
            if self._queries[self._at] != present:
                return self._queries[self._at]
        return present

    def newer(self, present: str) -> str:
        """The query after the one that stands in the box; behind the newest, what was typed before."""
        if self._at == len(self._queries):
            return present
        self._at += 1
        return self._draft if self._at == len(self._queries) else self._queries[self._at]


def remembered(queries: Iterable[str]) -> list[str]:
    """Each query where it was asked last, and only the newest."""
    newest_first = dict.fromkeys(reversed(list(queries)))
    return list(newest_first)[:MOST][::-1]


def _missing(others: Iterable[str], ours: Iterable[str]) -> list[str]:
    known = set(ours)
    return [query for query in others if query not in known]


def _read(path: str) -> list[str]:
    try:
        text = own_files.read(path, _LARGEST).decode("utf-8")
    except (OSError, ValueError):
        return []
    lines = (line.strip() for line in text.split("\n"))
    return remembered(line for line in lines if line and line.isprintable())


def _write(path: str, queries: Iterable[str]) -> None:
    data = "".join(f"{query}\n" for query in queries).encode("utf-8", "replace")
    # A history that cannot be kept is no reason to interrupt a search.
    with contextlib.suppress(OSError):
        own_files.replace(path, data, synced=False)
