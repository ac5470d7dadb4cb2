"""Callbacks of long operations. Every command loads them with the workspace, so they import nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kebab_tui.indexing.embed import EmbeddingProgress
    from kebab_tui.indexing.report import NoteChange, Progress
    from kebab_tui.indexing.status import LiveState
    from kebab_tui.storage.ports import Holder


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Callbacks of a long operation; called by its thread."""

    progress: Callable[[Progress], None] = lambda _: None
    cancelled: Callable[[], bool] = lambda: False
    """Checked between two files and between two texts."""
    waiting: Callable[[Holder | None], None] = lambda _: None
    """Called once if another process writes; None if it is unknown."""
    embedding: Callable[[EmbeddingProgress], None] = lambda _: None
    notice: Callable[[str], None] = lambda _: None
    """A message for the user, before the result."""
    changed: Callable[[NoteChange], None] = lambda _: None
    """Called after the commit."""
    stopping: Callable[[], bool] = lambda: False
    """Checked many times within a file; a stopped file is read again by the next run."""


@dataclass(frozen=True, slots=True)
class WatchCallbacks:
    """Callbacks of the indexing process; called by its thread."""

    stopping: Callable[[], bool]
    """Checked several times a second."""
    changed: Callable[[NoteChange], None] = lambda _: None
    state: Callable[[LiveState], None] = lambda _: None
    """Called after a change, a few times a second at most."""
    following: Callable[[Holder | None], None] = lambda _: None
    """Called once for each other process that writes; None if it is unknown."""
    on_stop: Callable[[Callable[[], None]], None] | None = None
    """Called once with a function to call when `stopping` becomes true, from any thread or signal handler.

    Without it, the idle process asks ten times a second.
    """
