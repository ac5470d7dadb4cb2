"""Quotes notes for agents: the present lines of a hit, or of what a citation names.

A quotation comes from the file as it is now, never from the index alone, so that its citation is true; so do
its title and headings, or they are left out. Only notes that pass the filters, and that are not private at
this moment, are quoted; for all others the error is the same as if they did not exist, and it names no
folder of this machine.
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
from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.domain.note_uri import SCHEME, parse_uri
from kebab_tui.domain.pages import page_count
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.text import display_path
from kebab_tui.files.read import VanishedFileError
from kebab_tui.files.walk import is_private
from kebab_tui.formats.note import states_private
from kebab_tui.indexing.lookup import (
    Find,
    Inspection,
    check_cited,
    chunks_within,
    inspection_of,
    is_private_at_present,
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
_MOST_NAMED = 20
_SHOWN_PLACES = 5


@dataclass(frozen=True, slots=True)
class QuotedHit:
    """A hit with its present text and citation; `located`: how they compare with the indexed ones."""

    hit: SearchHit
    located: Located


@dataclass(frozen=True, slots=True)
class QuotedNote:
    """The present lines of a note, or of one of its `pages`; `citation` is what was asked for among them."""

    document: Document
    citation: Citation
    located: Located
    lines: tuple[str, ...]
    pages: int = 0


def quote_hit(hit: SearchHit, recipe: Recipe) -> QuotedHit | None:
    """None if the file is gone, is no text any more, or is private now."""
    if hit.citation.span.page is not None:
        return _quote_hit_on_page(hit, recipe)
    lines = _shareable_lines(hit.root, hit.raw_path, recipe)
    if lines is None:
        return None
    located = locate(hit.text, hit.citation.span, lines, recipe.chunk_limits.cap)
    if located.state != "changed":  # the text may be a part of a very long line
        return _quoted(hit, located, hit.text)
    span = located.span
    text = "\n".join(lines[span.first - 1 : span.last])[: recipe.chunk_limits.cap]
    span = SourceSpan(span.first, span.first + text.count("\n"))
    return _quoted(hit, replace(located, span=span), text)


def _quote_hit_on_page(hit: SearchHit, recipe: Recipe) -> QuotedHit | None:
    """The indexed text, unless that of its document has changed."""
    located = locate_hit(hit, recipe)
    if located.state == "gone" or is_private(hit.root, os.fsdecode(hit.raw_path)):
        return None
    if located.state != "changed":
        return _quoted(hit, located, hit.text)
    span = located.span
    try:
        page = page_of(hit.root, hit.raw_path, span.page or 1, recipe)
    except UnreadableFileError:
        return None
    return _quoted(hit, located, "\n".join(page.lines[span.first - 1 : span.last]))


def _quoted(hit: SearchHit, located: Located, text: str) -> QuotedHit:
    span, old = located.span, hit.citation
    label = old.label if span.page == old.span.page else ""
    hit = replace(hit, text=text, citation=replace(old, span=span, label=label))
    if hit.stale:
        hit = replace(hit, title=hit.name, heading_path="", citation=replace(hit.citation, section=""))
    return QuotedHit(hit, located)


def is_elsewhere(root: str, raw_path: bytes) -> bool:
    """Whether the file of a note of a shared index is not on this machine."""
    return not os.path.lexists(os.path.join(os.fsencode(root), raw_path))


def quote_indexed(hit: SearchHit) -> QuotedHit:
    """A hit of a shared index whose file is not on this machine, as the index has it."""
    return QuotedHit(hit, Located(hit.citation.span, "same"))


def quote_target(
    catalogue: Catalogue,
    target: str,
    filters: SearchFilters,
    recipe: Recipe,
    find: Find,
    *,
    is_shared: bool = False,
) -> QuotedNote:
    """A path, a citation, a chunk id or a name; `find` must apply the filters. Raises NotFoundError.

    `is_shared`: the index is on servers; what is not on this machine is quoted from there.
    """
    found = inspect_shared(catalogue, target, filters, find)
    if is_shared and is_elsewhere(found.root, found.document.raw_path):
        return _quote_from_index(catalogue, found)
    return quote_found(found, target, recipe)


def quote_found(found: Inspection, target: str, recipe: Recipe) -> QuotedNote:
    """The present lines of what a target names; raises NotFoundError."""
    document = found.document
    if found.file_state != "same":
        document = replace(document, title=document.name)
    if page_count(document.facets):
        return _quote_page(document, found, target, recipe)
    lines = _shareable_lines(found.root, document.raw_path, recipe)
    if lines is None:
        raise _not_found(target)
    if found.cited is not None:
        check_cited(document, found.cited)
    located = located_now(found, lines, recipe)
    span = located.span if found.cited is not None else SourceSpan(1, max(len(lines), 1))
    return QuotedNote(document, found.cite(span), located, tuple(lines))


def _quote_from_index(catalogue: Catalogue, found: Inspection) -> QuotedNote:
    """The lines of the passages; those between them are not known, and empty."""
    document, cited = found.document, found.cited
    if cited is not None:
        check_cited(document, cited)
    pages = page_count(document.facets)
    page = (cited.page if cited is not None and cited.page else 1) if pages else None
    lines = indexed_lines(catalogue, document.doc_id, page)
    whole = SourceSpan(1, max(len(lines), 1), page=page)
    span = cited if cited is not None and not pages else whole
    return QuotedNote(document, Citation(document.path, span), Located(span, "same"), tuple(lines), pages)


def indexed_lines(catalogue: Catalogue, doc_id: DocId, page: int | None) -> list[str]:
    """The lines of the passages of a note, or of one of its pages; those between them are empty."""
    lines: list[str] = []
    for chunk in catalogue.chunks_of(doc_id):
        if chunk.span.page == page:
            text = chunk.text.split("\n")
            lines += [""] * (chunk.span.first - 1 + len(text) - len(lines))
            lines[chunk.span.first - 1 : chunk.span.first - 1 + len(text)] = text
    return lines


def _quote_page(document: Document, found: Inspection, target: str, recipe: Recipe) -> QuotedNote:
    """All lines of the cited page, else of the first one."""
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
    cited = replace(found.cite(span), label=page.label)
    return QuotedNote(document, cited, located, page.lines, page.count)


def _shareable_lines(root: str, raw_path: bytes, recipe: Recipe) -> Sequence[str] | None:
    """The lines of a file, and the decision whether they may be shared, from the same bytes."""
    path = os.fsdecode(raw_path)
    if is_private(root, path) or is_private_at_present(root, raw_path):
        return None
    try:
        lines = present_lines(root, raw_path, recipe)
    except VanishedFileError:
        return None
    # The rules once more: folders may have been swapped meanwhile.
    if lines is None or states_private(lines) or is_private(root, path):
        return None
    return lines


def inspect_shared(catalogue: Catalogue, target: str, filters: SearchFilters, find: Find) -> Inspection:
    """The same as `lookup.inspect`, as if there were only the notes that pass, and nothing outside sources.

    Also understands URIs of present notes.
    """
    if target.startswith(SCHEME):
        uri = parse_uri(target)
        if uri.version:
            raise _not_found(target)
        target, filters = uri.within, replace(filters, sources=(SourceId(uri.source),))
    if _CHUNK_ID.fullmatch(target):
        chunks = catalogue.chunks_named(target)
        if len(chunks) == 1 and (document := catalogue.document(chunks[0].doc_id)):
            if not _passing(catalogue, [document], filters):
                raise _not_found(target)
            return inspection_of(catalogue, document, tuple(chunks), chunks[0].span)
    if document := _at_path(catalogue, target, filters):
        return inspection_of(catalogue, document, tuple(catalogue.chunks_of(document.doc_id)))
    citation = parse_citation(target)
    if citation is not None and (
        document := _at_path(catalogue, citation.path, filters) or _named(catalogue, citation.path, find)
    ):
        span = citation.span
        return inspection_of(catalogue, document, chunks_within(catalogue, document, span), span)
    if document := _named(catalogue, target, find):
        return inspection_of(catalogue, document, tuple(catalogue.chunks_of(document.doc_id)))
    raise _not_found(target)


def _at_path(catalogue: Catalogue, path: str, filters: SearchFilters) -> Document | None:
    """The one note at a path within a source, or at the end of one."""
    if "\0" in path or path.startswith(("/", "~")) or not path.strip("./"):
        return None
    path = path.removeprefix("./")
    for found in (catalogue.documents_at(path), catalogue.documents_ending(display_path(path), _MOST_PLACES)):
        notes = _passing(catalogue, found, filters)
        notes = [note for note in notes if note.raw_path == os.fsencode(path)] or notes
        if notes:
            return _only(catalogue, notes, f"several notes are at {path}")
    return None


def _only(catalogue: Catalogue, notes: Sequence[Document], several: str) -> Document:
    """The one note among several that may be shared now, or the first; raises if there are more."""
    if len(notes) == 1:
        return notes[0]
    shown = [note for note in notes if may_share(catalogue.root_of(note.source), note.raw_path)] or notes[:1]
    if len(shown) > 1:
        places = ", ".join(f"{note.source}: {note.path}" for note in shown[:_SHOWN_PLACES])
        raise NotFoundError(f"{several}: {places}", "name the source as well, or the whole path")
    return shown[0]


def _passing(catalogue: Catalogue, notes: list[Document], filters: SearchFilters) -> list[Document]:
    if not notes:
        return []
    ids = tuple(note.doc_id for note in notes)
    return catalogue.documents(replace(filters, doc_ids=ids), ("ok",))[0]


def _named(catalogue: Catalogue, name: str, find: Find) -> Document | None:
    found = find(name, _MOST_NAMED)
    called = [one.document for one in found if one.matched and one.matched.match is NameMatch.EXACT]
    return _only(catalogue, called, f"several notes are named {name}") if called else None


def _not_found(target: str) -> NotFoundError:
    return NotFoundError(f"not in the index: {target}")
