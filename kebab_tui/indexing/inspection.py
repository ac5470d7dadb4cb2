"""Finds what a user names: a note by path, a chunk by id, a passage by citation.

Compares the file on disk with what was indexed, and says of a file that is not in the
index what keeps it out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from kebab_tui.domain.citation import SourceSpan, parse_citation
from kebab_tui.domain.document import Chunk, Document, Source
from kebab_tui.domain.errors import NotFoundError
from kebab_tui.files.exclusion import explain_ignored
from kebab_tui.files.walk import WalkRules
from kebab_tui.search.ports import FileState
from kebab_tui.search.why_not import WhyNot
from kebab_tui.storage.sqlite import rows
from kebab_tui.storage.sqlite.catalogue import Catalogue
from kebab_tui.storage.sqlite.rows import file_state

_NO_LINES = re.compile(r"(?s)(?P<path>.+)[:#]L?\d+(?:-L?\d+)?")
_CHUNK_ID = re.compile(r"[0-9a-f]{6,32}")
_MANY = 5


@dataclass(frozen=True, slots=True)
class Inspection:
    """A note with its chunks; only those asked for when a chunk or a span was named."""

    document: Document
    chunks: tuple[Chunk, ...]
    root: str
    file_state: FileState
    cited: SourceSpan | None = None
    """The lines that were named, by a citation or as those of a chunk."""


def inspect(catalogue: Catalogue, target: str) -> Inspection:
    """Look a target up; NotFoundError says why there is nothing."""
    if _CHUNK_ID.fullmatch(target) and (named := catalogue.chunks_named(target)):
        if len(named) > 1:
            raise NotFoundError(f"several passages begin with {target}", "give more digits of the id")
        document = catalogue.document(named[0].doc_id)
        assert document is not None  # a chunk cannot be without its note: a foreign key
        return _inspection(catalogue, document, tuple(named), named[0].span)
    document = find_document(catalogue, target)
    if document is not None:
        return _inspection(catalogue, document, tuple(catalogue.chunks_of(document.doc_id)))
    citation = parse_citation(target)
    document = find_document(catalogue, citation.path) if citation else None
    if citation is None and (stem := _NO_LINES.fullmatch(target)) and find_document(catalogue, stem["path"]):
        raise NotFoundError(
            f"{target} names no lines", "lines count from 1, and the last is not before the first: PATH:L5-L9"
        )
    if citation is None or document is None:
        verdict = why_not_indexed(catalogue.sources(), target, None)
        raise NotFoundError(f"not in the index: {target} ({verdict.detail})", verdict.advice)
    span = citation.span
    inside = [
        c
        for c in catalogue.chunks_of(document.doc_id)
        if c.span.first <= span.last and c.span.last >= span.first
    ]
    return _inspection(catalogue, document, tuple(inside), span)


def find_document(catalogue: Catalogue, path: str) -> Document | None:
    """The note a path means: on the disk, within its source, or by its last parts; only one may fit."""
    place = _source_around(catalogue.sources(), path)
    if place is not None:
        source, inner = place
        here = [note for note in catalogue.documents_at(inner) if note.source == source.source_id]
        if here:
            return _spelled(here, inner)[0]
    found = catalogue.documents_at(path.removeprefix("./"))
    found = _spelled(found, path) or catalogue.documents_ending(rows.shown(path), _MANY)
    if len(found) > 1:
        names = ", ".join(f"{note.source}: {note.path}" for note in found)
        raise NotFoundError(f"several notes are named {path}: {names}", "give the whole path")
    return found[0] if found else None


def _spelled(notes: list[Document], path: str) -> list[Document]:
    """Of names that look the same, those spelled with the same bytes, if there are any."""
    return [note for note in notes if note.raw_path == os.fsencode(path)] or notes


def why_not_indexed(sources: Sequence[Source], path: str, document: Document | None) -> WhyNot:
    """What keeps a file out of the index."""
    if document is not None:
        reason = document.reason or "it holds no text"
        return WhyNot(document.path, "not indexed", f"{document.state}: {reason}", "")
    place = _source_of(sources, path)
    if place is None:
        folders = ", ".join(source.root for source in sources) or "none yet"
        if sources and not os.path.lexists(os.path.expanduser(path)):
            detail = f"there is no such file, neither here nor in an indexed folder: {folders}"
            return WhyNot(path, "not indexed", detail, "`kebab list` shows the notes")
        detail = f"it lies outside the indexed folders: {folders}"
        return WhyNot(path, "not indexed", detail, "run `kebab ingest FOLDER`")
    source, inner = place
    rules = WalkRules(source.include, source.exclude)
    if not os.path.lexists(os.path.join(source.root, inner)):
        return WhyNot(path, "not indexed", "there is no such file", "")
    ignored = explain_ignored(source.root, inner, rules)
    if ignored is not None:
        return WhyNot(path, "not indexed", ignored, "")
    return WhyNot(path, "not indexed", "not seen yet", f"run `kebab ingest {source.root}`")


def _inspection(
    catalogue: Catalogue, document: Document, chunks: tuple[Chunk, ...], cited: SourceSpan | None = None
) -> Inspection:
    root = catalogue.root_of(document.source)
    state = file_state(root, document.raw_path, document.fingerprint)
    return Inspection(document, chunks, root, state, cited)


def _source_of(sources: Sequence[Source], path: str) -> tuple[Source, str] | None:
    """The source a path lies in, from here or else from a source's root, and the path within it."""
    if around := _source_around(sources, path):
        return around
    for source in sources:
        if not os.path.isabs(path) and os.path.lexists(os.path.join(source.root, path)):
            return source, os.path.normpath(path)
    return None


def _source_around(sources: Sequence[Source], path: str) -> tuple[Source, str] | None:
    """As the shell sees the path, or with the links on the way to its folder followed."""
    if "\0" in path:
        return None
    full = os.path.abspath(os.path.expanduser(path))
    folder, name = os.path.split(full)
    real = os.path.join(os.path.realpath(folder), name)
    for source in sources:
        for place, root in ((full, source.root), (real, os.path.realpath(source.root))):
            root = root.rstrip("/") + "/"
            if place.startswith(root):
                return source, place[len(root) :]
    return None
