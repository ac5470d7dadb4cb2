"""What the status line says of whoever keeps the index in step. Pure words for plain facts.

How well the folders are watched is one word, with the reason where it is not `live`; then
what waits, who does it where that is another process, and the last note that changed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kebab_tui.indexing.status import LiveState
    from kebab_tui.indexing.watcher import WatchKind

_WORST_FIRST: tuple[WatchKind, ...] = ("paused", "partial", "polling", "live")


@dataclass(frozen=True, slots=True)
class LiveWords:
    """Pieces for the status line, each empty where there is nothing to say."""

    index: str = ""
    """How the folders are watched, and what waits."""
    progress: str = ""
    """What is being done."""
    trouble: str = ""
    """Why the index, or a folder in it, is not kept in step."""
    failed: int = 0


def live_words(live: LiveState | None, own_pid: int) -> LiveWords:
    """The words for a state, None where nobody watches; `own_pid` is the process of this screen."""
    if live is None:
        return LiveWords("not watching")
    pieces = [_watching(live)]
    if live.pending:
        pieces.append(f"{live.pending:,} pending")
    if live.pid != own_pid:
        pieces.append(f"indexed by pid {live.pid}")
    return LiveWords(", ".join(filter(None, pieces)), _progress(live), _trouble(live), live.failed)


def changed_words(path: str, seconds: float | None) -> str:
    """The note that was committed last, and how long after saving it stood on the screen."""
    name = os.path.basename(path)
    return name if seconds is None else f"{name} {seconds:.2f} s"


def _watching(live: LiveState) -> str:
    kinds = {folder.kind: folder.reason for folder in live.folders}
    worst = next((kind for kind in _WORST_FIRST if kind in kinds), None)
    if worst is None:
        return ""
    # Why a folder is paused is a warning of its own.
    return f"{worst} ({kinds[worst]})" if worst in ("partial", "polling") and kinds[worst] else worst


def _trouble(live: LiveState) -> str:
    if live.error is not None:
        return f"{live.error.message}; searching goes on"
    paused = (folder for folder in live.folders if folder.kind == "paused")
    return next((f"{os.path.basename(folder.root)}: {folder.reason}" for folder in paused), "")


def _progress(live: LiveState) -> str:
    phase = live.phase
    if live.given_way_to:
        return f"{live.given_way_to} writes"
    if phase.kind == "reading" and phase.total:
        return f"reading {phase.done:,} of {phase.total:,}"
    if phase.kind == "embedding" and phase.total:
        return f"vectors {phase.done:,} of {phase.total:,}, {phase.rate:,.0f}/s{_left(phase.seconds_left)}"
    return ""


def _left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 90:
        return f", {seconds:.0f} s left"
    minutes = seconds / 60
    return f", {minutes:.0f} min left" if minutes < 90 else f", {minutes / 60:.1f} h left"
