"""Compares a folder as it is with what the index remembers of it.

Decides from present state only: what stands there, with which stamp and content, never
from how it came about. Reads no note but to tell a renamed one from a new one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from kebab_tui.domain.document import Fingerprint
from kebab_tui.domain.errors import UnreadableFileError
from kebab_tui.domain.ids import SourceId
from kebab_tui.files.read import read_file
from kebab_tui.files.walk import FoundFile, WalkProblem
from kebab_tui.formats.decode import ReadLimits
from kebab_tui.indexing.watched_folders import above
from kebab_tui.storage.sqlite.catalogue import KnownFile

_RACY_NS = 2_000_000_000
"""A file last written this shortly before it was read may have been written again unseen:
file systems stamp as coarsely as that."""


@dataclass(slots=True)
class Plan:
    """What must be done for one source. `moved` says which known note a found file is now."""

    to_read: list[FoundFile] = field(default_factory=list)
    missing: dict[bytes, KnownFile] = field(default_factory=dict)
    moved: dict[str, tuple[bytes, KnownFile]] = field(default_factory=dict)
    problems: list[WalkProblem] = field(default_factory=list)
    unchanged: int = 0


def compare(found: Iterable[FoundFile | WalkProblem], known: Mapping[bytes, KnownFile], made_by: str) -> Plan:
    """Sort what the walk finds into unchanged, to be read, and missing."""
    plan = Plan()
    left = dict(known)
    encode = os.fsencode
    for item in found:
        if isinstance(item, WalkProblem):
            plan.problems.append(item)
            continue
        file = left.pop(encode(item.path), None)
        if file is not None and _is_unchanged(item, file, made_by):
            plan.unchanged += 1
        else:
            plan.to_read.append(item)
    plan.missing = _without_unseen(left, plan.problems)
    return plan


def _is_unchanged(item: FoundFile, file: KnownFile, made_by: str) -> bool:
    stamp = file.fingerprint
    return (
        item.fingerprint == stamp
        and file.made_by == made_by
        and file.state == "ok"
        and max(stamp.mtime_ns, stamp.ctime_ns) + _RACY_NS < file.checked_ns
    )


def checked_ns(known: KnownFile, stamp: Fingerprint, now_ns: int) -> int:
    """The time of check to remember for a file that was read and says what it said before.

    A stamp from the future, of a clock that was or is wrong, would have the file read at each look until
    that time has come. Two checks far enough apart are as good: no later write gets the same stamp.
    """
    if known.fingerprint == stamp and known.checked_ns and now_ns - known.checked_ns > _RACY_NS:
        return max(now_ns, stamp.mtime_ns + _RACY_NS + 1, stamp.ctime_ns + _RACY_NS + 1)
    return now_ns


def _without_unseen(left: dict[bytes, KnownFile], problems: Iterable[WalkProblem]) -> dict[bytes, KnownFile]:
    """Files below a folder that could not be read are not missing: nobody looked."""
    unseen = {os.fsencode(problem.path) for problem in problems}
    if not unseen:
        return left
    return {
        path: file
        for path, file in left.items()
        if path not in unseen and not any(folder in unseen for folder in above(path))
    }


def recognise_moves(plan: Plan, known: Mapping[bytes, KnownFile], root: str, limits: ReadLimits) -> None:
    """Find known notes under new paths, so that they keep their identity.

    A note is recognised by its content: at a new path while its old path is gone, or
    with its own inode while another file has taken its old path. A note whose place a
    moved one has taken, and that has not moved itself, is missing.
    """
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
    owners: dict[str, list[bytes]] = {}
    for path, file in (lost | displaced).items():
        owners.setdefault(file.content_hash, []).append(path)
    sizes = {file.fingerprint.size for file in (lost | displaced).values()}
    for item in plan.to_read:
        path = os.fsencode(item.path)
        if item.fingerprint.size in sizes and (path not in known or path in displaced):
            _claim(plan, item, owners.get(_hash_of(root, item.path, limits), []), known, lost)
    left = {path for path, _ in plan.moved.values()}
    overwritten = {path for path in map(os.fsencode, plan.moved) if path in known and path not in left}
    plan.missing = {path: file for path, file in plan.missing.items() if path not in left}
    plan.missing |= {path: known[path] for path in overwritten}


def _claim(
    plan: Plan,
    item: FoundFile,
    candidates: list[bytes],
    known: Mapping[bytes, KnownFile],
    lost: Mapping[bytes, KnownFile],
) -> None:
    inode = item.fingerprint.inode
    own = [path for path in candidates if known[path].fingerprint.inode == inode]
    free = own or [path for path in candidates if path in lost]
    if free and free[0] != os.fsencode(item.path):
        candidates.remove(free[0])
        plan.moved[item.path] = (free[0], known[free[0]])


def _hash_of(root: str, path: str, limits: ReadLimits) -> str:
    try:
        return read_file(root, path, limits).content_hash
    except UnreadableFileError:
        return ""


# Files that are missing, but perhaps only for a moment.
#
# Editors save by moving the old file away before the new one is there, sync tools and moves
# across folders take their time: a note goes only when its file has been missing for a
# while. Until then it also counts as what a new file elsewhere may have been before.

GRACE_S = 0.45
"""On top of the settle that a deletion has waited already: 600 ms in all."""


class DeletionGracePeriod:
    """Remembers since when each file has been missing."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, seconds: float = GRACE_S) -> None:
        self._clock = clock
        self._seconds = seconds
        self._until: dict[SourceId, dict[bytes, float]] = {}

    def waiting(self, source: SourceId) -> tuple[bytes, ...]:
        """Which paths of a source are missing and not yet given up."""
        return tuple(self._until.get(source, ()))

    def given_up(self, source: SourceId, missing: Mapping[bytes, KnownFile]) -> dict[bytes, KnownFile]:
        """Of all that is missing, what has been so for long enough; what is back is forgotten."""
        now = self._clock()
        before = self._until.get(source, {})
        until = {path: before.get(path, now + self._seconds) for path in missing}
        self._until[source] = {path: end for path, end in until.items() if end > now}
        return {path: file for path, file in missing.items() if until[path] <= now}

    def left(self, source: SourceId) -> float:
        """In how many seconds the last of them is to be looked at again."""
        ends = self._until.get(source, {}).values()
        return max(0.0, max(ends) - self._clock()) if ends else 0.0

    def forget(self, source: SourceId) -> None:
        self._until.pop(source, None)
