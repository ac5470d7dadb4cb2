"""A store in memory: all that `storage.ports.Index` asks for, in dictionaries.

An index lives as long as the process, under its URL. One lock makes every snapshot and every
transaction whole. Ranks with the same formula as SQLite, so both give the same answers.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from kebab_tui.domain.change import (
    Applied,
    Change,
    ChunkCounts,
    MarkNote,
    MoveNotes,
    RemoveNote,
    SaveNote,
    TouchNote,
)
from kebab_tui.domain.document import (
    Chunk,
    Document,
    DocumentState,
    OtherFiles,
    Source,
    SourceState,
    SourceUse,
    Trust,
    chunker_of,
)
from kebab_tui.domain.errors import NotFoundError, NotIndexedError, RawQueryError, SqlError, StoreBusyError
from kebab_tui.domain.facets import FACETS, NAME_KINDS, Facet, compare, day_of, split_property, values_of
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.ids import ChunkRow, DocId, SourceId, chunk_ids, text_hash
from kebab_tui.domain.links import LinkedNote
from kebab_tui.domain.names import is_called_after_its_folder, name_key
from kebab_tui.domain.query import FacetFilter, SearchFilters
from kebab_tui.domain.scope import SourcePart
from kebab_tui.domain.text import display_path, embedded_hash, embedded_text, glob_regex, is_korean
from kebab_tui.domain.tokens import grams, plain_words, stem
from kebab_tui.search.bm25 import inverse_document_frequency, length_norm, term_weight
from kebab_tui.search.find_names import best_name
from kebab_tui.search.match import All, Any, Gram, Match, Not, Prefix, Raw
from kebab_tui.search.name_pattern import NamePattern
from kebab_tui.search.ports import (
    BEST_PART,
    Among,
    CalledNote,
    Collection,
    FieldCounts,
    FieldWeights,
    Forecast,
    FoundChunk,
    NamedNote,
    Near,
    PartCosines,
    Scored,
    Vector,
)
from kebab_tui.storage.ports import (
    Figures,
    Finding,
    Holder,
    IndexRun,
    KnownFile,
    PendingCount,
    PendingText,
    Request,
    SqlLimits,
    SqlResult,
    VectorCount,
    Waiting,
    WriterSession,
)
from kebab_tui.vectors.sync import Opened

_FIELDS = ("heading_path", "text", "title", "grams")


@dataclass
class _Stored:
    """A chunk with its tokens by field; a grams field has those inside words."""

    chunk: Chunk
    title: str
    tokens: dict[str, list[str]] = field(init=False)
    text_hash: bytes = field(init=False)

    def __post_init__(self) -> None:
        chunk, title = self.chunk, self.title
        texts = (chunk.heading_path, chunk.text, title, grams(f"{title}\n{chunk.heading_path}\n{chunk.text}"))
        self.tokens = {
            name: [stem(word) for word in plain_words(text)]
            for name, text in zip(_FIELDS, texts, strict=True)
        }
        self.text_hash = embedded_hash(title, chunk.heading_path, chunk.text)

    @property
    def words(self) -> list[str]:
        return plain_words(f"{self.title} {self.chunk.heading_path} {self.chunk.text}")

    @property
    def length(self) -> int:
        return sum(map(len, self.tokens.values()))


@dataclass
class _Note:
    document: Document
    made_by: str
    checked_ns: int = 0


@dataclass
class _Store:
    """One index. `lock` is held by whoever reads or changes it."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    begun: bool = False
    revision: int = 0
    sources: dict[SourceId, Source] = field(default_factory=dict)
    root_ids: dict[SourceId, str] = field(default_factory=dict)
    other_files: dict[SourceId, OtherFiles] = field(default_factory=dict)
    notes: dict[DocId, _Note] = field(default_factory=dict)
    chunks: dict[ChunkRow, _Stored] = field(default_factory=dict)
    last_row: int = 0
    vectors: dict[tuple[str, bytes], bytes] = field(default_factory=dict)
    log: list[tuple[int, ChunkRow, Literal["add", "remove"]]] = field(default_factory=list)
    model: str | None = None
    made_by: str = ""
    runs: list[IndexRun] = field(default_factory=list)
    writing: _Lease = field(default_factory=lambda: _Lease())
    embedding: _Lease = field(default_factory=lambda: _Lease())
    requests: list[Request] = field(default_factory=list)
    wanted: int = 0
    undoing: int = 0

    def of(self, doc: DocId) -> list[_Stored]:
        return sorted(
            (one for one in self.chunks.values() if one.chunk.doc_id == doc),
            key=lambda one: one.chunk.ordinal,
        )

    def shown(self, note: _Note) -> Document:
        document = note.document
        counts = Counter(facet.kind for facet in document.facets if FACETS[facet.kind].many)
        return replace(
            document,
            chunks=len(self.of(document.doc_id)),
            facets=tuple(facet for facet in document.facets if not FACETS[facet.kind].many),
            counts=tuple(counts.items()),
        )

    def linked(self, document: Document) -> LinkedNote:
        place = document.source, self.sources[document.source].root, document.path, document.raw_path
        return LinkedNote(document.doc_id, *place, document.title)

    def passes(self, stored: _Stored, filters: SearchFilters) -> bool:
        if filters.kinds and stored.chunk.kind not in filters.kinds:
            return False
        heading = stored.chunk.heading_path.casefold()
        if not all(part.casefold() in heading for part in filters.headings):
            return False
        return _note_passes(self.notes[stored.chunk.doc_id].document, filters)


_STORES: dict[str, _Store] = {}


def _in_part(document: Document, part: SourcePart) -> bool:
    folder = os.fsencode(part.below)
    return document.source == part.source and (not folder or document.raw_path.startswith(folder + b"/"))


def _note_passes(document: Document, filters: SearchFilters) -> bool:
    path = document.path
    return (
        all(_has_facets(document, one) for one in filters.facets)
        and (not filters.types or document.type in filters.types)
        and (not filters.langs or document.lang in filters.langs)
        and (not filters.sources or document.source in filters.sources)
        and (not filters.within or document.source in filters.within)
        and (not filters.scope or any(_in_part(document, one) for one in filters.scope))
        and document.source not in filters.without
        and (not filters.doc_ids or document.doc_id in filters.doc_ids)
        and (not filters.paths or any(re.match(glob_regex(one), path) for one in filters.paths))
        and not any(re.match(glob_regex(one), path) for one in filters.paths_none)
        and all(part.casefold() in document.title.casefold() for part in filters.titles)
        and (filters.trust_min is None or document.trust >= filters.trust_min)
        and (filters.after_ns is None or _dated(document, filters.after_ns) >= 0)
        and (filters.before_ns is None or _dated(document, filters.before_ns) < 0)
        and document.fingerprint.mtime_ns >= (filters.modified_after_ns or -(2**63))
        and document.fingerprint.mtime_ns < (filters.modified_before_ns or 2**63)
        and all((document.doc_id in (one.docs or ())) != one.negated for one in filters.links)
        and all(_has_kind(document, one.kinds) != one.negated for one in filters.has)
        and not (filters.shareable and (document.is_private or not document.content_hash))
    )


def _dated(document: Document, moment_ns: int) -> int:
    """Negative before the moment."""
    if document.dated:
        return 1 if document.dated >= day_of(moment_ns) else -1
    return document.fingerprint.mtime_ns - moment_ns


def _has_kind(document: Document, kinds: Sequence[str]) -> bool:
    return any(facet.kind in kinds for facet in document.facets)


def _compares(held: set[str], typed: str) -> bool:
    key, how, other = split_property(typed)
    values = [value for name, _, value in (one.partition("=") for one in held) if name == key.casefold()]
    return any(not how or compare(value, how, other.casefold()) for value in values)


def _with_parents(values: Iterable[str], kind: str) -> set[str]:
    if not FACETS[kind].nested:
        return set(values)
    parts = (value.split("/") for value in values)
    return {"/".join(names[: depth + 1]) for names in parts for depth in range(len(names))}


def _has_facets(document: Document, wanted: FacetFilter) -> bool:
    kind = FACETS[wanted.kind]
    held = {kind.fold(value) for value in values_of(document.facets, kind.id)}
    if kind.within:
        names = [kind.fold(one.value) for one in document.facets if one.kind in kind.within]
        held = {part for part in map(kind.fold, wanted.values) if any(part in name for name in names)}
    if kind.compared:
        found = [_compares(held, value) for value in wanted.values]
        return {"any": any(found), "all": all(found), "none": not any(found)}[wanted.match]
    if kind.nested:
        parts = (value.split("/") for value in held)
        below = {"/".join(names[: depth + 1]) for names in parts for depth in range(len(names))}
        held = below | {f"={value}" for value in held}
    folded = {kind.fold(value) for value in wanted.values}
    return {"any": not held.isdisjoint(folded), "all": folded <= held, "none": held.isdisjoint(folded)}[
        wanted.match
    ]


# Matching


@dataclass(frozen=True)
class _Term:
    """Adjacent tokens of one field; with `prefix` the last one may go on."""

    tokens: tuple[str, ...]
    prefix: bool
    columns: tuple[str, ...]

    def count(self, stored: _Stored, name: str) -> int:
        if not self.tokens or (self.columns and name not in self.columns):
            return 0
        tokens, width = stored.tokens[name], len(self.tokens)
        found = 0
        for start in range(len(tokens) - width + 1):
            *whole, last = tokens[start : start + width]
            if tuple(whole) == self.tokens[:-1]:
                found += last.startswith(self.tokens[-1]) if self.prefix else last == self.tokens[-1]
        return found

    def counts(self, stored: _Stored) -> FieldCounts:
        return FieldCounts(*(self.count(stored, name) for name in _FIELDS))


@dataclass(frozen=True)
class _Group:
    how: Literal["OR", "AND", "NOT"]
    parts: tuple[_Node, ...]


_Node = _Term | _Group


def _matched(node: _Node, stored: _Stored) -> tuple[_Term, ...] | None:
    """The terms that count for the score of a chunk; None if it does not match."""
    if isinstance(node, _Term):
        return (node,) if any(node.counts(stored)) else None
    found = [_matched(part, stored) for part in node.parts]
    if node.how == "NOT":
        return found[0] if all(one is None for one in found[1:]) else None
    if (node.how == "AND" and None in found) or not any(one is not None for one in found):
        return None
    return tuple(term for one in found if one is not None for term in one)


def _node(match: Match) -> _Node:
    match match:
        case All(parts) | Any(parts):
            return _Group("AND" if isinstance(match, All) else "OR", tuple(map(_node, parts)))
        case Not(part, without):
            return _Group("NOT", (_node(part), _node(without)))
        case Raw(text, operator):
            reason = f"has no operator {operator}" if operator else f"cannot read {text}"
            raise RawQueryError(f"the toy {reason}", "remove the single quotes to search for the words")
    tokens = tuple(stem(word) for word in plain_words(match.text))
    if isinstance(match, Gram):
        return _Term(tokens, match.prefix, ("grams",))
    return _Term(tokens, isinstance(match, Prefix), match.columns)


# Reading


class _Snapshot:
    """Implements `search.ports.Snapshot`."""

    def __init__(self, store: _Store, weights: FieldWeights) -> None:
        self._store = store
        self._weights = weights

    @property
    def revision(self) -> int:
        return self._store.revision

    @property
    def lexical_version(self) -> str:
        return _version(self._store.made_by)

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
        return self._ranked(among, scored, leaving_out, newest)[:limit]

    def count(
        self,
        among: Among,
        *,
        scored: Match | None = None,
        leaving_out: Sequence[ChunkRow] = (),
        worst: float | None = None,
    ) -> int:
        if worst is not None:
            return sum(one.bm25 <= worst for one in self._ranked(among, scored, leaving_out))
        return len(self.which(list(self._store.chunks), among) - set(leaving_out))

    def count_by_source(self, among: Among) -> Mapping[str, int]:
        rows = self.which(list(self._store.chunks), among)
        docs = (self._store.chunks[row].chunk.doc_id for row in rows)
        return Counter(self._store.notes[doc].document.source for doc in docs)

    def better(self, among: Among, than: Scored, *, scored: Match | None = None) -> int:
        ranked = self._ranked(among, scored)
        return ranked.index(than) if than in ranked else len(ranked)

    def which(self, rows: Sequence[ChunkRow], among: Among) -> set[ChunkRow]:
        match = None if among.match is None else _node(among.match)
        without = [_node(one) for one in among.without]
        found = set()
        for row in rows:
            stored = self._store.chunks.get(row)
            if (
                stored is not None
                and (match is None or _matched(match, stored) is not None)
                and all(_matched(one, stored) is None for one in without)
                and (among.script is None or (among.script == "hangul") is is_korean(stored.chunk.text))
                and self._store.passes(stored, among.filters)
            ):
                found.add(row)
        return found

    def _ranked(
        self,
        among: Among,
        scored: Match | None,
        leaving_out: Sequence[ChunkRow] = (),
        newest: int | None = None,
    ) -> list[Scored]:
        assert among.match is not None
        node = _node(scored or among.match)
        rows = self.which(list(self._store.chunks), among) - set(leaving_out)
        found: list[tuple[_Stored, tuple[_Term, ...]]] = []
        for row in sorted(rows, reverse=True):
            stored = self._store.chunks[row]
            if (terms := _matched(node, stored)) is not None:
                found.append((stored, terms))
        collection = self.collection()
        frequencies = {term: self._frequency(term) for term in {t for _, terms in found for t in terms}}
        listed = []
        for stored, terms in found[:newest]:
            norm = length_norm(stored.length, collection.average_length)
            score = 0.0
            for term in terms:
                frequency = frequencies[term]
                idf = inverse_document_frequency(collection.chunks, frequency)
                counts = term.counts(stored)
                weighted = sum(
                    count * getattr(self._weights, name) for name, count in counts._asdict().items()
                )
                score += term_weight(idf, weighted, norm)
            listed.append((-score, stored.chunk.chunk_id, stored.chunk.row))
        return [Scored(row, score) for score, _, row in sorted(listed)]

    def _frequency(self, node: _Node) -> int:
        return sum(_matched(node, stored) is not None for stored in self._store.chunks.values())

    def chunk_ids(self, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, str]:
        return {row: self._store.chunks[row].chunk.chunk_id for row in rows if row in self._store.chunks}

    def has(self, match: Match, *, shareable: bool = False) -> bool:
        return self.count(Among(SearchFilters(shareable=shareable), match=match)) > 0

    def has_private(self) -> bool:
        everything = list(self._store.chunks)
        return len(self.which(everything, Among(SearchFilters(shareable=True)))) < len(everything)

    def browse(
        self, filters: SearchFilters, limit: int, offset: int, *, without: Sequence[Match] = ()
    ) -> tuple[list[ChunkRow], int]:
        excluded = {
            stored.chunk.doc_id
            for one in map(_node, without)
            for stored in self._store.chunks.values()
            if _matched(one, stored) is not None
        }
        first: dict[DocId, ChunkRow] = {}
        for row in sorted(self._store.chunks):
            stored = self._store.chunks[row]
            if stored.chunk.doc_id not in excluded and self._store.passes(stored, filters):
                first.setdefault(stored.chunk.doc_id, row)
        latest = sorted(
            first, key=lambda doc: (-self._store.notes[doc].document.fingerprint.mtime_ns, first[doc])
        )
        end = None if limit < 0 else offset + limit
        return [first[doc] for doc in latest[offset:end]], len(first)

    def named(self, key: str, filters: SearchFilters, limit: int) -> list[NamedNote]:
        notes = self._named(filters)
        called = [note for note in notes if key in {name_key(name) for _, name in note.names}]
        return sorted(called, key=lambda note: (-note.mtime_ns, note.doc))[:limit]

    def names_with(self, match: Match, filters: SearchFilters, limit: int) -> list[NamedNote]:
        """As many of the words as possible come first: near enough to bm25 for names."""
        node, found = _node(match), []
        for note in self._named(filters):
            names = "\n".join(name for _, name in note.names)
            chunk = self._store.chunks[note.row].chunk
            terms = _matched(node, _Stored(replace(chunk, text="", heading_path=""), names))
            found += [(-len(set(terms)), -note.mtime_ns, note)] if terms else []
        return [note for *_, note in sorted(found, key=lambda one: (*one[:2], one[2].doc))][:limit]

    def find_names(
        self, pattern: NamePattern, filters: SearchFilters, limit: int, enough: int
    ) -> list[NamedNote]:
        notes = sorted(self._named(filters), key=lambda note: (-note.mtime_ns, note.path))
        if not pattern.words:
            return notes[:limit]
        scored = [(name.match, note) for note in notes if (name := best_name(pattern, note)) is not None]
        return [note for _, note in sorted(scored, key=lambda one: one[0])][:limit]

    def _named(self, filters: SearchFilters) -> list[NamedNote]:
        rows, _ = self.browse(filters, -1, 0)
        found = []
        for row in rows:
            document = self._store.notes[self._store.chunks[row].chunk.doc_id].document
            names = tuple((one.kind, one.value) for one in document.facets if one.kind in NAME_KINDS)
            place = document.source, document.path, document.fingerprint.mtime_ns
            found.append(NamedNote(document.doc_id, row, names, *place))
        return found

    def links(
        self, kinds: Sequence[str], filters: SearchFilters, *, keys: Sequence[str] | None = None
    ) -> list[tuple[LinkedNote, Facet]]:
        return [
            (self._store.linked(note), facet)
            for note in self._passing(filters)
            for facet in sorted(note.facets, key=lambda facet: facet.line or 0)
            if facet.kind in kinds and (keys is None or FACETS[facet.kind].fold(facet.value) in keys)
        ]

    def called(self, keys: Sequence[str] | None, filters: SearchFilters) -> list[CalledNote]:
        found = []
        for note in self._passing(filters):
            names = tuple((facet.kind, facet.value) for facet in note.facets if facet.kind in NAME_KINDS)
            if keys is None or any(name_key(name) in keys for _, name in names):
                found.append(CalledNote(self._store.linked(note), names))
        return found

    def called_after_folders(self, filters: SearchFilters) -> list[CalledNote]:
        return [one for one in self.called(None, filters) if is_called_after_its_folder(one.note.path)]

    def _passing(self, filters: SearchFilters) -> list[Document]:
        notes = (note.document for note in self._store.notes.values())
        passing = (note for note in notes if _note_passes(note, filters))
        return sorted(passing, key=lambda note: (note.path, note.source))

    def notes_of(self, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, DocId]:
        return {row: self._store.chunks[row].chunk.doc_id for row in rows if row in self._store.chunks}

    def hydrate(self, rows: Sequence[ChunkRow]) -> dict[ChunkRow, FoundChunk]:
        found = {}
        for row in rows:
            if (stored := self._store.chunks.get(row)) is not None:
                note = self._store.notes[stored.chunk.doc_id]
                source = self._store.sources[note.document.source]
                found[row] = FoundChunk(
                    stored.chunk, self._store.shown(note), source.root, source.title, chunker_of(note.made_by)
                )
        return found

    def embedded_texts(self, rows: Sequence[ChunkRow]) -> dict[ChunkRow, str]:
        stored = [self._store.chunks[row] for row in rows if row in self._store.chunks]
        return {
            one.chunk.row: embedded_text(one.title, one.chunk.heading_path, one.chunk.text) for one in stored
        }

    def _seen(self) -> Counter[str]:
        return Counter(word for stored in self._store.chunks.values() for word in stored.words)

    def unfinished(self, prefix: str, limit: int) -> list[str]:
        seen = self._seen()
        stems: dict[str, str] = {}
        for word in sorted(word for word in seen if word.startswith(prefix)):
            if not stem(word).startswith(stem(prefix)):
                stems.setdefault(stem(word), word)
        most = {one: max(n for word, n in seen.items() if stem(word) == one) for one in stems}
        return [stems[one] for one in sorted(stems, key=lambda one: (-most[one], one))][:limit]

    def too_frequent(self, words: Sequence[str]) -> set[str]:
        least = max(1_000, self.collection().chunks // 25)
        return {word for word in words if self._frequency(_Term((stem(word),), False, ())) > least}

    def common_words(self, prefix: str, limit: int) -> list[str]:
        seen = self._seen()
        found = (word for word in seen if word.startswith(prefix))
        return sorted(found, key=lambda word: (-seen[word], word))[:limit]

    def listed(self, words: Sequence[str]) -> Mapping[str, int]:
        seen = self._seen()
        return {word: seen[word] for word in words if word in seen}

    def alike(self, word: str, edits: int) -> Mapping[str, int]:
        found = (other for other in self._seen() if abs(len(other) - len(word)) <= edits)
        return self.listed([other for other in found if other[0] == word[0]])

    def collection(self) -> Collection:
        lengths = [stored.length for stored in self._store.chunks.values()]
        return Collection(len(lengths), sum(lengths) / len(lengths)) if lengths else Collection(0, 0.0)

    def frequency(self, match: Match) -> int:
        return self._frequency(_node(match))

    def lengths(self, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, int]:
        return {row: self._store.chunks[row].length for row in rows}

    def occurrences(self, match: Match, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, FieldCounts]:
        term = _node(match)
        assert isinstance(term, _Term)
        counts = {row: term.counts(self._store.chunks[row]) for row in rows}
        return {row: count for row, count in counts.items() if any(count)}

    def chunk_rows(self, doc: DocId) -> list[ChunkRow]:
        return [stored.chunk.row for stored in self._store.of(doc)]

    def chunks_of(self, docs: Sequence[DocId]) -> Mapping[ChunkRow, DocId]:
        return {
            row: stored.chunk.doc_id
            for row, stored in self._store.chunks.items()
            if stored.chunk.doc_id in docs
        }

    def sources(self) -> list[str]:
        return sorted(name for name, source in self._store.sources.items() if source.use != "removed")

    def removed_sources(self) -> tuple[SourceId, ...]:
        return tuple(name for name, source in self._store.sources.items() if source.use == "removed")

    def has_both_scripts(self) -> bool:
        return len({is_korean(stored.chunk.text) for stored in self._store.chunks.values()}) == 2

    def passes(self, rows: Sequence[ChunkRow], filters: SearchFilters) -> bool:
        return any(self._store.passes(self._store.chunks[row], filters) for row in rows)


class _Catalogue:
    """Implements `Catalogue`."""

    def __init__(self, store: _Store) -> None:
        self._store = store

    def sources(self, *, counted: bool = True) -> list[Source]:
        found = []
        for source in self._store.sources.values():
            if source.use != "removed":
                notes = self._of(source.source_id)
                chunks = sum(len(self._store.of(note.document.doc_id)) for note in notes)
                found.append(replace(source, documents=len(notes), chunks=chunks))
        return found

    def removed_sources(self) -> list[Source]:
        return [source for source in self._store.sources.values() if source.use == "removed"]

    def _of(self, source: SourceId) -> list[_Note]:
        return [note for note in self._store.notes.values() if note.document.source == source]

    def root_of(self, source: SourceId) -> str:
        return self._store.sources[source].root

    def root_id(self, source: SourceId) -> str:
        return self._store.root_ids.get(source, "")

    def known_files(self, source: SourceId, after: bytes = b"", limit: int = -1) -> dict[bytes, KnownFile]:
        known = {
            note.document.raw_path: KnownFile(
                note.document.doc_id,
                note.document.fingerprint,
                note.document.content_hash,
                note.made_by,
                note.document.state,
                note.document.reason,
                note.checked_ns,
                note.document.flags,
            )
            for note in self._of(source)
            if note.document.raw_path > after
        }
        return dict(sorted(known.items())[: limit if limit >= 0 else None])

    def known_files_at(self, source: SourceId, places: Iterable[bytes]) -> dict[bytes, KnownFile]:
        known = self.known_files(source)
        ends = [(place, place + b"/") for place in places]
        return {
            path: file
            for path, file in known.items()
            if any(path == place or path.startswith(below) for place, below in ends)
        }

    def document(self, doc_id: DocId) -> Document | None:
        note = self._store.notes.get(doc_id)
        return None if note is None else self._store.shown(note)

    def documents(
        self, filters: SearchFilters, states: Sequence[DocumentState] = (), limit: int = -1, offset: int = 0
    ) -> tuple[list[Document], int]:
        needs_chunk = filters.kinds or filters.headings
        found = [
            self._store.shown(note)
            for note in self._sorted()
            if (not states or note.document.state in states)
            and (
                any(self._store.passes(one, filters) for one in self._store.of(note.document.doc_id))
                if needs_chunk
                else _note_passes(note.document, filters)
            )
        ]
        end = None if limit < 0 else offset + limit
        return found[offset:end], len(found)

    def _sorted(self) -> list[_Note]:
        return sorted(
            self._store.notes.values(),
            key=lambda note: (note.document.path, note.document.source, note.document.raw_path),
        )

    def documents_at(self, path: str) -> list[Document]:
        return [self._store.shown(one) for one in self._sorted() if one.document.path == display_path(path)]

    def documents_ending(self, ending: str, limit: int) -> list[Document]:
        wanted = "/" + ending.lstrip("/")
        found = [one for one in self._sorted() if f"/{one.document.path}".endswith(wanted)]
        return [self._store.shown(one) for one in found[:limit]]

    def chunks_of(self, doc_id: DocId) -> list[Chunk]:
        return [stored.chunk for stored in self._store.of(doc_id)]

    def chunks_named(self, prefix: str) -> list[Chunk]:
        chunks = (stored.chunk for stored in self._store.chunks.values())
        named = (chunk for chunk in chunks if chunk.chunk_id.startswith(prefix))
        return sorted(named, key=lambda chunk: chunk.chunk_id)[:2]

    def values(self, kind: str, limit: int = -1) -> list[tuple[str, int]]:
        fold = FACETS[kind].fold
        held = [
            (fold(one), one)
            for note in self._notes()
            for one in _with_parents(values_of(note.facets, kind), kind)
        ]
        seen, shown = Counter(folded for folded, _ in held), dict(sorted(held, reverse=True))
        values = [(shown[one], seen[one]) for one in sorted(seen, key=lambda one: (-seen[one], one))]
        return values if limit < 0 else values[:limit]

    def note_counts(self) -> dict[str, dict[str, int]]:
        notes = [note for note in self._notes() if note.state == "ok"]
        kinds = {(one.chunk.doc_id, one.chunk.kind) for one in self._store.chunks.values()}
        return {
            "type": Counter(note.type for note in notes),
            "lang": Counter(note.lang for note in notes),
            "kind": Counter(kind for _, kind in kinds),
            "trust": {level.label: sum(note.trust >= level for note in notes) for level in Trust},
        }

    def _notes(self) -> list[Document]:
        return [note.document for note in self._store.notes.values()]

    def other_files(self, sources: Sequence[SourceId] = ()) -> OtherFiles:
        chosen = sources or tuple(self._store.other_files)
        return OtherFiles.total(found for name, found in self._store.other_files.items() if name in chosen)

    def makers(self) -> dict[str, int]:
        notes = self._store.notes.values()
        return Counter(note.made_by for note in notes if note.document.state != "failed")

    def paths(self) -> list[str]:
        notes = self._store.notes.values()
        return sorted({note.document.path for note in notes if note.document.state == "ok"})

    def failed(self) -> int:
        return sum(note.document.state == "failed" for note in self._store.notes.values())

    def model(self) -> str | None:
        return self._store.model

    def runs(self, limit: int) -> list[IndexRun]:
        return self._store.runs[: -limit - 1 : -1]

    def figures(self) -> Figures:
        store = self._store
        states = Counter(note.document.state for note in store.notes.values())
        return Figures(
            documents=len(store.notes),
            failed=states["failed"],
            skipped=states["skipped"],
            chunks=len(store.chunks),
            words=len({word for stored in store.chunks.values() for word in stored.words}),
            corpus_revision=store.revision,
            schema_version=1,
            lexical_version=_version(store.made_by),
            fts_signature="toy",
            made_by=store.made_by,
        )


class _Feed:
    """Implements `ChangeFeed`."""

    def __init__(self, store: _Store, model: str) -> None:
        self._store = store
        self._model = model

    def revision(self) -> int:
        return self._store.revision

    def all(self) -> Iterator[tuple[int, bytes]]:
        yield from self.vectors(list(self._store.chunks)).items()

    def change_count(self, revision: int) -> int | None:
        return sum(at > revision for at, _, _ in self._store.log)

    def changes_after(self, revision: int) -> tuple[list[tuple[int, bytes]], list[int]] | None:
        since = [(row, op) for at, row, op in self._store.log if at > revision]
        added = self.vectors([row for row, op in since if op == "add"])
        return list(added.items()), [row for row, op in since if op == "remove"]

    def vectors(self, rows: Sequence[int]) -> dict[int, bytes]:
        held = {row: self._blob(ChunkRow(row)) for row in rows}
        return {row: blob for row, blob in held.items() if blob is not None}

    def _blob(self, row: ChunkRow) -> bytes | None:
        stored = self._store.chunks.get(row)
        return None if stored is None else self._store.vectors.get((self._model, stored.text_hash))

    def _missing(self) -> list[_Stored]:
        return [one for one in self._store.chunks.values() if self._blob(one.chunk.row) is None]

    def pending(self, limit: int) -> list[PendingText]:
        texts = {
            one.text_hash: PendingText(one.text_hash, one.title, one.chunk.heading_path, one.chunk.text)
            for one in self._missing()
        }
        return list(texts.values())[:limit]

    def pending_of(self, rows: Sequence[ChunkRow]) -> list[PendingText]:
        return []

    def pending_since(self, revision: int) -> list[PendingText] | None:
        return None  # read everything again

    def still_pending(self, hashes: Sequence[bytes]) -> set[bytes]:
        return {one.text_hash for one in self._missing()} & set(hashes)

    def pending_count(self, *, fully: bool = False) -> PendingCount:
        missing = self._missing()
        return PendingCount(len(missing), len({one.text_hash for one in missing}))

    def count(self) -> VectorCount:
        stored = {text for model, text in self._store.vectors if model == self._model}
        used = stored & {one.text_hash for one in self._store.chunks.values()}
        return VectorCount(len(stored), len(used))


class _Reader:
    """Implements `Reader`."""

    def __init__(self, url: str, weights: FieldWeights) -> None:
        self._url = url
        self._weights = weights

    @contextlib.contextmanager
    def _reading(self) -> Iterator[_Store]:
        store = _STORES.setdefault(self._url, _Store())
        if not store.begun:
            raise NotIndexedError(f"there is no index {self._url}", "run `kebab ingest FOLDER`")
        with store.lock:
            yield store

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[_Snapshot]:
        with self._reading() as store:
            yield _Snapshot(store, self._weights)

    @contextlib.contextmanager
    def catalogue(self) -> Iterator[_Catalogue]:
        with self._reading() as store:
            yield _Catalogue(store)

    def roots(self) -> list[tuple[SourceId, str]]:
        with self.catalogue() as catalogue:
            return [(one.source_id, one.root) for one in catalogue.sources(counted=False)]

    @contextlib.contextmanager
    def vectors(self, model: str) -> Iterator[_Feed]:
        with self._reading() as store:
            yield _Feed(store, model)

    def close(self) -> None:
        pass


class _Vectors:
    """Implements `FollowedVectors` and `VectorIndex`: every vector is compared, with NumPy."""

    def __init__(self, reader: _Reader, model: str, dims: int) -> None:
        self._reader = reader
        self._model = model
        self._revision = -1
        self._dims = dims
        self._held: dict[ChunkRow, Vector] = {}
        """The vectors of the parts of each chunk."""

    @property
    def index(self) -> _Vectors:
        return self

    def open(self, *, fully: bool = False) -> Opened:
        self.catch_up()
        return Opened("loaded", "")

    def catch_up(self) -> bool:
        with self._reader.vectors(self._model) as feed:
            if feed.revision() == self._revision:
                return False
            self._revision, held = feed.revision(), dict(sorted(feed.all()))
        self._held = {
            ChunkRow(row): np.frombuffer(blob, np.float16).reshape(-1, self._dims).astype(np.float32)
            for row, blob in held.items()
        }
        return True

    def close(self) -> str:
        return ""

    @property
    def count(self) -> int:
        return len(self._held)

    def nearest(self, query: Vector, k: int, among: Among | None = None) -> list[Near]:
        rows = set(self._held)
        if among is not None:
            with self._reader.snapshot() as snapshot:
                rows = snapshot.which(list(self._held), among)
        found = (Near(row, cosine) for row, cosine in self.cosines(query, sorted(rows)).items())
        return sorted(found, key=lambda one: -one.cosine)[:k]

    def begin(self, query: Vector, k: int, among: Sequence[Among | None]) -> Callable[[], list[list[Near]]]:
        found = [self.nearest(query, k, one) for one in among]
        return lambda: found

    def cosines(self, query: Vector, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, float]:
        found = {row: self.parts(query, row) for row in rows}
        return {
            row: BEST_PART * max(one.parts) + (1 - BEST_PART) * one.whole
            for row, one in found.items()
            if one is not None
        }

    def parts(self, query: Vector, row: ChunkRow) -> PartCosines | None:
        if row not in self._held:
            return None
        vectors = self._held[row]
        whole = vectors.sum(axis=0)
        return PartCosines(tuple((vectors @ query).tolist()), float(whole @ query / np.linalg.norm(whole)))


# Writing


class _Writer:
    """Implements `Writer`."""

    def __init__(self, store: _Store) -> None:
        self._store = store

    def apply(self, changes: Sequence[Change]) -> Applied:
        with self._store.lock:
            self._store.revision += 1
            each = tuple(map(self._apply, changes))
            return Applied(
                self._store.revision,
                sum(one.added for one in each),
                sum(one.removed for one in each),
                sum(one.kept for one in each),
                each,
            )

    def _apply(self, change: Change) -> ChunkCounts:
        notes = self._store.notes
        match change:
            case SaveNote(document):
                trust = change.own_trust or self._store.sources[document.source].trust
                saved = replace(document, trust=trust, indexed_ns=time.time_ns())
                notes[document.doc_id] = _Note(saved, change.made_by, change.checked_ns)
                return self._replace_chunks(change)
            case MarkNote(document):
                known = notes.get(document.doc_id)
                if known is not None and change.keep_text:
                    kept = replace(
                        known.document, state=document.state, reason=document.reason, flags=document.flags
                    )
                    notes[document.doc_id] = replace(known, document=kept)
                    return ChunkCounts()
                notes[document.doc_id] = _Note(document, change.made_by)
                return self._drop(self._store.of(document.doc_id))
            case MoveNotes(moves):
                for move in moves:
                    moved = replace(notes[move.doc_id].document, path=move.path, raw_path=move.raw_path)
                    notes[move.doc_id] = _Note(moved, "")
            case TouchNote(doc_id, fingerprint, checked_ns, flags):
                document = replace(notes[doc_id].document, fingerprint=fingerprint)
                document = document if flags is None else replace(document, flags=flags)
                notes[doc_id] = replace(notes[doc_id], document=document, checked_ns=checked_ns)
            case RemoveNote(doc_id):
                notes.pop(doc_id)
                return self._drop(self._store.of(doc_id))
        return ChunkCounts()

    def _replace_chunks(self, change: SaveNote) -> ChunkCounts:
        document, store = change.document, self._store
        texts = [(passage.heading_path, text_hash(passage.text)) for passage in change.passages]
        known = {one.chunk.chunk_id: one for one in store.of(document.doc_id)}
        added = kept = 0
        ids = chunk_ids(document.doc_id, change.chunker, texts)
        for ordinal, (chunk_id, passage) in enumerate(zip(ids, change.passages, strict=True)):
            was = known.pop(chunk_id, None)
            if was is None:
                store.last_row += 1
                added += 1
            else:
                kept += 1
            row = was.chunk.row if was else ChunkRow(store.last_row)
            chunk = Chunk(
                row, chunk_id, document.doc_id, ordinal, passage.kind, passage.heading_path, passage.text,
                passage.span,
            )  # fmt: skip
            store.chunks[row] = _Stored(chunk, change.titles or document.title)
            store.log.append((store.revision, row, "add"))
        return ChunkCounts(added, self._drop(list(known.values())).removed, kept)

    def _drop(self, stored: Sequence[_Stored]) -> ChunkCounts:
        for one in stored:
            del self._store.chunks[one.chunk.row]
            self._store.log.append((self._store.revision, one.chunk.row, "remove"))
        return ChunkCounts(removed=len(stored))

    def begin_load(self, files: int) -> None:
        pass

    def end_load(self) -> None:
        pass

    def save_sources(self, sources: Sequence[Source]) -> None:
        with self._store.lock:
            self._store.revision += 1
            self._store.sources |= {source.source_id: source for source in sources}

    def set_source_state(
        self, source: SourceId, state: SourceState, root_id: str = "", other_files: OtherFiles | None = None
    ) -> None:
        with self._store.lock:
            if other_files is not None:
                self._store.other_files[source] = other_files
            self._store.sources[source] = replace(self._store.sources[source], state=state)
            if root_id:
                self._store.root_ids[source] = root_id

    def set_source_use(self, source: SourceId, use: SourceUse) -> None:
        with self._store.lock:
            if source not in self._store.sources:
                raise NotFoundError(f"there is no source named {source}", "see `kebab source list`")
            self._store.sources[source] = replace(self._store.sources[source], use=use)
            self._store.revision += 1

    def remove_source(self, source: SourceId) -> None:
        with self._store.lock:
            if self._store.sources.pop(source, None) is None:
                raise NotFoundError(f"there is no source named {source}", "see `kebab source list`")
            self._store.other_files.pop(source, None)
            self._store.revision += 1
            for doc_id, note in list(self._store.notes.items()):
                if note.document.source == source:
                    self._apply(RemoveNote(doc_id))

    def set_made_by(self, made_by: str) -> None:
        self._store.made_by = made_by

    def save_vectors(self, model: str, vectors: Sequence[tuple[bytes, bytes]]) -> int:
        with self._store.lock:
            self._store.revision += 1
            self._store.vectors |= {(model, text): vector for text, vector in vectors}
            return self._store.revision

    def delete_vectors(self, model: str | None = None) -> int:
        with self._store.lock:
            used = {one.text_hash for one in self._store.chunks.values()}
            gone = [
                key
                for key in self._store.vectors
                if (key[1] not in used if model is None else key[0] == model)
            ]
            for key in gone:
                del self._store.vectors[key]
            return len(gone)

    def note_complete(self, model: str) -> None:
        pass

    def use_model(self, model: str) -> None:
        with self._store.lock:
            self._store.model = model
            self._store.revision += 1

    def record_run(self, kind: str, started_ns: int, report: str) -> None:
        self._store.runs.append(IndexRun(kind, started_ns, time.time_ns(), json.loads(report)))

    def rebuild_full_text(self) -> None:
        pass

    def merge_full_text(self, cancelled: Callable[[], bool] = lambda: False) -> None:
        pass


class _Lease:
    """Implements `Lease` for the threads of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder: Holder | None = None

    def acquire(self, command: str, timeout_s: float, waiting: Waiting) -> bool:
        if not self._lock.acquire(timeout=timeout_s):
            raise StoreBusyError("another thread writes the index", "wait for it to end")
        self._holder = Holder(os.getpid(), command, time.time())
        return False

    def release(self) -> None:
        if self._holder is not None:
            self._holder = None
            self._lock.release()

    def is_in_place(self) -> bool:
        return True

    def holder(self) -> Holder | None:
        return self._holder


class _Requests:
    """Implements `Requests`."""

    def __init__(self, store: _Store) -> None:
        self._store = store

    def ask(self, request: Request) -> None:
        self._store.requests.append(request)

    @contextlib.contextmanager
    def wanting(self) -> Iterator[None]:
        self._store.wanted += 1
        try:
            yield
        finally:
            self._store.wanted -= 1

    @contextlib.contextmanager
    def undoing(self) -> Iterator[None]:
        self._store.undoing += 1
        try:
            yield
        finally:
            self._store.undoing -= 1

    def may_undo(self) -> bool:
        return self._store.undoing > 0

    def wanted(self) -> bool:
        return self._store.wanted > 0

    def look(self) -> tuple[bool, list[Request]]:
        taken, self._store.requests = self._store.requests, []
        return self.wanted(), taken


# The index


def _version(made_by: str) -> str:
    return f"toy-{made_by}"


class ToyIndex:
    """Implements `Index`."""

    def __init__(self, url: str, folder: str, weights: FieldWeights) -> None:
        self.location = url
        self.folder = folder
        self.reader = _Reader(url, weights)

    def _store(self) -> _Store:
        return _STORES.setdefault(self.location, _Store())

    def exists(self) -> bool:
        return self._store().begun

    def size(self) -> int:
        with self.reader.snapshot() as snapshot:
            return snapshot.collection().chunks

    def version(self, made_by: str) -> str:
        return _version(made_by)

    def known_sources(self) -> list[Source] | None:
        return None

    def change_check(self) -> Callable[[], bool]:
        return lambda: True

    def sql(self, statement: str, limits: SqlLimits) -> SqlResult:
        raise SqlError("this index is not SQL", "use an index in a folder")

    def check(self, chunker: str) -> Iterator[Finding]:
        try:
            with self.reader.catalogue() as catalogue:
                figures = catalogue.figures()
        except NotIndexedError as error:
            yield Finding("toy", "problem", error.message, error.hint)
            return
        yield Finding("toy", "ok", f"{figures.documents} notes, {figures.chunks} passages in memory")
        if figures.failed:
            yield Finding("notes", "warning", f"{figures.failed} could not be read", "`kebab list`")

    def vector_index(self, model: str, dims: int, *, may_save: bool = False) -> _Vectors:
        return _Vectors(self.reader, model, dims)

    def lease(self, purpose: Literal["write", "embed"]) -> _Lease:
        store = self._store()
        return store.writing if purpose == "write" else store.embedding

    def requests(self) -> _Requests:
        return _Requests(self._store())

    @contextlib.contextmanager
    def write(
        self, command: str, timeout_s: float, waiting: Waiting, *, saw_crash: bool = False
    ) -> Iterator[WriterSession]:
        lease = self.lease("write")
        lease.acquire(command, timeout_s, waiting)
        try:
            store = self._store()
            store.begun = True
            yield WriterSession(_Writer(store), lease)
        finally:
            lease.release()

    def recheck(self, command: str, timeout_s: float, waiting: Waiting) -> str:
        return ""


def forget_all() -> None:
    """Delete every index."""
    _STORES.clear()
