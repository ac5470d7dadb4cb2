"""The one writer: turns changes into committed rows.

Every call is one transaction: documents, chunks, full text, words, change log and revision change
together or not at all. The triggers index a few new chunks; one statement indexes many, with the
insert trigger dropped and created again *in the same transaction* (a trigger costs 2.5x), so that
a kill leaves the state before or the state after. Used by one thread, which holds the writer's lock.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from kebab_tui.domain.change import Applied, Change, RemoveNote
from kebab_tui.domain.document import OtherFiles, Source, SourceState, SourceUse
from kebab_tui.domain.errors import TEMPORARY, NotFoundError, StoreError
from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.domain.text import PARTS_VERSION, RECIPE_VERSION
from kebab_tui.search.ports import FieldWeights
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite import first_load, recovery, rows, schema, top_lists, version_rows, vocabulary
from kebab_tui.storage.sqlite.batch import UNSTORABLE, Batch
from kebab_tui.storage.sqlite.checksum import PageChecksums, generation_of
from kebab_tui.storage.sqlite.connection import meta_value, open_writer, translated
from kebab_tui.storage.sqlite.reader import VectorSource, complete_key
from kebab_tui.storage.sqlite.statistics import collection_of

_OBSOLETE = "gone_from_full_text"
"""The key in `meta` of the number of rows that changed or went since the last merge.

FTS5 merges as it grows, but a search reads deleted rows until they are merged away: after four
fifths of 100,000 passages had been replaced three times, a search took 5.2 ms, merged 2.9 ms.
"""
_MERGE_ROWS = 500
"""Fewer deleted rows do not slow down a search."""
_MERGE_SHARE = 5
"""Nor does a smaller part than one in so many rows."""
_MERGE_PAGES = 64
"""Size of one merge step: about 5 ms, at most 50; a saved note waits that long."""
_SAVE_VECTORS = "INSERT INTO embeddings(text_hash, model, vector, parts_version) VALUES (?, ?, ?, ?)"
_KEPT_REVISIONS = 5_000
_KEPT_RUNS = 100
_VECTORS_AT_ONCE = 4_096
_NOTED_EVERY = 500
"""Revisions: a later one is noted when so many have followed."""


class StoreWriter:
    """Owns the writing connection and the page checksums."""

    def __init__(self, folder: DataFolder, bulk_chunks: int = 2000) -> None:
        self._folder = folder
        self._bulk_chunks = bulk_chunks
        self._seal = PageChecksums(folder)
        self._seal.remove()
        self._may_need_merging = self._may_need_lists = True
        self.weights = FieldWeights()
        """Those of the readers, for the top lists."""
        self._is_loading = False
        """Something was left out of a first load."""
        try:
            self._connection = open_writer(folder.database)
        except BaseException:
            self._seal.restore()
            raise
        try:
            self._seal.note_log()
            with translated(folder.database):
                vocabulary.prepare(self._connection)
                self._revision()
                self._is_loading = first_load.is_incomplete(self._connection)
                if meta_value(self._connection, "fts_signature") != schema.fts_signature():
                    self.rebuild_full_text()
                if meta_value(self._connection, "embed_recipe") != RECIPE_VERSION:
                    # The embedded text has another form: new hashes, and so new vectors.
                    with self._transaction() as connection:
                        connection.execute(
                            "UPDATE chunks SET embed_hash = kebab_embedded(title, heading_path, text)"
                        )
                        self._set_meta("embed_recipe", RECIPE_VERSION)
                        self._restart_log()
        except BaseException:
            self.close(sealing=False)
            raise

    def close(self, *, sealing: bool = True) -> None:
        """Close; `sealing`: fold in the log and write checksums, if no reader still needs older pages."""
        folded_in, changed, generation = False, None, (0, 0)
        try:
            if sealing:
                self.end_load()
                changed, generation = self._seal.changed_pages(), generation_of(self._connection)
                self._connection.execute("PRAGMA busy_timeout = 0")
                is_busy, _, _ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                folded_in = not is_busy
        except (sqlite3.Error, StoreError):
            pass  # the next writer folds it in
        finally:
            self._connection.close()
        if folded_in:
            self._seal.write(changed, generation)
        else:
            self._seal.discard()

    def is_new(self) -> bool:
        """Whether the database has had no commit yet."""
        with translated(self._folder.database):
            return self._revision() == 0

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Commit `changes` as one revision. A note that cannot be stored gets the state `failed`."""
        with self._transaction() as connection:
            try:
                batch = Batch(connection, self._revision() + 1)
                for change in changes:
                    batch.add(change)
                applied = self._finish(batch)
            except UNSTORABLE:
                connection.execute("ROLLBACK")
                connection.execute("BEGIN IMMEDIATE")
                applied = self._apply_one_by_one(connection, changes)
        if self._is_loading:
            with translated(self._folder.database):
                first_load.checkpoint_rarely(connection, self._folder.database)
        return applied

    def begin_load(self, files: int) -> None:
        """So many files follow: a first load leaves out what each commit would write again."""
        if first_load.is_first_load(self._connection, files):
            with self._transaction() as connection:
                first_load.leave_out(connection)
            first_load.prepare(self._connection)
            self._is_loading = True

    def end_load(self) -> None:
        """Make what was left out."""
        if self._is_loading:
            first_load.finish(self._connection)  # sorting needs the memory
            with self._transaction() as connection:
                first_load.complete(connection)
            self._is_loading = False

    def _apply_one_by_one(self, connection: sqlite3.Connection, changes: Sequence[Change]) -> Applied:
        """Apply each change in a separate savepoint: slower, but shows which one fails."""
        revision = self._revision() + 1
        parts: list[Applied] = []
        failed: dict[int, str] = {}
        for place, change in enumerate(changes):
            connection.execute("SAVEPOINT change")
            batch = Batch(connection, revision)
            try:
                batch.add(change)
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
        self._count_obsolete(batch.obsolete_rows)
        self._may_need_lists |= applied.chunks_added > 0
        if batch.visible:
            self._set_meta("corpus_revision", applied.revision)
            self._prune_log(applied.revision)
        return applied

    def save_sources(self, sources: Sequence[Source]) -> None:
        """Add or update sources, all or none: the copy of the list must never lose some of them."""
        now = time.time_ns()
        with self._transaction() as connection:
            connection.executemany(
                "INSERT INTO sources(source_id, title, root, description, include, exclude, trust, rules, "
                "version_label, weight, stars, code, use, state, added_ns) "
                "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,'new',?) "
                "ON CONFLICT(source_id) DO UPDATE SET title = excluded.title, root = excluded.root, "
                "description = excluded.description, include = excluded.include, exclude = excluded.exclude, "
                "trust = excluded.trust, rules = excluded.rules, version_label = excluded.version_label, "
                "weight = excluded.weight, stars = excluded.stars, code = excluded.code, "
                "use = excluded.use",
                [(*rows.source_values(source), now + place) for place, source in enumerate(sources)],
            )
            self._bump()
        self.mirror_sources()

    def set_made_by(self, made_by: str) -> None:
        """Record that this parser and chunker have processed every note."""
        with translated(self._folder.database):
            before = meta_value(self._connection, "made_by")
        if before != made_by:
            with self._transaction():
                self._set_meta("made_by", made_by)
                if before is not None:
                    self._bump()  # makes open screens search again: their results report a stale index

    def set_source_state(
        self, source: SourceId, state: SourceState, root_id: str = "", other_files: OtherFiles | None = None
    ) -> None:
        """Record the state of a source; `root_id` identifies the folder on disk."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE sources SET state = ?1, root_id = CASE WHEN ?2 = '' THEN root_id ELSE ?2 END "
                "WHERE source_id = ?3",
                (state, root_id, source),
            )
            if other_files is not None:
                self._set_meta(f"{rows.OTHER_FILES}{source}", rows.other_files_row(other_files))

    def set_source_use(self, source: SourceId, use: SourceUse) -> None:
        """Watch, pause or hide a source."""
        with self._transaction() as connection:
            changed = connection.execute("UPDATE sources SET use = ? WHERE source_id = ?", (use, source))
            if not changed.rowcount:
                raise NotFoundError(f"there is no source named {source}", "see `kebab source list`")
            self._bump()
        self.mirror_sources()

    def remove_source(self, source: SourceId) -> None:
        """Delete a source and its notes from the index, not from the disk."""
        with self._transaction() as connection:
            if connection.execute("SELECT 1 FROM sources WHERE source_id = ?", (source,)).fetchone() is None:
                raise NotFoundError(f"there is no source named {source}", "see `kebab source list`")
            self._bump()
            removed = connection.execute(
                "INSERT INTO changes(revision, chunk, op) SELECT ?, c.id, 'remove' FROM chunks c "
                "JOIN documents d USING (doc_id) WHERE d.source_id = ?",
                (self._revision(), source),
            )
            self._count_obsolete(removed.rowcount)
            connection.execute("DELETE FROM sources WHERE source_id = ?", (source,))
            connection.execute("DELETE FROM meta WHERE key = ?", (f"{rows.OTHER_FILES}{source}",))
        self.mirror_sources()

    def begin_version(self, version: SourceId, kept: Sequence[DocId]) -> list[DocId]:
        """Take all notes but `kept` from a version; returns those that no version has any more."""
        with self._transaction() as connection:
            version_rows.keep_only(connection, version, kept)
            self._bump()
            return version_rows.homeless(connection, version)

    def end_version(self, version: SourceId, notes: Sequence[tuple[DocId, str]]) -> None:
        """Record the notes of a version with their blobs, drop what no version has, and mark it indexed."""
        with self._transaction() as connection:
            version_rows.set_notes(connection, version, notes)
            batch = Batch(connection, self._revision() + 1)
            for doc in version_rows.homeless(connection, version):
                batch.add(RemoveNote(doc))
            self._finish(batch)
            connection.execute("UPDATE sources SET state = 'indexed' WHERE source_id = ?", (version,))
            self._bump()

    def remove_version(self, version: SourceId) -> None:
        """Delete a version; notes that others share stay."""
        self.begin_version(version, ())
        self.remove_source(version)

    def copy_vectors(self, location: str, model: str) -> int:
        """Take missing vectors of texts from the database at another location; returns their number."""
        if not os.path.isfile(location):
            return 0
        with translated(location):
            self._connection.execute("ATTACH ? AS other", (location,))
        try:
            with self._transaction() as connection:
                copied = version_rows.copy_vectors(connection, model)
                if copied:
                    self._restart_log()
                return copied
        finally:
            self._connection.execute("DETACH other")

    def save_vectors(self, model: str, vectors: Sequence[tuple[bytes, bytes]]) -> int:
        """Store (text hash, fp16 vectors) pairs of a model; returns the new revision."""
        self.end_load()
        with self._transaction() as connection:
            self._bump()
            revision = self._revision()
            connection.executemany(
                "INSERT OR IGNORE INTO changes(revision, chunk, op) "
                "SELECT ?, id, 'vector' FROM chunks WHERE embed_hash = ? AND NOT EXISTS "
                "(SELECT 1 FROM embeddings WHERE text_hash = embed_hash AND model = ? AND vector = ?)",
                [(revision, text_hash, model, vector) for text_hash, vector in vectors],
            )
            connection.executemany(
                f"{_SAVE_VECTORS} ON CONFLICT(text_hash, model) DO UPDATE SET vector = excluded.vector, "
                "parts_version = excluded.parts_version WHERE parts_version < excluded.parts_version",
                [(text_hash, model, vector, PARTS_VERSION) for text_hash, vector in vectors],
            )
            self._prune_log(revision)
        return revision

    def take_over(self, vectors: Iterable[tuple[bytes, str, bytes, int]]) -> None:
        """Store (text hash, model, vectors, parts version) of an earlier index; the texts follow later."""
        rest = iter(vectors)
        while part := list(itertools.islice(rest, _VECTORS_AT_ONCE)):
            with self._transaction() as connection:
                connection.executemany(f"{_SAVE_VECTORS} ON CONFLICT(text_hash, model) DO NOTHING", part)

    def delete_vectors(self, model: str | None = None) -> int:
        """Delete vectors that no chunk uses, or all of a model; returns their number."""
        self.end_load()
        unused = "text_hash NOT IN (SELECT embed_hash FROM chunks)"
        with self._transaction() as connection:
            if model is None:
                return connection.execute(f"DELETE FROM embeddings WHERE {unused}").rowcount
            self._restart_log()
            connection.execute("DELETE FROM meta WHERE key = ?", (complete_key(model),))
            return connection.execute("DELETE FROM embeddings WHERE model = ?", (model,)).rowcount

    def note_complete(self, model: str) -> None:
        """Note that no chunk is pending, if so: then only what is added later has to be counted."""
        with translated(self._folder.database):
            vectors = VectorSource(self._connection, model)
            noted = vectors.complete_at()
            is_recent = noted is not None and self._revision() - noted < _NOTED_EVERY
            is_complete = not is_recent and not any(vectors.pending_count(fully=True))
        if is_complete:
            with self._transaction():
                self._set_meta(complete_key(model), self._revision())

    def use_model(self, model: str) -> None:
        """Select the model for semantic search."""
        with self._transaction():
            self._set_meta("model", model)
            self._bump()

    def record_run(self, kind: str, started_ns: int, report: str) -> None:
        """Store the report of an ingest or an embedding, for `index --status` and for estimates."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO runs(kind, started_ns, finished_ns, report) VALUES (?,?,?,?)",
                (kind, started_ns, time.time_ns(), report),
            )
            connection.execute(
                "DELETE FROM runs WHERE run_id <= (SELECT max(run_id) FROM runs) - ?", (_KEPT_RUNS,)
            )

    def rebuild_full_text(self) -> None:
        """Rebuild grams, full-text indexes and words from the chunks and the names."""
        of_chunks = (schema.INSERT_TRIGGER, schema.DELETE_TRIGGER, schema.UPDATE_TRIGGER)
        triggers = (*of_chunks, *schema.NAMES_TRIGGERS)
        with self._transaction() as connection:
            for trigger in triggers:
                connection.execute(f"DROP TRIGGER IF EXISTS {trigger.split()[2]}")
            connection.execute("DROP TABLE IF EXISTS chunks_fts")
            connection.execute("DROP TABLE IF EXISTS names_fts")
            connection.execute("DELETE FROM top_lists")
            connection.execute("UPDATE chunks SET grams = kebab_grams(title, heading_path, text)")
            connection.execute("UPDATE note_names SET grams = kebab_grams('', '', names)")
            for statement in (schema.FTS_TABLE, schema.NAMES_FTS_TABLE, *triggers):
                connection.execute(statement)
            connection.execute(
                "INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('hashsize', ?)", (schema.FTS_HASH_BYTES,)
            )
            connection.execute("INSERT INTO chunks_fts(chunks_fts) VALUES ('rebuild')")
            connection.execute("INSERT INTO names_fts(names_fts) VALUES ('rebuild')")
            vocabulary.relearn(connection)
            self._may_need_lists = True
            connection.execute("DELETE FROM meta WHERE key = ?", (_OBSOLETE,))
            self._set_meta("fts_signature", schema.fts_signature())
            self._bump()

    def repair_full_text(self) -> None:
        """Rebuild the full text if it differs from the chunks."""
        if recovery.full_text_error(self._connection):
            self.rebuild_full_text()

    def merge_full_text(self, cancelled: Callable[[], bool] = lambda: False) -> None:
        """Merge deleted rows away once there are many, and list the best passages of common words.

        Checks only after rows were deleted or added.
        """
        self._merge(cancelled)
        try:
            with translated(self._folder.database):
                self._make_top_lists(cancelled)
        except TEMPORARY:
            self._may_need_lists = False  # as for a merge

    def _make_top_lists(self, cancelled: Callable[[], bool]) -> None:
        if not self._may_need_lists:
            return
        collection = collection_of(self._connection)
        for word in top_lists.missing(self._connection, self.weights, collection):
            if cancelled():
                return
            made = top_lists.make(self._connection, word, self.weights, collection, cancelled)
            if made is None and cancelled():
                return
            if made is not None:
                with self._transaction() as connection:
                    connection.execute("DELETE FROM top_lists WHERE weights <> ?", made[1:2])
                    connection.execute("INSERT OR REPLACE INTO top_lists VALUES (?, ?, ?, ?, ?, ?)", made)
        self._may_need_lists = False

    def _merge(self, cancelled: Callable[[], bool]) -> None:
        if not self._may_need_merging:
            return
        try:
            with translated(self._folder.database):
                self._may_need_merging = self._needs_merging()
            is_first = True
            while self._may_need_merging and not cancelled():
                self._may_need_merging = not self._merge_step(is_first)
                is_first = False
        except TEMPORARY:
            self._may_need_merging = False  # until the next change: a merge is not urgent

    def _needs_merging(self) -> bool:
        obsolete = int(meta_value(self._connection, _OBSOLETE) or 0)
        if obsolete < _MERGE_ROWS:
            return False
        chunks = self._connection.execute("SELECT count(*) FROM chunks").fetchone()[0]
        return bool(obsolete * _MERGE_SHARE >= chunks)

    def _merge_step(self, is_first: bool) -> bool:
        """One step of a merge; whether it is done. The first step of each merge takes in all segments."""
        with self._transaction() as connection:
            before = connection.total_changes
            connection.execute(
                "INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('merge', ?)",
                (-_MERGE_PAGES if is_first else _MERGE_PAGES,),
            )
            # FTS5 documents that fewer than two changes mean there was nothing to merge.
            done = connection.total_changes - before < 2
            if done:
                connection.execute("DELETE FROM meta WHERE key = ?", (_OBSOLETE,))
        return done

    def mirror_sources(self) -> None:
        """Update the copy of the list of sources if it differs, as after a kill."""
        statement = f"SELECT {rows.SOURCE_COLUMNS} FROM sources s ORDER BY added_ns"
        with translated(self._folder.database):
            sources = [
                replace(rows.to_source(row), state="new") for row in self._connection.execute(statement)
            ]
        if recovery.examine_sources(self._folder.sources) != (sources, ""):
            recovery.write_sources(self._folder.sources, sources)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with translated(self._folder.database):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
                self._seal.note_commit()
            except BaseException:
                # On a full disk SQLite rolls back; a second rollback would hide the first error.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _count_obsolete(self, chunks: int) -> None:
        if chunks:
            self._set_meta(_OBSOLETE, int(meta_value(self._connection, _OBSOLETE) or 0) + chunks)
            self._may_need_merging = True

    def _revision(self) -> int:
        return int(meta_value(self._connection, "corpus_revision") or 0)

    def _bump(self) -> None:
        self._set_meta("corpus_revision", self._revision() + 1)

    def _set_meta(self, key: str, value: str | int) -> None:
        self._connection.execute(
            "INSERT INTO meta(key, value) VALUES (?, ?) "
            "ON CONFLICT(key) DO UPDATE SET value = excluded.value",
            (key, value),
        )

    def _prune_log(self, revision: int) -> None:
        """Delete old changes from the log; a follower that is so far behind reads everything again."""
        if revision % 500 == 0:
            floor = max(revision - _KEPT_REVISIONS, int(meta_value(self._connection, "changes_after") or 0))
            self._connection.execute("DELETE FROM changes WHERE revision <= ?", (floor,))
            self._set_meta("changes_after", floor)

    def _restart_log(self) -> None:
        """Make every follower of the change log read everything again."""
        self._bump()
        self._set_meta("changes_after", self._revision())
