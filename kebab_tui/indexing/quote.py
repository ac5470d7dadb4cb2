"""Quotes notes for agents: the present lines of a hit, or of what a citation names.

A quotation comes from the file as it is now, never from the index alone, so that its citation is true.
Only notes that pass the filters, and that are not private at this moment, are quoted; for all others the
error is the same as if they did not exist, and it names no folder of this machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kebab_tui.domain.citation import Citation, Located, SourceSpan, parse_citation
from kebab_tui.domain.document import Document
from kebab_tui.domain.errors import NotFoundError, UnreadableFileError
from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.pages import page_count
from kebab_tui.domain.query import SearchFilters
from kebab_tui.files.read import VanishedFileError
from kebab_tui.files.walk import is_private
from kebab_tui.formats.note import states_private
from kebab_tui.indexing.lookup import (
    Find,
    Inspection,
    check_cited,
    chunks_within,
    inspection_of,
    locate_hit,
    locate_page,
    located_now,
    may_share,
    page_of,
    present_lines,
)
from kebab_tui.indexing.pipeline import Recipe
from kebab_tui.indexing.relocate import locate
from kebab_tui.search.find_names import NameMatch
from kebab_tui.storage.ports import Catalogue

_CHUNK_ID = re.compile(r"[0-9a-f]{6,32}")
_MOST_PLACES = 1_000
"""Notes with one ending of a path; the filters are applied to these."""
_SHOWN_PLACES = 5


@dataclass(frozen=True, slots=True)
class Quote:
    """Lines of a note as they are now: those of `citation`, or all `total` lines of the file.

    `located`: how the cited lines compare with the indexed ones.
    """

    source: SourceId
    root: str
    raw_path: bytes
    title: str
    citation: Citation
    located: Located
    lines: tuple[str, ...]
    total: int
    pages: int = 0
    """How many pages the document has; then the lines are those of one page."""


def quote_hit(hit: SearchHit, recipe: Recipe) -> Quote | None:
    """The present text of a hit; None if its file is gone, is no text any more, or is private now."""
    if hit.citation.span.page is not None:
        return _quote_page_of(hit, recipe)
    lines = _shareable_lines(hit.root, hit.raw_path, recipe)
    if lines is None:
        return None
    located = locate(hit.text, hit.citation.span, lines, recipe.chunk_limits.cap)
    span = located.span
    if located.state == "changed":
        text = "\n".join(lines[span.first - 1 : span.last])[: recipe.chunk_limits.cap]
        quoted = tuple(text.split("\n"))
        span = SourceSpan(span.first, span.first + len(quoted) - 1)
    else:
        quoted = tuple(hit.text.split("\n"))  # it may be a part of a very long line
    section = hit.heading_path if located.state != "changed" else ""
    citation = Citation(hit.path, span, section)
    return Quote(hit.source, hit.root, hit.raw_path, hit.title, citation, located, quoted, len(lines))


def _quote_page_of(hit: SearchHit, recipe: Recipe) -> Quote | None:
    """The same for a passage on a page: its indexed text, unless the text of its document has changed."""
    located = locate_hit(hit, recipe)
    if located.state == "gone" or is_private(hit.root, os.fsdecode(hit.raw_path)):
        return None
    span, lines = located.span, hit.text.split("\n")
    if located.state == "changed":
        try:
            page = page_of(hit.root, hit.raw_path, span.page or 1, recipe)
        except UnreadableFileError:
            return None
        lines = list(page.lines[span.first - 1 : span.last])
    label = hit.citation.label if span.page == hit.citation.span.page else ""
    citation = replace(hit.citation, span=span, label=label)
    return Quote(hit.source, hit.root, hit.raw_path, hit.title, citation, located, tuple(lines), len(lines))


def quote_target(
    catalogue: Catalogue, target: str, filters: SearchFilters, recipe: Recipe, find: Find
) -> Quote:
    """The present lines of a path, a citation, a chunk id or a name; all lines if it names none.

    `find` must apply the filters. Raises NotFoundError.
    """
    found = _inspected(catalogue, target, filters, find)
    document = found.document
    if page_count(document.facets):
        return _quote_cited_page(found, target, recipe)
    lines = _shareable_lines(found.root, document.raw_path, recipe)
    if lines is None:
        raise _not_found(target)
    if found.cited is not None:
        check_cited(document, found.cited)
    located = located_now(found, lines, recipe)
    span = located.span if found.cited is not None else SourceSpan(1, max(len(lines), 1))
    return Quote(
        document.source,
        found.root,
        document.raw_path,
        document.title,
        Citation(document.path, span),
        replace(located, span=span),
        tuple(lines),
        len(lines),
    )


def _quote_cited_page(found: Inspection, target: str, recipe: Recipe) -> Quote:
    """All lines of a page: the cited one, else the first."""
    document = found.document
    if not may_share(found.root, document.raw_path):
        raise _not_found(target)
    if found.cited is not None:
        check_cited(document, found.cited)
    located = locate_page(found, SourceSpan(1, 1, page=found.cited.page if found.cited else 1), recipe)
    try:
        page = page_of(found.root, document.raw_path, located.span.page or 1, recipe)
    except UnreadableFileError:
        raise _not_found(target) from None
    span = SourceSpan(1, max(1, len(page.lines)), page=page.number)
    citation = Citation(document.path, span, label=page.label)
    return Quote(
        document.source,
        found.root,
        document.raw_path,
        document.title,
        citation,
        located,
        page.lines,
        len(page.lines),
        page.count,
    )


def _shareable_lines(root: str, raw_path: bytes, recipe: Recipe) -> Sequence[str] | None:
    """The lines of a file, and the decision whether they may be shared, from the same bytes."""
    try:
        lines = present_lines(root, raw_path, recipe)
    except VanishedFileError:
        return None
    if lines is None or states_private(lines) or is_private(root, os.fsdecode(raw_path)):
        return None
    return lines


def _inspected(catalogue: Catalogue, target: str, filters: SearchFilters, find: Find) -> Inspection:
    if _CHUNK_ID.fullmatch(target):
        chunks = catalogue.chunks_named(target)
        if len(chunks) == 1 and (document := catalogue.document(chunks[0].doc_id)):
            if not _passing(catalogue, [document], filters):
                raise _not_found(target)
            return inspection_of(catalogue, document, tuple(chunks), chunks[0].span)
    if document := _at_path(catalogue, target, filters):
        return inspection_of(catalogue, document, ())
    citation = parse_citation(target)
    if citation is not None and (
        document := _at_path(catalogue, citation.path, filters) or _named(citation.path, find)
    ):
        span = citation.span
        return inspection_of(catalogue, document, chunks_within(catalogue, document, span), span)
    if document := _named(target, find):
        return inspection_of(catalogue, document, ())
    raise _not_found(target)


def _at_path(catalogue: Catalogue, path: str, filters: SearchFilters) -> Document | None:
    """The one note at a path within a source, or at the end of one."""
    if "\0" in path or path.startswith(("/", "~")) or not path.strip("./"):
        return None
    path = path.removeprefix("./")
    for found in (catalogue.documents_at(path), catalogue.documents_ending(path, _MOST_PLACES)):
        notes = _passing(catalogue, found, filters)
        if len(notes) > 1:
            places = [f"{note.source}: {note.path}" for note in notes[:_SHOWN_PLACES]]
            raise NotFoundError(
                f"several notes are at {path}: {', '.join(places)}",
                "name the source as well, or the whole path",
            )
        if notes:
            return notes[0]
    return None


def _passing(catalogue: Catalogue, notes: list[Document], filters: SearchFilters) -> list[Document]:
    if not notes:
        return []
    ids = tuple(note.doc_id for note in notes)
    return catalogue.documents(replace(filters, doc_ids=ids), ("ok",))[0]


def _named(name: str, find: Find) -> Document | None:
    called = [note for note in find(name, 2) if note.matched and note.matched.match is NameMatch.EXACT]
    if len(called) > 1:
        places = ", ".join(f"{note.document.source}: {note.document.path}" for note in called)
        raise NotFoundError(f"several notes are named {name}: {places}", "give the whole path")
    return called[0].document if called else None


def _not_found(target: str) -> NotFoundError:
    return NotFoundError(f"not in the index: {target}")
