"""What the settings say to indexing: which folders are declared, how their notes are read and cut.

Looks at no folder.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from kebab_tui.chunking.sections import ChunkLimits
from kebab_tui.domain.document import Source, Trust
from kebab_tui.domain.ids import SourceId
from kebab_tui.formats.decode import MEGABYTE, ReadLimits
from kebab_tui.indexing.pipeline import Recipe
from kebab_tui.indexing.source_names import source_id_for
from kebab_tui.settings.settings import Settings, SourceSettings


def recipe_of(settings: Settings) -> Recipe:
    return Recipe(
        ReadLimits(settings.reading.max_file_mb * MEGABYTE),
        ChunkLimits(target=settings.chunking.target, cap=settings.chunking.cap),
    )


def declared_sources(entries: Sequence[SourceSettings]) -> list[Source]:
    declared: list[Source] = []
    for entry in entries:
        taken = {source.source_id for source in declared}
        declared.append(
            Source(
                source_id=SourceId(entry.id) if entry.id else source_id_for(entry.path, taken),
                title=entry.title or os.path.basename(entry.path),
                root=entry.path,
                description=entry.description,
                include=entry.include,
                exclude=entry.exclude,
                trust=Trust.parse(entry.trust) or Trust.PRIMARY,
                rules=entry.rules,
            )
        )
    return declared
