"""Requests of other processes to the writer: small files in the data folder.

`<pid>-<n>.want`: a process waits for the writer's lock; a holder that only watches gives way.
`<pid>-<n>.undo`: a process may undo the removal of a source, which no writer deletes meanwhile.
The owner of either keeps it locked, so that the file of a killed process is recognised and removed.
`<pid>-<n>.json`: a request to scan notes again, or to embed some chunks first; any writer takes it.
Requests get no reply: the effect is visible in the database.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import TYPE_CHECKING

from kebab_tui import own_files
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.own_files import ChangeCheck
from kebab_tui.storage.sqlite.connection import write_error

if TYPE_CHECKING:
    from kebab_tui.storage.ports import Request

_WANT, _UNDO, _ASKED = ".want", ".undo", ".json"
_MOST_BYTES = 64 << 20
_UNFINISHED_S = 60
_LIST_ANYWAY_S = 2.0
"""Some file systems update the time of a folder late, or not at all, when a file is added."""
_numbers = itertools.count(1)


class RequestFolder:
    """The requests to the writer of one data folder."""

    def __init__(self, data_folder: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = os.path.join(data_folder, own_files.REQUESTS)
        self._clock = clock
        self._check = ChangeCheck(self._path, clock=clock)
        self._names: list[str] = []
        self._listed_at = 0.0
        self._unfinished: dict[str, float] = {}
        """Partly written files and when each was first seen; their own times may be of another clock."""

    def ask(self, request: Request) -> None:
        """Leave a request for the present writer or the next one."""
        from kebab_tui.storage.ports import Rescan

        verb = "rescan" if isinstance(request, Rescan) else "embed_first"
        facts = {"verb": verb} | asdict(request)
        path = self._new_name(_ASKED)
        try:
            own_files.make_folder(self._path)
            own_files.replace(path, json.dumps(facts).encode("ascii"), synced=False)
        except OSError as error:
            raise write_error(error, self._path) from error

    def wanting(self) -> AbstractContextManager[None]:
        """Ask the holder of the writer's lock to give way while the context lasts.

        If the request cannot be written (full disk), the caller just waits.
        """
        return self._locked(_WANT)

    def undoing(self) -> AbstractContextManager[None]:
        """Keep removed sources from being deleted while the context lasts."""
        return self._locked(_UNDO)

    def may_undo(self) -> bool:
        """Whether a living process may still undo the removal of a source."""
        try:
            self._names = os.listdir(self._path)
        except OSError:
            return False
        return any(_is_alive(path) for path in self._all(_UNDO))

    @contextlib.contextmanager
    def _locked(self, ending: str) -> Iterator[None]:
        path = self._new_name(ending)
        hidden = os.path.join(self._path, f".{os.path.basename(path)}")
        descriptor = -1
        try:
            own_files.make_folder(self._path)
            descriptor = own_files.create(hidden, os.O_RDWR)
            own_files.try_lock(descriptor)
            os.replace(hidden, path)  # visible only once it is locked
        except OSError:
            if descriptor >= 0:
                os.close(descriptor)
                descriptor = -1
                _remove(hidden)
        try:
            yield
        finally:
            if descriptor >= 0:
                _remove(path)
                os.close(descriptor)

    def wanted(self) -> bool:
        """Whether a living process waits for the lock; costs one `stat` if the folder is unchanged."""
        now = self._clock()
        if self._check.may_have_changed() or now - self._listed_at >= _LIST_ANYWAY_S:
            self._listed_at = now
            try:
                self._names = sorted(os.listdir(self._path))
            except OSError:
                self._names = []
        return bool(self._names) and any(_is_alive(path) for path in self._all(_WANT))

    def look(self) -> tuple[bool, list[Request]]:
        """Whether a living process waits for the lock, and the other requests, which are removed.

        Drops unreadable requests. Costs one `stat` if the folder is unchanged.
        """
        wanted = self.wanted()
        taken: list[Request] = []
        if not self._names:
            self._unfinished = {}
            return wanted, taken
        for path in self._all(_ASKED):
            with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
                taken.append(_read(path))
            _remove(path)
        self._remove_unfinished()
        return wanted, taken

    def _remove_unfinished(self) -> None:
        """Remove files whose writer was killed halfway."""
        now = self._clock()
        found = (*self._all(_WANT, hidden=True), *self._all(f"{_ASKED}.new"))
        self._unfinished = {path: self._unfinished.get(path, now) for path in found}
        for path, seen in self._unfinished.items():
            if now - seen > _UNFINISHED_S:
                _remove(path)

    def _all(self, ending: str, *, hidden: bool = False) -> list[str]:
        return [
            f"{self._path}/{name}"
            for name in self._names
            if name.endswith(ending) and name.startswith(".") is hidden
        ]

    def _new_name(self, ending: str) -> str:
        return os.path.join(self._path, f"{os.getpid()}-{next(_numbers):09}{ending}")


def _is_alive(path: str) -> bool:
    """Whether the process that left a locked file still lives; removes the file if not."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        if not own_files.try_lock(descriptor):
            return True
        _remove(path)
        return False
    finally:
        os.close(descriptor)


def _read(path: str) -> Request:
    from kebab_tui.storage.ports import EmbedFirst, Rescan  # a search never needs it

    facts = own_files.read_json(path, _MOST_BYTES)
    if facts["verb"] == "embed_first":
        if not all(type(row) is int and 0 < row < 1 << 63 for row in facts["rows"]):
            raise ValueError(path)
        return EmbedFirst(tuple(map(ChunkRow, facts["rows"])))
    # `fsencode` raises ValueError for text that no file name contains.
    is_valid = all(isinstance(name, str) and b"\0" not in os.fsencode(name) for name in facts["paths"])
    if facts["verb"] != "rescan" or not is_valid:
        raise ValueError(path)
    return Rescan(tuple(facts["paths"]), bool(facts["retry"]))


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.remove(path)
