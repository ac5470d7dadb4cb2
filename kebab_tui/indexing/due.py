"""What single paths need that a look at the whole folder does not: few questions, the same answers.

Finds what stands at the paths by the rules of the walk and knows ids without listing all
of them. Decides nothing; `reconcile` compares, as it does for a whole folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from kebab_tui.domain.checkpoint import Checkpoint
from kebab_tui.domain.document import Source
from kebab_tui.domain.ids import DocId
from kebab_tui.files.exclusion import PathScanner
from kebab_tui.files.walk import FoundFile, WalkProblem, WalkRules
from kebab_tui.storage.sqlite.reader import StoreReader


def look(
    source: Source, places: Iterable[bytes], checkpoint: Checkpoint
) -> Iterator[FoundFile | WalkProblem]:
    """The notes that stand at these paths now, or below those that are folders."""
    looker = PathScanner(source.root, WalkRules(source.include, source.exclude), checkpoint)
    for place in places:
        yield from looker.look(os.fsdecode(place))


def widest(paths: Iterable[bytes]) -> tuple[bytes, ...]:
    """The paths without those that lie below another one, in their order."""
    every = dict.fromkeys(paths)
    return tuple(path for path in every if not any(folder in every for folder in above(path)))


def above(path: bytes) -> Iterator[bytes]:
    """The folders that hold a path, the root last."""
    while path:
        path = path.rpartition(b"/")[0]
        yield path


class Taken:
    """The ids that a new note may not get: those of the index, and those given out since."""

    def __init__(self, reader: StoreReader) -> None:
        self._reader = reader
        self._given: set[DocId] = set()

    def __contains__(self, doc_id: object) -> bool:
        if doc_id in self._given:
            return True
        with self._reader.catalogue() as catalogue:
            return isinstance(doc_id, str) and catalogue.has_document(DocId(doc_id))

    def add(self, doc_id: DocId) -> None:
        self._given.add(doc_id)
