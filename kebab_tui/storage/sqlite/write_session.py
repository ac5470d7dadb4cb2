"""A write session: holds the writer's lock, with a checked database and the list of sources.

Repairs the database when it opens: after a crash it checks all pages; it sets a damaged database
aside and creates a new one from the list of folders.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from kebab_tui import own_files
from kebab_tui.domain.errors import StoreDamagedError, StoreLostError
from kebab_tui.search.ports import FieldWeights
from kebab_tui.storage.lock import DataFolder, WriterLock, is_ours
from kebab_tui.storage.ports import Waiting, WriterSession
from kebab_tui.storage.sqlite import recovery
from kebab_tui.storage.sqlite.writer import StoreWriter


@contextlib.contextmanager
def write_session(
    folder: DataFolder,
    lock: WriterLock,
    command: str,
    timeout_s: float,
    waiting: Waiting,
    *,
    saw_crash: bool = False,
    weights: FieldWeights | None = None,
) -> Iterator[WriterSession]:
    """Acquire the writer's lock; released when the context ends.

    `saw_crash`: this process was running when the previous writer died. The machine did not crash, so
    all writes reached the disk and the check of all pages can be deferred. Such a process does not
    recreate a missing data folder: it was removed.
    """
    killed = lock.acquire(command, timeout_s, waiting, makes_folder=not saw_crash)
    try:
        own_files.restrict_access(folder.root, is_ours)
        suspect = recovery.is_suspect(folder)
        deferred = killed and saw_crash and not suspect
        if deferred:  # only if the next writer would do the check
            recovery.mark_suspect(folder)
            deferred = recovery.is_suspect(folder)
        writer, healed, read_error = _open_writer(folder, check=not deferred and (killed or suspect))

        writer.weights = weights or writer.weights

        def check() -> None:
            recovery.full_check(folder)
            writer.repair_full_text()
            recovery.clear_suspect(folder)

        try:
            if not deferred:
                recovery.clear_suspect(folder)
            begun_anew, unrestored = _restore_sources(writer, folder)
            yield WriterSession(
                writer, lock, healed, read_error, begun_anew, unrestored, check if deferred else None
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


def recheck(folder: DataFolder) -> str:
    """Check a database that reported damage; returns its new path if it was set aside."""
    writer, aside = _rechecked_writer(folder)
    writer.close()
    return aside


def _open_writer(folder: DataFolder, *, check: bool) -> tuple[StoreWriter, str, bool]:
    """The writer, the path of a damaged database set aside, and whether there was only a read error."""
    try:
        check = not recovery.verify_checksums(folder) or check
        writer = _checked_writer(folder) if check else StoreWriter(folder)
    except StoreDamagedError:
        writer, healed = _rechecked_writer(folder)
        return writer, healed, not healed
    return writer, "", False


def _rechecked_writer(folder: DataFolder) -> tuple[StoreWriter, str]:
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
    writer = StoreWriter(folder)
    try:
        writer.take_over(recovery.readable_vectors(aside))
    except BaseException:
        writer.close()
        raise
    return writer, aside


def _checked_writer(folder: DataFolder, *, indexes: bool = False) -> StoreWriter:
    recovery.full_check(folder, indexes=indexes)
    writer = StoreWriter(folder)
    try:
        writer.repair_full_text()
    except BaseException:
        writer.close(sealing=False)
        raise
    return writer


def _restore_sources(writer: StoreWriter, folder: DataFolder) -> tuple[bool, str]:
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
