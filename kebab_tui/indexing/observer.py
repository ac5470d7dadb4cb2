"""Events of a tree through watchdog's `Observer`: FSEvents on macOS, ReadDirectoryChangesW on Windows.

The same interface as `watch_events.TreeEvents`, which Linux has instead. The system watches the
whole tree here, so what nobody is interested in is dropped when its event comes. Reads no file,
follows no link below the root.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from kebab_tui.indexing.inotify import SILENCE, IsInteresting, NoEventsError, Report

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers.api import BaseObserver, EventEmitter


_CLOSING_S = 0.1
_UNUSABLE = {
    "PollingObserver": "watchdog knows no events of this system",
    "KqueueObserver": "kqueue would keep every note open",
}


class ObserverEvents:
    """One observer for one root; `report` and `lost` are called from its thread."""

    deletes_have_no_kind = os.name == "nt"
    """Whether a folder that goes is announced like a file."""

    def __init__(
        self, root: bytes, is_interesting: IsInteresting, report: Report, lost: Callable[[str], None]
    ) -> None:
        self._root = os.path.realpath(os.fsdecode(root))
        """Without links: systems name it so, and watchdog follows none to it."""
        self._prefixes = {self._with_separator(self._root)}
        """How the root is spelled in events."""
        self._is_interesting = is_interesting
        self._report = report
        self._lost = lost
        self._closed = False
        self._complaints = _Complaints(self._tell_lost)
        others = set(threading.enumerate())
        self._observer = _new_observer()
        self._threads = set(threading.enumerate()) - others
        """Also those that the observer does not know by name; it goes on in silence when one of them dies."""
        self.directories = 0
        """How many folders were there at the start."""

    def unwatched(self) -> tuple[bytes, ...]:
        return ()

    def retry(self) -> None:
        """There is nothing to try again: the system watches all of the tree or nothing."""

    def start(self) -> None:
        for name in _LOGGERS:
            logging.getLogger(name).addHandler(self._complaints)
        try:
            handler = cast("FileSystemEventHandler", self)
            self._observer.schedule(handler, self._root, recursive=True, event_filter=_event_filter())
            for emitter in self._observer.emitters:
                self._mind_dropped(emitter)
            others = set(threading.enumerate())
            self._observer.start()
            self._threads |= set(threading.enumerate()) - others
        except Exception as error:  # each system has its own
            self.close()
            raise NoEventsError(f"{type(self._observer).__name__}: {error}") from error
        self.directories = self._count_folders()

    def is_alive(self) -> bool:
        return self._observer.is_alive() and all(thread.is_alive() for thread in self._threads)

    def close(self) -> None:
        """End; what is being reported at this moment may still be."""
        if self._closed:
            return
        self._closed = True
        for name in _LOGGERS:
            logging.getLogger(name).removeHandler(self._complaints)
        # It waits for its threads, and one of them may be inside `is_interesting`.
        stopping = threading.Thread(target=self._observer.stop, daemon=True)
        stopping.start()
        stopping.join(_CLOSING_S)

    def dispatch(self, event: FileSystemEvent) -> None:
        """Called by the observer for each event."""
        if self._closed or event.is_synthetic:  # what is below a folder is looked at with it
            return
        kind = event.event_type
        for path in (event.src_path, event.dest_path):
            if path and (place := self._place(os.fsdecode(path))) is not None:
                self._tell(place, event.is_directory, gone=kind == "deleted")

    def _tell(self, path: bytes, is_dir: bool, *, gone: bool) -> None:
        if not path:
            if gone:
                self._tell_lost("the folder was taken away")
            elif is_dir:
                self._report(b"", True)
        elif self._is_interesting(path, is_dir):
            self._report(path, is_dir)
        elif gone and not is_dir and self.deletes_have_no_kind and self._is_interesting(path, True):
            self._report(path, True)

    def _tell_lost(self, why: str) -> None:
        if not self._closed:
            self._lost(why)

    def _place(self, path: str) -> bytes | None:
        """A path as the queue names it; None outside the root."""
        if self._with_separator(path) in self._prefixes:
            return b""
        prefix = next((prefix for prefix in self._prefixes if path.startswith(prefix)), None)
        if prefix is None and (prefix := self._other_spelling(path)) is None:
            return None
        return os.fsencode(path[len(prefix) :].replace(os.sep, "/"))

    def _other_spelling(self, path: str) -> str | None:
        """The start of a path that is the root in other letters: of another case, or composed otherwise."""
        steps = len(self._root.split(os.sep))
        start = os.sep.join(path.split(os.sep)[:steps])
        try:
            if not os.path.samefile(start, self._root):
                return None
        except OSError:
            return None
        self._prefixes |= {self._with_separator(start)}
        return self._with_separator(start)

    @staticmethod
    def _with_separator(path: str) -> str:
        return path if path.endswith(os.sep) else path + os.sep

    def _mind_dropped(self, emitter: EventEmitter) -> None:
        """FSEvents says in an event's flags that it has lost others, and watchdog 7.1 reads past that."""
        queue_events: Callable[..., None] = emitter.queue_events

        def queue(timeout: float, *batches: list[Any]) -> None:
            if any(getattr(event, "must_scan_subdirs", False) for batch in batches for event in batch):
                self._tell_lost("more changes at once than the system could announce")
            queue_events(timeout, *batches)

        emitter.queue_events = queue  # type: ignore[method-assign]

    def _count_folders(self) -> int:
        """How many folders are worth an event; the system does not tell."""
        found, pending = 0, [b""]
        root = os.fsencode(self._root)
        while pending:
            folder = pending.pop()
            found += 1
            try:
                with os.scandir(os.path.join(root, folder)) as entries:
                    names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
            except OSError:
                continue
            below = [folder + b"/" + name if folder else name for name in names]
            pending += [path for path in below if self._is_interesting(path, True)]
        return found


_LOGGERS = ("watchdog", "fsevents")


class _Complaints(logging.Handler):
    """What watchdog only writes to its log: events were lost, or a thread of its own failed."""

    def __init__(self, lost: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._lost = lost

    def emit(self, record: logging.LogRecord) -> None:
        if "overflow" in record.getMessage():
            self._lost("more changes at once than the system could announce")
        elif record.exc_info:
            self._lost("the watch had failed")


def _new_observer() -> BaseObserver:
    for name in _LOGGERS:
        logging.getLogger(name).addHandler(SILENCE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of what it falls back to
            from watchdog.observers import Observer
        observer = Observer()
    except Exception as error:  # each system has its own
        raise NoEventsError(f"watchdog: {error}") from error
    if (reason := _UNUSABLE.get(type(observer).__name__)) is not None:
        raise NoEventsError(reason)
    return observer


def _event_filter() -> list[type[FileSystemEvent]]:
    """Without opening and reading: with these watchdog 7.1 listens to its own walks for ever.

    Nor attributes of folders, which systems change on their own; one that can be read again is found by
    trying again.
    """
    from watchdog import events

    return [
        events.FileCreatedEvent,
        events.FileModifiedEvent,
        events.FileAttribEvent,
        events.FileMovedEvent,
        events.FileDeletedEvent,
        events.FileClosedEvent,
        events.DirCreatedEvent,
        events.DirMovedEvent,
        events.DirDeletedEvent,
    ]
