"""The one writer: turns changes into committed rows.

Every call is one transaction: documents, chunks, full text, words, change log and
revision move together or not at all. Few new chunks are indexed by the triggers; many
by one statement, with the insert trigger dropped and made again *inside the same
transaction* (a trigger costs 2.5x), so a kill at any moment leaves either the state
before or the state after. Used by one thread, which holds the writer's lock.
"""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from kebab_tui.domain.document import Source, SourceState
from kebab_tui.domain.errors import TEMPORARY, NotFoundError
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.text import RECIPE_VERSION
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite import recovery, rows, schema, vocabulary
from kebab_tui.storage.sqlite.batch import UNSTORABLE, Applied, Batch, Change
from kebab_tui.storage.sqlite.checksum import PageChecksums, generation_of
from kebab_tui.storage.sqlite.connection import open_writer, translated
from kebab_tui.storage.sqlite.recovery import full_text_complaint

# Full text that speaks of passages which are gone: kept until it is merged away.
#
# FTS5 merges as it grows, but what was taken away goes on being read at every search: when
# four fifths of 100,000 passages had been replaced three times, a search took 5.2 ms instead
# of 3.1; merged, 2.9. The number of rows taken away since the last merge stands in `meta`.

_GONE = "gone_from_full_text"
_ENOUGH = 500
"""Below this no search feels it."""
_SHARE = 5
"""Nor while fewer than one in so many rows is gone."""
_PAGES = 64
"""How much one step merges: some 5 ms, at most 50, for which a saved note waits."""


def note_gone(connection: sqlite3.Connection, rows: int) -> None:
    if rows:
        connection.execute(
            "INSERT INTO meta(key, value) VALUES (?1, ?2) "
            "ON CONFLICT(key) DO UPDATE SET value = value + excluded.value",
            (_GONE, rows),
        )


def is_due(connection: sqlite3.Connection) -> bool:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_GONE,)).fetchone()
    gone = row[0] if row else 0
    if gone < _ENOUGH:
        return False
    return bool(gone * _SHARE >= connection.execute("SELECT count(*) FROM chunks").fetchone()[0])


def merge_step(connection: sqlite3.Connection, *, first: bool) -> bool:
    """One step of the merge, within a transaction; whether nothing is left to be done.

    The first one takes in all there is; a merge that was cut short begins with such a step again.
    """
    before = connection.total_changes
    connection.execute(
        "INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('merge', ?)", (-_PAGES if first else _PAGES,)
    )
    if connection.total_changes - before >= 2:  # FTS5 documents: fewer say that there was nothing to do
        return False
    forget(connection)
    return True


def forget(connection: sqlite3.Connection) -> None:
    """The full text speaks of nothing but what is there."""
    connection.execute("DELETE FROM meta WHERE key = ?", (_GONE,))


_KEPT_REVISIONS = 5_000
_KEPT_RUNS = 100
_TAKEN_AT_ONCE = 4_096


class Writer:
    """Owns the writing connection."""

    def __init__(self, folder: DataFolder, bulk_chunks: int = 2000) -> None:
        self._folder = folder
        self._bulk_chunks = bulk_chunks
        self._seal = PageChecksums(folder)
        self._seal.take_off()
        self._may_need_merging = True
        try:
            self._connection = open_writer(folder.database)
        except BaseException:
            self._seal.put_back()
            raise
        try:
            self._seal.note_log()
            self._prepare()
        except BaseException:
            self.close(sealing=False)
            raise

    def _prepare(self) -> None:
        with translated(self._folder.database):
            vocabulary.prepare(self._connection)
            self._revision()
            if self._meta("fts_signature") != schema.fts_signature():
                self.rebuild_full_text()
            if self._meta("embed_recipe") != RECIPE_VERSION:
                self._rename_vectors()

    def close(self, *, sealing: bool = True) -> None:
        """`sealing`: what was written is known to be sound."""
        folded_in, changed, generation = False, None, (0, 0)
        try:
            if sealing:
                changed, generation = self._seal.changed_pages(), generation_of(self._connection)
                folded_in = self._fold_log_in()
        except sqlite3.Error:
            pass  # left as it is, and without a seal
        finally:
            self._connection.close()
        if folded_in:
            self._seal.put_on(changed, generation)
        else:
            self._seal.leave_off()

    def _fold_log_in(self) -> bool:
        """Whether all of the log is in the database now: a reader may need the older pages."""
        try:
            self._connection.execute("PRAGMA busy_timeout = 0")
            is_busy, _, _ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error:
            return False
        return not is_busy

    def is_new(self) -> bool:
        """Whether nothing was ever written to this database."""
        with translated(self._folder.database):
            return self._revision() == 0

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Commit all of `changes` as one revision. A note that cannot be stored becomes a failed one."""
        with self._transaction() as connection:
            try:
                batch = Batch(connection, self._revision() + 1)
                for change in changes:
                    batch.take(change)
                return self._finish(batch)
            except UNSTORABLE:
                connection.execute("ROLLBACK")
                connection.execute("BEGIN IMMEDIATE")
                return self._apply_one_by_one(connection, changes)

    def _apply_one_by_one(self, connection: sqlite3.Connection, changes: Sequence[Change]) -> Applied:
        """The same, each change in a savepoint of its own: slower, but what goes wrong is known."""
        revision = self._revision() + 1
        parts: list[Applied] = []
        failed: dict[int, str] = {}
        for place, change in enumerate(changes):
            connection.execute("SAVEPOINT change")
            batch = Batch(connection, revision)
            try:
                batch.take(change)
                parts.append(self._finish(batch))
            except UNSTORABLE as error:
                connection.execute("ROLLBACK TO change")
                failed[place] = rows.storable(f"could not be stored ({type(error).__name__}: {error})")
                batch = Batch(connection, revision)
                batch.fail(change, failed[place])
                parts.append(self._finish(batch))
            connection.execute("RELEASE change")
        return Applied(
            max((part.revision for part in parts), default=revision - 1),
            sum(part.chunks_added for part in parts),
            sum(part.chunks_removed for part in parts),
            sum(part.chunks_kept for part in parts),
            tuple(counts for part in parts for counts in part.each),
            failed,
        )

    def _finish(self, batch: Batch) -> Applied:
        applied = batch.finish(self._bulk_chunks)
        self._note_gone(batch.left_behind)
        if batch.visible:
            self._set_meta("corpus_revision", applied.revision)
            self._prune(applied.revision)
        return applied

    def save_source(self, source: Source) -> None:
        """Add a source or change what is known of it; its notes stay."""
        self.save_sources((source,))

    def save_sources(self, sources: Sequence[Source]) -> None:
        """All or none: a list that is half restored would be mirrored, and the other half lost."""
        now = time.time_ns()
        with self._transaction() as connection:
            connection.executemany(
                "INSERT INTO sources(source_id, title, root, description, include, exclude, trust, rules, "
                "version_label, weight, state, added_ns) VALUES (?,?,?,?,?,?,?,?,?,?,'new',?) "
                "ON CONFLICT(source_id) DO UPDATE SET title = excluded.title, root = excluded.root, "
                "description = excluded.description, include = excluded.include, exclude = excluded.exclude, "
                "trust = excluded.trust, rules = excluded.rules, version_label = excluded.version_label, "
                "weight = excluded.weight",
                [(*rows.source_values(source), now + place) for place, source in enumerate(sources)],
            )
            self._bump()
        self.mirror_sources()

    def set_made_by(self, made_by: str) -> None:
        """Remember that every note now stands as this parser and chunker make it."""
        with translated(self._folder.database):
            before = self._meta("made_by")
        if before != made_by:
            with self._transaction():
                self._set_meta("made_by", made_by)
                if before is not None:
                    self._bump()  # open screens ask again: their answers say that the index is stale

    def set_source_state(self, source: SourceId, state: SourceState, root_id: str = "") -> None:
        """Remember how the folder was found; `root_id` names the very folder that was read."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE sources SET state = ?1, root_id = CASE WHEN ?2 = '' THEN root_id ELSE ?2 END "
                "WHERE source_id = ?3",
                (state, root_id, source),
            )

    def remove_source(self, source: SourceId) -> None:
        """Forget a source and its notes; the files are not touched."""
        with self._transaction() as connection:
            if connection.execute("SELECT 1 FROM sources WHERE source_id = ?", (source,)).fetchone() is None:
                raise NotFoundError(f"there is no source named {source}", "see `kebab source list`")
            self._bump()
            removed = connection.execute(
                "INSERT INTO changes(revision, chunk, op) SELECT ?, c.id, 'remove' FROM chunks c "
                "JOIN documents d USING (doc_id) WHERE d.source_id = ?",
                (self._revision(), source),
            )
            self._note_gone(removed.rowcount)
            connection.execute("DELETE FROM sources WHERE source_id = ?", (source,))
        self.mirror_sources()

    def save_vectors(self, model: str, vectors: Sequence[tuple[bytes, bytes]]) -> int:
        """Keep (text hash, fp16 vector) pairs made by a model; gives the new revision."""
        with self._transaction() as connection:
            self._bump()
            revision = self._revision()
            connection.executemany(
                "INSERT OR IGNORE INTO embeddings(text_hash, model, vector) VALUES (?, ?, ?)",
                [(text_hash, model, vector) for text_hash, vector in vectors],
            )
            connection.executemany(
                "INSERT OR IGNORE INTO changes(revision, chunk, op) "
                "SELECT ?, id, 'vector' FROM chunks WHERE embed_hash = ?",
                [(revision, text_hash) for text_hash, _ in vectors],
            )
            self._prune(revision)
        return revision

    def take_over(self, vectors: Iterable[tuple[bytes, str, bytes]]) -> None:
        """Keep (text hash, model, vector) of an index before this one; their texts are still to be read."""
        rest = iter(vectors)
        while part := list(itertools.islice(rest, _TAKEN_AT_ONCE)):
            with self._transaction() as connection:
                connection.executemany(
                    "INSERT OR IGNORE INTO embeddings(text_hash, model, vector) VALUES (?, ?, ?)", part
                )

    def forget_vectors(self, model: str | None = None) -> int:
        """Drop vectors that no chunk uses, or all that a model made; gives how many went."""
        unused = "text_hash NOT IN (SELECT embed_hash FROM chunks)"
        with self._transaction() as connection:
            if model is None:
                return connection.execute(f"DELETE FROM embeddings WHERE {unused}").rowcount
            self._begin_log_anew()
            return connection.execute("DELETE FROM embeddings WHERE model = ?", (model,)).rowcount

    def use_model(self, model: str) -> None:
        """Remember which model answers from now on."""
        with self._transaction():
            self._set_meta("model", model)
            self._bump()

    def record_run(self, kind: str, started_ns: int, report: str) -> None:
        """Remember what an ingest or an embedding did, for `index --status` and for estimates."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO runs(kind, started_ns, finished_ns, report) VALUES (?,?,?,?)",
                (kind, started_ns, time.time_ns(), report),
            )
            connection.execute(
                "DELETE FROM runs WHERE run_id <= (SELECT max(run_id) FROM runs) - ?", (_KEPT_RUNS,)
            )

    def rebuild_full_text(self) -> None:
        """Make grams, full-text index and words anew from the chunks; the same however often."""
        with self._transaction() as connection:
            for trigger in ("chunks_ai", "chunks_ad", "chunks_au"):
                connection.execute(f"DROP TRIGGER IF EXISTS {trigger}")
            connection.execute("DROP TABLE IF EXISTS chunks_fts")
            connection.execute("UPDATE chunks SET grams = kebab_grams(title, heading_path, text)")
            connection.execute(schema.FTS_TABLE)
            for statement in (schema.INSERT_TRIGGER, schema.DELETE_TRIGGER, schema.UPDATE_TRIGGER):
                connection.execute(statement)
            connection.execute(
                "INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('hashsize', ?)", (schema.FTS_HASH_BYTES,)
            )
            connection.execute("INSERT INTO chunks_fts(chunks_fts) VALUES ('rebuild')")
            vocabulary.relearn(connection)
            forget(connection)
            self._set_meta("fts_signature", schema.fts_signature())
            self._bump()

    def mend_full_text(self) -> None:
        """Make the full text anew if it does not agree with the chunks."""
        if full_text_complaint(self._connection):
            self.rebuild_full_text()

    def merge_full_text(self, cancelled: Callable[[], bool] = lambda: False) -> None:
        """Rid the full text of what is gone, once that is much; asks only when something went since."""
        if not self._may_need_merging:
            return
        try:
            self._merge_full_text(cancelled)
        except TEMPORARY:
            self._may_need_merging = False  # till next time: nothing is wrong without

    def _merge_full_text(self, cancelled: Callable[[], bool]) -> None:
        with translated(self._folder.database):
            self._may_need_merging = is_due(self._connection)
        first = True
        while self._may_need_merging and not cancelled():
            with self._transaction() as connection:
                self._may_need_merging = not merge_step(connection, first=first)
            first = False

    def mirror_sources(self) -> None:
        """Bring the copy of the list of sources in step; a kill can part them."""
        with translated(self._folder.database):
            sources = self._sources()
        if recovery.examine(self._folder.sources) != (sources, ""):
            recovery.write(self._folder.sources, sources)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with translated(self._folder.database):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
                self._seal.note_commit()
            except BaseException:
                # A full disk rolls back by itself; a second rollback would hide the first error.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _note_gone(self, chunks: int) -> None:
        note_gone(self._connection, chunks)
        self._may_need_merging = self._may_need_merging or chunks > 0

    def _revision(self) -> int:
        return int(self._meta("corpus_revision") or 0)

    def _bump(self) -> None:
        self._set_meta("corpus_revision", self._revision() + 1)

    def _meta(self, key: str) -> str | int | None:
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def _set_meta(self, key: str, value: str | int) -> None:
        self._connection.execute(
            "INSERT INTO meta(key, value) VALUES (?, ?) "
            "ON CONFLICT(key) DO UPDATE SET value = excluded.value",
            (key, value),
        )

    def _prune(self, revision: int) -> None:
        """Forget changes that no follower can still be waiting for."""
        if revision % 500 == 0:
            floor = max(revision - _KEPT_REVISIONS, int(self._meta("changes_after") or 0))
            self._connection.execute("DELETE FROM changes WHERE revision <= ?", (floor,))
            self._set_meta("changes_after", floor)

    def _rename_vectors(self) -> None:
        """The text that models read has changed its form: vectors get other names, and are made anew."""
        with self._transaction() as connection:
            connection.execute("UPDATE chunks SET embed_hash = kebab_embedded(title, heading_path, text)")
            self._set_meta("embed_recipe", RECIPE_VERSION)
            self._begin_log_anew()

    def _begin_log_anew(self) -> None:
        """What happened to the vectors stands in no log: whoever follows it makes everything anew."""
        self._bump()
        self._set_meta("changes_after", self._revision())

    def _sources(self) -> list[Source]:
        """In the order they were added, without what the notes tell of them."""
        statement = f"SELECT {rows.SOURCE_COLUMNS} FROM sources s ORDER BY added_ns"
        return [replace(rows.to_source(row), state="new") for row in self._connection.execute(statement)]
