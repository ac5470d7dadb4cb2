"""Stable ids of documents and chunks.

An id is 32 hex digits of blake2b over canonical JSON (sorted keys, NFC, no spaces),
so the same facts give the same id on every machine. A chunk's id does not depend on
its position in the note: an edit elsewhere does not change it.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable
from typing import NewType

DocId = NewType("DocId", str)
ChunkId = NewType("ChunkId", str)
SourceId = NewType("SourceId", str)
ChunkRow = NewType("ChunkRow", int)
"""`chunks.id`: the row id in SQLite, FTS5 and FAISS; never reused."""


def canonical_id(facts: dict[str, str | int]) -> str:
    """Hash plain facts into 32 hex digits."""
    return _hashed(json.dumps(facts, sort_keys=True, ensure_ascii=False, separators=(",", ":")))


def _hashed(text: str) -> str:
    import hashlib  # loads OpenSSL; a search needs none

    normal = text if text.isascii() else unicodedata.normalize("NFC", text)
    return hashlib.blake2b(normal.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _quoted(text: str) -> str:
    return json.encoder.encode_basestring(text)


def document_id(source: SourceId, path: str, content_hash: str, generation: int) -> DocId:
    """The id of a new note; `generation` distinguishes notes of equal path and content."""
    facts: dict[str, str | int] = {
        "source": source,
        "path": path,
        "content": content_hash,
        "generation": generation,
    }
    return DocId(canonical_id(facts))


def text_hash(text: str) -> str:
    """16 hex digits of a hash of a chunk's exact text."""
    import hashlib

    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def chunk_ids(doc: DocId, version: str, parts: Iterable[tuple[str, str]]) -> list[ChunkId]:
    """Ids for the (heading path, text hash) pairs of a document, in order; equal pairs are numbered."""
    seen: dict[tuple[str, str], int] = {}
    ids = []
    # Canonical JSON written by hand: indexing a large folder makes a hundred thousand ids.
    front = f'{{"chunker":{_quoted(version)},"doc":{_quoted(doc)},"heading":'
    for heading_path, digest in parts:
        ordinal = seen.get((heading_path, digest), 0)
        seen[heading_path, digest] = ordinal + 1
        ids.append(
            ChunkId(_hashed(f'{front}{_quoted(heading_path)},"ordinal":{ordinal},"text":"{digest}"}}'))
        )
    return ids
