"""Chunking: splits a parsed note into passages with exact line spans. Reads no files, stores nothing."""

from __future__ import annotations

from kebab_tui.chunking.chunker import chunk
from kebab_tui.chunking.sections import ChunkLimits

__all__ = ["ChunkLimits", "chunk"]
