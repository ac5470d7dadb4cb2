"""The step of the schema for versions: which notes belong to which version of a folder.

To renumber the step, change `STEP`; it needs only tables of the first one.
"""

from __future__ import annotations

STEP = 9
TABLE = """
CREATE TABLE version_documents(
  version TEXT NOT NULL REFERENCES sources(source_id) ON DELETE CASCADE,
  doc_id TEXT NOT NULL REFERENCES documents(doc_id) ON DELETE CASCADE,
  blob TEXT NOT NULL,
  PRIMARY KEY (version, doc_id)
) WITHOUT ROWID;
CREATE INDEX version_documents_by_document ON version_documents(doc_id, version);
"""
OLDER_VIEW = "CREATE TEMP VIEW version_documents AS SELECT '' AS version, '' AS doc_id, '' AS blob WHERE 0;\n"
"""What a reader of an index before the step sees."""
