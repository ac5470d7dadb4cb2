"""Schema step 8: how the user uses a source: watched, paused, or removed but not deleted yet."""

from __future__ import annotations

VERSION = 8
NAME = "0008_use_of_sources"
TABLES = """
ALTER TABLE sources ADD COLUMN use TEXT NOT NULL DEFAULT 'watched'
CHECK (use IN ('watched', 'paused', 'removed'));
"""
VIEW = "CREATE TEMP VIEW IF NOT EXISTS sources AS SELECT *, 'watched' AS use FROM main.sources;\n"
"""What a reader of an earlier schema reads instead."""
