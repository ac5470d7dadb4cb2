"""How a long verb talks to whoever started it: what it tells, and what it asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # every command loads this module, few of them these
    from kebab_tui.indexing.embedding_job import EmbeddingProgress
    from kebab_tui.indexing.report import Progress
    from kebab_tui.store.lock import Holder


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Called by the thread that does the work."""

    progress: Callable[[Progress], None] = lambda _: None
    cancelled: Callable[[], bool] = lambda: False
    """Asked between two files and between two texts."""
    waiting: Callable[[Holder | None], None] = lambda _: None
    """Told once when another process writes; None when nobody knows which."""
    embedding: Callable[[EmbeddingProgress], None] = lambda _: None
