"""The indexing processes of the screen: the child side, and the parent side that runs them.

    python -m kebab_tui.tui.indexer [--watch] DATA_FOLDER CONFIG FOLDER…

In the screen's process, indexing would compete with every key for the interpreter.
Without --watch the process indexes everything once, embeds and ends. With it, it keeps
the index up to date until its standard input ends or its parent changes. The live file of
the data folder tells its progress; lines of JSON on stdout tell only that it has started
to work, how it ended, and that it cannot write to its disk. It ends soon after SIGTERM,
even within a file; killing it loses nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Protocol

from kebab_tui.domain.errors import Failure, defect, failure_of

if TYPE_CHECKING:
    from textual.message import Message

    from kebab_tui.indexing.status import LiveState
    from kebab_tui.tui.messages import IndexingEnded

_WATCH = "--watch"
_NICENESS = 10
_TRIES, _BETWEEN_TRIES_S = 5, 0.12
"""Linux accepts one change of an autogroup in 0.1 s."""
_PARENT_S = 1.0
"""Interval of checks for a new parent; usually the end of the input comes first."""

_RESTART_S, _LONGEST_RESTART_S = 1.0, 60.0
"""The pause before a watching process restarts; it doubles until one gets to work."""
_READ_ONLY = "readonly"
"""The code of an error that ends when the data folder becomes writable."""


# In the indexing process


def main(argv: Sequence[str]) -> int:
    """Index all sources and the folders; with --watch keep them up to date."""
    from kebab_tui.settings.load import load_settings
    from kebab_tui.workspace import WatchCallbacks, Workspace

    watching = argv[:1] == [_WATCH]
    data_folder, config, *folders = argv[1:] if watching else argv
    stop = _Stop()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    _lower_priority()
    try:
        settings = load_settings(config or None, os.environ, {"data_dir": data_folder})
        with closing(Workspace(settings, data_folder)) as workspace:
            should_stop = _stop_with_parent(stop) if watching else stop.is_set
            callbacks = WatchCallbacks(
                should_stop,
                state=_state_reporter(),
                following=lambda _: _report(state="started"),
                on_stop=stop.then,
            )
            summary = workspace.watch(folders, callbacks, "kebab-tui", once=not watching)
    except Exception as error:
        failure = failure_of(error)
        reported = failure or defect(error)
        _report(state="error", code=reported.code, message=reported.message, hint=reported.hint)
        if failure is None:
            raise
        return failure.exit_code
    _report(state="done", failed=summary.failed)
    return 0


class _Stop:
    """Whether to stop; wakes the process that rests. Sets no lock: a signal handler may call it."""

    def __init__(self) -> None:
        self._is_set = False
        self._wake: Callable[[], None] = lambda: None

    def then(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def set(self) -> None:
        self._is_set = True
        self._wake()

    def is_set(self) -> bool:
        return self._is_set


def _lower_priority() -> None:
    """Give the user's keys priority over indexing.

    Linux divides the processor between sessions first, then between the processes of one: a
    process with its own session competes as an equal, despite its niceness.
    """
    with contextlib.suppress(OSError, AttributeError):
        os.nice(_NICENESS)
    with contextlib.suppress(OSError, AttributeError):
        if os.getsid(0) != os.getpid():  # other processes share this session
            return
        for _ in range(_TRIES):
            with contextlib.suppress(BlockingIOError):  # another process changed its own just now
                with open("/proc/self/autogroup", "w", encoding="ascii") as group:
                    group.write(str(_NICENESS))
                return
            time.sleep(_BETWEEN_TRIES_S)


def _stop_with_parent(stop: _Stop) -> Callable[[], bool]:
    """Whether to stop: on request, at the end of the input, or with a new parent."""

    def read_input() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 4096):  # by number: a buffer would be locked at exit
                pass
        stop.set()

    threading.Thread(target=read_input, name="parent", daemon=True).start()
    parent, next_check = os.getppid(), 0.0

    def should_stop() -> bool:
        nonlocal next_check
        if not stop.is_set() and (now := time.monotonic()) >= next_check:
            next_check = now + _PARENT_S
            if os.getppid() != parent:
                stop.set()
        return stop.is_set()

    return should_stop


def _state_reporter() -> Callable[[LiveState], None]:
    """Reports the start, and that the disk is read-only: the live file cannot be written there."""
    has_started, was_read_only = False, False

    def report(state: LiveState) -> None:
        nonlocal has_started, was_read_only
        if not has_started:
            has_started = True
            _report(state="started")
        error = state.error
        is_read_only = error is not None and error.code == _READ_ONLY
        if error is not None and is_read_only and not was_read_only:
            _report(state="read-only", code=error.code, message=error.message, hint=error.hint)
        was_read_only = is_read_only

    return report


def _report(**facts: str | int | float) -> None:
    with contextlib.suppress(OSError):  # the end of the screen does not stop a single run
        sys.stdout.write(json.dumps(facts) + "\n")
        sys.stdout.flush()


# In the screen

Ended = Callable[[subprocess.Popen[str], bool], None]
"""Called with the process and whether its end is final; then a restart would not help."""


class Indexing(Protocol):
    """Keeps the index up to date beside the screen."""

    @property
    def watcher_pid(self) -> int: ...

    def report_to(self, post: Callable[[Message], object]) -> None: ...

    def watch(self, folders: Sequence[str]) -> None: ...

    def start(self, folders: Sequence[str]) -> None: ...

    def close(self) -> None: ...


class BackgroundIndexing:
    """Runs the indexing processes and reports their ends. Never waits for them.

    One process watches the folders until the screen ends; if killed, it restarts. Other runs
    do one thing, one at a time; requests during a run are done by the next one. At the end
    the screen signals them and does not wait: they stop at a file boundary.
    """

    def __init__(self, data_folder: str, config: str) -> None:
        self._data_folder = data_folder
        self._config = config
        self._post: Callable[[Message], object] = lambda _: None
        self._lock = threading.Lock()  # guards the fields below
        self._process: subprocess.Popen[str] | None = None
        self._watcher: subprocess.Popen[str] | None = None
        self._undeclared: tuple[str, ...] = ()
        """Folders for the watching process that may not be in the index yet."""
        self._pause_s = _RESTART_S
        self._next: tuple[str, ...] | None = None
        """The folders of the next run."""
        self._closing = threading.Event()

    @property
    def watcher_pid(self) -> int:
        """The process that keeps the index up to date for this screen, or waits to, or indexes once; or 0."""
        process = self._watcher or self._process
        return process.pid if process is not None else 0

    def report_to(self, post: Callable[[Message], object]) -> None:
        """Post all progress from now on."""
        self._post = post

    def watch(self, folders: Sequence[str]) -> None:
        """Keep all sources up to date from now on, including these folders."""
        with self._lock:
            if self._watcher is None and not self._closing.is_set():
                self._undeclared = tuple(folders)
                self._watcher = self._launch(
                    (_WATCH, self._data_folder, self._config, *folders), self._watcher_ended
                )

    def start(self, folders: Sequence[str]) -> None:
        """Index the folders and all sources once."""
        with self._lock:
            if self._process is not None:
                self._next = tuple(dict.fromkeys((*(self._next or ()), *folders)))
            elif not self._closing.is_set():
                self._process = self._launch((self._data_folder, self._config, *folders), self._run_ended)

    def close(self, wait_s: float = 0.0) -> None:
        """`wait_s`: how long to wait for the processes; one that still runs then is killed."""
        with self._lock:
            self._closing.set()
            running = [process for process in (self._process, self._watcher) if process is not None]
        for process in running:
            with contextlib.suppress(OSError):
                process.terminate()
        if wait_s:
            for process in running:
                try:
                    process.wait(wait_s)
                except subprocess.TimeoutExpired:
                    process.kill()

    def _launch(self, arguments: Sequence[str], ended: Ended) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "kebab_tui.tui.indexer", *arguments],
            stdin=subprocess.PIPE,  # ends with this process, even if it is killed
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # Ctrl+C in the terminal is for the screen only
        )
        threading.Thread(target=self._listen, args=(process, ended), name="indexing", daemon=True).start()
        return process

    def _listen(self, process: subprocess.Popen[str], ended: Ended) -> None:
        assert process.stdout is not None
        final = False
        with process:
            for line in process.stdout:
                try:
                    facts = json.loads(line)
                except ValueError:
                    continue
                if facts.get("state") == "started":
                    self._undeclared, self._pause_s = (), _RESTART_S
                    continue
                final = facts.get("state") in ("done", "error") and facts.get("code") != _READ_ONLY
                if not self._closing.is_set():
                    self._post(_message(facts))
        ended(process, final)

    def _run_ended(self, _process: subprocess.Popen[str], _final: bool) -> None:
        with self._lock:
            self._process = None
            folders, self._next = self._next, None
        if folders is not None:
            self.start(folders)

    def _watcher_ended(self, _process: subprocess.Popen[str], final: bool) -> None:
        """Restart a process that was killed or could not write to the data folder."""
        with self._lock:
            self._watcher = None
        pause, self._pause_s = self._pause_s, min(2 * self._pause_s, _LONGEST_RESTART_S)
        if not final and not self._closing.wait(pause):
            self.watch(self._undeclared)


def _message(facts: dict[str, Any]) -> IndexingEnded:
    from kebab_tui.tui.messages import IndexingEnded  # the indexing process needs no Textual

    match facts:
        case {"message": message, "code": code, "hint": hint}:
            return IndexingEnded(failure=Failure(code, message, hint))
    return IndexingEnded(failed=facts.get("failed", 0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
