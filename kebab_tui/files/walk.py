"""Walks a folder of notes and says what is there, in an order that is always the same.

Yields only files of a known type that no rule leaves out. Names that begin with a dot
are hidden and stay out. Symbolic links are not followed: a folder behind one could lie
anywhere or contain itself, and a file behind one is either outside the root, and not
ours, or inside, and found under its own name. Reads no file but the ignore files and
decides nothing about what was found before.

Paths are relative to the root, with `/`; bytes that are no UTF-8 stand as surrogates
(`os.fsencode` gives them back).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter

from kebab_tui.domain.checkpoint import SELDOM, UNLIMITED, Checkpoint
from kebab_tui.domain.document import Fingerprint, fingerprint_of
from kebab_tui.domain.errors import SourceError, UnreadableFileError
from kebab_tui.files.ignore import IGNORE_FILES, IgnoreRule, Scope, rules_of_file, scope_of_root
from kebab_tui.files.read import read_file
from kebab_tui.formats.decode import MEGABYTE, ReadLimits
from kebab_tui.formats.registry import FileType, file_type_of

_NAME = itemgetter(0)
_IGNORE_FILE_LIMITS = ReadLimits(MEGABYTE)


@dataclass(frozen=True, slots=True)
class WalkRules:
    """The source's own patterns, gitignore style, relative to its root; see `Scope`."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundFile:
    path: str
    fingerprint: Fingerprint
    file_type: FileType


@dataclass(frozen=True, slots=True)
class WalkProblem:
    """Nothing is known of what stands at or below `path`: it may well still be there.

    The root itself is the empty path.
    """

    path: str
    reason: str


_File = tuple[str, os.DirEntry[str], FileType]


def walk(
    root: str, rules: WalkRules, checkpoint: Checkpoint = UNLIMITED
) -> Iterator[FoundFile | WalkProblem]:
    """Find the notes below `root`; a root that cannot be walked at all raises before the first one."""
    scope = scope_of_root(rules.include, rules.exclude, checkpoint)
    check_root(root)
    return walk_below(root, "", scope)


def check_root(root: str) -> None:
    """Make sure that `root` is a folder whose entries can be seen."""
    try:
        os.scandir(root).close()
    except FileNotFoundError:
        raise SourceError(
            f"the folder is not there: {root}",
            "is it spelled right, and its drive mounted? notes that were indexed before stay",
        ) from None
    except NotADirectoryError:
        raise SourceError(f"not a folder: {root}", "name the folder that holds the note") from None
    except PermissionError:
        raise SourceError(f"the folder is not readable: {root}", "check its permissions") from None
    except (OSError, ValueError) as error:
        raise SourceError(f"the folder cannot be read: {root}", str(error)) from error


def walk_below(root: str, folder: str, scope: Scope) -> Iterator[FoundFile | WalkProblem]:
    """Find the notes below `folder` (it ends in a slash; the root is empty), of which `scope` holds."""
    pending = [(folder, scope)]
    while pending:
        prefix, scope = pending.pop()
        try:
            folders, files, ignore_files = _list(f"{root}/{prefix}", scope.checkpoint)
        except OSError as error:
            yield WalkProblem(prefix.removesuffix("/"), trouble(error))
            continue
        if ignore_files:
            ignored, problems = rules_of_folder(root, prefix, ignore_files, scope.checkpoint)
            yield from problems
            scope = scope.with_rules(prefix, ignored)
        if files:
            yield from _found(prefix, scope, files)
        if folders:
            pending += _folders_below(prefix, scope, folders)


def _list(folder: str, checkpoint: Checkpoint) -> tuple[list[str], list[_File], list[str]]:
    """The folders, the files of known types and the ignore files that a folder holds."""
    folders: list[str] = []
    files: list[_File] = []
    ignore_files: list[str] = []
    with os.scandir(folder) as entries:
        checkpoint()
        for at, entry in enumerate(entries, start=1):
            if at & SELDOM == 0:
                checkpoint()
            name = entry.name
            if name[0] == ".":
                if name in IGNORE_FILES:
                    ignore_files.append(name)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(name)
            elif (kind := file_type_of(name)) and entry.is_file(follow_symlinks=False):
                files.append((name, entry, kind))
    return folders, files, ignore_files


def rules_of_folder(
    root: str, prefix: str, names: list[str], checkpoint: Checkpoint
) -> tuple[list[IgnoreRule], list[WalkProblem]]:
    """Read the ignore files of one folder, weakest first; one that cannot be read has no say."""
    rules: list[IgnoreRule] = []
    problems = []
    for name in sorted(names, key=IGNORE_FILES.index):
        try:
            content = read_file(root, prefix + name, _IGNORE_FILE_LIMITS)
        except UnreadableFileError as error:
            problems.append(WalkProblem(prefix + name, f"its rules do not count: {error.message}"))
        else:
            rules += rules_of_file(prefix + name, content.data, checkpoint)
    return rules, problems


def _found(prefix: str, scope: Scope, files: list[_File]) -> Iterator[FoundFile | WalkProblem]:
    takes_all = scope.takes_all
    for name, entry, kind in sorted(files, key=_NAME):
        path = prefix + name
        if not takes_all and scope.leaves_out(name, path):
            continue
        try:
            yield FoundFile(path, fingerprint_of(entry.stat(follow_symlinks=False)), kind)
        except OSError as error:
            # Also for a file that is gone: a share that is unmounted during the walk looks the same.
            yield WalkProblem(path, trouble(error))


def _folders_below(prefix: str, scope: Scope, names: list[str]) -> Iterator[tuple[str, Scope]]:
    """The folders to go into, the last one first."""
    takes_all = scope.takes_all
    for name in sorted(names, reverse=True):
        path = f"{prefix}{name}/"
        if takes_all:
            yield path, scope
        elif not scope.rule_against(name + "/", path):
            yield path, scope.below(name + "/", path)


def trouble(error: OSError) -> str:
    """Why an entry of a folder cannot be seen."""
    return "permission denied" if isinstance(error, PermissionError) else f"cannot be read: {error.strerror}"
