"""The indexing behind the screen, as a process of its own.

    python -m kebab_tui.tui.indexer [--watch] DATA_FOLDER CONFIG FOLDER…

Indexing is Python at work: in the screen's process it would take turns with every key.
Without --watch it brings the folders up to date once, makes the vectors and ends. With it
the process keeps them so for as long as its parent lives: it ends when its standard input
does, or when it has another parent. Tells what it does as lines of JSON on stdout (while
it watches, the live file of the data folder says more); ends soon on SIGTERM, also within a file,
and loses nothing when it is killed.
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
from typing import IO, TYPE_CHECKING, Any

from kebab_tui.domain.errors import KebabError
from kebab_tui.tui.messages import IndexingProgress

if TYPE_CHECKING:
    from textual.message import Message

    from kebab_tui.indexing.embed import EmbeddingProgress
    from kebab_tui.indexing.report import Progress
    from kebab_tui.indexing.status import LiveState
    from kebab_tui.storage.lock import Holder
    from kebab_tui.workspace import Workspace


_WATCH = "--watch"
_NICENESS = 10
_PARENT_S = 1.0
"""Between two looks whether the parent is still the same; the end of the input usually says so first."""
_TRIES, _BETWEEN_TRIES_S = 5, 0.12
"""Linux takes one such wish in a tenth of a second."""


def main(argv: Sequence[str]) -> int:
    """Bring the folders, or all sources, up to date; with --watch keep them so."""
    from kebab_tui.settings.load import load_settings
    from kebab_tui.workspace import Workspace

    watching = argv[:1] == [_WATCH]
    data_folder, config, *folders = argv[1:] if watching else argv
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    _step_back()
    try:
        settings = load_settings(config or None, os.environ, {"data_dir": data_folder})
        with closing(Workspace(settings, data_folder)) as workspace:
            (_keep if watching else _index_once)(workspace, folders, stop)
    except KebabError as error:
        _tell(state="error", code=error.code, message=error.message, hint=error.hint)
        return error.exit_code
    except Exception as error:
        # A defect of ours. Nobody reads the traceback of this process, but the screen shows this.
        _tell(state="error", code="internal", message=f"{type(error).__name__}: {error}", hint="")
        raise
    _tell(state="done")
    return 0


def _step_back() -> None:
    """Leave the processor to whoever types.

    Linux shares it among sessions first, and only within one among its processes: a process
    that the screen gives a session of its own is as good as the screen, however low its priority.
    """
    with contextlib.suppress(OSError, AttributeError):
        os.nice(_NICENESS)
    with contextlib.suppress(OSError, AttributeError):
        if os.getsid(0) == os.getpid():  # it is of nobody else
            _step_back_as_session()


def _step_back_as_session() -> None:
    for _ in range(_TRIES):
        with contextlib.suppress(BlockingIOError):  # somebody else's was set just now
            with open("/proc/self/autogroup", "w", encoding="ascii") as group:
                group.write(str(_NICENESS))
            return
        time.sleep(_BETWEEN_TRIES_S)


def _index_once(workspace: Workspace, folders: Sequence[str], stop: threading.Event) -> None:
    from kebab_tui.workspace import Callbacks

    callbacks = Callbacks(_reading, stop.is_set, _waiting, _embedding, stopping=stop.is_set)
    report = workspace.ingest(folders, callbacks)
    _tell(state="indexed", failed=report.count("failed"), healed=report.healed)
    if not stop.is_set():
        workspace.embed(callbacks)


def _keep(workspace: Workspace, folders: Sequence[str], stop: threading.Event) -> None:
    from kebab_tui.workspace import WatchCallbacks

    threading.Thread(target=_end_with_input, args=(stop,), name="parent", daemon=True).start()
    callbacks = WatchCallbacks(_is_over(stop), state=_keeping(), following=_following)
    workspace.watch(folders, callbacks, "kebab-tui")


def _end_with_input(stop: threading.Event) -> None:
    """Read to the end of standard input; by its number, for a buffer would be locked at exit."""
    with contextlib.suppress(OSError):
        while os.read(0, 4096):
            pass
    stop.set()


def _is_over(stop: threading.Event) -> Callable[[], bool]:
    parent, next_look = os.getppid(), 0.0

    def is_over() -> bool:
        nonlocal next_look
        if not stop.is_set() and (now := time.monotonic()) >= next_look:
            next_look = now + _PARENT_S
            if os.getppid() != parent:
                stop.set()
        return stop.is_set()

    return is_over


def _keeping() -> Callable[[LiveState], None]:
    """Tell each time that this process becomes the one that writes, and what it cannot go on for.

    The live file says that too, but not on a disk to which nothing can be written.
    """
    told, error = False, None

    def tell(state: LiveState) -> None:
        nonlocal told, error
        if not told:
            _tell(state="keeping", pid=state.pid)
        if state.error is not None and state.error != error:
            _tell(state="trouble", code=state.error.code, message=state.error.message, hint=state.error.hint)
        told, error = not state.given_way_to, state.error

    return tell


def _following(holder: Holder | None) -> None:
    _tell(state="following", pid=holder.pid if holder else 0, holder=str(holder or "another process"))


def _reading(progress: Progress) -> None:
    if progress.total and (progress.done % 25 == 0 or progress.done == progress.total):
        _tell(state="reading", done=progress.done, total=progress.total, source=progress.source)


def _embedding(progress: EmbeddingProgress) -> None:
    _tell(state="embedding", done=progress.done, total=progress.total, rate=round(progress.rate, 1))


def _waiting(holder: Holder | None) -> None:
    _tell(state="waiting", holder=str(holder or "another process"))


def _tell(**facts: str | int | float) -> None:
    # Nobody listens any more when the screen was killed: that is no reason to stop indexing.
    with contextlib.suppress(OSError):
        sys.stdout.write(json.dumps(facts) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))


# Runs the indexing processes and passes on what they tell. Never waits for them.
#
# One that keeps the index in step as long as the screen is there, where that is wanted; it is
# begun again when somebody kills it. And runs that do one thing, one at a time: what is asked
# for meanwhile is done by a run right after. Leaving the screen asks them to end and does
# not look back: they stop at a file boundary, and one that is killed loses nothing.

_BEGIN_AGAIN_S, _LONGEST_PAUSE_S = 1.0, 60.0
"""The pause before a keeper is begun again; twice as long each time while none gets to work."""
_KEEP = ("--watch",)


class BackgroundIndexing:
    """Started by the screen, told to stop by the screen."""

    def __init__(self, data_folder: str, config: str, post: Callable[[Message], object]) -> None:
        self._data_folder = data_folder
        self._config = config
        self._post = post
        self._lock = threading.Lock()  # held while the processes are looked at or replaced
        self._process: subprocess.Popen[str] | None = None
        self._keeper: subprocess.Popen[str] | None = None
        self._undeclared: tuple[str, ...] = ()
        """Folders that the keeper has been given and may not have in the index yet."""
        self._pause_s = _BEGIN_AGAIN_S
        self._again: tuple[str, ...] | None = None
        self._closing = threading.Event()

    @property
    def keeper_pid(self) -> int:
        """The process that keeps the index in step for this screen, or waits to; 0: there is none."""
        keeper = self._keeper
        return keeper.pid if keeper is not None else 0

    def keep(self, folders: Sequence[str]) -> None:
        """Keep all sources in step from now on, these folders among them."""
        with self._lock:
            if self._keeper is None and not self._closing.is_set():
                self._undeclared = tuple(folders)
                self._keeper = self._launch((*_KEEP, self._data_folder, self._config, *folders), self._kept)

    def start(self, folders: Sequence[str]) -> None:
        """Bring the folders up to date once; none named is all of them."""
        with self._lock:
            if self._process is not None:
                self._again = tuple(folders)
            elif not self._closing.is_set():
                self._process = self._launch((self._data_folder, self._config, *folders), self._done)

    def close(self) -> None:
        with self._lock:
            self._closing.set()
            for process in (self._process, self._keeper):
                if process is not None:
                    with contextlib.suppress(OSError):
                        process.terminate()

    def _launch(
        self, arguments: Sequence[str], ended: Callable[[subprocess.Popen[str], bool], None]
    ) -> subprocess.Popen[str]:
        """`ended` is told of the process and whether it said that beginning again is of no use."""
        process = subprocess.Popen(
            [sys.executable, "-m", "kebab_tui.tui.indexer", *arguments],
            stdin=subprocess.PIPE,  # its end is ours, also when we are killed
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # ctrl+c in the terminal is the screen's affair
        )
        threading.Thread(target=self._listen, args=(process, ended), name="indexing", daemon=True).start()
        return process

    def _listen(
        self, process: subprocess.Popen[str], ended: Callable[[subprocess.Popen[str], bool], None]
    ) -> None:
        assert process.stdout is not None
        failed, final = 0, False
        with process:
            for facts in _told(process.stdout):
                failed = facts.get("failed", failed)
                final = facts.get("state") in _LAST_WORDS and facts.get("code") != _READ_ONLY
                if facts.get("state") in _LIVE_SAYS_MORE:
                    self._undeclared, self._pause_s = (), _BEGIN_AGAIN_S
                elif not self._closing.is_set():
                    self._post(_progress(facts, failed))
        ended(process, final)

    def _done(self, _process: subprocess.Popen[str], _final: bool) -> None:
        with self._lock:
            self._process = None
            again, self._again = self._again, None
        if again is not None:
            self.start(again)

    def _kept(self, _process: subprocess.Popen[str], final: bool) -> None:
        """Begin again what was killed, or what could not write to the data folder."""
        with self._lock:
            self._keeper = None
        pause, self._pause_s = self._pause_s, min(2 * self._pause_s, _LONGEST_PAUSE_S)
        if not final and not self._closing.wait(pause):
            self.keep(self._undeclared)


_LAST_WORDS = ("done", "error")
_READ_ONLY = "readonly"
"""The code of an error that goes away by itself when the data folder can be written again."""
_LIVE_SAYS_MORE = ("keeping", "following")


def _told(lines: IO[str]) -> list[dict[str, Any]] | Any:
    for line in lines:
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def _progress(facts: dict[str, Any], failed: int) -> IndexingProgress:
    match facts:
        case {"state": "reading", "done": done, "total": total}:
            text = f"reading {done:,} of {total:,}"
            return IndexingProgress(text, running=True, done=done, total=total, failed=failed)
        case {"state": "embedding", "done": done, "total": total, "rate": rate} if total:
            text = f"vectors {done:,} of {total:,}, {rate:,.0f}/s"
            return IndexingProgress(text, running=True, failed=failed)
        case {"state": "waiting", "holder": holder}:
            return IndexingProgress(f"waiting for {holder}", running=True)
        case {"state": "error" | "trouble", "message": message, "code": code, "hint": hint}:
            ending = f" ({hint})" if hint else ""
            return IndexingProgress(f"not indexed: {message}{ending}", running=False, code=code)
    return IndexingProgress("", running=facts.get("state") != "done", failed=failed)
