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
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b, md5
from struct import Struct, pack
from typing import Any, TypeVar

import psycopg

from kebab_tui.domain.errors import NotIndexedError, SourceError, StoreBusyError, StoreError, UsageError
from kebab_tui.domain.facets import FACETS, comparable, fold
from kebab_tui.domain.names import is_called_after_its_folder
from kebab_tui.storage.ports import CopyProgress, Published
from kebab_tui.storage.postgres import schema
from kebab_tui.storage.postgres.address import Parameters, location_of, parameters_of, shard_parameters
from kebab_tui.storage.postgres.cluster import connect, hint_of, reason_of, translated
from kebab_tui.storage.sqlite.export import Export, ExportedChunk, ExportedDocument, TermPlaces, Tokenizer

MOST_SHARDS = 256
EXACT_UP_TO = 150_000
"""Vectors on one server that are searched exactly; more get an HNSW index."""
_BATCH = 4096
_TIMEOUT_S = 30.0
_MOST_COUNT = 32_767
_COPY_POSTINGS = "COPY {}(row, dl, at, src, x, htg, term, places) FROM STDIN"
_SIZES = {"int": 4, "bigint": 8}
"""Bytes of a row number, by its type."""
_Result = TypeVar("_Result")
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
class CopyFacts:
    """What is known of a copy, stored with it. The counts are for roles that may read every source."""

    revision: int
    lexical_version: str
    signature: str
    made_by: str
    model: str | None
    fingerprint: str
    dims: int
    published_ns: int = 0
    approximate: bool = False
    documents: int = 0
    failed: int = 0
    skipped: int = 0
    chunks: int = 0
    words: int = 0
    private: int = 0

    @property
    def of_all_sources(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in schema.TOTALS}

    @property
    def public(self) -> dict[str, Any]:
        """What every reader needs."""
        return {name: value for name, value in asdict(self).items() if name not in schema.TOTALS}


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
        reason = reason_of(error)
        hint = hint_of(reason) or "is the server running?"
        raise StoreError(f"cannot connect to {place}: {reason}", hint) from None
    try:
        with connection:
            own = connection.execute("SELECT pg_backend_pid()").fetchone()
            if own is None or own[0] != connection.info.backend_pid:
                raise StoreError(f"{place} is a connection pooler", "name the server itself to publish there")
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
        self._row = "int" if export.last_row() < 1 << 31 else "bigint"

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
        facts = CopyFacts(
            export.revision, export.lexical_version, export.signature, export.made_by,
            self._options.model or None, self._options.fingerprint, self._options.dims,
            private=len(private),
        )  # fmt: skip
        identity = self._identity(facts, files)
        published = first.execute(
            "SELECT g.no, g.identity, g.nodes, g.facts, t.facts FROM kebab.published p "
            "JOIN kebab.generation g ON g.no = p.generation LEFT JOIN kebab.total t ON t.generation = g.no"
        ).fetchone()
        if published and published[1] == identity and published[2] == self._places:
            self._grant()
            known = CopyFacts(**json.loads(published[3]), **json.loads(published[4] or "{}"))
            return self._report(known, start, unchanged=True)
        number, resumed = self._generation(identity, facts)
        self._load(resumed)
        facts = self._complete(facts)
        self._switch(number, facts)
        return self._report(facts, start, resumed=len(resumed))

    def _report(
        self, facts: CopyFacts, start: float, *, unchanged: bool = False, resumed: int = 0
    ) -> Published:
        return Published(
            self._places[0], facts.revision, facts.documents, facts.chunks, facts.private, len(self._servers),
            time.monotonic() - start, unchanged, resumed,
        )  # fmt: skip

    def _identity(self, facts: CopyFacts, files: Sequence[tuple[str, bytes, bytes]]) -> str:
        """Names the content of a copy: one that was interrupted goes on only with the same."""
        digest = blake2b(digest_size=16)
        stamp = self._export.stamp()
        for part in (asdict(facts), stamp, sorted(self._private), self._options.hnsw, schema.SCHEMA_VERSION):
            digest.update(json.dumps(part, sort_keys=True).encode())
        for doc, _, path in files:
            digest.update(doc.encode() + path)
        return digest.hexdigest()

    # A copy

    def _generation(self, identity: str, facts: CopyFacts) -> tuple[int, set[int]]:
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
        values = [number, identity, self._places, self._buckets, json.dumps(facts.public)]
        self._number_sources()
        for connection, place in zip(self._connections, self._places, strict=True):
            with _errors(place), connection.transaction():
                connection.execute(f"CREATE SCHEMA {self._schema}".encode())
                self._use(connection, local=True)
                values_of = {"{schema}": self._schema, "{dims}": str(max(1, facts.dims)), "{row}": self._row}
                tables = schema.TABLES
                for name, value in values_of.items():
                    tables = tables.replace(name, value)
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
        """Send the buckets. One thread sends while this one prepares what comes next."""
        for connection in self._connections:
            self._use(connection)
            connection.execute("SET synchronous_commit = off")
        sent = len(done)
        self._options.progress(CopyProgress(sent, schema.BUCKETS))
        with _Sender() as sender:
            for bucket in range(schema.BUCKETS):
                if bucket in done:
                    continue
                self._stop_if_cancelled()
                node = self._buckets[bucket]
                sender.use(self._connections[node], self._places[node])
                self._load_bucket(sender, bucket)
                self._options.progress(CopyProgress(sent + sender.committed, schema.BUCKETS))
        self._options.progress(CopyProgress(schema.BUCKETS, schema.BUCKETS))
        for connection in self._connections:  # the next commit makes all of this durable
            connection.execute("RESET synchronous_commit")

    def _load_bucket(self, sender: _Sender, bucket: int) -> None:
        first, end = f"{bucket:02x}", f"{bucket + 1:02x}" if bucket + 1 < schema.BUCKETS else "g"
        documents = [one for one in self._export.documents(first, end) if one.doc_id not in self._private]
        source_of = {one.doc_id: self._src[one.source_id] for one in documents}
        loaded = _Loaded()
        lines = [_line(loaded.document(one, source_of[one.doc_id])) for one in documents]
        sender.copy(f"COPY doc({_DOC_COLUMNS}) FROM STDIN", lines)
        self._copy_facets(sender, first, end, source_of, loaded)
        named = [one for one in documents if one.name_id]
        tokens = self._tokenizer.names([(one.name_lines, one.name_grams) for one in named], schema.NAME_BASES)
        ids = [(one.name_id, source_of[one.doc_id]) for one in named]
        sender.copy(_COPY_POSTINGS.format("name_posting"), _postings(tokens, ids)[0])
        words: Counter[tuple[int, str, str]] = Counter()
        batch: list[ExportedChunk] = []
        for chunk in self._export.chunks(first, end, self._options.fingerprint):
            if chunk.doc_id in source_of:
                batch.append(chunk)
            if len(batch) == _BATCH:
                self._copy_chunks(sender, batch, source_of, loaded, words)
                batch = []
        if batch:
            self._copy_chunks(sender, batch, source_of, loaded, words)
        seen = [_line((bucket, *word, number)) for word, number in words.items()]
        sender.copy("COPY bucket_word FROM STDIN", seen)
        sender.commit(f"INSERT INTO loaded VALUES ({', '.join(map(str, (bucket, *loaded.values)))})")

    def _copy_facets(
        self, sender: _Sender, first: str, end: str, source_of: dict[str, int], loaded: _Loaded
    ) -> None:
        columns = "doc_id, src, ordinal, kind, folded, value, line, target, extra, number, compared"
        lines = []
        for doc, ordinal, kind, folded, value, *rest in self._export.facets(first, end):
            if doc not in source_of:
                continue
            number: float | None = None
            compared: str | None = None
            if kind in FACETS and FACETS[kind].compared:
                found = comparable(folded.partition("=")[2])
                number, compared = (found, None) if isinstance(found, float) else (None, found)
            lines.append(_line((doc, source_of[doc], ordinal, kind, folded, value, *rest, number, compared)))
        sender.copy(f"COPY facet({columns}) FROM STDIN", lines)
        loaded.facets += len(lines)

    def _copy_chunks(
        self,
        sender: _Sender,
        chunks: Sequence[ExportedChunk],
        source_of: dict[str, int],
        loaded: _Loaded,
        words: Counter[tuple[int, str, str]],
    ) -> None:
        texts = [(one.heading_path, one.text, one.title, one.grams) for one in chunks]
        tokens = self._tokenizer.passages(texts, schema.BASES)
        columns = (
            "row, src, chunk_id, doc_id, ordinal, kind, heading_path, heading_folded, text, line_first, "
            "line_last, page, title, embed_hash, hangul, dl"
        )
        lines = []
        for one, length in zip(chunks, tokens.lengths, strict=True):
            heading, text, title = _clean(one.heading_path), _clean(one.text), _clean(one.title)
            lines.append(_line(
                (one.row, source_of[one.doc_id], one.chunk_id, one.doc_id, one.ordinal, one.kind, heading,
                 fold(one.heading_path), text, one.line_first, one.line_last, one.page, title,
                 one.embed_hash, bool(one.hangul), length)
            ))  # fmt: skip
            loaded.chunk_sum += _digest(one.chunk_id + heading + text + title)
        sender.copy(f"COPY chunk({columns}) FROM STDIN", lines)
        loaded.chunks += len(chunks)
        lines, total = _postings(tokens, [(one.row, source_of[one.doc_id]) for one in chunks])
        sender.copy(_COPY_POSTINGS.format("posting"), lines)
        loaded.posts += len(lines)
        loaded.post_sum += total
        self._copy_vectors(sender, chunks, source_of, loaded)
        by_source: dict[int, list[str]] = {}
        for one in chunks:
            by_source.setdefault(source_of[one.doc_id], []).append(
                f"{one.title} {one.heading_path} {one.text}"
            )
        for src, found in by_source.items():
            for word, stem, seen in self._tokenizer.words(found):
                words[src, word, stem] += seen

    def _copy_vectors(
        self, sender: _Sender, chunks: Sequence[ExportedChunk], source_of: dict[str, int], loaded: _Loaded
    ) -> None:
        from kebab_tui.vectors.segment import decoded, rows_of

        embedded = [one for one in chunks if one.vector]
        if not embedded or not self._options.dims:
            return
        dims = self._options.dims
        by_row = {one.row: one for one in embedded}
        rows, codes, _ = decoded(rows_of(list(by_row)), [one.vector or b"" for one in embedded], dims)
        head = pack(">hh", dims, 0)
        layout = Struct(">hiqihihi?i" if self._row == "bigint" else ">hiiihihi?i")
        parts: Counter[int] = Counter()
        sent = [b"PGCOPY\n\xff\r\n\0" + pack(">ii", 0, 0)]
        for row, code in zip(rows.tolist(), codes.astype(">f2"), strict=True):
            one = by_row[row]
            vector = head + code.tobytes()
            fields = (5, _SIZES[self._row], row, 2, parts[row], 2, source_of[one.doc_id], 1, bool(one.hangul))
            sent += layout.pack(*fields, len(vector)), vector
            parts[row] += 1
            loaded.vec_sum += _digest_bytes(vector)
        loaded.vecs += len(codes)
        sender.copy("COPY vec FROM STDIN (FORMAT binary)", [*sent, pack(">h", -1)])
        several = [
            _line((row, source_of[by_row[row].doc_id], by_row[row].vector))
            for row, number in parts.items()
            if number > 1
        ]
        sender.copy("COPY embedded FROM STDIN", several)

    # Its end

    def _complete(self, facts: CopyFacts) -> CopyFacts:
        """Build indexes and statistics on all servers at once, and check what arrived."""
        self._stop_if_cancelled()
        totals = self._on_each(self._index)
        self._stop_if_cancelled()
        words = self._gather_words()
        approximate = facts.dims > 0 and (
            self._options.hnsw or max(one["vectors"] for one in totals) > EXACT_UP_TO
        )
        self._on_each(lambda connection, _: self._finish(connection, approximate))
        total = sum(totals, Counter[str]())
        return replace(
            facts, published_ns=time.time_ns(), documents=total["documents"], failed=total["failed"],
            skipped=total["skipped"], chunks=total["chunks"], words=words, approximate=approximate,
        )  # fmt: skip

    def _on_each(self, work: Callable[[psycopg.Connection[Any], str], _Result]) -> list[_Result]:
        def guarded(connection: psycopg.Connection[Any], place: str) -> _Result:
            with _errors(place):
                return work(connection, place)

        with ThreadPoolExecutor(len(self._servers), "kebab-publish") as threads:
            return list(threads.map(guarded, self._connections, self._places))

    def _index(self, connection: psycopg.Connection[Any], place: str) -> Counter[str]:
        self._use(connection)
        connection.execute(_ROOM_FOR_INDEXES)
        indexed = connection.execute(
            "SELECT count(*) FROM pg_indexes WHERE schemaname = %s AND tablename = 'posting'", [self._schema]
        ).fetchone()
        if not (indexed and indexed[0]):
            with connection.transaction():
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
        names = ("vectors", "chunks", "documents", "failed", "skipped")
        return Counter(dict(zip(names, row, strict=True)))

    def _finish(self, connection: psycopg.Connection[Any], approximate: bool) -> None:
        if approximate:
            connection.execute(b"CREATE INDEX IF NOT EXISTS vec_hnsw ON vec USING hnsw (emb halfvec_ip_ops)")
        with connection.transaction():
            connection.execute(f"{_drop_policies(self._schema)}{schema.rights(self._schema)}".encode())
        connection.execute(b"TRUNCATE bucket_word")
        for table in (*schema.SECURED, "source"):
            connection.execute(f"VACUUM (ANALYZE) {table}".encode())

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

    def _switch(self, number: int, facts: CopyFacts) -> None:
        """One statement on the first server makes all readers use the copy; the one before the last goes."""
        for connection, place in reversed(list(zip(self._connections, self._places, strict=True))):
            with _errors(place), connection.transaction():
                connection.execute(
                    "UPDATE kebab.generation SET state = 'ready', ended = now(), facts = %s WHERE no = %s",
                    [json.dumps(facts.public), number],
                )
                connection.execute(
                    "INSERT INTO kebab.total VALUES (%s, %s) ON CONFLICT (generation) DO UPDATE "
                    "SET facts = excluded.facts",
                    [number, json.dumps(facts.of_all_sources)],
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


_ROOM_FOR_INDEXES = (
    "SELECT set_config('maintenance_work_mem', '256MB', false) WHERE "
    "pg_size_bytes(current_setting('maintenance_work_mem')) < pg_size_bytes('256MB')"
)
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


class _Sender:
    """Sends what it is given in its own thread, in order. Keeps few parts waiting, for memory."""

    _MOST_WAITING = 4

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(1, "kebab-publish")
        self._waiting: deque[Future[None]] = deque()
        self._connection: psycopg.Connection[Any] | None = None
        self._place = ""
        self._began = self._failed = False
        self.committed = 0

    def __enter__(self) -> _Sender:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            while self._waiting and kind is None:
                self._wait()
        finally:
            self._threads.shutdown()
            if self._began and self._connection is not None:  # else its end would commit half a bucket
                with contextlib.suppress(psycopg.Error):
                    self._connection.rollback()

    def use(self, connection: psycopg.Connection[Any], place: str) -> None:
        self._connection, self._place = connection, place

    def copy(self, statement: str, lines: Sequence[bytes] | Sequence[str]) -> None:
        """Send lines of text, or bytes, in the present transaction."""
        if lines:
            self._send(statement, "".join(lines).encode() if isinstance(lines[0], str) else b"".join(lines))  # type: ignore[arg-type]

    def commit(self, statement: str) -> None:
        """End the transaction with a statement."""
        self._send(statement, None)

    def _send(self, statement: str, data: bytes | None) -> None:
        connection, place = self._connection, self._place
        assert connection is not None

        def send() -> None:
            if self._failed:  # what comes after it would begin in the middle
                return
            try:
                with _errors(place):
                    self._execute(connection, statement, data)
            except BaseException:
                self._failed = True
                raise

        while len(self._waiting) >= self._MOST_WAITING:
            self._wait()
        self._waiting.append(self._threads.submit(send))

    def _execute(self, connection: psycopg.Connection[Any], statement: str, data: bytes | None) -> None:
        if not self._began:
            connection.execute("BEGIN")
            self._began = True
        if data is not None:
            with connection.cursor().copy(statement.encode()) as copy:
                copy.write(data)
            return
        connection.execute(statement.encode())
        connection.execute("COMMIT")
        self._began = False
        self.committed += 1

    def _wait(self) -> None:
        self._waiting.popleft().result()


def _postings(tokens: TermPlaces, texts: Sequence[tuple[int, int]]) -> tuple[list[str], int]:
    """Lines for COPY, and the sum that a server computes of them. `texts`: the row and source of each."""
    heads = [
        (f"{row}\t{length}\t", row + 11 * length, src)
        for (row, src), length in zip(texts, tokens.lengths, strict=True)
    ]
    lines, total, last, escaped, size = [], 0, "", "", 0
    for term, number, places in tokens.postings:
        if term != last:
            last, escaped, size = term, _escaped(term), len(term.encode())
        head, weight, src = heads[number]
        if len(places) == 1:
            at = places[0]
            x, htg = _ONCE[at >> _FIELD_BITS]
            lines.append(f"{head}{at}\t{src}\t{x}\t{htg}\t{escaped}\t\\N\n")
            total += weight + 3 * x + 5 * htg + size + at
            continue
        places.sort()
        if places[0] >> _FIELD_BITS == _TEXT == places[-1] >> _FIELD_BITS:
            x, htg = min(len(places), _MOST_COUNT), 0
        else:
            x, htg = _counts(places)
        several = ",".join(map(str, places))
        lines.append(f"{head}{places[0]}\t{src}\t{x}\t{htg}\t{escaped}\t{{{several}}}\n")
        total += weight + 3 * x + 5 * htg + size + sum(places)
    return lines, total


def _counts(places: Sequence[int]) -> tuple[int, int]:
    """How often a word stands in the text, and the bits of `htg`."""
    found = Counter(_LETTERS[one >> _FIELD_BITS] for one in places)
    return min(found["x"], _MOST_COUNT), sum(
        min(found[letter], most) << place for letter, most, place in schema.MOST_COUNTS
    )


def _line(values: Sequence[Any]) -> str:
    """A row as COPY reads it."""
    return (
        "\t".join([value if type(value) is str and value.isalnum() else _field(value) for value in values])
        + "\n"
    )


def _field(value: Any) -> str:
    if value is None:
        return "\\N"
    if isinstance(value, str):
        return _escaped(_clean(value))
    if isinstance(value, bytes):
        return "\\\\x" + value.hex()
    return str(value)


def _escaped(text: str) -> str:
    if "\\" in text:
        text = text.replace("\\", "\\\\")
    return text if text.isprintable() else text.translate(_ESCAPES)


def _clean(value: Any) -> Any:
    """PostgreSQL stores no NUL character; its picture is what the screen shows for it anyway."""
    return value.replace("\0", "\u2400") if isinstance(value, str) and "\0" in value else value


def _digest(text: str) -> int:
    return _digest_bytes(text.encode())


def _digest_bytes(data: bytes) -> int:
    return int(md5(data, usedforsecurity=False).hexdigest()[:12], 16)


_ESCAPES = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})
_FIELD_BITS = schema.FIELD_STEP.bit_length() - 1
_LETTERS = {schema.BASES[name] >> _FIELD_BITS: letter for name, letter in schema.COUNTS.items()}
_TEXT = schema.BASES["text"] >> _FIELD_BITS
_ONCE = {field: _counts([field << _FIELD_BITS]) for field in _LETTERS}
"""`x` and `htg` of a word that stands once, by its field."""
