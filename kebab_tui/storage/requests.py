"""What other processes want of the one that writes: small files in the data folder.

`<pid>-<n>.want` says that a process waits to write; whoever holds the writer's lock for
long gives way while it is there. Its owner keeps a lock on it, so one that was left by a
killed process is known and swept. `<pid>-<n>.json` asks for notes to be looked at again;
any holder takes it. Results go another way: everybody sees what is committed.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kebab_tui import own_files
from kebab_tui.own_files import try_lock
from kebab_tui.storage.sqlite.connection import write_error

# Tells by `stat` alone whether files may have changed, so that nobody reads them again for nothing.

_COARSEST_S = 2.5
"""A file system's clock may tick this rarely, and two changes within a tick look like one."""

Stamp = tuple[int, int, int]


class ChangeCheck:
    """Asked before each reading, says whether to read: yes at first and while it is not sure."""

    def __init__(self, *paths: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._paths = paths
        self._clock = clock
        self._stamps: list[Stamp | None] | None = None
        self._first_seen = 0.0
        self._sure = False

    def may_have_changed(self) -> bool:
        """Whether something was written, made, replaced or removed since it was last asked."""
        stamps, now = [stamp_of(path) for path in self._paths], self._clock()
        if stamps != self._stamps:
            self._stamps, self._first_seen, self._sure = stamps, now, False
            return True
        was_sure, self._sure = self._sure, now - self._first_seen >= _COARSEST_S
        return not was_sure


def stamp_of(path: str) -> Stamp | None:
    """None where nothing is."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


_FOLDER = "requests"
_WANT, _RESCAN = ".want", ".json"
_MOST_BYTES = 64 << 20
_UNFINISHED_S = 60
_LIST_ANYWAY_S = 2.0
"""Some file systems do not stamp a folder when a file is put into it, or tell of it late."""
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Rescan:
    """Look at these files and folders again, absolute paths; at everything when none is named.

    `retry`: also at what is set aside until later because it went wrong.
    """

    paths: tuple[str, ...] = ()
    retry: bool = False


class RequestFolder:
    """The requests to the writer of one data folder."""

    def __init__(self, data_folder: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = os.path.join(data_folder, _FOLDER)
        self._clock = clock
        self._check = ChangeCheck(self._path, clock=clock)
        self._names: list[str] = []
        """What is in the folder, as long as nothing is added to it or taken from it."""
        self._listed_at = 0.0
        self._unfinished: dict[str, float] = {}
        """Files that are being written, by when each was first seen: its own time may be of any clock."""

    @contextlib.contextmanager
    def wanting(self) -> Iterator[None]:
        """Ask whoever holds the lock to give way, for as long as the context lasts."""
        left = self._left_want()
        try:
            yield
        finally:
            if left is not None:
                path, descriptor = left
                _remove(path)
                os.close(descriptor)

    def wanted(self) -> bool:
        """Whether a living process waits to write; costs one `stat` when none does."""
        self._look()
        return any(self._is_alive(path) for path in self._all(_WANT))

    def ask(self, rescan: Rescan) -> None:
        """Leave a request for the present writer, or for the next one."""
        facts = json.dumps({"verb": "rescan", "paths": rescan.paths, "retry": rescan.retry})
        path = self._new_name(_RESCAN)
        try:
            own_files.make_folder(self._path)
            own_files.replace(path, facts.encode("ascii"), synced=False)
        except OSError as error:
            raise write_error(error, self._path) from error

    def look(self) -> tuple[bool, list[Rescan]]:
        """Whether a living process waits to write, and what was asked for, which is taken.

        Costs one `stat` when nothing is there; what cannot be read is dropped.
        """
        return self.wanted(), self._take()

    def _take(self) -> list[Rescan]:
        taken = []
        for path in self._all(_RESCAN):
            with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
                taken.append(_read(path))
            _remove(path)
        self._sweep()
        return taken

    def _sweep(self) -> None:
        """Take away what was half written by a process that was killed in that moment."""
        now = self._clock()
        found = (*self._all(_WANT, hidden=True), *self._all(f"{_RESCAN}.new"))
        self._unfinished = {path: self._unfinished.get(path, now) for path in found}
        for path, seen in self._unfinished.items():
            if now - seen > _UNFINISHED_S:
                _remove(path)

    def _left_want(self) -> tuple[str, int] | None:
        """On a full disk nobody can be asked; one waits all the same."""
        path = self._new_name(_WANT)
        try:
            own_files.make_folder(self._path)
            descriptor = own_files.create(_hidden(path), os.O_RDWR)
        except OSError:
            return None
        try:
            try_lock(descriptor)
            os.replace(_hidden(path), path)  # seen only with its lock on
        except OSError:
            os.close(descriptor)
            _remove(_hidden(path))
            return None
        return path, descriptor

    def _is_alive(self, path: str) -> bool:
        try:
            descriptor = os.open(path, os.O_RDWR)
        except OSError:
            return False
        try:
            if not try_lock(descriptor):
                return True
            _remove(path)
            return False
        finally:
            os.close(descriptor)

    def _look(self) -> None:
        now = self._clock()
        if self._check.may_have_changed() or now - self._listed_at >= _LIST_ANYWAY_S:
            self._listed_at = now
            try:
                self._names = sorted(os.listdir(self._path))
            except OSError:
                self._names = []

    def _all(self, ending: str, *, hidden: bool = False) -> list[str]:
        return [
            f"{self._path}/{name}"
            for name in self._names
            if name.endswith(ending) and name.startswith(".") is hidden
        ]

    def _new_name(self, ending: str) -> str:
        return os.path.join(self._path, f"{os.getpid()}-{next(_numbers):09}{ending}")


def _hidden(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}")


def _read(path: str) -> Rescan:
    facts = own_files.read_json(path, _MOST_BYTES)
    if facts["verb"] != "rescan" or not all(_is_path(name) for name in facts["paths"]):
        raise ValueError(path)
    return Rescan(tuple(facts["paths"]), bool(facts["retry"]))


def _is_path(name: object) -> bool:
    """Whether the system can be asked about it; raises ValueError for text that is in no file name."""
    return isinstance(name, str) and b"\0" not in os.fsencode(name)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.remove(path)
