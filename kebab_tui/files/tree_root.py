"""The name of a version of a folder in git, in the place of the path of a folder.

Every search sees such names: this module imports little and starts no program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kebab_tui.domain.document import Source

if TYPE_CHECKING:
    from kebab_tui.domain.versions import Version, VersionHealth

SEPARATOR = "\x1f"
_FRONT = f"/git{SEPARATOR}"
"""Absolute, as every root, and of no folder."""


def is_tree(root: str) -> bool:
    """Whether a root is a commit, not a folder."""
    return root.startswith(_FRONT)


@dataclass(frozen=True, slots=True)
class TreeRoot:
    """A folder of a repository as of a commit. `prefix`: where it is in the repository, with a slash."""

    commit: str
    label: str
    ref: str
    prefix: str
    git_dir: str
    folder: str
    """The folder that it is a version of; its name comes last, as in any root."""

    def __str__(self) -> str:
        fields = (self.commit, self.label, self.ref, self.prefix, self.git_dir, self.folder)
        return _FRONT + SEPARATOR.join(fields)

    @property
    def shown(self) -> str:
        return f"{self.git_dir} at {self.commit[:12]}"

    @classmethod
    def parse(cls, root: str) -> TreeRoot | None:
        """None for a folder."""
        fields = root.removeprefix(_FRONT).split(SEPARATOR)
        return cls(*fields) if is_tree(root) and len(fields) == 6 else None


def version_of(source: Source, counts: tuple[int, int] = (0, 0)) -> Version:
    """A version as stored, not compared with its repository."""
    from kebab_tui.domain.versions import Version, source_of  # a search never needs it

    notes, passages = counts
    parent, tree = source_of(source.source_id), TreeRoot.parse(source.root)
    health: VersionHealth = "ok" if source.state == "indexed" else "unfinished"
    if tree is None:
        return Version(
            parent, source.version_label, "folder", source.root, notes=notes, passages=passages, health=health
        )
    return Version(
        parent, source.version_label, "git", tree.git_dir, tree.prefix, tree.ref, tree.commit,
        notes, passages, health,
    )  # fmt: skip
