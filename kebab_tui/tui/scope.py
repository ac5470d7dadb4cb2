"""The scope of the screen: the folders that it searches, whatever is typed into the box."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.scope import SourcePart
from kebab_tui.tui.widgets.segments import DOT

if TYPE_CHECKING:
    from kebab_tui.workspace import Workspace

_NOWHERE = SourcePart(SourceId(""))
"""No source has this id: while the folder is no source yet, nothing is found."""


@dataclass(frozen=True, slots=True)
class Scope:
    """No folders: everything is searched."""

    folders: tuple[str, ...] = ()
    """Absolute paths."""
    parts: tuple[SourcePart, ...] = ()
    """What the folders are in the index."""
    new: tuple[str, ...] = ()
    """The folders that are not in the index yet."""
    other_files: str = ""
    """What the sources have beside notes."""

    @property
    def filters(self) -> SearchFilters:
        return SearchFilters(scope=self.parts or (_NOWHERE,)) if self.folders else SearchFilters()

    @property
    def label(self) -> str:
        """Its text on the screen; empty for everything."""
        if len(self.parts) == len(self.folders):
            return f" {DOT} ".join(f"{part.source}/{part.below}".rstrip("/") for part in self.parts)
        return f" {DOT} ".join(os.path.basename(folder) or folder for folder in self.folders)


def scope_of(workspace: Workspace, folders: tuple[str, ...] | None) -> Scope:
    """The scope of these folders; None: the source around the current folder, else everything."""
    if folders is None:
        try:
            here = os.getcwd()
        except OSError:  # it was removed
            return Scope()
        around = workspace.source_around(here) if workspace.has_index else None
        if around is None:
            return Scope()
        folders = (os.path.realpath(here).removesuffix(around.below),)
    folders = tuple(dict.fromkeys(os.path.abspath(os.path.expanduser(folder)) for folder in folders))
    found = {folder: workspace.scope_of(folder) for folder in folders}
    parts = tuple(dict.fromkeys(part for folder in folders for part in found[folder]))
    others = workspace.other_files(tuple(part.source for part in parts)) if folders else None
    return Scope(
        folders,
        parts,
        tuple(folder for folder in folders if not found[folder]),
        str(others) if others is not None and others.count else "",
    )
