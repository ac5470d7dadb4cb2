"""Which sources a folder belongs to: the scope of a search that starts there.

Pure. Paths are absolute, without symbolic links; `Workspace.source_around` resolves them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from kebab_tui.domain.ids import SourceId


@dataclass(frozen=True, slots=True)
class SourcePart:
    """A source, or one folder of it."""

    source: SourceId
    below: str = ""
    """The path of the folder relative to the root; empty for the whole source."""


def source_around(folder: str, roots: Iterable[tuple[SourceId, str]]) -> SourcePart | None:
    """The innermost source whose root is the folder or contains it; None if there is none."""
    around = [(root, source) for source, root in roots if path_below(folder, root) is not None]
    if not around:
        return None
    root, source = max(around, key=lambda one: len(one[0]))
    return SourcePart(source, path_below(folder, root) or "")


def sources_below(folder: str, roots: Iterable[tuple[SourceId, str]]) -> tuple[SourcePart, ...]:
    """The sources within a folder that is none itself."""
    return tuple(SourcePart(source) for source, root in roots if path_below(root, folder) is not None)


def path_below(path: str, folder: str) -> str | None:
    """The path relative to the folder, empty for the folder itself; None outside it."""
    folder = folder.rstrip(os.sep)
    if path.rstrip(os.sep) == folder:
        return ""
    return path[len(folder) + 1 :].rstrip(os.sep) if path.startswith(folder + os.sep) else None
