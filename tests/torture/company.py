"""Processes beside the victim, and after it: indexers, writers, and what can be waited for of them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

from kebab_tui.storage.lock import WriterLock
from kebab_tui.workspace import Workspace
from tests.torture.edits import Editor
from tests.torture.victim import SETTINGS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATIENCE_S = 60.0
TAKE_OVER_S = 30.0
"""A indexer that waits looks twice a second."""
_STILL_S = 0.5
_STEP_S = 0.02


class OverdueError(Exception):
    """What was waited for did not come."""


def until(seen: Callable[[], object], what: str, seconds: float = PATIENCE_S) -> float:
    """Wait for something to be so; gives the seconds that it took."""
    began = time.monotonic()
    while not seen():
        if time.monotonic() - began > seconds:
            raise OverdueError(f"after {seconds:g} s not yet: {what}")
        time.sleep(_STEP_S)
    return time.monotonic() - began


def environ(home: str) -> dict[str, str]:
    """As here but for our settings. With another kind of processor set, a vector's last bit is another."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("KEBAB_", "XDG_"))}
    return ours | {"HOME": home, "PYTHONPATH": ROOT}


def kebab(data: str, *argv: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "kebab_tui", "--data-dir", data, *argv],
        env=environ(data),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


@contextlib.contextmanager
def indexer(data: str, notes: str) -> Iterator[subprocess.Popen[bytes]]:
    """`kebab watch`; ends with the context."""
    process = kebab(data, "watch", "--quiet", notes)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """Ask it to end; what there is to complain of."""
    process.send_signal(signal.SIGTERM)
    try:
        _, said = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        yield "an indexer does not end"
        return
    if process.returncode:
        yield f"an indexer ended with {process.returncode}: {said.decode()[-400:]}"


def holds_lock(data: str, process: subprocess.Popen[bytes]) -> bool:
    holder = WriterLock(os.path.join(data, "writer.lock")).holder()
    return holder is not None and holder.pid == process.pid


def keeps(workspace: Workspace, process: subprocess.Popen[bytes]) -> bool:
    """Whether that process keeps the index in step, and says so."""
    live = workspace.live()
    return live is not None and live.pid == process.pid


def settled(data: str, process: subprocess.Popen[bytes], seconds: float = PATIENCE_S) -> Iterator[str]:
    """Wait until an indexer has done all there is to do and stays at rest."""
    workspace = Workspace(SETTINGS, data)
    at_rest_since: float | None = None

    def is_settled() -> bool:
        nonlocal at_rest_since
        if not _is_at_rest(workspace, process):
            at_rest_since = None
        elif at_rest_since is None:
            at_rest_since = time.monotonic()
        return at_rest_since is not None and time.monotonic() - at_rest_since > _STILL_S

    try:
        until(is_settled, f"an indexer at rest ({workspace.live()})", seconds)
    except OverdueError as overdue:
        yield f"{overdue}; it is {workspace.live()}"
    finally:
        workspace.close()


def _is_at_rest(workspace: Workspace, process: subprocess.Popen[bytes]) -> bool:
    live = workspace.live()
    if live is None or live.pid != process.pid or live.given_way_to:
        return False
    return live.phase.kind == "idle" and live.pending == 0 and bool(live.folders) and not _pending(workspace)


def _pending(workspace: Workspace) -> int:
    return workspace.pending().texts


def edit_until(editor: Editor, over: Callable[[], bool], seconds: float, pause_s: float = 0.03) -> None:
    """Somebody who keeps changing notes."""
    end = time.monotonic() + seconds
    while not over() and time.monotonic() < end:
        editor.change()
        time.sleep(pause_s)


def race(data: str, notes: str) -> Iterator[str]:
    """Two writers at once after the kill: one has its turn after the other."""
    racers = [kebab(data, "ingest", "--wait", "--quiet", notes) for _ in range(2)]
    for racer in racers:
        _, said = racer.communicate(timeout=PATIENCE_S)
        if racer.returncode:
            yield f"one of two writers ended with {racer.returncode}: {said.decode()[-400:]}"
