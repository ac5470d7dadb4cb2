"""A folder of notes that the user has asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kebab_tui.domain.document import Trust
from kebab_tui.domain.identity import SourceId

SourceState = Literal["new", "indexed", "paused"]


@dataclass(frozen=True, slots=True)
class Source:
    """`root` is the folder's absolute path; include and exclude are gitignore-style
    globs relative to it. `paused`: the root is missing, its documents stay."""

    source_id: SourceId
    title: str
    root: str
    description: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    trust: Trust = Trust.PRIMARY
    rules: tuple[str, ...] = ()
    version_label: str = ""
    weight: float = 1.0
    state: SourceState = "new"
    documents: int = 0
    chunks: int = 0
