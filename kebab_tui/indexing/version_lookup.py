"""Finds what a citation of a version names: `v1.2:path:L3-L9`, or `kebab://SOURCE/PATH?version=v1.2#L3`.

The path is that in the repository, as git has it, or that in the folder.
"""

from __future__ import annotations

import os
from dataclasses import replace

from kebab_tui.domain.citation import SourceSpan, parse_citation
from kebab_tui.domain.document import Chunk, Document, Source
from kebab_tui.domain.errors import NotFoundError
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.note_uri import SCHEME, parse_uri
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.versions import source_of
from kebab_tui.files.tree_root import TreeRoot, version_of
from kebab_tui.indexing.lookup import Inspection, check_cited, chunks_within, inspection_of
from kebab_tui.storage.ports import VersionCatalogue


def inspect_version(catalogue: VersionCatalogue, target: str, filters: SearchFilters) -> Inspection | None:
    """What a target names in a version; None if it names no version. Raises NotFoundError.

    `filters`: which notes count; `within` has the sources whose versions do.
    """
    label, wanted, source = _parts(target)
    if not label:
        return None
    versions = [
        one
        for one in catalogue.sources(counted=False)
        if one.version_label == label
        and source in ("", source_of(one.source_id))
        and (not filters.within or source_of(one.source_id) in filters.within)
    ]
    if not versions:
        return None
    found = [hit for one in versions if (hit := _in(catalogue, one, wanted, filters)) is not None]
    if len(found) > 1:
        names = ", ".join(one.document.source for one in found)
        raise NotFoundError(f"several sources have {target}: {names}", "name it by its kebab:// URI")
    if not found:
        raise NotFoundError(
            f"{label} has no note {wanted}", f"`kebab list --in-version {label}` shows its notes"
        )
    return found[0]


def _parts(target: str) -> tuple[str, str, str]:
    """The label, the rest and the source."""
    if target.startswith(SCHEME):
        source, within, version = parse_uri(target)
        return version, within, source
    label, _, rest = target.partition(":")
    return (label, rest, "") if rest else ("", "", "")


def _in(
    catalogue: VersionCatalogue, source: Source, wanted: str, filters: SearchFilters
) -> Inspection | None:
    version = version_of(source)
    cited = parse_citation(wanted)
    places: list[tuple[str, SourceSpan | None]] = [(wanted, None)]
    if cited is not None:
        places.append((cited.path, cited.span))
    for path, span in places:
        for inner in dict.fromkeys((path.removeprefix(version.prefix), path)):
            document = _document(catalogue, source.source_id, inner, filters)
            if document is None:
                continue
            if span is not None:
                check_cited(document, span)
            chunks: tuple[Chunk, ...] = tuple(catalogue.chunks_of(document.doc_id))
            if span is not None:
                chunks = chunks_within(catalogue, document, span)
            found = inspection_of(catalogue, document, chunks, span)
            document = replace(document, source=version.source)
            state = found.file_state if TreeRoot.parse(source.root) is None else "same"
            return replace(found, document=document, root=source.root, file_state=state, version=version)
    return None


def _document(
    catalogue: VersionCatalogue, version: SourceId, path: str, filters: SearchFilters
) -> Document | None:
    notes = catalogue.documents_at(path)
    having = catalogue.versions_of([note.doc_id for note in notes])
    mine = [note for note in notes if version in having.get(note.doc_id, ())]
    mine = [note for note in mine if note.raw_path == os.fsencode(path)] or mine
    if filters.shareable and mine:
        only = SearchFilters(shareable=True, doc_ids=tuple(note.doc_id for note in mine))
        mine = catalogue.documents(only, ("ok",))[0]
    return mine[0] if mine else None
