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
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from kebab_tui.domain.errors import KebabError

if TYPE_CHECKING:
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
