"""Copies the index of this machine to one or several PostgreSQL servers.

Each copy is a schema of its own on every server. It is loaded bucket by bucket, each in one transaction, so
that a copy that was interrupted goes on where it stopped; then it is checked by counts and sums, and one
statement on the first server makes readers use it. Private notes are left out: those that the index knows,
and
those whose files say so at this moment.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b, md5
from struct import pack
from typing import Any

import psycopg

from kebab_tui.domain.errors import NotIndexedError, SourceError, StoreBusyError, StoreError, UsageError
from kebab_tui.domain.facets import FACETS, comparable, fold
from kebab_tui.domain.names import is_called_after_its_folder
from kebab_tui.storage.ports import CopyProgress, Published
from kebab_tui.storage.postgres import schema
from kebab_tui.storage.postgres.address import Parameters, location_of, parameters_of, shard_parameters
from kebab_tui.storage.postgres.cluster import connect, reason_of, translated
from kebab_tui.storage.sqlite.export import Export, ExportedChunk, ExportedDocument, Tokenizer, Tokens

MOST_SHARDS = 256
EXACT_UP_TO = 150_000
"""Vectors on one server that are searched exactly; more get an HNSW index."""
_BATCH = 512
_TIMEOUT_S = 30.0
_MOST_COUNT = 32_767
_LOCK = 0x6B656261
"""The advisory lock of whoever publishes ("keba")."""
_DOC_COLUMNS = (
    "doc_id, src, source_id, path, path_key, raw_path, title, title_folded, type, lang, trust, size, "
    "mtime_ns, "
    "ctime_ns, inode, content_hash, state, reason, flags, indexed_ns, dated, dated_by, chunks, facets, "
    "counts, "
    "hit_facets, made_by, checked_ns, after_folder, name_id, names, name_lines, first_row"
)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a reader needs to know of a copy, stored with it."""

    revision: int
    lexical_version: str
    signature: str
    made_by: str
    model: str | None
    fingerprint: str
    dims: int
    published_ns: int = 0
    documents: int = 0
    failed: int = 0
    skipped: int = 0
    chunks: int = 0
    words: int = 0
    private: int = 0
    approximate: bool = False


@dataclass(frozen=True, slots=True)
class PublishOptions:
    shards: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()
    hnsw: bool = False
    model: str = ""
    fingerprint: str = ""
    dims: int = 0
    """The model whose vectors are published; none if it has no fingerprint."""
    may_share: Callable[[str, bytes], bool] = lambda _root, _path: True
    """Whether a note is not private at this moment."""
    progress: Callable[[CopyProgress], None] = lambda _: None
    cancelled: Callable[[], bool] = lambda: False


class _CancelledError(Exception):
    pass


def servers_of(url: str, shards: Sequence[str]) -> list[Parameters]:
    """The servers to copy to; raises an error if a URL is refused."""
    first = parameters_of(url)
    servers = [first, *(shard_parameters(one, first) for one in shards)]
    places = [location_of(one) for one in servers]
    if len(servers) > MOST_SHARDS:
        raise UsageError(f"at most {MOST_SHARDS} servers", "use fewer --shards")
    if len(set(places)) < len(places):
        raise UsageError("two shards are the same server and database", "name each once")
    return servers


def publish(folder: str, url: str, options: PublishOptions) -> Published | None:
    """Copy the index in `folder` to the servers and switch to the copy; None if cancelled."""
    start = time.monotonic()
    servers = servers_of(url, options.shards)
    export = Export(folder)
    with contextlib.ExitStack() as stack:
        stack.callback(export.close)
        connections = [stack.enter_context(_connected(one)) for one in servers]
        with _errors(location_of(servers[0])):
            locked = connections[0].execute("SELECT pg_try_advisory_lock(%s)", [_LOCK]).fetchone()
            if locked is None or not locked[0]:
                raise StoreBusyError(
                    f"another copy to {location_of(servers[0])} is being made", "wait for it to end"
                )
        try:
            publication = _Publication(export, connections, servers, options)
            return publication.run(start)
        except _CancelledError:
            return None


def grant(connections: Sequence[psycopg.Connection[Any]], grants: Sequence[str]) -> None:
    """Let roles read: `ROLE` everything, `ROLE:SOURCE` one source."""
    for one in grants:
        role, _, source = one.partition(":")
        for connection in connections:
            exists = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone()
            if exists is None:
                raise UsageError(
                    f"there is no role {role!r} on every server", "create it: CREATE ROLE … LOGIN"
                )
            with connection.transaction():
                name = psycopg.sql.Identifier(role)
                if role != schema.READER_ROLE:
                    connection.execute(
                        psycopg.sql.SQL("GRANT {} TO {}").format(
                            psycopg.sql.Identifier(schema.READER_ROLE), name
                        )
                    )
                connection.execute(
                    "INSERT INTO kebab.access VALUES (%s, %s) ON CONFLICT DO NOTHING", [role, source or "*"]
                )


@contextlib.contextmanager
def _connected(parameters: Parameters) -> Iterator[psycopg.Connection[Any]]:
    place = location_of(parameters)
    try:
        connection = connect(parameters, _TIMEOUT_S)
    except psycopg.Error as error:
        raise StoreError(f"cannot connect to {place}: {reason_of(error)}", "is the server running?") from None
    try:
        with connection:
            yield connection
    except psycopg.Error as error:
        raise _error(error, place) from None


@contextlib.contextmanager
def _errors(place: str) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise _error(error, place) from None


def _error(error: psycopg.Error, place: str) -> Exception:
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return StoreError(
            f"{place}: {reason_of(error)}", "publish as the owner of the database, who may also create roles"
        )
    found = translated(error, place)
    return (
        StoreError(f"{place}: {reason_of(error)}", "see its log")
        if isinstance(found, NotIndexedError)
        else found
    )


class _Publication:
    def __init__(
        self,
        export: Export,
        connections: Sequence[psycopg.Connection[Any]],
        servers: Sequence[Parameters],
        options: PublishOptions,
    ) -> None:
        self._export = export
        self._connections = connections
        self._servers = servers
        self._places = [location_of(one) for one in servers]
        self._options = options
        self._tokenizer = Tokenizer()
        self._buckets = [bucket * len(servers) // schema.BUCKETS for bucket in range(schema.BUCKETS)]
        self._private: frozenset[str] = frozenset()
        self._src: dict[str, int] = {}
        self._schema = ""

    def run(self, start: float) -> Published:
        export, first = self._export, self._connections[0]
        for connection, place in zip(self._connections, self._places, strict=True):
            with _errors(place):
                schema.migrate(connection, place)
        for one in export.sources():
            folder = os.fsdecode(one.values[2])
            if not os.path.isdir(folder):  # else its notes would vanish from the copy
                raise SourceError(
                    f"the folder {folder} is not available: which of its notes are private now is unknown",
                    "make it available, or remove it with `kebab source remove`",
                )
        files = list(export.files())
        private = set(export.private())
        for doc, root, raw_path in files:
            self._stop_if_cancelled()
            if doc not in private and not self._options.may_share(os.fsdecode(root), raw_path):
                private.add(doc)
        self._private = frozenset(private)
        facts = Facts(
            export.revision, export.lexical_version, export.signature, export.made_by,
            self._options.model or None, self._options.fingerprint, self._options.dims,
            private=len(private),
        )  # fmt: skip
        identity = self._identity(facts, files)
        published = first.execute(
            "SELECT g.no, g.identity, g.nodes, g.facts FROM kebab.published p JOIN kebab.generation g ON "
            "g.no = p.generation"
        ).fetchone()
        if published and published[1] == identity and published[2] == self._places:
            self._grant()
            known = Facts(**json.loads(published[3]))
            return self._report(known, start, unchanged=True)
        number, resumed = self._generation(identity, facts)
        self._load(resumed)
        facts = self._complete(facts)
        self._switch(number, facts)
        return self._report(facts, start, resumed=len(resumed))

    def _report(self, facts: Facts, start: float, *, unchanged: bool = False, resumed: int = 0) -> Published:
        return Published(
            self._places[0], facts.revision, facts.documents, facts.chunks, facts.private, len(self._servers),
            time.monotonic() - start, unchanged, resumed,
        )  # fmt: skip

    def _identity(self, facts: Facts, files: Sequence[tuple[str, bytes, bytes]]) -> str:
        """Names the content of a copy: one that was interrupted goes on only with the same."""
        digest = blake2b(digest_size=16)
        stamp = self._export.stamp()
        for part in (asdict(facts), stamp, sorted(self._private), self._options.hnsw, schema.SCHEMA_VERSION):
            digest.update(json.dumps(part, sort_keys=True).encode())
        for doc, _, path in files:
            digest.update(doc.encode() + path)
        return digest.hexdigest()

    # A copy

    def _generation(self, identity: str, facts: Facts) -> tuple[int, set[int]]:
        """The number of the copy to load, and the buckets that it has from an earlier attempt."""
        first = self._connections[0]
        row = first.execute(
            "SELECT no FROM kebab.generation WHERE state = 'loading' AND identity = %s AND nodes = %s "
            "ORDER BY no LIMIT 1",
            [identity, self._places],
        ).fetchone()
        if row is not None and self._has_schema(row[0]):
            self._schema = f"kebab_{row[0]}"
            self._number_sources()
            done: set[int] = set()
            for connection in self._connections:
                done |= {
                    one for (one,) in connection.execute(f"SELECT bucket FROM {self._schema}.loaded".encode())
                }
            return row[0], done
        numbers = [1]
        for connection in self._connections:
            found = connection.execute("SELECT coalesce(max(no), 0) + 1 FROM kebab.generation").fetchone()
            numbers.append(found[0] if found else 1)
            self._drop(connection, "state = 'loading'")
        number = max(numbers)
        self._schema = f"kebab_{number}"
        values = [number, identity, self._places, self._buckets, json.dumps(asdict(facts))]
        self._number_sources()
        for connection, place in zip(self._connections, self._places, strict=True):
            with _errors(place), connection.transaction():
                connection.execute(f"CREATE SCHEMA {self._schema}".encode())
                self._use(connection, local=True)
                tables = schema.TABLES.replace("{schema}", self._schema).replace(
                    "{dims}", str(max(1, facts.dims))
                )
                connection.execute(tables.encode())
                self._save_sources(connection)
                connection.execute(
                    "INSERT INTO kebab.generation(no, state, identity, nodes, buckets, facts) "
                    "VALUES (%s, 'loading', %s, %s, %s, %s)",
                    values,
                )
        return number, set()

    def _has_schema(self, number: int) -> bool:
        statement = "SELECT to_regclass(%s) IS NOT NULL"
        found = (one.execute(statement, [f"kebab_{number}.loaded"]).fetchone() for one in self._connections)
        return all(row is not None and row[0] for row in found)

    def _drop(self, connection: psycopg.Connection[Any], condition: str) -> None:
        rows = connection.execute(f"SELECT no FROM kebab.generation WHERE {condition}".encode()).fetchall()
        for (number,) in rows:
            with connection.transaction():
                connection.execute(f"DROP SCHEMA IF EXISTS kebab_{int(number)} CASCADE".encode())
                connection.execute("DELETE FROM kebab.generation WHERE no = %s", [number])

    def _use(self, connection: psycopg.Connection[Any], *, local: bool = False) -> None:
        word = "LOCAL " if local else ""
        connection.execute(f"SET {word}search_path = {self._schema}, kebab, public".encode())

    def _number_sources(self) -> None:
        self._src = {str(one.values[0]): number for number, one in enumerate(self._export.sources(), 1)}

    def _save_sources(self, connection: psycopg.Connection[Any]) -> None:
        for number, one in enumerate(self._export.sources(), 1):
            values = [number, *(_clean(value) for value in one.values), number, one.other_files]
            values[12] = bool(values[12])  # `code`
            connection.execute(
                f"INSERT INTO source VALUES ({', '.join(['%s'] * len(values))})".encode(), values
            )

    def _load(self, done: set[int]) -> None:
        for connection in self._connections:
            self._use(connection)
            connection.execute("SET synchronous_commit = off")
        for bucket in range(schema.BUCKETS):
            if bucket not in done:
                self._stop_if_cancelled()
                node = self._buckets[bucket]
                with _errors(self._places[node]):
                    self._load_bucket(self._connections[node], bucket)
            self._options.progress(CopyProgress(bucket + 1, schema.BUCKETS))
        for connection in self._connections:  # the next commit makes all of this durable
            connection.execute("RESET synchronous_commit")

    def _load_bucket(self, connection: psycopg.Connection[Any], bucket: int) -> None:
        first, end = f"{bucket:02x}", f"{bucket + 1:02x}" if bucket + 1 < schema.BUCKETS else "g"
        documents = [one for one in self._export.documents(first, end) if one.doc_id not in self._private]
        source_of = {one.doc_id: self._src[one.source_id] for one in documents}
        loaded = _Loaded()
        with connection.transaction():
            with connection.cursor().copy(f"COPY doc({_DOC_COLUMNS}) FROM STDIN".encode()) as copy:
                for document in documents:
                    copy.write_row(loaded.document(document, source_of[document.doc_id]))
            self._copy_facets(connection, first, end, source_of, loaded)
            self._copy_names(connection, documents, source_of)
            words: Counter[tuple[int, str, str]] = Counter()
            batch: list[ExportedChunk] = []
            for chunk in self._export.chunks(first, end, self._options.fingerprint):
                if chunk.doc_id in source_of:
                    batch.append(chunk)
                if len(batch) == _BATCH:
                    self._copy_chunks(connection, batch, source_of, loaded, words)
                    batch = []
            if batch:
                self._copy_chunks(connection, batch, source_of, loaded, words)
            with connection.cursor().copy(b"COPY bucket_word FROM STDIN") as copy:
                for (src, word, stem), seen in words.items():
                    copy.write_row((bucket, src, word, stem, seen))
            connection.execute(
                f"INSERT INTO loaded VALUES (%s{', %s' * 9})".encode(), [bucket, *loaded.values]
            )

    def _copy_facets(
        self,
        connection: psycopg.Connection[Any],
        first: str,
        end: str,
        source_of: dict[str, int],
        loaded: _Loaded,
    ) -> None:
        columns = "doc_id, src, ordinal, kind, folded, value, line, target, extra, number, compared"
        with connection.cursor().copy(f"COPY facet({columns}) FROM STDIN".encode()) as copy:
            for doc, ordinal, kind, folded, value, *rest in self._export.facets(first, end):
                if doc not in source_of:
                    continue
                number: float | None = None
                compared: str | None = None
                if kind in FACETS and FACETS[kind].compared:
                    found = comparable(folded.partition("=")[2])
                    number, compared = (found, None) if isinstance(found, float) else (None, _clean(found))
                copy.write_row(
                    (
                        doc,
                        source_of[doc],
                        ordinal,
                        kind,
                        _clean(folded),
                        _clean(value),
                        *map(_clean, rest),
                        number,
                        compared,
                    )
                )
                loaded.facets += 1

    def _copy_names(
        self,
        connection: psycopg.Connection[Any],
        documents: Sequence[ExportedDocument],
        source_of: dict[str, int],
    ) -> None:
        named = [one for one in documents if one.name_id]
        tokens = self._tokenizer.names([(one.name_lines, one.name_grams) for one in named])
        with connection.cursor().copy(b"COPY name_post FROM STDIN") as copy:
            for number, term, places in _by_text(tokens):
                one = named[number]
                counts = _counts(places, schema.NAME_COUNTS)
                positions = _positions(places, schema.NAME_BASES)
                copy.write_row(
                    (term, one.name_id, source_of[one.doc_id], *counts, tokens.lengths[number], positions)
                )

    def _copy_chunks(
        self,
        connection: psycopg.Connection[Any],
        chunks: Sequence[ExportedChunk],
        source_of: dict[str, int],
        loaded: _Loaded,
        words: Counter[tuple[int, str, str]],
    ) -> None:
        tokens = self._tokenizer.passages(
            [(one.heading_path, one.text, one.title, one.grams) for one in chunks]
        )
        columns = (
            "row, src, chunk_id, doc_id, ordinal, kind, heading_path, heading_folded, text, line_first, "
            "line_last, "
            "page, title, embed_hash, hangul, dl"
        )
        with connection.cursor().copy(f"COPY chunk({columns}) FROM STDIN".encode()) as copy:
            for number, one in enumerate(chunks):
                heading, text, title = _clean(one.heading_path), _clean(one.text), _clean(one.title)
                copy.write_row(
                    (one.row, source_of[one.doc_id], one.chunk_id, one.doc_id, one.ordinal, one.kind, heading,
                     _clean(fold(one.heading_path)), text, one.line_first, one.line_last, one.page, title,
                     one.embed_hash, bool(one.hangul), tokens.lengths[number])
                )  # fmt: skip
                loaded.chunks += 1
                loaded.chunk_sum += _digest(one.chunk_id + heading + text + title)
        with connection.cursor().copy(b"COPY post FROM STDIN") as copy:
            for number, term, places in _by_text(tokens):
                one = chunks[number]
                h, x, t, g = _counts(places, schema.COUNTS)
                length = tokens.lengths[number]
                positions = _positions(places, schema.BASES)
                copy.write_row((term, one.row, source_of[one.doc_id], h, x, t, g, length, positions))
                loaded.posts += 1
                loaded.post_sum += (
                    one.row + h + 3 * x + 5 * t + 7 * g + 11 * length + len(term.encode()) + sum(positions)
                )
        self._copy_vectors(connection, chunks, source_of, loaded)
        by_source: dict[int, list[str]] = {}
        for one in chunks:
            texts = by_source.setdefault(source_of[one.doc_id], [])
            texts.append(f"{one.title} {one.heading_path} {one.text}")
        for src, texts in by_source.items():
            for word, stem, seen in self._tokenizer.words(texts):
                words[src, word, stem] += seen

    def _copy_vectors(
        self,
        connection: psycopg.Connection[Any],
        chunks: Sequence[ExportedChunk],
        source_of: dict[str, int],
        loaded: _Loaded,
    ) -> None:
        from kebab_tui.vectors.segment import decoded, rows_of

        embedded = [one for one in chunks if one.vector]
        if not embedded or not self._options.dims:
            return
        dims = self._options.dims
        by_row = {one.row: one for one in embedded}
        rows, codes, _ = decoded(rows_of(list(by_row)), [one.vector or b"" for one in embedded], dims)
        head = pack(">hh", dims, 0)
        parts: Counter[int] = Counter()
        with connection.cursor().copy(b"COPY vec FROM STDIN (FORMAT binary)") as copy:
            copy.write(b"PGCOPY\n\xff\r\n\0" + pack(">ii", 0, 0))
            for row, code in zip(rows.tolist(), codes, strict=True):
                one = by_row[row]
                vector = head + code.astype(">f2").tobytes()
                copy.write(
                    pack(
                        ">hiqihihi?i",
                        5,
                        8,
                        row,
                        2,
                        parts[row],
                        2,
                        source_of[one.doc_id],
                        1,
                        bool(one.hangul),
                        len(vector),
                    )
                    + vector
                )
                parts[row] += 1
                loaded.vecs += 1
                loaded.vec_sum += _digest_bytes(vector)
            copy.write(pack(">h", -1))
        with connection.cursor().copy(b"COPY embedded FROM STDIN") as copy:
            for row, number in parts.items():
                if number > 1:
                    copy.write_row((row, source_of[by_row[row].doc_id], by_row[row].vector))

    # Its end

    def _complete(self, facts: Facts) -> Facts:
        """Build indexes and statistics, and compare what arrived with what was sent."""
        totals: Counter[str] = Counter()
        most_vectors = 0
        for connection, place in zip(self._connections, self._places, strict=True):
            self._stop_if_cancelled()
            with _errors(place):
                self._use(connection)
                indexed = connection.execute(
                    "SELECT count(*) FROM pg_indexes WHERE schemaname = %s AND tablename = 'post'",
                    [self._schema],
                ).fetchone()
                with connection.transaction():
                    if not (indexed and indexed[0]):
                        connection.execute(schema.INDEXES.encode())
                self._verify(connection, place)
                with connection.transaction():
                    connection.execute(b"DELETE FROM stat")
                    connection.execute(_STATISTICS.encode())
                row = connection.execute(
                    b"SELECT coalesce(sum(vectors), 0)::bigint, coalesce(sum(chunks), 0)::bigint, (SELECT "
                    b"count(*) FROM doc), "
                    b"(SELECT count(*) FROM doc WHERE state = 'failed'), "
                    b"(SELECT count(*) FROM doc WHERE state = 'skipped') FROM stat"
                ).fetchone()
                assert row is not None
                most_vectors = max(most_vectors, row[0])
                totals.update(
                    dict(zip(("vectors", "chunks", "documents", "failed", "skipped"), row, strict=True))
                )
        words = self._gather_words()
        approximate = facts.dims > 0 and (self._options.hnsw or most_vectors > EXACT_UP_TO)
        for connection, place in zip(self._connections, self._places, strict=True):
            with _errors(place):
                if approximate:
                    connection.execute(
                        b"CREATE INDEX IF NOT EXISTS vec_hnsw ON vec USING hnsw (emb halfvec_ip_ops)"
                    )
                with connection.transaction():
                    connection.execute(
                        f"{_drop_policies(self._schema)}{schema.rights(self._schema)}".encode()
                    )
                connection.execute(b"TRUNCATE bucket_word")
                for table in (*schema.SECURED, "source"):
                    connection.execute(f"VACUUM (ANALYZE) {table}".encode())
        return Facts(
            **asdict(facts)
            | {
                "published_ns": time.time_ns(), "documents": totals["documents"], "failed": totals["failed"],
                "skipped": totals["skipped"], "chunks": totals["chunks"], "words": words,
                "approximate": approximate,
            }
        )  # fmt: skip

    def _verify(self, connection: psycopg.Connection[Any], place: str) -> None:
        arrived = connection.execute(schema.CHECKSUMS.encode()).fetchone()
        sent = connection.execute(schema.LOADED.encode()).fetchone()
        if arrived is None or sent is None or list(map(int, arrived)) != list(map(int, sent)):
            self._drop(connection, f"no = {int(self._schema.removeprefix('kebab_'))}")
            raise StoreError(f"{place}: the copy differs from what was sent; it was removed", "copy again")

    def _gather_words(self) -> int:
        """Put the words of all shards on the first server, where completions look."""
        words: dict[tuple[int, str], tuple[str, int]] = {}
        for connection, place in zip(self._connections, self._places, strict=True):
            with _errors(place):
                found = connection.execute(
                    b"SELECT src, word, min(stem), sum(seen)::bigint FROM bucket_word GROUP BY src, word"
                )
                for src, word, stem, seen in found:
                    known = words.get((src, word), (stem, 0))
                    words[src, word] = stem, known[1] + seen
        first = self._connections[0]
        if not words:
            row = first.execute(b"SELECT count(DISTINCT word) FROM word").fetchone()
            return int(row[0]) if row else 0
        with first.transaction():
            first.execute(b"DELETE FROM word")
            with first.cursor().copy(b"COPY word FROM STDIN") as copy:
                for (src, word), (stem, seen) in words.items():
                    copy.write_row((src, word, stem, seen))
        return len({word for _, word in words})

    def _switch(self, number: int, facts: Facts) -> None:
        """One statement on the first server makes all readers use the copy; the one before the last goes."""
        for connection, place in reversed(list(zip(self._connections, self._places, strict=True))):
            with _errors(place):
                connection.execute(
                    "UPDATE kebab.generation SET state = 'ready', ended = now(), facts = %s WHERE no = %s",
                    [json.dumps(asdict(facts)), number],
                )
        self._grant()
        first = self._connections[0]
        before = first.execute("SELECT generation FROM kebab.published").fetchone()
        with _errors(self._places[0]), first.transaction():
            first.execute(
                "INSERT INTO kebab.published(generation) VALUES (%s) "
                "ON CONFLICT (one) DO UPDATE SET generation = excluded.generation",
                [number],
            )
            first.execute("SELECT pg_notify(%s, %s)", [schema.CHANNEL, str(number)])
        kept = {number, before[0] if before else number}
        for connection in self._connections:
            self._drop(connection, f"no NOT IN ({', '.join(map(str, kept))})")

    def _grant(self) -> None:
        with _errors(self._places[0]):
            grant(self._connections, self._options.grants)

    def _stop_if_cancelled(self) -> None:
        if self._options.cancelled():
            raise _CancelledError


@dataclass(slots=True)
class _Loaded:
    """Counts and sums of what was sent."""

    docs: int = 0
    chunks: int = 0
    posts: int = 0
    vecs: int = 0
    facets: int = 0
    doc_sum: int = 0
    chunk_sum: int = 0
    post_sum: int = 0
    vec_sum: int = field(default=0)

    @property
    def values(self) -> list[int]:
        return [
            self.docs, self.chunks, self.posts, self.vecs, self.facets, self.doc_sum, self.chunk_sum,
            self.post_sum,
            self.vec_sum,
        ]  # fmt: skip

    def document(self, one: ExportedDocument, src: int) -> tuple[Any, ...]:
        title, facets = _clean(one.title), _clean(one.facets)
        path = _clean(one.path)
        self.docs += 1
        self.doc_sum += _digest(one.doc_id + path + title + facets)
        return (
            one.doc_id, src, one.source_id, path, path_key(path), one.raw_path, title,
            _clean(fold(one.title)),
            one.type, one.lang, one.trust, one.size, one.mtime_ns, one.ctime_ns, one.inode, one.content_hash,
            one.state, _clean(one.reason), one.flags, one.indexed_ns, one.dated, one.dated_by, one.chunks,
            facets,
            _clean(one.counts), _clean(one.hit_facets), one.made_by, one.checked_ns,
            is_called_after_its_folder(one.path), one.name_id, _clean(one.names), _clean(one.name_lines),
            one.first_row,
        )  # fmt: skip


_STATISTICS = """
INSERT INTO stat
SELECT s.src, coalesce(c.chunks, 0), coalesce(c.tokens, 0), coalesce(c.hangul, 0), coalesce(v.vectors, 0),
  coalesce(d.names, 0), coalesce(n.tokens, 0), coalesce(d.docs, 0)
FROM source s
LEFT JOIN (SELECT src, count(*) AS chunks, sum(dl)::bigint AS tokens, count(*) FILTER (WHERE hangul) AS hangul
  FROM chunk GROUP BY src) c ON c.src = s.src
LEFT JOIN (SELECT src, count(*) AS vectors FROM vec WHERE part = 0 GROUP BY src) v ON v.src = s.src
LEFT JOIN (SELECT src, count(*) AS docs, count(*) FILTER (WHERE name_id > 0) AS names FROM doc GROUP BY src) d
  ON d.src = s.src
LEFT JOIN (SELECT src, sum(dl)::bigint AS tokens FROM (SELECT DISTINCT src, row, dl FROM name_post) p GROUP
BY src) n
  ON n.src = s.src
"""


def _drop_policies(name: str) -> str:
    """Rights may have been given by an attempt before."""
    return "".join(
        f"DROP POLICY IF EXISTS granted ON {name}.{table};\n" for table in (*schema.SECURED, "source")
    )


def path_key(path: str) -> str:
    """A path, or a pattern for paths, without case; of the same length, so that `?` is one character."""
    if path.isascii():
        return path.lower()
    return "".join(lower if len(lower := one.lower()) == 1 else one for one in path)


def _by_text(tokens: Tokens) -> Iterator[tuple[int, str, dict[str, list[int]]]]:
    for (number, term), places in sorted(tokens.places.items(), key=lambda one: one[0][1]):
        yield number, term, places


def _counts(places: dict[str, list[int]], columns: dict[str, str]) -> tuple[int, int, int, int]:
    found = {columns[column]: min(len(each), _MOST_COUNT) for column, each in places.items()}
    return found.get("h", 0), found.get("x", 0), found.get("t", 0), found.get("g", 0)


def _positions(places: dict[str, list[int]], bases: dict[str, int]) -> list[int]:
    return sorted(bases[column] + one for column, each in places.items() for one in each)


def _clean(value: Any) -> Any:
    """PostgreSQL stores no NUL character; its picture is what the screen shows for it anyway."""
    return value.replace("\0", "\u2400") if isinstance(value, str) and "\0" in value else value


def _digest(text: str) -> int:
    return _digest_bytes(text.encode())


def _digest_bytes(data: bytes) -> int:
    return int(md5(data, usedforsecurity=False).hexdigest()[:12], 16)
