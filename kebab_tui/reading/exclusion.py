"""Says why a path is no note of a folder: the first reason on the way down to it.

Asks the same rules as the walk, for one path or for one entry of a folder. None means
that the walk would find it.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass

from kebab_tui.reading.filetypes import file_type_of
from kebab_tui.reading.ignore import IGNORE_FILES, Rule, Scope, scope_of_root
from kebab_tui.reading.walk import WalkRules, rules_of_folder

_EDITOR_DROPPING = re.compile(r"(?s).+~|\..+\.sw[a-z]|4913|#.+#|\.#.+|\._.+|\.goutputstream-.+")


@dataclass(frozen=True, slots=True)
class Exclusion:
    """What keeps an entry out; `rule` is the line that does, where it is one."""

    reason: str
    rule: Rule | None = None

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
