"""A parsed note becomes passages with exact line spans. Knows no files and no store."""

from __future__ import annotations

from kebab_tui.chunking.limits import ChunkLimits
from kebab_tui.chunking.passages import chunk

__all__ = ["ChunkLimits", "chunk"]
