"""Names that survive: how documents and chunks get their ids.

An id is 32 hex digits of blake2b over canonical JSON (sorted keys, NFC, no spaces),
so the same facts give the same id on every machine. A chunk's id does not depend on
its place in the note: an edit elsewhere leaves it alone.
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
"""`chunks.id`: the row shared by SQLite, FTS5 and FAISS; never reused."""


def canonical_id(facts: dict[str, str | int]) -> str:
    """Hash plain facts into 32 hex digits."""
    return _hashed(json.dumps(facts, sort_keys=True, ensure_ascii=False, separators=(",", ":")))


def _hashed(text: str) -> str:
    import hashlib  # loads OpenSSL, and searching hashes nothing

    normal = text if text.isascii() else unicodedata.normalize("NFC", text)
    return hashlib.blake2b(normal.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _quoted(text: str) -> str:
    return json.encoder.encode_basestring(text)


def document_id(source: SourceId, path: str, content_hash: str, generation: int) -> DocId:
    """Name a note at its first sight; `generation` tells apart namesakes of equal content."""
    facts: dict[str, str | int] = {
        "source": source,
        "path": path,
        "content": content_hash,
        "generation": generation,
    }
    return DocId(canonical_id(facts))


def text_hash(text: str) -> str:
    """16 hex digits that stand for a chunk's exact text."""
    import hashlib

    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def chunk_ids(doc: DocId, version: str, parts: Iterable[tuple[str, str]]) -> list[ChunkId]:
    """Name each (heading path, text hash) of a document in order; equals are numbered."""
    seen: dict[tuple[str, str], int] = {}
    ids = []
    # The canonical JSON spelled out: an index load names a hundred thousand chunks.
    front = f'{{"chunker":{_quoted(version)},"doc":{_quoted(doc)},"heading":'
    for heading_path, digest in parts:
        ordinal = seen.get((heading_path, digest), 0)
        seen[heading_path, digest] = ordinal + 1
        ids.append(
            ChunkId(_hashed(f'{front}{_quoted(heading_path)},"ordinal":{ordinal},"text":"{digest}"}}'))
        )
    return ids
