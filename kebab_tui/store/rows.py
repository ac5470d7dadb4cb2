"""Between database rows and domain values. Knows columns, runs no SQL."""

from __future__ import annotations

import json
import os
import sqlite3
import unicodedata
from collections.abc import Sequence
from typing import Any, cast

from kebab_tui.domain.citation import SourceSpan
from kebab_tui.domain.document import (
    Chunk,
    ChunkKind,
    Document,
    DocumentFlag,
    DocumentState,
    DocumentType,
    Fingerprint,
    Language,
    Source,
    SourceState,
    Trust,
)
from kebab_tui.domain.ids import ChunkId, ChunkRow, DocId, SourceId
from kebab_tui.domain.tokens import grams

Row = sqlite3.Row | tuple[Any, ...]

DOCUMENT_COLUMNS = (
    "d.doc_id, d.source_id, d.path, d.raw_path, d.title, d.type, d.lang, coalesce(d.trust, s.trust), "
    "d.size, d.mtime_ns, d.ctime_ns, d.inode, d.content_hash, "
    "d.state, d.reason, d.aliases, d.flags, d.indexed_ns, "
    "(SELECT json_group_array(tag) FROM document_tags t WHERE t.doc_id = d.doc_id), "
    "(SELECT count(*) FROM chunks c WHERE c.doc_id = d.doc_id)"
)
CHUNK_COLUMNS = (
    "c.id, c.chunk_id, c.doc_id, c.ordinal, c.kind, c.heading_path, c.text, c.line_first, c.line_last, c.page"
)
SOURCE_COLUMNS = (
    "s.source_id, s.title, s.root, s.description, s.include, s.exclude, s.trust, s.rules, s.version_label, "
    "s.weight, s.state"
)


def to_document(row: Row) -> Document:
    return Document(
        doc_id=DocId(row[0]),
        source=SourceId(row[1]),
        path=row[2],
        raw_path=row[3],
        title=row[4],
        type=cast(DocumentType, row[5]),
        lang=cast(Language, row[6]),
        trust=Trust(row[7]),
        fingerprint=Fingerprint(row[8], row[9], row[10], row[11]),
        content_hash=row[12],
        state=cast(DocumentState, row[13]),
        reason=row[14],
        aliases=tuple(json.loads(row[15])),
        flags=cast(tuple[DocumentFlag, ...], tuple(json.loads(row[16]))),
        indexed_ns=row[17],
        tags=tuple(json.loads(row[18])),
        chunks=row[19],
    )


def to_chunk(row: Row) -> Chunk:
    return Chunk(
        row=ChunkRow(row[0]),
        chunk_id=ChunkId(row[1]),
        doc_id=DocId(row[2]),
        ordinal=row[3],
        kind=cast(ChunkKind, row[4]),
        heading_path=row[5],
        text=row[6],
        span=SourceSpan(row[7], row[8], row[9]),
    )


def to_source(row: Row, documents: int = 0, chunks: int = 0) -> Source:
    return Source(
        source_id=SourceId(row[0]),
        title=row[1],
        root=path_text(row[2]),
        description=row[3],
        include=tuple(json.loads(row[4])),
        exclude=tuple(json.loads(row[5])),
        trust=Trust(row[6]),
        rules=tuple(json.loads(row[7])),
        version_label=row[8],
        weight=row[9],
        state=cast(SourceState, row[10]),
        documents=documents,
        chunks=chunks,
    )


def source_values(source: Source) -> tuple[Any, ...]:
    """The columns of `SOURCE_COLUMNS` without the state, in order."""
    return (
        source.source_id,
        storable(source.title),
        os.fsencode(source.root),
        storable(source.description),
        as_json(source.include),
        as_json(source.exclude),
        int(source.trust),
        as_json(source.rules),
        source.version_label,
        source.weight,
    )


def path_text(raw: bytes) -> str:
    """Bytes of a path as the string that opens the same file."""
    return os.fsdecode(raw)


def as_json(values: Sequence[str]) -> str:
    return json.dumps([storable(value) for value in values], ensure_ascii=False)


def shown(path: str) -> str:
    """A path as people read it: NFC, and a mark for every byte that is no text."""
    return storable(unicodedata.normalize("NFC", path))


def storable(text: str) -> str:
    """Text that SQLite takes: lone surrogates are no UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def indexed_grams(title: str, heading_path: str, text: str) -> str:
    """What the index holds of a chunk for words inside words."""
    return grams(f"{title}\n{heading_path}\n{text}")


def fold(text: str) -> str:
    """How names are compared: NFC, in any case."""
    return unicodedata.normalize("NFC", text).casefold()
