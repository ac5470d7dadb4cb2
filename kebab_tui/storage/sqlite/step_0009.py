"""Schema step 9: which notes belong to which version of a folder."""

from __future__ import annotations

VERSION = 9
NAME = "0009_versions"
TABLES = """
CREATE TABLE version_documents(
  version TEXT NOT NULL REFERENCES sources(source_id) ON DELETE CASCADE,
  doc_id TEXT NOT NULL REFERENCES documents(doc_id) ON DELETE CASCADE,
  blob TEXT NOT NULL,
  PRIMARY KEY (version, doc_id)
) WITHOUT ROWID;
CREATE INDEX version_documents_by_document ON version_documents(doc_id, version);
"""
VIEW = "CREATE TEMP VIEW version_documents AS SELECT '' AS version, '' AS doc_id, '' AS blob WHERE 0;\n"
"""What a reader of an earlier schema reads instead."""
