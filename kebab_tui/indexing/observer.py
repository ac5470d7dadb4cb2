"""File events through watchdog's `Observer`: FSEvents on macOS, ReadDirectoryChangesW on Windows.

Same interface as `inotify.TreeEvents` on Linux. The system watches the whole tree, so uninteresting
events are dropped here. Reads no file, follows no link below the root.
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
_LOGGERS = ("watchdog", "fsevents")
_OVERFLOW = "too many changes at once for the system"
_UNUSABLE = {
    "PollingObserver": "watchdog does not support events on this system",
    "KqueueObserver": "kqueue would keep every note open",
}


class ObserverEvents:
    """One observer for one root; its thread calls `report` and `lost`."""

    deletes_have_no_kind = os.name == "nt"
    """Whether the event of a removed folder looks like that of a file."""

    def __init__(
        self, root: bytes, is_interesting: IsInteresting, report: Report, lost: Callable[[str], None]
    ) -> None:
        self._root = os.path.realpath(os.fsdecode(root))
        """Links resolved, as in events; watchdog does not resolve them."""
        self._prefixes = {self._with_separator(self._root)}
        """Spellings of the root in events."""
        self._is_interesting = is_interesting
        self._report = report
        self._lost = lost
        self._closed = False
        self._log_handler = _LogHandler(self._report_lost)
        others = set(threading.enumerate())
        self._observer = _new_observer()
        self._threads = set(threading.enumerate()) - others
        """Includes unnamed threads of the observer, which continues silently if one of them dies."""
        self.directories = 0
        """Number of folders at the start."""

    def unwatched(self) -> tuple[bytes, ...]:
        return ()

    def retry(self) -> None:
        """Nothing to retry: the system watches the whole tree or nothing."""

    def start(self) -> None:
        for name in _LOGGERS:
            logging.getLogger(name).addHandler(self._log_handler)
        try:
            handler = cast("FileSystemEventHandler", self)
            self._observer.schedule(handler, self._root, recursive=True, event_filter=_event_filter())
            for emitter in self._observer.emitters:
                self._detect_dropped(emitter)
            others = set(threading.enumerate())
            self._observer.start()
            self._threads |= set(threading.enumerate()) - others
        except Exception as error:  # the type depends on the system
            self.close()
            raise NoEventsError(f"{type(self._observer).__name__}: {error}") from error
        self.directories = self._count_folders()

    def is_alive(self) -> bool:
        return self._observer.is_alive() and all(thread.is_alive() for thread in self._threads)

    def close(self) -> None:
        """An event in progress may still be reported."""
        if self._closed:
            return
        self._closed = True
        for name in _LOGGERS:
            logging.getLogger(name).removeHandler(self._log_handler)
        # `stop` waits for its threads, and one of them may be inside `is_interesting`.
        stopping = threading.Thread(target=self._observer.stop, daemon=True)
        stopping.start()
        stopping.join(_CLOSING_S)

    def dispatch(self, event: FileSystemEvent) -> None:
        """Called by the observer for each event."""
        if self._closed or event.is_synthetic:  # a folder is scanned with everything below it
            return
        is_dir, removed = event.is_directory, event.event_type == "deleted"
        may_be_dir = removed and not is_dir and self.deletes_have_no_kind
        for full in (event.src_path, event.dest_path):
            path = self._relative(os.fsdecode(full)) if full else None
            if path is None:
                continue
            if not path and removed:
                self._report_lost("the folder was removed")
            elif not path and is_dir:
                self._report(b"", True)
            elif path and self._is_interesting(path, is_dir):
                self._report(path, is_dir)
            elif path and may_be_dir and self._is_interesting(path, True):
                self._report(path, True)

    def _report_lost(self, why: str) -> None:
        if not self._closed:
            self._lost(why)

    def _relative(self, path: str) -> bytes | None:
        """A path as the queue spells it; None outside the root."""
        if self._with_separator(path) in self._prefixes:
            return b""
        prefix = next((prefix for prefix in self._prefixes if path.startswith(prefix)), None)
        if prefix is None:  # the root may be spelled in another case or Unicode form
            start = os.sep.join(path.split(os.sep)[: len(self._root.split(os.sep))])
            try:
                if not os.path.samefile(start, self._root):
                    return None
            except OSError:
                return None
            prefix = self._with_separator(start)
            self._prefixes |= {prefix}
        return os.fsencode(path[len(prefix) :].replace(os.sep, "/"))

    @staticmethod
    def _with_separator(path: str) -> str:
        return path if path.endswith(os.sep) else path + os.sep

    def _detect_dropped(self, emitter: EventEmitter) -> None:
        """FSEvents marks lost events in the flags of another one; watchdog 7.1 ignores that flag."""
        queue_events: Callable[..., None] = emitter.queue_events

        def queue(timeout: float, *batches: list[Any]) -> None:
            if any(getattr(event, "must_scan_subdirs", False) for batch in batches for event in batch):
                self._report_lost(_OVERFLOW)
            queue_events(timeout, *batches)

        emitter.queue_events = queue  # type: ignore[method-assign]

    def _count_folders(self) -> int:
        """Number of interesting folders; the system does not report it."""
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


class _LogHandler(logging.Handler):
    """Detects errors that watchdog only logs: lost events and failed threads."""

    def __init__(self, lost: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._lost = lost

    def emit(self, record: logging.LogRecord) -> None:
        if "overflow" in record.getMessage():
            self._lost(_OVERFLOW)
        elif record.exc_info:
            self._lost("the watch had failed")


def _new_observer() -> BaseObserver:
    for name in _LOGGERS:
        logging.getLogger(name).addHandler(SILENCE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about its fallbacks
            from watchdog.observers import Observer
        observer = Observer()
    except Exception as error:  # the type depends on the system
        raise NoEventsError(f"watchdog: {error}") from error
    if (reason := _UNUSABLE.get(type(observer).__name__)) is not None:
        raise NoEventsError(reason)
    return observer


def _event_filter() -> list[type[FileSystemEvent]]:
    """Not opening and reading: with these, each walk of watchdog 7.1 causes new events.

    Nor attributes of folders, which systems change themselves; a retry finds folders that became readable.
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
