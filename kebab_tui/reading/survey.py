"""Walks a folder of notes like `walk`, and names what the walk passes over as well, and why.

For people who ask where a file has gone: slower than the walk, which indexing uses. A
folder that is left out is one thing, however much it holds; ignore files are not named,
they are read. Says of a found file exactly what the walk says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from kebab_tui.domain.document import fingerprint_of
from kebab_tui.reading.exclusion import Exclusion, against_file, against_folder
from kebab_tui.reading.filetypes import file_type_of
from kebab_tui.reading.ignore import IGNORE_FILES, Scope, scope_of_root
from kebab_tui.reading.walk import FoundFile, WalkProblem, WalkRules, check_root, rules_of_folder, trouble


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
