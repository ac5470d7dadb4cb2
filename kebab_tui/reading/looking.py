"""What the walk would find at one path, without walking there.

Asks the same rules in the same order as `walk`, so that looking at every path one by one
finds exactly what a walk finds. Remembers the rules of each folder that it has met: for
a short while only, or until an ignore file changes.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator

from kebab_tui.domain.checkpoint import UNLIMITED, Checkpoint
from kebab_tui.domain.document import fingerprint_of
from kebab_tui.reading.filetypes import file_type_of
from kebab_tui.reading.ignore import IGNORE_FILES, Scope, scope_of_root
from kebab_tui.reading.walk import FoundFile, WalkProblem, WalkRules, rules_of_folder, trouble, walk_below

_GONE = (errno.ENOENT, errno.ENOTDIR)


class Looker:
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
