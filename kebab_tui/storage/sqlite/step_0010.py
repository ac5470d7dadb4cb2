"""Schema step 10, for a million passages: indexes on time and path, and the top lists of common words.

`documents_by_time` lists the latest notes; `documents_by_path` has the paths of all notes side by side, for
`path:`; `documents_by_odd_path` those that `path_globs` leaves to Python. `top_lists` has the best passages
of each stem that occurs in many (`top_lists.py`).
"""

from __future__ import annotations

from kebab_tui.storage.sqlite.path_globs import ODD

VERSION = 10
NAME = "0010_scale"

TABLES = f"""
CREATE INDEX documents_by_time ON documents(mtime_ns, doc_id);
CREATE INDEX documents_by_path ON documents(path COLLATE NOCASE, doc_id);
CREATE INDEX documents_by_odd_path ON documents(doc_id, path) WHERE {ODD};
CREATE TABLE top_lists(
  word TEXT PRIMARY KEY,
  weights TEXT NOT NULL,
  revision INTEGER NOT NULL,
  average_length REAL NOT NULL,
  bound REAL NOT NULL,
  rows TEXT NOT NULL
) WITHOUT ROWID;
"""

VIEW = """
CREATE TEMP VIEW top_lists AS
SELECT '' AS word, '' AS weights, 0 AS revision, 0.0 AS average_length, 0.0 AS bound, '' AS rows WHERE 0;
"""
"""What a reader of an earlier schema reads instead."""
