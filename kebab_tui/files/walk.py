"""Finds the notes in a folder, in the order of the bytes of their paths.

Yields files of a known type that no rule leaves out, and counts those of other types.
Skips names that begin with a dot. Does not follow symbolic links: a linked folder could be
anywhere or contain itself, and a linked file is either outside the root or found under its
own name. Reads only the ignore files and `.kebabprivate`, and does not compare with earlier walks.
If a `.kebabprivate` cannot be read or understood as a whole, all notes below its folder are private.

Paths are relative to the root, with `/`; bytes that are not UTF-8 become surrogates
(`os.fsencode` restores them).
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, cast

from kebab_tui.domain.checkpoint import SELDOM, UNLIMITED, Checkpoint
from kebab_tui.domain.document import Fingerprint, OtherFiles, fingerprint_of
from kebab_tui.domain.errors import UnreadableFileError
from kebab_tui.files.exclusion import (
    LeftOut,
    exclusion_of_file,
    exclusion_of_folder,
    format_within,
    is_editor_file,
)
from kebab_tui.files.ignore import (
    PRIVATE_FILE,
    RULE_FILES,
    FolderRules,
    IgnoreRule,
    rules_of_file,
    rules_of_private_file,
    scope_of_root,
)
from kebab_tui.files.read import exists, read_file
from kebab_tui.files.root import check_root
from kebab_tui.files.tree_root import is_tree
from kebab_tui.formats.decode import MEGABYTE, ReadLimits
from kebab_tui.formats.registry import OPT_IN, Format

if TYPE_CHECKING:
    from kebab_tui.files.git_tree import TreeEntry  # ordinary folders do not load it

_RULE_FILE_LIMITS = ReadLimits(MEGABYTE)
_GONE = (errno.ENOENT, errno.ENOTDIR)
_EXTENSION = re.compile(r"[\w+-]{1,16}")
_MOST_EXTENSIONS = 10_000
"""Distinct extensions to count; files with further ones count only in the total."""
_FURTHER = "."


@dataclass(frozen=True, slots=True)
class WalkRules:
    """The source's own patterns, gitignore style, relative to its root; see `FolderRules`."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    off: frozenset[str] = OPT_IN
    """The formats whose files are no notes, unless a pattern of `include` names their ending."""

    def scope(self, checkpoint: Checkpoint = UNLIMITED) -> FolderRules:
        return scope_of_root(self.include, self.exclude, checkpoint, self.off)


@dataclass(frozen=True, slots=True)
class FoundFile:
    path: str
    fingerprint: Fingerprint
    format: Format
    private: bool = False
    """Whether a `.kebabprivate` matches the note."""


@dataclass(frozen=True, slots=True)
class WalkProblem:
    """The walk could not see `path` or anything below it; notes there may still exist.

    The path of the root is empty.
    """

    path: str
    reason: str


Entry = FoundFile | WalkProblem | LeftOut
_FolderEntry: TypeAlias = "os.DirEntry[str] | TreeEntry"
_Listing = tuple[list[str], list[tuple[str, _FolderEntry, Format | None]], list[str], list[str]]


def walk(
    root: str, rules: WalkRules, checkpoint: Checkpoint = UNLIMITED
) -> Iterator[FoundFile | WalkProblem]:
    """Find the notes below `root`; raise before the first one if `root` cannot be walked."""
    return PathScanner(root, rules, checkpoint).walk()


def survey(root: str, rules: WalkRules) -> Iterator[Entry]:
    """Yield the same as `walk`, and also each file and folder that it leaves out, with the reason.

    Slower than `walk`. A folder that is left out is one entry; ignore files are not listed.
    """
    scope = rules.scope()
    check_root(root)
    return _walk(root, "", scope, True, Counter())


def explain_ignored(root: str, path: str, rules: WalkRules) -> str | None:
    """Return why `walk` leaves out `path`, relative to `root`; None if it does not."""
    steps = path.split("/")
    if "\0" in path or any(step in ("", ".", "..") for step in steps):
        return "outside the folder"
    scope = rules.scope()
    prefix = ""
    for folder in steps[:-1]:
        scope = _with_ignore_files(root, prefix, scope)
        if excluded := exclusion_of_folder(root, prefix, folder, scope):
            return f"its folder {prefix}{folder} is {excluded}" if excluded.rule else str(excluded)
        prefix = f"{prefix}{folder}/"
        scope = scope.below(folder + "/", prefix)
    excluded = exclusion_of_file(root, prefix, steps[-1], _with_ignore_files(root, prefix, scope))
    return str(excluded) if excluded else None


def is_private(root: str, path: str) -> bool:
    """Return whether a `.kebabprivate` now matches the note at `path`, relative to `root`."""
    *folders, name = path.split("/")
    scope, prefix = FolderRules(), ""
    for folder in folders:
        scope = _with_private_file(root, prefix, scope)
        prefix = f"{prefix}{folder}/"
        scope = scope.below(folder + "/", prefix)
    return _with_private_file(root, prefix, scope).is_private(name, path)


class PathScanner:
    """Finds the notes of one source: all of them, or what the walk would find at single paths.

    Keeps the rules of each folder, for any thread: make a new scanner when an ignore file changes.
    """

    def __init__(self, root: str, rules: WalkRules, checkpoint: Checkpoint = UNLIMITED) -> None:
        self._root = root
        self._outer: dict[str, FolderRules | None] = {"": rules.scope(checkpoint)}
        self._inner: dict[str, FolderRules | None] = {}
        self._others: Counter[str] = Counter()

    def walk(self) -> Iterator[FoundFile | WalkProblem]:
        """All notes; raise before the first one if the root cannot be walked."""
        if not is_tree(self._root):
            check_root(self._root)
        self._others = Counter()
        return self._below("", self._others)

    @property
    def other_files(self) -> OtherFiles:
        """What the last `walk` passed over; complete when that is."""
        types = dict(self._others)
        types.pop(_FURTHER, None)
        return OtherFiles.of(self._others.total(), types)

    def look(self, paths: Iterable[str]) -> Iterator[FoundFile | WalkProblem]:
        """Yield the note at each path, or the notes below it if it is a folder."""
        folders: dict[str, WalkProblem | bool] = {"": True}
        for path in paths:
            if "\0" in path or any(step in (".", "..") for step in path.split("/")):
                continue
            if not path:
                yield from self._below("", Counter())
                continue
            prefix, name = _split(path)
            is_folder = self._check_folder(prefix, folders)
            if isinstance(is_folder, WalkProblem):
                yield is_folder
            if is_folder is not True:
                continue
            try:
                status = os.lstat(f"{self._root}/{path}")
            except OSError as error:
                if error.errno not in _GONE:
                    yield WalkProblem(path, _reason(error))
                continue
            if stat.S_ISDIR(status.st_mode):
                yield from self._below(path + "/", Counter())
            elif stat.S_ISREG(status.st_mode):
                kind = self._format_of(prefix, name)
                if kind is not None and self._takes_file(prefix, name):
                    scope = self._scope_in(prefix)
                    private = scope is None or scope.is_private(name, path)
                    yield FoundFile(path, fingerprint_of(status), kind, private)

    def takes(self, path: str, *, is_folder: bool) -> bool:
        """Return whether names and rules allow an entry at `path`; it need not exist."""
        if is_folder:
            return self._scope_above(f"{path}/" if path else "") is not None
        prefix, name = _split(path)
        if name in RULE_FILES:
            return self._scope_above(prefix) is not None
        return self._format_of(prefix, name) is not None and self._takes_file(prefix, name)

    def _below(self, prefix: str, others: Counter[str]) -> Iterator[FoundFile | WalkProblem]:
        scope = self._scope_above(prefix)
        found = _walk(self._root, prefix, scope, False, others) if scope is not None else iter(())
        return cast("Iterator[FoundFile | WalkProblem]", found)

    def _format_of(self, prefix: str, name: str) -> Format | None:
        scope = self._outer[""]
        return format_within(scope, prefix, name) if scope else None

    def _takes_file(self, prefix: str, name: str) -> bool:
        scope = None if name.startswith(".") else self._scope_in(prefix)
        return scope is not None and (scope.takes_all or not scope.leaves_out(name, prefix + name))

    def _scope_above(self, prefix: str) -> FolderRules | None:
        """Return the rules of the folders above `prefix`; None if they leave it out."""
        if prefix not in self._outer:
            above, name = _split(prefix[:-1])
            scope = None if name.startswith(".") else self._scope_in(above)
            if scope is not None:
                ignored = scope.rule_against(name + "/", prefix)
                scope = None if ignored else scope.below(name + "/", prefix)
            self._outer[prefix] = scope
        return self._outer[prefix]

    def _scope_in(self, prefix: str) -> FolderRules | None:
        """Return the same with the folder's own ignore files."""
        if prefix not in self._inner:
            scope = self._scope_above(prefix)
            self._inner[prefix] = scope and _with_ignore_files(self._root, prefix, scope)
        return self._inner[prefix]

    def _check_folder(self, prefix: str, known: dict[str, WalkProblem | bool]) -> WalkProblem | bool:
        """Return whether a folder exists with no link above it; a problem if that cannot be seen."""
        if prefix not in known:
            found = self._check_folder(_split(prefix[:-1])[0], known)
            if found is True:
                try:
                    found = stat.S_ISDIR(os.lstat(f"{self._root}/{prefix[:-1]}").st_mode)
                except OSError as error:
                    found = False if error.errno in _GONE else WalkProblem(prefix[:-1], _reason(error))
            known[prefix] = found
        return known[prefix]


def _walk(root: str, folder: str, scope: FolderRules, explain: bool, others: Counter[str]) -> Iterator[Entry]:
    """Walk `folder` (empty for the root, else it ends with a slash); `scope` holds the rules above it.

    Yields `LeftOut` only with `explain`. `others` gets the extensions of files of unsupported types.
    """
    folders = [_walk_folder(root, folder, scope, explain, others)]
    while folders:
        step = next(folders[-1], None)
        if step is None:
            folders.pop()
        elif isinstance(step, tuple):
            folders.append(_walk_folder(root, *step, explain, others))
        else:
            yield step


def _walk_folder(
    root: str, prefix: str, scope: FolderRules, explain: bool, others: Counter[str]
) -> Iterator[Entry | tuple[str, FolderRules]]:
    """Yield the files of a folder, and in their places the folders in it, with the rules above them."""
    try:
        folders, files, other_names, rule_files = _list(root, prefix, scope, explain)
    except OSError as error:
        yield WalkProblem(prefix.removesuffix("/"), _reason(error))
        return
    if rule_files:
        scope, problems = _read_rules(root, prefix, rule_files, scope)
        yield from problems
    takes_all = scope.takes_all
    for name in other_names:
        if not is_editor_file(name) and (takes_all or not scope.leaves_out(name, prefix + name)):
            before, _, extension = name.rpartition(".")
            extension = extension.lower() if before and _EXTENSION.fullmatch(extension) else ""
            if extension not in others and len(others) >= _MOST_EXTENSIONS:
                extension = _FURTHER
            others[extension] += 1
    # With its slash a folder sorts as the paths below it do.
    below: list[tuple[str, _FolderEntry | None, Format | None]] = [
        (f"{name}/", None, None) for name in folders
    ]
    for name, entry, kind in sorted([*files, *below], key=_in_bytes):
        path = prefix + name
        if entry is None:
            if explain and (excluded := exclusion_of_folder(root, prefix, name[:-1], scope)):
                yield LeftOut(path, excluded)
            elif explain or takes_all or not scope.rule_against(name, path):
                yield path, scope.below(name, path)
            continue
        if kind is None or (not takes_all and scope.leaves_out(name, path)):
            if explain and (excluded := exclusion_of_file(root, prefix, name, scope)):
                yield LeftOut(path, excluded)
            continue
        try:
            found = fingerprint_of(entry.stat(follow_symlinks=False))
            yield FoundFile(path, found, kind, scope.is_private(name, path))
        except OSError as error:
            # Also for a deleted file: a share that is unmounted during the walk looks the same.
            yield WalkProblem(path, _reason(error))


def _in_bytes(entry: tuple[str, object, object]) -> bytes:
    return os.fsencode(entry[0])


def _list(root: str, prefix: str, scope: FolderRules, explain: bool) -> _Listing:
    """List the folders, the files with their types, files of other types, and the rule files in a folder.

    With `explain`, also hidden names and, with type None, entries that cannot be notes.
    """
    folders: list[str] = []
    files: list[tuple[str, _FolderEntry, Format | None]] = []
    others: list[str] = []
    rule_files: list[str] = []
    with _entries(root, prefix) as entries:
        scope.checkpoint()
        for number, entry in enumerate(entries, start=1):
            if number & SELDOM == 0:
                scope.checkpoint()
            name = entry.name
            hidden = name[0] == "."
            if hidden:
                if name in RULE_FILES:
                    rule_files.append(name)
                if not explain:
                    continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(name)
            elif (
                not hidden
                and (kind := format_within(scope, prefix, name))
                and entry.is_file(follow_symlinks=False)
            ):
                files.append((name, entry, kind))
            elif explain and name not in RULE_FILES:
                files.append((name, entry, None))
            elif not hidden and kind is None and entry.is_file(follow_symlinks=False):
                others.append(name)
    return folders, files, others, rule_files


def _entries(root: str, prefix: str) -> AbstractContextManager[Iterable[_FolderEntry]]:
    """What is in a folder on disk, or in one of a version."""
    if is_tree(root):
        from kebab_tui.files.git_tree import tree_at

        return nullcontext(tree_at(root).entries(prefix))
    return os.scandir(f"{root}/{prefix}")


def _with_ignore_files(root: str, prefix: str, scope: FolderRules) -> FolderRules:
    """Add the rules of a folder's own rule files; ignore files that cannot be read have none."""
    present = [name for name in RULE_FILES if exists(root, prefix + name)]
    return _read_rules(root, prefix, present, scope)[0] if present else scope


def _with_private_file(root: str, prefix: str, scope: FolderRules) -> FolderRules:
    """Add the rules of a folder's own `.kebabprivate`."""
    if scope.private or not exists(root, prefix + PRIVATE_FILE):
        return scope
    return _read_rules(root, prefix, [PRIVATE_FILE], scope)[0]


def _read_rules(
    root: str, prefix: str, names: list[str], scope: FolderRules
) -> tuple[FolderRules, list[WalkProblem]]:
    """Add the rule files of one folder to the scope, weakest first."""
    rules: list[IgnoreRule] = []
    problems = []
    for name in sorted(names, key=RULE_FILES.index):
        path, is_private = prefix + name, name == PRIVATE_FILE
        try:
            data = read_file(root, path, _RULE_FILE_LIMITS).data
        except UnreadableFileError as error:
            consequence = (
                "all notes in its folder count as private" if is_private else "ignore file not applied"
            )
            problems.append(WalkProblem(path, f"{consequence}: {error.message}"))
            scope = replace(scope, private=scope.private or is_private)
            continue
        if not is_private:
            rules += rules_of_file(path, data, scope.checkpoint)
            continue
        private_rules, wrong = rules_of_private_file(path, data, scope.checkpoint)
        if wrong:
            reason = f"all notes in its folder count as private: line {wrong} is not a pattern"
            problems.append(WalkProblem(path, reason))
            scope = replace(scope, private=True)
        elif private_rules:
            scope = scope.with_private_rules(prefix, private_rules)
    return scope.with_rules(prefix, rules) if rules else scope, problems


def _reason(error: OSError) -> str:
    return "permission denied" if isinstance(error, PermissionError) else f"cannot be read: {error.strerror}"


def _split(path: str) -> tuple[str, str]:
    """Split into the folder, with a slash unless it is the root, and the name."""
    folder, slash, name = path.rpartition("/")
    return folder + slash, name
