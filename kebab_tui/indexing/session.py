"""A time of writing: the lock is held, the store is sound, the sources are known.

Whatever is wrong with the database is put right here: after a kill its pages are
looked at once, a damaged one is set aside and begun anew from the list of folders.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from kebab_tui.domain.document import Source
from kebab_tui.domain.errors import SourceError, StoreDamagedError, StoreError, StoreLostError, UsageError
from kebab_tui.domain.ids import SourceId
from kebab_tui.files.walk import check_root
from kebab_tui.storage.lock import DataFolder, Holder, WriterLock
from kebab_tui.storage.sqlite import recovery
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.writer import Writer

# How a folder becomes a source: its short name, and whether it may be one.
#
# Folders do not nest: a note in two sources would be found twice.

Relation = Literal["same", "inside", "around"]

_NOT_A_NAME = re.compile(r"[^\w.-]+")


def source_id_for(root: str, taken: Collection[str]) -> SourceId:
    """A short name from the folder's own, usable after `in:`; numbered when taken."""
    base = unicodedata.normalize("NFC", os.path.basename(root.rstrip("/"))).casefold()
    name = _NOT_A_NAME.sub("-", base.encode("utf-8", "replace").decode()).strip("-.") or "notes"
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}-{number}", number + 1
    return SourceId(candidate)


def relation(root: str, sources: Sequence[Source]) -> tuple[Relation, Source] | None:
    """How a folder stands to the known ones; None when they have nothing in common."""
    real = os.path.realpath(root)
    for source in sources:
        other = os.path.realpath(source.root)
        if real == other:
            return "same", source
        if _is_below(real, other):
            return "inside", source
        if _is_below(other, real):
            return "around", source
    return None


def refuse_overlap(source: Source, known: Sequence[Source]) -> None:
    """Raise where a link has led the folder of a source into another's: of the two, the link gives way."""
    strength = {other.source_id: (os.path.islink(other.root), place) for place, other in enumerate(known)}
    for other in known:
        if other.source_id == source.source_id or strength[source.source_id] < strength[other.source_id]:
            continue
        if related := relation(source.root, [other]):
            how = {"same": "is the same folder as", "inside": "lies within", "around": "contains"}[related[0]]
            raise SourceError(
                f"{source.root} now {how} the source {other.source_id} ({other.root}), "
                "and a note would be found twice",
                f"make it a folder of its own again, or `kebab source remove {source.source_id}`",
            )


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)


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
        read_error: bool,
        begun_anew: bool,
        unchecked: bool,
        unrestored: str,
    ) -> None:
        self._folder = folder
        self._lock = lock
        self.writer = writer
        self.reader = reader
        self.healed = healed
        self.read_error = read_error
        """The index seemed to be damaged; everything was read again, and it is sound."""
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
        recovery.full_check(self._folder)
        self.writer.mend_full_text()
        recovery.clear(self._folder)
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
                self._refuse_nesting(
                    source, list(known.values()), "leave one of them out of the configuration file, or"
                )
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

    def _refuse_nesting(
        self, source: Source, others: Sequence[Source], way_out: str = "to replace that source:"
    ) -> None:
        related = relation(source.root, others)
        if related is None:
            return
        kind, other = related
        how = "contains" if kind == "around" else "belongs to"
        raise SourceError(
            f"{source.root} {how} the source {other.source_id} ({other.root})",
            "folders do not nest, a note would be found twice; "
            f"{way_out} kebab source remove {other.source_id}",
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
        suspicious = not later and (killed or recovery.is_suspect(folder))
        writer, healed, read_error = _sound_writer(folder, bulk_chunks, suspicious)
        try:
            if not later:
                recovery.clear(folder)
            begun_anew, unrestored = _restore_sources(writer, folder)
            yield Session(
                folder, lock, writer, reader,
                healed=healed, read_error=read_error, begun_anew=begun_anew, unchecked=later,
                unrestored=unrestored,
            )  # fmt: skip
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


def look_again(folder: DataFolder, timeout_s: float, command: str, waiting: Waiting) -> str:
    """After an answer that means damage: where the database was set aside, empty where it proved sound.

    The next session begins anew, or goes on.
    """
    lock = WriterLock(folder.lock)
    lock.acquire(command, timeout_s, waiting)
    try:
        writer, aside = _doubted(folder)
        writer.close()
        return aside
    finally:
        lock.release()


def _sound_writer(folder: DataFolder, bulk_chunks: int, look_closely: bool) -> tuple[Writer, str, bool]:
    """The writer, where a damaged database was set aside, and whether a sound one seemed to be damaged."""
    try:
        look_closely = not recovery.verify_checksums(folder) or look_closely
        writer = _checked_writer(folder, bulk_chunks) if look_closely else Writer(folder, bulk_chunks)
    except StoreDamagedError:
        writer, healed = _doubted(folder, bulk_chunks)
        return writer, healed, not healed
    return writer, "", False


def _doubted(folder: DataFolder, bulk_chunks: int = 2000) -> tuple[Writer, str]:
    """The writer of a database that seemed to be damaged, and where it was set aside if it was.

    A disk that fails to read once looks the same as damage, so everything is read a second time.
    From a database that is set aside the vectors are taken over: they are dear to make.
    """
    try:
        if not os.path.exists(folder.database):
            raise StoreLostError(f"the index is lost: {folder.database}")
        return _checked_writer(folder, bulk_chunks, indexes=True), ""
    except StoreDamagedError:
        aside = recovery.set_aside(folder)
    writer = Writer(folder, bulk_chunks)
    try:
        with contextlib.suppress(sqlite3.Error):  # it has none
            writer.take_over(recovery.readable_vectors(aside))
    except BaseException:
        writer.close()
        raise
    return writer, aside


def _leaves_sign(folder: DataFolder) -> bool:
    """Whether this is the first sign of damage; whoever writes next looks if this process does not."""
    if recovery.is_suspect(folder):
        return False
    recovery.mark_suspect(folder)
    return recovery.is_suspect(folder)


def _checked_writer(folder: DataFolder, bulk_chunks: int, *, indexes: bool = False) -> Writer:
    recovery.full_check(folder, indexes=indexes)
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
    lost, wrong = recovery.examine(folder.sources)
    if wrong:
        aside = recovery.set_sources_aside(folder.sources)
        wrong = f"{folder.sources} {wrong}; it was renamed to {aside}"
    if lost:
        writer.save_sources(lost)
    else:
        writer.mirror_sources()
    return bool(lost), wrong
