"""Explains why an entry of a folder is not a note.

Applies the rules of the walk to one entry and returns the first reason. None means that
the walk would find the entry.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass

from kebab_tui.files.ignore import FolderRules, IgnoreRule
from kebab_tui.formats.registry import Format, format_of

_EDITOR_FILE = re.compile(r"(?s).+~|\..+\.sw[a-z]|4913|#.+#|\.#.+|\._.+|\.goutputstream-.+")


@dataclass(frozen=True, slots=True)
class Exclusion:
    """The reason, and the line of an ignore file behind it, if any."""

    reason: str
    rule: IgnoreRule | None = None

    def __str__(self) -> str:
        return f"{self.reason} {self.rule}" if self.rule else self.reason


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that is not a note, or a whole folder (its path ends with a slash)."""

    path: str
    exclusion: Exclusion


def is_editor_file(name: str) -> bool:
    """Recognise the temporary and backup files of editors."""
    return _EDITOR_FILE.fullmatch(name) is not None


def format_within(scope: FolderRules, prefix: str, name: str) -> Format | None:
    """The format of the file `name` in `prefix`; None if there is none, or it is turned off."""
    kind = format_of(name)
    return kind if kind and scope.reads(kind.id, name, prefix + name) else None


def exclusion_of_folder(root: str, prefix: str, name: str, scope: FolderRules) -> Exclusion | None:
    """Check the folder `name` in `prefix` (empty for the root, else it ends with a slash)."""
    path = f"{prefix}{name}"
    if reason := _problem_of_entry(root, path, name, stat.S_IFDIR):
        return Exclusion(reason)
    rule = scope.rule_against(name + "/", path + "/")
    return Exclusion("ignored by", rule) if rule else None


def exclusion_of_file(root: str, prefix: str, name: str, scope: FolderRules) -> Exclusion | None:
    """Check the file `name` in `prefix`."""
    path = f"{prefix}{name}"
    if is_editor_file(name):
        return Exclusion("temporary file of an editor")
    if reason := _problem_of_entry(root, path, name, stat.S_IFREG):
        return Exclusion(reason)
    kind = format_of(name)
    if kind is None:
        return Exclusion("unsupported file type")
    if not scope.reads(kind.id, name, path):
        return Exclusion(f"its type is turned off: {kind.id} = false under [reading] in the settings")
    if rule := scope.rule_against(name, path):
        return Exclusion("ignored by", rule)
    return None if scope.includes(name, path) else Exclusion("not matched by any include pattern")


def _problem_of_entry(root: str, path: str, name: str, kind: int) -> str | None:
    """Check the name and the file type of an entry; `kind` is the expected type."""
    if name.startswith("."):
        return f"hidden: {name} starts with a dot"
    try:
        mode = os.lstat(f"{root}/{path}").st_mode
    except FileNotFoundError:
        return f"{path} does not exist"
    except OSError as error:
        return f"cannot read {path}: {error.strerror}"
    if stat.S_ISLNK(mode):
        inside = os.path.realpath(f"{root}/{path}").startswith(os.path.realpath(root) + os.sep)
        target = "inside" if inside else "outside"
        return f"{path} is a symbolic link to a place {target} the folder; links are not followed"
    if stat.S_IFMT(mode) == kind:
        return None
    return f"{path} is not a {'folder' if kind == stat.S_IFDIR else 'regular file'}"
