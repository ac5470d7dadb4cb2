"""A write session: holds the writer's lock, with a checked database and the list of sources.

Repairs the database when it opens: after a crash it checks all pages; it sets a damaged database
aside and creates a new one from the list of folders. Folders do not nest, because a note in two
sources would be found twice.
"""

from __future__ import annotations

import contextlib
import os
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from kebab_tui.domain.document import Source
from kebab_tui.domain.errors import SourceError, StoreDamagedError, StoreError, StoreLostError, UsageError
from kebab_tui.domain.ids import SourceId
from kebab_tui.files.root import check_root
from kebab_tui.storage.lock import DataFolder, Holder, WriterLock
from kebab_tui.storage.sqlite import recovery
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.writer import Writer

Waiting = Callable[[Holder | None], None]
Relation = Literal["same", "inside", "around"]

_NOT_A_NAME = re.compile(r"[^\w.-]+")


@contextlib.contextmanager
def open_session(
    folder: DataFolder,
    reader: StoreReader,
    command: str,
    timeout_s: float,
    waiting: Waiting,
    lock: WriterLock | None = None,
    *,
    saw_crash: bool = False,
) -> Iterator[Session]:
    """Acquire the writer's lock; released when the context ends.

    `saw_crash`: this process was running when the previous writer died. The machine did not crash, so
    all writes reached the disk and the check of all pages can be deferred. Such a process does not
    recreate a missing data folder: it was removed.
    """
    lock = lock or WriterLock(folder.lock)
    killed = lock.acquire(command, timeout_s, waiting, makes_folder=not saw_crash)
    try:
        suspect = recovery.is_suspect(folder)
        deferred = killed and saw_crash and not suspect
        if deferred:  # only if the next writer would do the check
            recovery.mark_suspect(folder)
            deferred = recovery.is_suspect(folder)
        writer, healed, read_error = _open_writer(folder, check=not deferred and (killed or suspect))
        try:
            if not deferred:
                recovery.clear_suspect(folder)
            begun_anew, unrestored = _restore_sources(writer, folder)
            yield Session(
                folder, lock, writer, reader,
                healed=healed, read_error=read_error, begun_anew=begun_anew,
                check_deferred=deferred, unrestored=unrestored,
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


class Session:
    """Created by `open_session`; valid within that context."""

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
        check_deferred: bool,
        unrestored: str,
    ) -> None:
        self._folder = folder
        self._lock = lock
        self.writer = writer
        self.reader = reader
        self.healed = healed
        self.read_error = read_error
        """The index seemed damaged, but a second read found no error."""
        self.begun_anew = begun_anew
        """The index was lost; only its list of folders was restored, and all must be indexed."""
        self.unrestored = unrestored
        """Why some folders of a lost index could not be restored; empty if none are missing."""
        self.check_deferred = check_deferred
        """The full check after a crash is still due: call `run_deferred_check` when idle."""

    def check_data_folder(self) -> None:
        """Refuse to write to a removed index: another process may have created a new one."""
        if not self._lock.is_in_place():
            raise data_folder_removed(self._folder)

    def run_deferred_check(self) -> None:
        """Raises StoreDamagedError."""
        recovery.full_check(self._folder)
        self.writer.repair_full_text()
        recovery.clear_suspect(self._folder)
        self.check_deferred = False

    def sources(self) -> list[Source]:
        with self.reader.catalogue() as catalogue:
            return catalogue.sources()

    def revision(self) -> int:
        with self.reader.catalogue() as catalogue:
            return catalogue.figures().corpus_revision

    def declare(self, declared: Sequence[Source]) -> None:
        """Apply the sources of the configuration file."""
        for source in declared:
            known = {source.source_id: source for source in self.sources()}
            was = known.pop(source.source_id, None)
            if was is None or replace(source, state=was.state) != replace(was, documents=0, chunks=0):
                self._check_nesting(
                    source, list(known.values()), "remove one from the configuration file, or run"
                )
                self.writer.save_source(source)

    def source_for(self, folder: str) -> Source:
        """The source that contains a folder; an unknown folder becomes a source."""
        root = os.path.abspath(os.path.expanduser(folder))
        known = self.check(root)
        return known or self.add(
            Source(source_id_for(root, self._taken()), os.path.basename(root) or root, root)
        )

    def check(self, folder: str) -> Source | None:
        """The source that contains a folder, None for a new folder; raises if it cannot become one."""
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
                f"remove that source first: kebab source remove {source.source_id}",
            )
        return source

    def add(self, source: Source) -> Source:
        """Register a new source whose folder has been checked."""
        check_root(source.root)
        if source.source_id in self._taken():
            raise UsageError(f"a source named {source.source_id} exists already", "choose another --id")
        self._check_nesting(source, self.sources())
        self.writer.save_source(source)
        return source

    def _check_nesting(
        self, source: Source, others: Sequence[Source], way_out: str = "to replace that source, run"
    ) -> None:
        related = relation(source.root, others)
        if related is None:
            return
        kind, other = related
        how = "contains" if kind == "around" else "belongs to"
        raise SourceError(
            f"{source.root} {how} the source {other.source_id} ({other.root})",
            "folders must not nest, or notes would be found twice; "
            f"{way_out} kebab source remove {other.source_id}",
        )

    def _taken(self) -> set[str]:
        return {source.source_id for source in self.sources()}


def data_folder_removed(folder: DataFolder) -> StoreError:
    return StoreError(
        f"the data folder was removed: {folder.root}",
        "restore the folder, or start again to index the notes from scratch",
    )


def recheck_database(folder: DataFolder, timeout_s: float, command: str, waiting: Waiting) -> str:
    """Check a database that reported damage; returns its new path if it was set aside."""
    lock = WriterLock(folder.lock)
    lock.acquire(command, timeout_s, waiting)
    try:
        writer, aside = _recheck(folder)
        writer.close()
        return aside
    finally:
        lock.release()


def _open_writer(folder: DataFolder, *, check: bool) -> tuple[Writer, str, bool]:
    """The writer, the path of a damaged database set aside, and whether there was only a read error."""
    try:
        check = not recovery.verify_checksums(folder) or check
        writer = _checked_writer(folder) if check else Writer(folder)
    except StoreDamagedError:
        writer, healed = _recheck(folder)
        return writer, healed, not healed
    return writer, "", False


def _recheck(folder: DataFolder) -> tuple[Writer, str]:
    """The writer of a database that seems damaged, and the path of a damaged one set aside.

    A transient read error of the disk looks like damage, so the check reads everything again. The
    new database takes over the readable vectors: they are expensive to compute.
    """
    try:
        if not os.path.exists(folder.database):
            raise StoreLostError(f"the index is lost: {folder.database}")
        return _checked_writer(folder, indexes=True), ""
    except StoreDamagedError:
        aside = recovery.set_aside(folder)
    writer = Writer(folder)
    try:
        writer.take_over(recovery.readable_vectors(aside))
    except BaseException:
        writer.close()
        raise
    return writer, aside


def _checked_writer(folder: DataFolder, *, indexes: bool = False) -> Writer:
    recovery.full_check(folder, indexes=indexes)
    writer = Writer(folder)
    try:
        writer.repair_full_text()
    except BaseException:
        writer.close(sealing=False)
        raise
    return writer


def _restore_sources(writer: Writer, folder: DataFolder) -> tuple[bool, str]:
    """Restore the sources of a lost database: whether there were any, and what failed."""
    if not writer.is_new():
        writer.mirror_sources()
        return False, ""
    lost, wrong = recovery.examine_sources(folder.sources)
    if wrong:
        aside = recovery.set_sources_aside(folder.sources)
        wrong = f"{folder.sources} {wrong}; it was renamed to {aside}"
    if lost:
        writer.save_sources(lost)
    else:
        writer.mirror_sources()
    return bool(lost), wrong


def source_id_for(root: str, taken: Collection[str]) -> SourceId:
    """A short name for a folder, usable after `in:`; numbered if taken."""
    base = unicodedata.normalize("NFC", os.path.basename(root.rstrip("/"))).casefold()
    name = _NOT_A_NAME.sub("-", base.encode("utf-8", "replace").decode()).strip("-.") or "notes"
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}-{number}", number + 1
    return SourceId(candidate)


def relation(root: str, sources: Sequence[Source]) -> tuple[Relation, Source] | None:
    """How a folder overlaps with a known source; None if it does not."""
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


def check_overlap(source: Source, known: Sequence[Source]) -> None:
    """Raise if a symbolic link moved the folder of a source into another source; the link loses."""
    strength = {other.source_id: (os.path.islink(other.root), place) for place, other in enumerate(known)}
    for other in known:
        if other.source_id == source.source_id or strength[source.source_id] < strength[other.source_id]:
            continue
        if related := relation(source.root, [other]):
            how = {"same": "is the same folder as", "inside": "lies within", "around": "contains"}[related[0]]
            raise SourceError(
                f"{source.root} now {how} the source {other.source_id} ({other.root}), "
                "so notes would be found twice",
                f"separate the two folders, or run `kebab source remove {source.source_id}`",
            )


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)
