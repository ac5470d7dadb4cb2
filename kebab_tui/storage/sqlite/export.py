"""Reads a local index note by note, for a copy in another store.

The tokens are FTS5's own: each text passes through a scratch table in memory, whose vocabulary is read back.
So a copy matches and ranks by the same tokens.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kebab_tui.domain.text import PARTS_VERSION
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite import recovery, rows, schema
from kebab_tui.storage.sqlite.connection import meta_value
from kebab_tui.storage.sqlite.vocabulary import FIRST_CJK


class ExportedDocument(NamedTuple):
    """A row of `documents`, with JSON as a reader of this index gets it."""

    doc_id: str
    source_id: str
    path: str
    raw_path: bytes
    title: str
    type: str
    lang: str
    trust: int
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    content_hash: str
    state: str
    reason: str
    flags: str
    indexed_ns: int
    dated: str
    dated_by: str
    chunks: int
    facets: str
    counts: str
    hit_facets: str
    made_by: str
    checked_ns: int
    name_id: int
    names: str
    """Kinds and names, as JSON."""
    name_lines: str
    name_grams: str
    first_row: int
    """The lowest row of its passages; 0 without any."""


class ExportedChunk(NamedTuple):
    row: int
    chunk_id: str
    doc_id: str
    ordinal: int
    kind: str
    heading_path: str
    text: str
    line_first: int
    line_last: int
    page: int | None
    title: str
    grams: str
    embed_hash: bytes
    hangul: int
    vector: bytes | None


@dataclass(frozen=True, slots=True)
class ExportedSource:
    """`values`: those of `rows.SOURCE_COLUMNS`."""

    values: tuple[Any, ...]
    other_files: str


class TermPlaces(NamedTuple):
    """The words of some texts."""

    postings: list[tuple[str, int, list[int]]]
    """A term, the number of a text, and the places there; ordered by terms, then by texts."""
    lengths: list[int]
    """Of each text."""


class Export:
    """One moment of an index. `close` ends it."""

    def __init__(self, folder: str) -> None:
        self._connection = recovery.open_verified(DataFolder(folder))
        self._connection.execute("BEGIN")
        self.revision = int(meta_value(self._connection, "corpus_revision") or 0)
        self.signature = str(meta_value(self._connection, "fts_signature"))
        self.made_by = str(meta_value(self._connection, "made_by") or "")
        self.recipe = str(meta_value(self._connection, "embed_recipe") or "")
        model = meta_value(self._connection, "model")
        self.model = None if model is None else str(model)
        self.lexical_version = schema.lexical_version(self.signature, self.made_by)

    def close(self) -> None:
        self._connection.close()

    def stamp(self) -> tuple[int, ...]:
        """Differs between indexes of the same revision: counts, the last passage, the last change."""
        found = self._connection.execute(
            "SELECT (SELECT count(*) FROM documents), (SELECT coalesce(max(id), 0) FROM chunks), "
            "(SELECT coalesce(max(indexed_ns), 0) FROM documents)"
        )
        return tuple(found.fetchone())

    def last_row(self) -> int:
        found = self._connection.execute("SELECT coalesce(max(id), 0) FROM chunks").fetchone()
        return int(found[0])

    def sources(self) -> list[ExportedSource]:
        found = self._connection.execute(
            f"SELECT {rows.SOURCE_COLUMNS}, coalesce((SELECT m.value FROM meta m WHERE m.key = ? || "
            f"s.source_id), "
            "'[0, []]') FROM sources s WHERE s.use <> 'removed' ORDER BY s.added_ns, s.source_id",
            (rows.OTHER_FILES,),
        )
        return [ExportedSource(tuple(row[:-1]), str(row[-1])) for row in found]

    def private(self) -> list[str]:
        """The ids of the notes that are private, or not known not to be, and of those of removed sources."""
        found = self._connection.execute(
            f"SELECT d.doc_id FROM documents d JOIN sources s ON s.source_id = d.source_id "
            f"WHERE {rows.PRIVATE} OR s.use = 'removed' ORDER BY d.doc_id"
        )
        return [doc for (doc,) in found]

    def files(self) -> Iterator[tuple[str, bytes, bytes]]:
        """The id, the folder and the raw path of each note."""
        yield from self._connection.execute(
            "SELECT d.doc_id, s.root, d.raw_path FROM documents d JOIN sources s ON s.source_id = "
            "d.source_id "
            "ORDER BY d.doc_id"
        )

    def documents(self, first: str, end: str) -> list[ExportedDocument]:
        """The notes with ids from `first` up to, not including, `end`."""
        found = self._connection.execute(
            f"SELECT {rows.DOCUMENT_COLUMNS}, {rows.HIT_FACETS}, d.made_by, d.checked_ns, coalesce(n.id, 0), "
            f"{rows.NAMES}, coalesce(n.names, ''), coalesce(n.grams, ''), "
            "coalesce((SELECT min(c.id) FROM chunks c WHERE c.doc_id = d.doc_id), 0) "
            "FROM documents d JOIN sources s ON s.source_id = d.source_id "
            "LEFT JOIN note_names n ON n.doc_id = d.doc_id WHERE d.doc_id >= ? AND d.doc_id < ? ORDER BY "
            "d.doc_id",
            (first, end),
        )
        return [ExportedDocument(*row) for row in found]

    def chunks(self, first: str, end: str, model: str) -> Iterator[ExportedChunk]:
        """The passages of these notes, with their vectors of a model."""
        for row in self._connection.execute(
            "SELECT c.id, c.chunk_id, c.doc_id, c.ordinal, c.kind, c.heading_path, c.text, c.line_first, "
            "c.line_last, "
            "c.page, c.title, c.grams, c.embed_hash, c.hangul, e.vector FROM chunks c LEFT JOIN embeddings e "
            f"ON e.text_hash = c.embed_hash AND e.model = ? AND e.parts_version >= {PARTS_VERSION} "
            "WHERE c.doc_id >= ? AND c.doc_id < ? ORDER BY c.id",
            (model, first, end),
        ):
            chunk = ExportedChunk(*row)
            recovery.require_unaltered(chunk.title, chunk.heading_path, chunk.text, chunk.embed_hash)
            yield chunk

    def facets(self, first: str, end: str) -> Iterator[tuple[Any, ...]]:
        """Rows of the table: note, ordinal, kind, folded, value, line, target, extra."""
        yield from self._connection.execute(
            "SELECT doc_id, ordinal, kind, folded, value, line, target, extra FROM facets "
            "WHERE doc_id >= ? AND doc_id < ? ORDER BY doc_id, ordinal",
            (first, end),
        )


class Tokenizer:
    """The tokenizers of the index, in a database in memory."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        for name, columns, tokenizer in (
            ("passages", ", ".join(schema.FTS_COLUMNS), schema.TOKENIZER),
            ("called", "names, grams", schema.TOKENIZER),
            ("plain", "text", schema.PLAIN_TOKENIZER),
            ("stems", "word", schema.TOKENIZER),
        ):
            self._connection.execute(
                f"CREATE VIRTUAL TABLE {name} USING fts5({columns}, content='', columnsize=0, "
                f"tokenize='{tokenizer}')"
            )
            kind = "row" if name == "plain" else "instance"
            self._connection.execute(f"CREATE VIRTUAL TABLE {name}_terms USING fts5vocab('{name}', '{kind}')")

    def passages(self, texts: Sequence[tuple[str, str, str, str]], bases: Mapping[str, int]) -> TermPlaces:
        """The words of passages: heading path, text, title, grams. `bases`: where the places of each field
        begin."""
        return self._tokens("passages", schema.FTS_COLUMNS, texts, bases)

    def names(self, texts: Sequence[tuple[str, str]], bases: Mapping[str, int]) -> TermPlaces:
        return self._tokens("called", ("names", "grams"), texts, bases)

    def _tokens(
        self, table: str, columns: Sequence[str], texts: Sequence[tuple[str, ...]], bases: Mapping[str, int]
    ) -> TermPlaces:
        execute = self._connection.execute
        postings: list[tuple[str, int, list[int]]] = []
        last_term, last_text = "", -1
        execute("BEGIN")
        self._connection.executemany(
            f"INSERT INTO {table}(rowid, {', '.join(columns)}) VALUES (?{', ?' * len(columns)})",
            [(number, *each) for number, each in enumerate(texts)],
        )
        for term, text, column, offset in execute(f"SELECT term, doc, col, offset FROM {table}_terms"):
            if text != last_text or term != last_term:
                last_term, last_text = term, text
                places = [bases[column] + offset]
                postings.append((term, text, places))
            else:
                places.append(bases[column] + offset)
        execute("ROLLBACK")
        lengths = [0] * len(texts)
        for _, text, places in postings:
            lengths[text] += len(places)
        return TermPlaces(postings, lengths)

    def words(self, texts: Sequence[str]) -> list[tuple[str, str, int]]:
        """The words to complete, as in the list of the index: each with its stem and the number of texts."""
        execute = self._connection.execute
        execute("BEGIN")
        self._connection.executemany("INSERT INTO plain(rowid, text) VALUES (?, ?)", enumerate(texts, 1))
        found = execute(
            f"SELECT term, doc FROM plain_terms WHERE term < '{FIRST_CJK}' AND length(term) > 1"
        ).fetchall()
        self._connection.executemany(
            "INSERT INTO stems(rowid, word) VALUES (?, ?)", enumerate((word for word, _ in found), 1)
        )
        stems = dict(execute("SELECT doc, term FROM stems_terms WHERE offset = 0").fetchall())
        execute("ROLLBACK")
        return [
            (word, stems[number], seen) for number, (word, seen) in enumerate(found, 1) if number in stems
        ]
