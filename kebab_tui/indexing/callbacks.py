"""How a long verb talks to whoever started it: what it tells, and what it asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kebab_tui.indexing.embedding_job import EmbeddingProgress
    from kebab_tui.indexing.live_state import LiveState
    from kebab_tui.indexing.report import NoteChange, Progress
    from kebab_tui.storage.lock import Holder


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Called by the thread that does the work."""

    progress: Callable[[Progress], None] = lambda _: None
    cancelled: Callable[[], bool] = lambda: False
    """Asked between two files and between two texts."""
    waiting: Callable[[Holder | None], None] = lambda _: None
    """Told once when another process writes; None when nobody knows which."""
    embedding: Callable[[EmbeddingProgress], None] = lambda _: None
    notice: Callable[[str], None] = lambda _: None
    """Told what the user has to know before the result."""
    changed: Callable[[NoteChange], None] = lambda _: None
    """Told of each note that changed, once that is in the index."""
    stopping: Callable[[], bool] = lambda: False
    """Asked many times within a file: reading it is given up, and it is read again next time."""


@dataclass(frozen=True, slots=True)
class WatchCallbacks:
    """How keeping watch talks to whoever started it; called by the thread that keeps it."""

    stopping: Callable[[], bool]
    """Asked several times a second."""
    changed: Callable[[NoteChange], None] = lambda _: None
    state: Callable[[LiveState], None] = lambda _: None
    """Told a few times a second at most, when something is different."""
    following: Callable[[Holder | None], None] = lambda _: None
    """Another process writes; told once for each, None when nobody knows which."""
