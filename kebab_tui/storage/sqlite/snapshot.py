"""The reads of a search: implements `search.ports.Snapshot` within a read transaction.

Collection statistics and chunk lengths come from FTS5's own tables. Occurrences per field are
computed back from FTS5's `bm25()` with all weight on that field, so that tokenizing, stemming and
phrase matching are the index's and exist once.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sqlite3
from array import array
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial, reduce
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from kebab_tui.domain.document import chunker_of
from kebab_tui.domain.errors import RawQueryError
from kebab_tui.domain.facets import NAME, NAME_KINDS, Facet
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.ids import ChunkRow, DocId, SourceId
from kebab_tui.domain.links import LinkedNote
from kebab_tui.domain.names import name_of
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.text import embedded_text
from kebab_tui.domain.tokens import stem
from kebab_tui.search.bm25 import K1, inverse_document_frequency, length_norm
from kebab_tui.search.match import All, Any, Match, Not, Term, Word, any_of, implies, terms
from kebab_tui.search.ports import (
    Among,
    CalledNote,
    Collection,
    FieldCounts,
    FieldWeights,
    Forecast,
    FoundChunk,
    NamedNote,
    Scored,
)
from kebab_tui.storage.sqlite import recovery, rows, schema, top_lists
from kebab_tui.storage.sqlite.connection import meta_value
from kebab_tui.storage.sqlite.fts import fts5
from kebab_tui.storage.sqlite.rows import Condition, Value
from kebab_tui.storage.sqlite.statistics import collection_of, varints

if TYPE_CHECKING:
    from kebab_tui.search.name_pattern import NamePattern
    from kebab_tui.storage.sqlite.name_list import NameLists

_UP = "\U0010ffff"
_HYDRATE = (
    f"SELECT {rows.CHUNK_COLUMNS}, s.root, s.title, d.made_by, c.title, c.embed_hash, "
    f"{rows.HIT_DOCUMENT_COLUMNS} FROM {rows.FROM} "
    "WHERE c.id IN (SELECT value FROM json_each(?))"
)
_CHUNK_WIDTH = len(rows.CHUNK_COLUMNS.split(", "))
_ONE_FIELD = ", ".join(
    f"bm25(chunks_fts, 0, 0, {', '.join('1' if i == field else '0' for i in range(4))})" for field in range(4)
)
_AMONG_ROWS = "chunks_fts.rowid IN (SELECT value FROM json_each(?))"
_OCCURRENCES = f"SELECT rowid, {_ONE_FIELD} FROM chunks_fts WHERE chunks_fts MATCH ? AND +{_AMONG_ROWS}"
_ANSWERS = 64
MATCHES = 1_024
"""How many answers to "do chunks match, and how many" are kept: they are small."""
_SEARCH = 250
"""To look up one row takes as long as to go through so many matches."""
_MARKED = 10_000
"""From so many matches on it pays to mark rows rather than list them."""
_ROWS_BYTES = 48 << 20
"""Memory for the rows that pass the latest filters: 8 and 1 bytes for each passage."""
_LISTED = 2_000
"""Up to so many rows a list of them is faster than a byte for each row of the corpus."""
_LOOKED_AT = 2_500
"""Matches whose notes are looked up for a preview: 10 ms."""
_PREVIEWED = 25
"""Fewer that pass are no preview: a page has about as many."""
_TIES = 500
"""Number of hits behind the last one that are checked for an equal score."""
_COMMONPLACE_CHUNKS = 2_000
_COMMONPLACE_SHARE = 0.04

_Answer = TypeVar("_Answer")


class AnswerCache:
    """The latest answers of one revision, as many as weigh no more than `most`.

    The next page and an explanation repeat a ranking; the next query repeats the count of a frequent word,
    whether the notes have its words at all, and the filters.
    """

    def __init__(self, most: int = _ANSWERS, weigh: Callable[..., int] = lambda _: 1) -> None:
        self._most = most
        self._weigh = weigh
        self._weight = 0
        self._revision = -1
        self._known: dict[Hashable, object] = {}

    def has(self, revision: int, key: Hashable) -> bool:
        return revision == self._revision and key in self._known

    def get(self, revision: int, key: Hashable, compute: Callable[[], _Answer]) -> _Answer:
        if revision != self._revision:
            self._known.clear()
            self._revision, self._weight = revision, 0
        if key in self._known:
            found = cast(_Answer, self._known.pop(key))
        else:
            found = compute()
            self._weight += self._weigh(found)
        self._known[key] = found
        while self._weight > self._most and len(self._known) > 1:
            self._weight -= self._weigh(self._known.pop(next(iter(self._known))))
        return found


class PassingRows(NamedTuple):
    """The chunks that pass some filters, as a condition on the full text and its parameter."""

    condition: str
    value: str | bytes

    @classmethod
    def of(cls, found: Sequence[int]) -> PassingRows:
        return cls.listed(found) if len(found) <= _LISTED else cls.marked(found)

    @classmethod
    def listed(cls, found: Sequence[int]) -> PassingRows:
        """As a list. A plus hides it from FTS5, which would start one search per row."""
        return cls(f"+{_AMONG_ROWS}", json.dumps(list(found)))

    @classmethod
    def marked(cls, found: Sequence[int]) -> PassingRows:
        """As a string with a byte for each row of the corpus, which SQLite looks up three times faster."""
        passing = bytearray(max(found))
        for row in found:
            passing[row - 1] = 1
        return cls("substr(?, chunks_fts.rowid, 1) = x'01'", bytes(passing))


def rows_cache() -> AnswerCache:
    """The rows that pass the latest filters."""
    return AnswerCache(_ROWS_BYTES, _bytes_of)


def _bytes_of(rows: PassingRows | Sequence[array[int]] | array[int]) -> int:
    if isinstance(rows, PassingRows):
        return len(rows.value)
    parts = [rows] if isinstance(rows, array) else rows
    return sum(part.itemsize * len(part) for part in parts)


class StoreSnapshot:
    """Valid only during its read transaction."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        weights: FieldWeights,
        answers: AnswerCache,
        matches: AnswerCache,
        passing: AnswerCache,
        names: Callable[[], NameLists],
    ) -> None:
        self._connection = connection
        self._answers = answers
        self._matches = matches
        self._passing = passing
        self._names = names
        self._weights = weights
        self._matching: dict[Among, set[ChunkRow]] = {}
        """The rows of the rankings so far: `which` need not look for them again."""
        by_field = (weights.heading, weights.text, weights.title, weights.grams)
        bm25 = f"bm25(chunks_fts, 0, 0, {', '.join(map(repr, by_field))})"
        self._scores = f"SELECT rowid AS row, {bm25} AS score FROM chunks_fts"

    @cached_property
    def revision(self) -> int:
        return int(meta_value(self._connection, "corpus_revision") or 0)

    @property
    def lexical_version(self) -> str:
        return schema.lexical_version(
            str(meta_value(self._connection, "fts_signature")),
            str(meta_value(self._connection, "made_by") or ""),
        )

    @property
    def notices(self) -> tuple[Notice, ...]:
        return ()

    @property
    def remote(self) -> bool:
        return False

    def expect(self, forecast: Forecast, *, later: bool = False) -> None:
        pass

    def rank(
        self,
        among: Among,
        limit: int,
        *,
        scored: Match | None = None,
        leaving_out: Sequence[ChunkRow] = (),
        newest: int | None = None,
    ) -> list[Scored]:
        passing = None if newest is None else self._newest_that_pass(among)
        where, values = self._where(among, scored, leaving_out, passing)
        found = f"{self._scores} WHERE {where}"
        if newest is not None:
            found = f"SELECT row, score FROM ({found} ORDER BY rowid DESC LIMIT {int(newest)})"

        def compute() -> list[Scored]:
            listed = None
            if newest is None and scored is None and not self._is_narrow(among):
                listed = self._listed(among, limit, leaving_out)
            if listed is not None:
                return listed
            ranked, total = self._ranked(found, values, limit)
            if total is not None and newest is None and not leaving_out:
                self._matches.get(self.revision, _count_key(among), lambda: total)
            return ranked

        ranked = self._answers.get(self.revision, ("rank", found, *values, limit), compute)
        if len(ranked) <= _LISTED:
            self._matching[among] = {one.row for one in ranked}
        return list(ranked)

    def _listed(self, among: Among, limit: int, leaving_out: Sequence[ChunkRow] = ()) -> list[Scored] | None:
        """The ranking of common words by their top lists; None if these do not reach so far."""
        best = top_lists.candidates(
            self._connection, among.match, self._weights, self.collection(), self.frequency
        )
        if best is None or len(best.rows) < limit:
            return None
        only, candidates = PassingRows.of(best.rows)
        values: list[Value] = [candidates]
        if best.unlisted is not None:
            only += " OR +chunks_fts.rowid IN (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?)"
            values.append(fts5(best.unlisted))
        where, values = self._where(among, None, leaving_out, only=(only, values))
        ranked, _ = self._ranked(f"{self._scores} WHERE {where}", values, limit)
        return ranked if len(ranked) == limit and -ranked[-1].bm25 > best.bound else None

    def _is_narrow(self, among: Among) -> bool:
        """Whether a list has the few chunks that pass the filters: all of their matches are soon scored."""
        others = replace(among.filters, shareable=False)
        return others.active and (
            len(others.doc_ids) == 1 or isinstance(self._passing_rows(among, others).value, str)
        )

    def _passing_rows(self, among: Among, others: SearchFilters) -> PassingRows:
        return self._passing.get(
            self.revision, _key_of(among), lambda: PassingRows.of(self.rows(Among(others, among.script)))
        )

    def _newest_that_pass(self, among: Among) -> PassingRows | None:
        """The latest matches that pass the filters, for a quick preview; None if too few of them do.

        The first query with a filter need not wait until all rows that pass it are listed.
        """
        others = replace(among.filters, shareable=False)
        if not others.active or len(others.doc_ids) == 1 or self._passing.has(self.revision, _key_of(among)):
            return None
        where, values = self._where(replace(among, filters=SearchFilters(shareable=among.filters.shareable)))
        condition, more = rows.predicate(others)
        with _raw_query_errors():
            found = self._connection.execute(
                f"SELECT f.row, {condition} FROM (SELECT rowid AS row FROM chunks_fts WHERE {where} "
                f"ORDER BY rowid DESC LIMIT {_LOOKED_AT}) f CROSS JOIN chunks c ON c.id = f.row "
                "JOIN documents d ON d.doc_id = c.doc_id JOIN sources s ON s.source_id = d.source_id",
                [*more, *values],
            ).fetchall()
        passing = [row for row, passes in found if passes]
        is_enough = len(passing) >= _PREVIEWED or len(found) < _LOOKED_AT
        return PassingRows.of(passing) if is_enough else None

    def _ranked(self, found: str, values: Sequence[Value], limit: int) -> tuple[list[Scored], int | None]:
        """The best `limit` rows of a SELECT, and how many it has, if that are few."""
        with _raw_query_errors():
            ranked: list[tuple[ChunkRow, float]] = self._connection.execute(
                f"{found} ORDER BY score LIMIT ?", [*values, limit + _TIES]
            ).fetchall()
            total = len(ranked) if len(ranked) < limit + _TIES else None
            if total is None and ranked[limit - 1][1] == ranked[-1][1]:
                # More equal scores around the limit than were read: the chunk ids decide.
                last = ranked[-1][1]
                ranked = [one for one in ranked if one[1] < last]
                ranked += self._connection.execute(
                    f"SELECT f.row, f.score FROM ({found}) f JOIN chunks c ON c.id = f.row "
                    "WHERE f.score = ? ORDER BY c.chunk_id LIMIT ?",
                    [*values, last, limit - len(ranked)],
                )
        end = limit
        while 0 < end < len(ranked) and ranked[end][1] == ranked[end - 1][1]:
            end += 1
        ranked = ranked[:end]
        # Chunk ids order equal scores; few are equal, so few ids are read.
        tied = {score for (_, score), (_, following) in pairwise(ranked) if score == following}
        if tied:
            ids = self.chunk_ids([row for row, score in ranked if score in tied])
            ranked.sort(key=lambda one: (one[1], ids.get(one[0], "")))
        return [Scored(row, score) for row, score in ranked[:limit]], total

    def count(
        self,
        among: Among,
        *,
        scored: Match | None = None,
        leaving_out: Sequence[ChunkRow] = (),
        worst: float | None = None,
    ) -> int:
        values: Sequence[Value]
        if among.match is None:
            chosen, values = _chosen(among)
            statement = f"SELECT count(*) FROM ({chosen})"
        elif worst is None and leaving_out:
            return self.count(among) - len(self.which(leaving_out, among))
        elif worst is None:
            return self._matches.get(self.revision, _count_key(among), lambda: self._counted(among))
        else:
            where, values = self._where(among, scored, leaving_out)
            statement = f"SELECT count(*) FROM ({self._scores} WHERE {where}) WHERE score <= ?"
            values = [*values, worst]
        with _raw_query_errors():
            return self._answers.get(
                self.revision, (statement, *values), lambda: self._number(statement, values)
            )

    def count_by_source(self, among: Among) -> dict[str, int]:
        values: Sequence[Value]
        if among.match is None:
            found, values = _chosen(among, "c.id AS row")
        else:
            where, values = self._where(_folded(among))
            found = f"SELECT rowid AS row FROM chunks_fts WHERE {where}"
        statement = (
            f"SELECT d.source_id, count(*) FROM ({found}) f CROSS JOIN chunks c ON c.id = f.row "
            "JOIN documents d ON d.doc_id = c.doc_id GROUP BY d.source_id"
        )
        with _raw_query_errors():
            return dict(self._connection.execute(statement, values).fetchall())

    def better(self, among: Among, than: Scored, *, scored: Match | None = None) -> int:
        where, values = self._where(among, scored)
        statement = (
            f"SELECT count(*) FROM ({self._scores} WHERE {where}) WHERE score < ? OR "
            "(score = ? AND (SELECT chunk_id FROM chunks WHERE id = row) < ?)"
        )
        own = self.chunk_ids([than.row]).get(than.row, "")
        return self._number(statement, [*values, than.bm25, than.bm25, own])

    def chunk_ids(self, wanted: Sequence[ChunkRow]) -> dict[ChunkRow, str]:
        statement = "SELECT id, chunk_id FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
        return dict(self._connection.execute(statement, (json.dumps(list(wanted)),)).fetchall())

    def has(self, match: Match, *, shareable: bool = False) -> bool:
        def compute() -> int:
            where, values = self._where(Among(SearchFilters(shareable=shareable), match=match))
            return self._number(f"SELECT EXISTS (SELECT 1 FROM chunks_fts WHERE {where})", values)

        return self._matches.get(self.revision, (match, shareable), compute) > 0

    def has_private(self) -> bool:
        return self._private_rows != "[]"

    @cached_property
    def _private_rows(self) -> str:
        """The chunks that the filter `shareable` leaves out, as JSON."""
        statement = (
            "SELECT json_group_array(c.id) FROM documents d CROSS JOIN chunks c ON c.doc_id = d.doc_id "
            f"WHERE {rows.PRIVATE}"
        )
        return self._answers.get(
            self.revision, statement, lambda: str(self._connection.execute(statement).fetchone()[0])
        )

    def browse(
        self, filters: SearchFilters, limit: int, offset: int, *, without: Sequence[Match] = ()
    ) -> tuple[list[ChunkRow], int]:
        # Notes first, by the index on their times: the number of chunks does not matter.
        of_note, values = rows.document_predicate(filters)
        of_chunk, more = rows.chunk_predicate(filters)
        if without:
            of_note += (
                " AND d.doc_id NOT IN (SELECT doc_id FROM chunks WHERE id IN "
                "(SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?))"
            )
            values = [*values, fts5(any_of(tuple(without)))]
        own = f"FROM chunks c WHERE c.doc_id = d.doc_id AND {of_chunk}"
        notes = f"FROM documents d JOIN sources s ON s.source_id = d.source_id WHERE {of_note}"
        counted = f"SELECT count(*) {notes} AND EXISTS (SELECT 1 {own})"
        if of_note == "1":  # in the order of the ids, in which the index on chunks is read once
            counted = f"SELECT count(*) FROM documents d WHERE d.doc_id > '' AND EXISTS (SELECT 1 {own})"
        total = self._answers.get(
            self.revision, (counted, *values, *more), lambda: self._number(counted, [*values, *more])
        )
        page = self._connection.execute(
            f"SELECT (SELECT min(c.id) {own}) AS row {notes} AND row IS NOT NULL "
            "ORDER BY d.mtime_ns DESC, row LIMIT ? OFFSET ?",
            (*more, *values, limit, offset),
        )
        return [ChunkRow(row) for (row,) in page], total

    def named(self, key: str, filters: SearchFilters, limit: int) -> list[NamedNote]:
        with_key = f"SELECT doc_id, 0 AS score FROM facets WHERE {rows.IS_NAME} AND folded = ? GROUP BY 1"
        return self._named(with_key, [rows.storable(key)], filters, limit)

    def names_with(self, match: Match, filters: SearchFilters, limit: int) -> list[NamedNote]:
        if not self._has_names:
            return []
        matching = (
            "WITH f AS MATERIALIZED "
            "(SELECT rowid AS id, bm25(names_fts) AS score FROM names_fts WHERE names_fts MATCH ?) "
            "SELECT n.doc_id, f.score FROM f CROSS JOIN note_names n ON n.id = f.id"
        )
        if not filters.active:
            matching += " ORDER BY f.score LIMIT ?"
        return self._named(matching, [fts5(match), *([] if filters.active else [limit])], filters, limit)

    def find_names(
        self, pattern: NamePattern, filters: SearchFilters, limit: int, enough: int
    ) -> list[NamedNote]:
        condition, values = rows.predicate(filters)
        # Notes without chunks have names, too.
        chunks = "JOIN chunks c ON c.doc_id = d.doc_id" if filters.kinds or filters.headings else ""
        sources = "JOIN sources s ON s.source_id = d.source_id"
        passing = f"SELECT DISTINCT d.doc_id FROM documents d {sources} {chunks} WHERE {condition}"
        if not pattern.words:
            latest = f"d.doc_id IN ({passing}) ORDER BY d.mtime_ns DESC, d.path LIMIT ?"
            return list(self._notes_where(latest, [*values, limit]).values())
        among, found = None, list[NamedNote]()
        if filters.active:
            ids = f"SELECT n.id FROM note_names n JOIN ({passing}) p ON p.doc_id = n.doc_id"
            among = self._answers.get(
                self.revision,
                (ids, *values),
                lambda: {note for (note,) in self._connection.execute(ids, values)},
            )
        for _ in range(2):
            proposed = self._names().propose(self._connection, self.revision, pattern, enough, among)
            notes = [one.note for one in proposed[:limit]]
            known = self._notes_where("n.id IN (SELECT value FROM json_each(?))", [json.dumps(notes)])
            found = [known[note] for note in notes if note in known]
            if len(found) == len(notes):
                break
            self._names().forget()  # the list has notes that are no longer there
        return found

    def _notes_where(self, condition: str, values: Sequence[Value]) -> dict[int, NamedNote]:
        """The notes that pass a condition, by their ids in `note_names`."""
        statement = (
            "SELECT n.id, d.doc_id, d.source_id, d.path, d.mtime_ns, "
            "coalesce((SELECT c.id FROM chunks c WHERE c.doc_id = d.doc_id ORDER BY c.ordinal LIMIT 1), 0), "
            f"{rows.NAMES} FROM note_names n "
            f"JOIN documents d ON d.doc_id = n.doc_id WHERE n.names <> '' AND {condition}"
        )
        return {
            note: NamedNote(doc, row, _names(names, path), source, path, mtime)
            for note, doc, source, path, mtime, row, names in self._connection.execute(statement, values)
        }

    @cached_property
    def _has_names(self) -> bool:
        """False for an index of an older version, until its upgrade."""
        return self._number("SELECT count(*) FROM sqlite_schema WHERE name = 'names_fts'", ()) > 0

    def _named(
        self, found: str, values: Sequence[str | int], filters: SearchFilters, limit: int
    ) -> list[NamedNote]:
        """The notes of a SELECT of document ids and scores that pass; of equal scores, the latest first."""
        where, more = rows.predicate(filters)
        statement = (
            f"SELECT d.doc_id, c.id, d.source_id, d.path, d.mtime_ns, min(c.ordinal), {rows.NAMES} "
            f"FROM ({found}) n CROSS JOIN documents d ON d.doc_id = n.doc_id "
            "JOIN sources s ON s.source_id = d.source_id JOIN chunks c ON c.doc_id = d.doc_id "
            f"WHERE {where} GROUP BY d.doc_id ORDER BY n.score, d.mtime_ns DESC, d.doc_id LIMIT ?"
        )
        read = self._connection.execute(statement, [*values, *more, limit])
        return [
            NamedNote(doc, row, _names(names, path), source, path, mtime)
            for doc, row, source, path, mtime, _, names in read
        ]

    def links(
        self, kinds: Sequence[str], filters: SearchFilters, *, keys: Sequence[str] | None = None
    ) -> list[tuple[LinkedNote, Facet]]:
        where, more = rows.predicate(filters)
        joined = "JOIN documents d ON d.doc_id = f.doc_id JOIN sources s ON s.source_id = d.source_id"
        is_kind, values = "f.kind IN (SELECT value FROM json_each(?))", [json.dumps(list(kinds))]
        if keys is None:
            joined = (
                f"documents d JOIN sources s ON s.source_id = d.source_id CROSS JOIN facets f ON {is_kind}"
            )
            joined += f" AND f.doc_id = d.doc_id AND f.ordinal >= {rows.MANY}"
        else:
            joined = f"json_each(?) w CROSS JOIN facets f ON f.folded = w.value AND {is_kind} {joined}"
            values.insert(0, rows.as_json(keys))
        statement = (
            f"SELECT {rows.LINKED_NOTE}, f.kind, f.value, f.line, f.target, f.extra FROM {joined} "
            f"WHERE {where} ORDER BY d.path, d.source_id, f.line, f.ordinal"
        )
        notes: dict[str, LinkedNote] = {}
        found = []
        for row in self._connection.execute(statement, [*values, *more]):
            note = notes.get(row[0])
            if note is None:
                note = notes[row[0]] = rows.to_linked_note(row)
            found.append((note, Facet(*row[rows.LINKED_NOTE_WIDTH :])))
        return found

    def called(self, keys: Sequence[str] | None, filters: SearchFilters) -> list[CalledNote]:
        if keys is None:
            return self._called("?", 1, filters)
        with_key = (
            "d.doc_id IN (SELECT f.doc_id FROM json_each(?) w CROSS JOIN facets f "
            f"ON f.folded = w.value AND f.kind IN ({', '.join(map(repr, NAME_KINDS))}))"
        )
        return self._called(with_key, rows.as_json(keys), filters)

    def called_after_folders(self, filters: SearchFilters) -> list[CalledNote]:
        return self._called("? AND kebab_after_folder(d.path)", 1, filters)

    def _called(self, condition: str, value: str | int, filters: SearchFilters) -> list[CalledNote]:
        where, more = rows.predicate(filters)
        statement = (
            f"SELECT {rows.LINKED_NOTE}, {rows.NAMES} FROM documents d "
            f"JOIN sources s ON s.source_id = d.source_id WHERE {condition} AND {where}"
        )
        return [
            CalledNote(rows.to_linked_note(row), _names(row[-1], row[3]))
            for row in self._connection.execute(statement, [value, *more])
        ]

    def hydrate(self, wanted: Sequence[ChunkRow]) -> dict[ChunkRow, FoundChunk]:
        found = {}
        for row in self._connection.execute(_HYDRATE, (json.dumps(wanted),)):
            chunk = rows.to_chunk(row[:_CHUNK_WIDTH])
            root, source, made_by, title, text_hash = row[_CHUNK_WIDTH : _CHUNK_WIDTH + 5]
            recovery.require_unaltered(title, chunk.heading_path, chunk.text, text_hash)
            document = rows.to_document(row[_CHUNK_WIDTH + 5 :])
            found[chunk.row] = FoundChunk(chunk, document, os.fsdecode(root), source, chunker_of(made_by))
        return found

    def embedded_texts(self, wanted: Sequence[ChunkRow]) -> dict[ChunkRow, str]:
        statement = (
            "SELECT id, title, heading_path, text FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
        )
        read = self._connection.execute(statement, (json.dumps(list(wanted)),))
        return {ChunkRow(row): embedded_text(*parts) for row, *parts in read}

    def unfinished(self, prefix: str, limit: int) -> list[str]:
        found = stem(prefix)
        return self._words(
            "SELECT min(word) FROM words WHERE word >= ?1 AND word < ?2 AND NOT (stem >= ?3 AND stem < ?4) "
            "GROUP BY stem ORDER BY max(seen) DESC, stem LIMIT ?5",
            (prefix, prefix + _UP, found, found + _UP, limit),
        )

    def too_frequent(self, words: Sequence[str]) -> set[str]:
        least = max(_COMMONPLACE_CHUNKS, int(_COMMONPLACE_SHARE * self.collection().chunks))
        statement = "SELECT word FROM words WHERE word IN (SELECT value FROM json_each(?)) AND seen > ?"
        # `seen` also counts removed chunks, so the candidates are counted again.
        count = "SELECT count(*) FROM (SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH ? LIMIT ?)"
        return {
            word
            for word in self._words(statement, (json.dumps(list(words)), least))
            if self._matches.get(
                self.revision, (count, word), partial(self._number, count, (fts5(Word(word)), least + 1))
            )
            > least
        }

    def common_words(self, prefix: str, limit: int) -> list[str]:
        return self._words(
            "SELECT word FROM words WHERE word >= ? AND word < ? ORDER BY seen DESC, word LIMIT ?",
            (prefix, prefix + _UP, limit),
        )

    def listed(self, words: Sequence[str]) -> Mapping[str, int]:
        statement = "SELECT word, seen FROM words WHERE word IN (SELECT value FROM json_each(?))"
        return dict(self._connection.execute(statement, (json.dumps(list(words)),)).fetchall())

    def alike(self, word: str, edits: int) -> Mapping[str, int]:
        initial, parts = word[0], word_parts(word, edits)
        statement = (
            "SELECT word, seen FROM words WHERE word >= ? AND word < ? AND length(word) BETWEEN ? AND ? "
            f"AND ({' OR '.join(['instr(word, ?)'] * len(parts))})"
        )
        lengths = (len(word) - edits, len(word) + edits)
        values = (initial, initial + _UP, *lengths, *parts)
        return dict(self._connection.execute(statement, values).fetchall())

    def collection(self) -> Collection:
        return self._collection

    @cached_property
    def _collection(self) -> Collection:
        return collection_of(self._connection)

    def frequency(self, match: Match) -> int:
        return self.count(Among(match=match))

    def _counted(self, among: Among) -> int:
        """How many chunks match, from counts of parts of the match where these are known."""
        among = _folded(among)
        match = among.match
        if isinstance(match, Not) and implies(match.without, match.part):
            part, without = replace(among, match=match.part), replace(among, match=match.without)
            return self.count(part) - self.count(without)
        if isinstance(match, Any) and len(match.parts) == 2:
            parts = [replace(among, match=part) for part in (*match.parts, All(match.parts))]
            if sum(self._matches.has(self.revision, _count_key(part)) for part in parts) >= 2:
                one, other, both = map(self.count, parts)
                return one + other - both
        where, values = self._where(among)
        with _raw_query_errors():
            return self._number(f"SELECT count(*) FROM chunks_fts WHERE {where}", values)

    def lengths(self, wanted: Sequence[ChunkRow]) -> Mapping[ChunkRow, int]:
        statement = "SELECT id, sz FROM chunks_fts_docsize WHERE id IN (SELECT value FROM json_each(?))"
        found = self._connection.execute(statement, (json.dumps(wanted),))
        return {ChunkRow(row): sum(varints(sizes)) for row, sizes in found}

    def occurrences(self, term: Term, wanted: Sequence[ChunkRow]) -> Mapping[ChunkRow, FieldCounts]:
        collection, lengths = self.collection(), self.lengths(wanted)
        idf = inverse_document_frequency(collection.chunks, self.frequency(term))
        counts = {}
        for row, *scores in self._connection.execute(_OCCURRENCES, (fts5(term), json.dumps(wanted))):
            norm = length_norm(lengths[row], collection.average_length)
            numbers = []
            for score in scores:  # solve `-score = idf * f * (K1 + 1) / (f + norm)` for f
                share = -score / idf
                left = K1 + 1 - share
                is_possible = left > 0 and math.isfinite(share)
                numbers.append(round(norm * share / left) if is_possible else 0)
            heading, text, title, grams = numbers
            counts[ChunkRow(row)] = FieldCounts(heading, text, title, grams)
        return counts

    def chunk_rows(self, doc: DocId) -> list[ChunkRow]:
        statement = "SELECT id FROM chunks WHERE doc_id = ? ORDER BY ordinal"
        return [ChunkRow(row) for (row,) in self._connection.execute(statement, (doc,))]

    def notes_of(self, wanted: Sequence[ChunkRow]) -> dict[ChunkRow, DocId]:
        statement = "SELECT id, doc_id FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
        return dict(self._connection.execute(statement, (json.dumps(list(wanted)),)))

    def chunks_of(self, docs: Sequence[DocId]) -> dict[ChunkRow, DocId]:
        statement = "SELECT id, doc_id FROM chunks WHERE doc_id IN (SELECT value FROM json_each(?))"
        return dict(self._connection.execute(statement, (json.dumps(list(docs)),)))

    def sources(self) -> list[str]:
        return self._words("SELECT source_id FROM sources WHERE use <> 'removed' ORDER BY source_id", ())

    def removed_sources(self) -> tuple[SourceId, ...]:
        return tuple(map(SourceId, self._words("SELECT source_id FROM sources WHERE use = 'removed'", ())))

    def has_both_scripts(self) -> bool:
        some = "EXISTS (SELECT 1 FROM chunks WHERE {})"
        statement = f"SELECT {some.format('hangul')} AND {some.format('NOT hangul')}"
        return self._answers.get(self.revision, statement, lambda: self._number(statement, ()) > 0)

    def rows(self, among: Among) -> Sequence[ChunkRow]:
        """Every chunk among these; the same object until the revision changes."""
        hangul, others = self._by_script(replace(among, script=None))
        if among.script is None:
            found = self._passing.get(self.revision, ("rows", among), lambda: hangul + others)
        else:
            found = hangul if among.script == "hangul" else others
        return cast(Sequence[ChunkRow], found)

    def _by_script(self, among: Among) -> list[array[int]]:
        compute = self._matching_by_script if among.match or among.without else self._passing_by_script
        return self._passing.get(self.revision, ("by script", among), lambda: compute(among))

    def _matching_by_script(self, among: Among) -> list[array[int]]:
        """From the rows that pass, which an earlier query may have listed."""
        wanted = among.match is not None
        match = _folded(among).match or any_of(among.without)
        statement = "SELECT group_concat(rowid) FROM chunks_fts WHERE chunks_fts MATCH ?"
        found = set(_numbers(*self._connection.execute(statement, (fts5(match),)).fetchone()))
        passing = self._by_script(Among(among.filters))
        return [array("q", [row for row in rows if (row in found) == wanted]) for rows in passing]

    def _passing_by_script(self, among: Among) -> list[array[int]]:
        chosen, values = _chosen(among, "c.id, c.hangul")
        # As text: one result row for each of 100,000 chunks takes five times longer.
        joined = self._connection.execute(
            "SELECT group_concat(id) FILTER (WHERE hangul), group_concat(id) FILTER (WHERE NOT hangul) "
            f"FROM ({chosen})",
            values,
        ).fetchone()
        return [array("q", _numbers(rows)) for rows in joined]

    def which(self, wanted: Sequence[ChunkRow], among: Among) -> set[ChunkRow]:
        if among == Among():  # a small table: no page of a chunk is read
            statement = "SELECT id FROM chunks_fts_docsize WHERE id IN (SELECT value FROM json_each(?))"
            values: Sequence[Value] = [json.dumps(list(wanted))]
        elif among.match is None:
            statement, values = _chosen(among)
            statement += " AND c.id IN (SELECT value FROM json_each(?))"
            values = [*values, json.dumps(list(wanted))]
        else:
            known = self._matching.get(among, set()).intersection(wanted)
            wanted = [row for row in wanted if row not in known]
            where, values = self._where(_folded(among), only=self._sought(wanted, among.match))
            statement = f"SELECT rowid FROM chunks_fts WHERE {where}"
            return known.union(row for (row,) in self._connection.execute(statement, values))
        return {ChunkRow(row) for (row,) in self._connection.execute(statement, values)}

    def _sought(self, wanted: Sequence[ChunkRow], match: Match) -> Condition:
        """The condition that finds these rows soonest among the matches, by an estimate of their number."""
        words = [one.text.lower() for one in terms(match) if isinstance(one, Word)]
        seen = self.listed(words).values()
        matches = (min if isinstance(match, All) else sum)(seen or (0,))
        if len(wanted) * len(words) * _SEARCH < matches:
            return _AMONG_ROWS, [json.dumps(list(wanted))]
        found = PassingRows.marked(wanted) if matches > _MARKED and wanted else PassingRows.listed(wanted)
        return found.condition, [found.value]

    def passes(self, wanted: Sequence[ChunkRow], filters: SearchFilters) -> bool:
        where, values = rows.predicate(filters)
        statement = (
            f"SELECT count(*) FROM {rows.FROM} WHERE c.id IN (SELECT value FROM json_each(?)) AND {where}"
        )
        return self._number(statement, [json.dumps(wanted), *values]) > 0

    def _where(
        self,
        among: Among,
        scored: Match | None = None,
        leaving_out: Sequence[ChunkRow] = (),
        passing: PassingRows | None = None,
        only: Condition | None = None,
    ) -> tuple[str, list[Value]]:
        """The condition on the full text. A plus hides a row list from FTS5: it would search once per row."""
        if among.match is None:
            raise ValueError("nothing to match")
        where, parameters = "chunks_fts MATCH ?", list[Value]([fts5(scored or among.match)])
        if scored is not None:
            where += " AND +chunks_fts.rowid IN (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?)"
            parameters.append(fts5(among.match))
        if only is not None:  # first, since few rows pass it
            where += f" AND ({only[0]})"
            parameters += only[1]
        if len(among.filters.doc_ids) == 1:  # FTS5 reads only this range; a note's rows are mostly neighbours
            own = "(SELECT {}(id) FROM chunks WHERE doc_id = ?)"
            where += f" AND chunks_fts.rowid BETWEEN {own.format('min')} AND {own.format('max')}"
            parameters += [among.filters.doc_ids[0]] * 2
        others = replace(among.filters, shareable=False)
        if others.active and len(others.doc_ids) != 1:
            passing = passing or self._passing_rows(among, others)
            where += f" AND {passing.condition}"
            parameters.append(passing.value)
        elif others.active or among.script is not None:
            chosen, more = rows.passing_chunks(others, among.script)
            where += f" AND +chunks_fts.rowid IN ({chosen})"
            parameters += more
        if among.filters.shareable and self.has_private():  # mostly few rows, unlike those that pass
            where += " AND +chunks_fts.rowid NOT IN (SELECT value FROM json_each(?))"
            parameters.append(self._private_rows)
        for excluded in among.without:
            where += " AND +chunks_fts.rowid NOT IN (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?)"
            parameters.append(fts5(excluded))
        if leaving_out:
            where += " AND +chunks_fts.rowid NOT IN (SELECT value FROM json_each(?))"
            parameters.append(json.dumps(list(leaving_out)))
        return where, parameters

    def _number(self, statement: str, values: Sequence[Value]) -> int:
        return int(self._connection.execute(statement, values).fetchone()[0])

    def _words(self, statement: str, values: tuple[str | int, ...]) -> list[str]:
        return [word for (word,) in self._connection.execute(statement, values)]


def _key_of(among: Among) -> Hashable:
    return "passing", replace(among.filters, shareable=False), among.script


def _count_key(among: Among) -> Hashable:
    return "count", _folded(among)


def word_parts(word: str, edits: int) -> list[str]:
    """Parts of a word, one of which is in every word of the same first letter within so many edits."""
    # Cut into one part more than there are edits, one of them stays intact. Two letters swapped across
    # a cut are an edit of two parts, but not under the other set of cuts.
    rest = word[1:]
    size = -(-len(rest) // (edits + 1))
    cuts = (range(0, len(rest), size), (0, *range(size - 1, len(rest), size)))
    return sorted({rest[a:b] for each in cuts for a, b in pairwise((*each, len(rest))) if a < b})


def _names(listed: str, path: str) -> tuple[tuple[str, str], ...]:
    """The names of a note; an older index has no row for the first."""
    names = tuple((kind, name) for kind, name in json.loads(listed))
    return names if any(kind == NAME.id for kind, _ in names) else ((NAME.id, name_of(path)), *names)


def _numbers(joined: str | None) -> list[int]:
    found: list[int] = json.loads(f"[{joined or ''}]")
    return found


def _chosen(among: Among, columns: str = "c.id") -> rows.Condition:
    """A SELECT of all of them, for an `among` without a match."""
    statement, values = rows.passing_chunks(among.filters, among.script, columns)
    if among.without:
        statement += " AND c.id NOT IN (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?)"
        values = [*values, fts5(any_of(among.without))]
    return statement, values


def _folded(among: Among) -> Among:
    """The exclusions within the match: faster, but not for ranking, since bm25 counts excluded words too."""
    if among.match is None:
        return among
    return replace(among, match=reduce(Not, among.without, among.match), without=())


@contextlib.contextmanager
def _raw_query_errors() -> Iterator[None]:
    """Raise RawQueryError for a syntax error in a raw FTS5 query; our own queries have none."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR or str(error).startswith("no such table"):
            raise
        raise RawQueryError(
            f"invalid FTS5 query: {error}", "remove the single quotes to search for the words"
        ) from error
