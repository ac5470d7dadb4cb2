"""How a folder becomes a source: its short name, and whether it may be one.

Folders do not nest: a note in two sources would be found twice.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Collection, Sequence
from typing import Literal

from kebab_tui.domain.document import Source
from kebab_tui.domain.errors import SourceError
from kebab_tui.domain.ids import SourceId

Relation = Literal["same", "inside", "around"]

_NOT_A_NAME = re.compile(r"[^\w.-]+")


def source_id_for(root: str, taken: Collection[str]) -> SourceId:
    """A short name from the folder's own, usable after `in:`; numbered when taken."""
    base = unicodedata.normalize("NFC", os.path.basename(root.rstrip("/"))).casefold()
    name = _NOT_A_NAME.sub("-", base.encode("utf-8", "replace").decode()).strip("-.") or "notes"
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}-{number}", number + 1
    return SourceId(candidate)


def relation(root: str, sources: Sequence[Source]) -> tuple[Relation, Source] | None:
    """How a folder stands to the known ones; None when they have nothing in common."""
    real = os.path.realpath(root)
    for source in sources:
        other = os.path.realpath(source.root)
        if real == other:
            return "same", source
        if _is_below(real, other):
            return "inside", source
        if _is_below(other, real):
            return "around", source
    return None


def refuse_overlap(source: Source, known: Sequence[Source]) -> None:
    """Raise where a link has led the folder of a source into another's: of the two, the link gives way."""
    strength = {other.source_id: (os.path.islink(other.root), place) for place, other in enumerate(known)}
    for other in known:
        if other.source_id == source.source_id or strength[source.source_id] < strength[other.source_id]:
            continue
        if related := relation(source.root, [other]):
            how = {"same": "is the same folder as", "inside": "lies within", "around": "contains"}[related[0]]
            raise SourceError(
                f"{source.root} now {how} the source {other.source_id} ({other.root}), "
                "and a note would be found twice",
                f"make it a folder of its own again, or `kebab source remove {source.source_id}`",
            )


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)
