"""A write session: the writer of a checked index, with the rules for its list of sources.

Folders do not nest, because a note in two sources would be found twice.
"""

from __future__ import annotations

import contextlib
import os
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from kebab_tui.domain.document import Source, SourceUse
from kebab_tui.domain.errors import DiskFaultError, NotFoundError, SourceError, StoreError, UsageError
from kebab_tui.domain.ids import SourceId
from kebab_tui.files.ignore import scope_of_root
from kebab_tui.files.root import check_root
from kebab_tui.storage.ports import Index, Waiting, WriterSession

Relation = Literal["same", "inside", "around"]

_NOT_A_NAME = re.compile(r"[^\w.-]+")


@contextlib.contextmanager
def open_session(
    index: Index, command: str, timeout_s: float, waiting: Waiting, *, saw_crash: bool = False
) -> Iterator[Session]:
    """Acquire the lease to write; released when the context ends."""
    with index.write(command, timeout_s, waiting, saw_crash=saw_crash) as held:
        session = Session(index, held)
        session.delete_removed()
        yield session


class Session:
    """Created by `open_session`; valid within that context."""

    def __init__(self, index: Index, held: WriterSession) -> None:
        self._index = index
        self._lease = held.lease
        self._deferred_check = held.deferred_check
        self.check_deferred = held.deferred_check is not None
        """The full check after a crash is still due: call `run_deferred_check` when idle."""
        self.writer = held.writer
        self.reader = index.reader
        self.healed = held.healed
        self.read_error = held.read_error
        self.begun_anew = held.begun_anew
        self.unrestored = held.unrestored

    def check_data_folder(self) -> None:
        """Refuse to write to a removed index: another process may have created a new one."""
        if not self._lease.is_in_place():
            raise data_folder_removed(self._index)

    def run_deferred_check(self) -> None:
        """Raises StoreDamagedError."""
        if self._deferred_check is not None:
            self._deferred_check()
            self._deferred_check, self.check_deferred = None, False

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
            if was is not None:
                source = replace(source, use=was.use)
            if was is None or replace(source, state=was.state) != replace(was, documents=0, chunks=0):
                self._check_nesting(
                    source, list(known.values()), "remove one from the configuration file, or run"
                )
                self.writer.save_sources([source])

    def source_for(self, folder: str) -> Source:
        """The source that contains a folder; an unknown folder becomes a source."""
        root = os.path.abspath(os.path.expanduser(folder))
        known = self.check(root)
        for removed in [] if known else self._removed():
            if (related := relation(root, [removed])) is not None and related[0] == "same":
                self.set_use(removed.source_id, "watched")
                return replace(removed, use="watched")
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
        scope_of_root(source.include, source.exclude)
        if source.source_id in self._taken():
            raise UsageError(f"a source named {source.source_id} exists already", "choose another --id")
        self._check_nesting(source, self.sources())
        for removed in self._removed():
            if relation(source.root, [removed]) is not None:
                self.writer.remove_source(removed.source_id)
        self.writer.save_sources([source])
        return source

    def set_use(self, source_id: SourceId, use: SourceUse) -> None:
        """Watch, pause or remove a source; a removed one can be watched again until it is deleted."""
        if use != "removed" and (gone := [one for one in self._removed() if one.source_id == source_id]):
            self._check_nesting(gone[0], self.sources())
        self.writer.set_source_use(source_id, use)

    def delete_removed(self) -> None:
        """Delete the notes of removed sources, unless a living process may undo that."""
        removed = self._removed()
        if removed and not self._index.requests().may_undo():
            for source in removed:
                self.writer.remove_source(source.source_id)

    def _removed(self) -> list[Source]:
        with self.reader.catalogue() as catalogue:
            return catalogue.removed_sources()

    def edit(self, source_id: SourceId, edited: Callable[[Source], Source]) -> Source:
        """Change the details of a source."""
        source = next((known for known in self.sources() if known.source_id == source_id), None)
        if source is None:
            raise NotFoundError(f"there is no source named {source_id}", "see `kebab source list`")
        source = edited(source)
        scope_of_root(source.include, source.exclude)
        self.writer.save_sources([source])
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
        return {source.source_id for source in (*self.sources(), *self._removed())}


def data_folder_removed(index: Index) -> StoreError:
    return StoreError(
        f"the data folder was removed: {index.folder}",
        "restore the folder, or start again to index the notes from scratch",
    )


def read_error(index: Index) -> DiskFaultError:
    return DiskFaultError(
        f"the disk reported read errors, but the index is intact: {index.location}",
        "nothing is lost; run the command again; if that happens again, check the disk",
    )


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
