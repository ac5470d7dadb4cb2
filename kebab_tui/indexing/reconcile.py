"""Compares a folder with the index.

Decides from the present state only: paths, stamps and content, never from the history of events. Reads
a note only to distinguish a renamed one from a new one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kebab_tui.domain.document import Fingerprint
from kebab_tui.domain.errors import UnreadableFileError
from kebab_tui.domain.ids import SourceId
from kebab_tui.files.read import read_file
from kebab_tui.files.walk import FoundFile, WalkProblem
from kebab_tui.formats.decode import ReadLimits
from kebab_tui.formats.registry import Format
from kebab_tui.storage.ports import KnownFile

GRACE_S = 0.45
"""In addition to the delay of the queue: 600 ms in all."""
_RACY_NS = 2_000_000_000
"""A file that was read this soon after its last write may have been written again with the same stamp:
some file systems have stamps this coarse."""


@dataclass(slots=True)
class Plan:
    """Work for one source. `moved` maps a found path to its old path and known note."""

    to_read: list[FoundFile] = field(default_factory=list)
    known: dict[bytes, KnownFile] = field(default_factory=dict)
    """The notes of the files to be read, without new ones."""
    missing: dict[bytes, KnownFile] = field(default_factory=dict)
    moved: dict[str, tuple[bytes, KnownFile]] = field(default_factory=dict)
    problems: list[WalkProblem] = field(default_factory=list)
    unchanged: int = 0


def compare(
    found: Iterable[FoundFile | WalkProblem],
    known: Iterable[tuple[bytes, KnownFile]],
    made_by: Mapping[str, str],
) -> Plan:
    """Sort the result of a walk into unchanged, to be read, and missing.

    `found` and `known` are in the order of the bytes of the paths, and neither is held: memory grows only
    with what has changed. Files to be read that have not changed come last: the newest first of those that
    an older version read.
    """
    plan = Plan()
    encode = os.fsencode
    rows = iter(known)
    row = next(rows, None)
    for item in found:
        if isinstance(item, WalkProblem):
            plan.problems.append(item)
            continue
        path, file = encode(item.path), None
        while row is not None and row[0] < path:
            plan.missing[row[0]] = row[1]
            row = next(rows, None)
        if row is not None and row[0] == path:
            file = row[1]
            row = next(rows, None)
        if (
            file is not None
            and item.fingerprint == file.fingerprint
            and file.made_by == made_by[item.format.id]
            and file.state == "ok"
            and item.private == ("private_by_rule" in file.flags)
            and max(file.fingerprint.mtime_ns, file.fingerprint.ctime_ns) + _RACY_NS < file.checked_ns
        ):
            plan.unchanged += 1
        else:
            plan.to_read.append(item)
            if file is not None:
                plan.known[path] = file
    if row is not None:
        plan.missing[row[0]] = row[1]
    plan.missing.update(rows)

    def urgency(item: FoundFile) -> tuple[bool, int]:
        file = plan.known.get(encode(item.path))
        unchanged = file is not None and file.fingerprint == item.fingerprint
        return unchanged, -item.fingerprint.mtime_ns if unchanged else 0

    plan.to_read.sort(key=urgency)
    if unseen := {
        encode(problem.path) for problem in plan.problems
    }:  # not missing: the walk could not see them
        plan.missing = {
            path: file
            for path, file in plan.missing.items()
            if path not in unseen and not any(folder in unseen for folder in parents(path))
        }
    return plan


def parents(path: bytes) -> Iterator[bytes]:
    """The folders that contain a path; the root, `b""`, last."""
    while path:
        path = path.rpartition(b"/")[0]
        yield path


def checked_ns(known: KnownFile, stamp: Fingerprint, now_ns: int) -> int:
    """The time of check to store for a file that was read and has not changed.

    A stamp in the future, from a wrong clock, would cause a read at every scan until that time. Two checks
    far enough apart are as good: no later write gets the same stamp.
    """
    if known.fingerprint == stamp and known.checked_ns and now_ns - known.checked_ns > _RACY_NS:
        return max(now_ns, stamp.mtime_ns + _RACY_NS + 1, stamp.ctime_ns + _RACY_NS + 1)
    return now_ns


def recognise_moves(plan: Plan, root: str, limits_of: Callable[[Format], ReadLimits]) -> None:
    """Find known notes under new paths, so that they keep their identity.

    A note is recognised by its content: at a new path if its old path is missing, or by its inode if
    another file took its old path. A note is missing if a moved one took its path and it has not moved.
    """
    known = plan.known
    lost = {path: file for path, file in plan.missing.items() if file.content_hash}
    displaced = {
        path: file
        for item in plan.to_read
        if (file := known.get(path := os.fsencode(item.path))) is not None
        and file.content_hash
        and file.fingerprint.inode != item.fingerprint.inode
    }
    if not lost and not displaced:
        return
    origins = lost | displaced
    owners: dict[str, list[bytes]] = {}
    for path, file in origins.items():
        owners.setdefault(file.content_hash, []).append(path)
    sizes = {file.fingerprint.size for file in origins.values()}
    for item in plan.to_read:
        path = os.fsencode(item.path)
        if item.fingerprint.size not in sizes or (path in known and path not in displaced):
            continue
        try:
            candidates = owners.get(read_file(root, item.path, limits_of(item.format)).content_hash, [])
        except UnreadableFileError:
            continue
        own = [old for old in candidates if origins[old].fingerprint.inode == item.fingerprint.inode]
        free = own or [old for old in candidates if old in lost]
        if free and free[0] != path:
            candidates.remove(free[0])
            plan.moved[item.path] = (free[0], origins[free[0]])
    left = {path for path, _ in plan.moved.values()}
    overwritten = {path for path in map(os.fsencode, plan.moved) if path in known and path not in left}
    plan.missing = {path: file for path, file in plan.missing.items() if path not in left}
    plan.missing |= {path: known[path] for path in overwritten}


class DeletionGracePeriod:
    """Delays the deletion of missing files.

    Editors move the old file away before the new one exists, and sync tools and moves across folders take
    time. During the grace period a missing file also counts as the origin of a new one.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, seconds: float = GRACE_S) -> None:
        self._clock = clock
        self._seconds = seconds
        self._until: dict[SourceId, dict[bytes, float]] = {}

    def waiting(self, source: SourceId) -> tuple[bytes, ...]:
        """Missing paths within the grace period."""
        return tuple(self._until.get(source, ()))

    def expired(self, source: SourceId, missing: Mapping[bytes, KnownFile]) -> dict[bytes, KnownFile]:
        """The missing files whose grace period is over. Files that are back are forgotten."""
        now = self._clock()
        before = self._until.get(source, {})
        until = {path: before.get(path, now + self._seconds) for path in missing}
        self._until[source] = {path: end for path, end in until.items() if end > now}
        return {path: file for path, file in missing.items() if until[path] <= now}

    def left(self, source: SourceId) -> float:
        """Seconds until the last grace period ends."""
        ends = self._until.get(source, {}).values()
        return max(0.0, max(ends) - self._clock()) if ends else 0.0

    def forget(self, source: SourceId) -> None:
        self._until.pop(source, None)
