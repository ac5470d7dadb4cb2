"""Says why a path is no note of a folder: the first reason on the way down to it.

Asks the same rules as the walk, for one path or for one entry of a folder. None means
that the walk would find it.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from kebab_tui.domain.checkpoint import UNLIMITED, Checkpoint
from kebab_tui.domain.document import fingerprint_of
from kebab_tui.files.ignore import IGNORE_FILES, IgnoreRule, Scope, scope_of_root
from kebab_tui.files.walk import (
    FoundFile,
    WalkProblem,
    WalkRules,
    check_root,
    rules_of_folder,
    trouble,
    walk_below,
)
from kebab_tui.formats.registry import file_type_of

_EDITOR_DROPPING = re.compile(r"(?s).+~|\..+\.sw[a-z]|4913|#.+#|\.#.+|\._.+|\.goutputstream-.+")


@dataclass(frozen=True, slots=True)
class Exclusion:
    """What keeps an entry out; `rule` is the line that does, where it is one."""

    reason: str
    rule: IgnoreRule | None = None

    def __str__(self) -> str:
        return f"{self.reason} {self.rule}" if self.rule else self.reason


def is_editor_dropping(name: str) -> bool:
    """Tell the temporary and backup files of editors from what people name."""
    return _EDITOR_DROPPING.fullmatch(name) is not None


def explain_ignored(root: str, path: str, rules: WalkRules) -> str | None:
    """Say in a few words what leaves out `path`, relative to `root`; None if nothing does."""
    steps = path.split("/")
    if "\0" in path or any(step in ("", ".", "..") for step in steps):
        return "outside the folder"
    scope = scope_of_root(rules.include, rules.exclude)
    prefix = ""
    for folder in steps[:-1]:
        scope = _with_rules_of(root, prefix, scope)
        if excluded := against_folder(root, prefix, folder, scope):
            return f"its folder {prefix}{folder} is {excluded}" if excluded.rule else str(excluded)
        prefix = f"{prefix}{folder}/"
        scope = scope.below(folder + "/", prefix)
    excluded = against_file(root, prefix, steps[-1], _with_rules_of(root, prefix, scope))
    return str(excluded) if excluded else None


def against_folder(root: str, prefix: str, name: str, scope: Scope) -> Exclusion | None:
    """What keeps a folder out that stands at `prefix` (the root is empty, others end in a slash)."""
    path = f"{prefix}{name}"
    if reason := _against_entry(root, path, name, stat.S_IFDIR):
        return Exclusion(reason)
    rule = scope.rule_against(name + "/", path + "/")
    return Exclusion("ignored by", rule) if rule else None


def against_file(root: str, prefix: str, name: str, scope: Scope) -> Exclusion | None:
    """The same for a file."""
    path = f"{prefix}{name}"
    if is_editor_dropping(name):
        return Exclusion("a temporary file of an editor")
    if reason := _against_entry(root, path, name, stat.S_IFREG):
        return Exclusion(reason)
    if file_type_of(name) is None:
        return Exclusion("its file type is not read")
    if rule := scope.rule_against(name, path):
        return Exclusion("ignored by", rule)
    if scope.includes(name, path):
        return None
    return Exclusion("no include pattern of the source takes it")


def _with_rules_of(root: str, prefix: str, scope: Scope) -> Scope:
    present = [name for name in IGNORE_FILES if os.path.lexists(f"{root}/{prefix}{name}")]
    if not present:
        return scope
    return scope.with_rules(prefix, rules_of_folder(root, prefix, present, scope.checkpoint)[0])


def _against_entry(root: str, path: str, name: str, kind: int) -> str | None:
    """What the file system itself has against an entry of the wanted kind."""
    if name.startswith("."):
        return f"hidden: {name} begins with a dot"
    try:
        mode = os.lstat(f"{root}/{path}").st_mode
    except FileNotFoundError:
        return f"there is no {path}"
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    if stat.S_ISLNK(mode):
        return f"{path} is a symbolic link {_goal(root, path)}; links are not followed"
    if stat.S_IFMT(mode) == kind:
        return None
    return f"{path} is not a {'folder' if kind == stat.S_IFDIR else 'regular file'}"


def _goal(root: str, path: str) -> str:
    """Whether a link leads to something that has a name of its own in the folder."""
    inside = os.path.realpath(root)
    target = os.path.realpath(f"{root}/{path}")
    return "within the folder" if target.startswith(inside + os.sep) else "that leads outside the folder"


# What the walk would find at one path, without walking there.
#
# Asks the same rules in the same order as `walk`, so that looking at every path one by one
# finds exactly what a walk finds. Remembers the rules of each folder that it has met: for
# a short while only, or until an ignore file changes.

_GONE = (errno.ENOENT, errno.ENOTDIR)


class PathScanner:
    """Looks at single paths of one folder; paths are relative, with `/`, as the walk gives them."""

    def __init__(self, root: str, rules: WalkRules, checkpoint: Checkpoint = UNLIMITED) -> None:
        self._root = root
        self._checkpoint = checkpoint
        top = scope_of_root(rules.include, rules.exclude, checkpoint)
        self._outer: dict[str, Scope | None] = {"": top}
        self._inner: dict[str, Scope | None] = {}
        self._standing: dict[str, WalkProblem | bool] = {"": True}

    def look(self, path: str) -> Iterator[FoundFile | WalkProblem]:
        """The note at a path, or those below it if it is a folder; nothing where the walk finds nothing."""
        if "\0" in path or any(step in (".", "..") for step in path.split("/")):
            return
        if not path:
            yield from self._below("")
            return
        prefix, name = _split(path)
        standing = self._stands(prefix)
        if isinstance(standing, WalkProblem):
            yield standing
        elif standing:
            yield from self._entry(prefix, name)

    def takes(self, path: str, *, is_folder: bool) -> bool:
        """Whether names and rules let an entry in, whatever stands there: it may just have gone."""
        if is_folder:
            return self._scope_at(f"{path}/" if path else "") is not None
        prefix, name = _split(path)
        if name in IGNORE_FILES:
            return self._scope_at(prefix) is not None
        return not name.startswith(".") and file_type_of(name) is not None and self._is_taken(prefix, name)

    def _entry(self, prefix: str, name: str) -> Iterator[FoundFile | WalkProblem]:
        path = prefix + name
        try:
            status = os.lstat(f"{self._root}/{path}")
        except OSError as error:
            if error.errno not in _GONE:
                yield WalkProblem(path, trouble(error))
            return
        if stat.S_ISDIR(status.st_mode):
            yield from self._below(path + "/")
        elif stat.S_ISREG(status.st_mode) and not name.startswith("."):
            kind = file_type_of(name)
            if kind is not None and self._is_taken(prefix, name):
                yield FoundFile(path, fingerprint_of(status), kind)

    def _below(self, prefix: str) -> Iterator[FoundFile | WalkProblem]:
        if (scope := self._scope_at(prefix)) is not None:
            yield from walk_below(self._root, prefix, scope)

    def _is_taken(self, prefix: str, name: str) -> bool:
        scope = self._scope_in(prefix)
        return scope is not None and not scope.leaves_out(name, prefix + name)

    def _scope_at(self, prefix: str) -> Scope | None:
        """What its parents say of a folder; None when they leave it out."""
        if prefix not in self._outer:
            above, name = _split(prefix[:-1])
            scope = None if name.startswith(".") else self._scope_in(above)
            if scope is not None:
                refused = scope.rule_against(name + "/", prefix)
                scope = None if refused else scope.below(name + "/", prefix)
            self._outer[prefix] = scope
        return self._outer[prefix]

    def _scope_in(self, prefix: str) -> Scope | None:
        """The same with the folder's own ignore files."""
        if prefix not in self._inner:
            scope = self._scope_at(prefix)
            if scope is not None:
                present = [name for name in IGNORE_FILES if os.path.lexists(f"{self._root}/{prefix}{name}")]
                if present:
                    rules, _ = rules_of_folder(self._root, prefix, present, self._checkpoint)
                    scope = scope.with_rules(prefix, rules)
            self._inner[prefix] = scope
        return self._inner[prefix]

    def _stands(self, prefix: str) -> WalkProblem | bool:
        """Whether a folder is there and no link on the way; a problem when that cannot be seen."""
        if prefix not in self._standing:
            above = self._stands(_split(prefix[:-1])[0])
            self._standing[prefix] = self._is_folder(prefix) if above is True else above
        return self._standing[prefix]

    def _is_folder(self, prefix: str) -> WalkProblem | bool:
        try:
            return stat.S_ISDIR(os.lstat(f"{self._root}/{prefix[:-1]}").st_mode)
        except OSError as error:
            return False if error.errno in _GONE else WalkProblem(prefix[:-1], trouble(error))


def _split(path: str) -> tuple[str, str]:
    """The folder of an entry, with a slash unless it is the root, and its name."""
    folder, slash, name = path.rpartition("/")
    return folder + slash, name


# Walks a folder of notes like `walk`, and names what the walk passes over as well, and why.
#
# For people who ask where a file has gone: slower than the walk, which indexing uses. A
# folder that is left out is one thing, however much it holds; ignore files are not named,
# they are read. Says of a found file exactly what the walk says.


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file, or a whole folder (its path ends with a slash), that is no note."""

    path: str
    exclusion: Exclusion


Entry = FoundFile | WalkProblem | LeftOut
_Entry = os.DirEntry[str]


def survey(root: str, rules: WalkRules) -> Iterator[Entry]:
    """Name everything below `root`; a root that cannot be walked at all raises before the first one."""
    scope = scope_of_root(rules.include, rules.exclude)
    check_root(root)
    return _survey(root, scope)


def _survey(root: str, scope: Scope) -> Iterator[Entry]:
    pending = [("", scope)]
    while pending:
        prefix, scope = pending.pop()
        try:
            folders, files, ignore_files = _listed(f"{root}/{prefix}")
        except OSError as error:
            yield WalkProblem(prefix.removesuffix("/"), trouble(error))
            continue
        if ignore_files:
            ignored, problems = rules_of_folder(root, prefix, ignore_files, scope.checkpoint)
            yield from problems
            scope = scope.with_rules(prefix, ignored)
        for entry in files:
            yield _file(root, prefix, entry, scope)
        below = []
        for name in folders:
            path = f"{prefix}{name}/"
            if excluded := against_folder(root, prefix, name, scope):
                yield LeftOut(path, excluded)
            else:
                below.append((path, scope.below(name + "/", path)))
        pending += reversed(below)


def _listed(folder: str) -> tuple[list[str], list[_Entry], list[str]]:
    """The folders, the files and all else, and the ignore files that a folder holds, in order."""
    with os.scandir(folder) as entries:
        here = sorted(entries, key=lambda entry: entry.name)
    ignore_files = [entry.name for entry in here if entry.name in IGNORE_FILES]
    folders = [entry.name for entry in here if entry.is_dir(follow_symlinks=False)]
    files = [
        entry for entry in here if entry.name not in IGNORE_FILES and not entry.is_dir(follow_symlinks=False)
    ]
    return folders, files, ignore_files


def _file(root: str, prefix: str, entry: _Entry, scope: Scope) -> Entry:
    name = entry.name
    path = prefix + name
    kind = file_type_of(name)
    is_file = kind is not None and name[0] != "." and entry.is_file(follow_symlinks=False)
    if kind is None or not is_file or (not scope.takes_all and scope.leaves_out(name, path)):
        excluded = against_file(root, prefix, name, scope)
        if excluded is not None:
            return LeftOut(path, excluded)
    try:
        assert kind is not None  # nothing is held against the file, so its type is one that is read
        return FoundFile(path, fingerprint_of(entry.stat(follow_symlinks=False)), kind)
    except OSError as error:
        return WalkProblem(path, trouble(error))
