"""A time of writing: the lock is held, the store is sound, the sources are known.

Whatever is wrong with the database is put right here: after a kill its pages are
looked at once, a damaged one is set aside and begun anew from the list of folders.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from kebab_tui.domain.errors import SourceError, StoreDamagedError, StoreError, UsageError
from kebab_tui.domain.source import Source
from kebab_tui.indexing.source_names import relation, source_id_for
from kebab_tui.reading.walk import check_root
from kebab_tui.store import damage, sources_file
from kebab_tui.store.folder import DataFolder
from kebab_tui.store.lock import Holder, WriterLock
from kebab_tui.store.reader import StoreReader
from kebab_tui.store.writer import Writer

Waiting = Callable[[Holder | None], None]


class Session:
    """Made by `open_session`; valid while that context lasts."""

    def __init__(
        self,
        folder: DataFolder,
        lock: WriterLock,
        writer: Writer,
        reader: StoreReader,
        *,
        healed: str,
        begun_anew: bool,
        unchecked: bool,
        unrestored: str,
    ) -> None:
        self._folder = folder
        self._lock = lock
        self.writer = writer
        self.reader = reader
        self.healed = healed
        self.begun_anew = begun_anew
        """The index was lost and knows nothing but its folders: all of them are to be read."""
        self.unrestored = unrestored
        """Why not all folders of a lost index could be restored; empty when they were."""
        self.unchecked = unchecked
        """The look at all pages that a kill calls for was put off: `look_closely` when there is time."""

    def insist_on_place(self) -> None:
        """An index that was taken away is not written to: others may have begun another one by now."""
        if not self._lock.is_in_place():
            raise taken_away(self._folder)

    def look_closely(self) -> None:
        """Make up for what was put off; raises StoreDamagedError."""
        damage.look_closely(self._folder)
        self.writer.mend_full_text()
        damage.clear(self._folder)
        self.unchecked = False

    def sources(self) -> list[Source]:
        with self.reader.catalogue() as catalogue:
            return catalogue.sources()

    def revision(self) -> int:
        with self.reader.catalogue() as catalogue:
            return catalogue.figures().corpus_revision

    def declare(self, declared: Sequence[Source]) -> None:
        """Take over what the configuration file says of its folders."""
        for source in declared:
            known = {source.source_id: source for source in self.sources()}
            was = known.pop(source.source_id, None)
            if was is None or replace(source, state=was.state) != replace(was, documents=0, chunks=0):
                self._refuse_nesting(source, list(known.values()))
                self.writer.save_source(source)

    def source_for(self, folder: str) -> Source:
        """The source that holds a folder; a folder unknown so far becomes one."""
        root = os.path.abspath(os.path.expanduser(folder))
        known = self.check(root)
        return known or self.add(
            Source(source_id_for(root, self._taken()), os.path.basename(root) or root, root)
        )

    def check(self, folder: str) -> Source | None:
        """The source that holds a folder, None for a new one; raises when it can be neither."""
        root = os.path.abspath(os.path.expanduser(folder))
        related = relation(root, self.sources())
        if related is not None and related[0] == "same":
            return related[1]
        check_root(root)
        if related is None:
            return None
        kind, source = related
        if kind == "around":
            raise UsageError(
                f"{root} contains the source {source.source_id} ({source.root})",
                f"remove that one first: kebab source remove {source.source_id}",
            )
        return source

    def add(self, source: Source) -> Source:
        """Register a new source whose folder has been checked."""
        check_root(source.root)
        if source.source_id in self._taken():
            raise UsageError(f"there is a source named {source.source_id} already", "choose another --id")
        self._refuse_nesting(source, self.sources())
        self.writer.save_source(source)
        return source

    def _refuse_nesting(self, source: Source, others: Sequence[Source]) -> None:
        related = relation(source.root, others)
        if related is None:
            return
        kind, other = related
        how = "contains" if kind == "around" else "belongs to"
        raise SourceError(
            f"{source.root} {how} the source {other.source_id} ({other.root})",
            "folders do not nest, a note would be found twice; "
            f"to replace that source: kebab source remove {other.source_id}",
        )

    def _taken(self) -> set[str]:
        return {source.source_id for source in self.sources()}


@contextlib.contextmanager
def open_session(
    folder: DataFolder,
    reader: StoreReader,
    command: str,
    timeout_s: float,
    waiting: Waiting,
    bulk_chunks: int,
    lock: WriterLock | None = None,
    *,
    saw_the_end: bool = False,
) -> Iterator[Session]:
    """Become the one writer; lets go when the context ends, whatever happens.

    `saw_the_end`: this process was there when the last writer was killed. The machine ran on,
    so what was written is written, and a look at all pages can wait until there is time. A data
    folder that such a process no longer finds was taken away, and is not made anew.
    """
    lock = lock or WriterLock(folder.lock)
    killed = lock.acquire(command, timeout_s, waiting, makes_folder=not saw_the_end)
    try:
        later = killed and saw_the_end and _leaves_sign(folder)
        suspicious = not later and (killed or damage.is_suspect(folder))
        writer, healed = _sound_writer(folder, bulk_chunks, suspicious)
        try:
            if not later:
                damage.clear(folder)
            begun_anew, unrestored = _restore_sources(writer, folder)
            yield Session(
                folder,
                lock,
                writer,
                reader,
                healed=healed,
                begun_anew=begun_anew,
                unchecked=later,
                unrestored=unrestored,
            )
        except StoreDamagedError:
            writer.close(sealing=False)
            raise
        except BaseException:
            writer.close()
            raise
        writer.close()
    finally:
        lock.release()


def taken_away(folder: DataFolder) -> StoreError:
    return StoreError(
        f"the data folder was taken away: {folder.root}",
        "start again to index the notes anew, or bring the folder back first",
    )


def start_over(folder: DataFolder, timeout_s: float, command: str, waiting: Waiting) -> str:
    """Set a damaged database aside; the next session begins anew. Gives the new place of the old one."""
    lock = WriterLock(folder.lock)
    lock.acquire(command, timeout_s, waiting)
    try:
        return damage.set_aside(folder)
    finally:
        lock.release()


def _sound_writer(folder: DataFolder, bulk_chunks: int, look_closely: bool) -> tuple[Writer, str]:
    """The writer, and where a damaged database was set aside."""
    healed = ""
    try:
        look_closely = not damage.check_seal(folder) or look_closely
        writer = _checked_writer(folder, bulk_chunks) if look_closely else Writer(folder, bulk_chunks)
    except StoreDamagedError:
        healed = damage.set_aside(folder)
        writer = Writer(folder, bulk_chunks)
    return writer, healed


def _leaves_sign(folder: DataFolder) -> bool:
    """Whether this is the first sign of damage; whoever writes next looks if this process does not."""
    if damage.is_suspect(folder):
        return False
    damage.suspect(folder)
    return damage.is_suspect(folder)


def _checked_writer(folder: DataFolder, bulk_chunks: int) -> Writer:
    damage.look_closely(folder)
    writer = Writer(folder, bulk_chunks)
    try:
        writer.mend_full_text()
    except BaseException:
        writer.close(sealing=False)
        raise
    return writer


def _restore_sources(writer: Writer, folder: DataFolder) -> tuple[bool, str]:
    """Take the folders back into a database that was lost: whether there were any, and what went wrong."""
    if not writer.is_new():
        writer.mirror_sources()
        return False, ""
    lost, wrong = sources_file.examine(folder.sources)
    if wrong:
        aside = sources_file.set_aside(folder.sources)
        wrong = f"{folder.sources} {wrong}; it was renamed to {aside}"
    if lost:
        writer.save_sources(lost)
    else:
        writer.mirror_sources()
    return bool(lost), wrong
