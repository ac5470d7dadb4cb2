"""The folders that the configuration file declares, as sources. Looks at no folder."""

from __future__ import annotations

import os
from collections.abc import Sequence

from kebab_tui.domain.document import Trust
from kebab_tui.domain.identity import SourceId
from kebab_tui.domain.source import Source
from kebab_tui.indexing.source_names import source_id_for
from kebab_tui.settings.model import SourceSettings


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
