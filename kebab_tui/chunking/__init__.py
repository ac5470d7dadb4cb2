"""A parsed note becomes passages with exact line spans. Knows no files and no store."""

from __future__ import annotations

from kebab_tui.chunking.chunker import chunk
from kebab_tui.chunking.sections import ChunkLimits

__all__ = ["ChunkLimits", "chunk"]
