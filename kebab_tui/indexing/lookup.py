"""Finds what a user names: a note by path, a chunk by id, a passage by citation.

Compares the file on disk with what was indexed, and says of a file that is not in the
index what keeps it out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from kebab_tui.domain.citation import Citation, Located, SourceSpan, parse_citation
from kebab_tui.domain.document import Chunk, Document, Source
from kebab_tui.domain.errors import NotFoundError, NotIndexedError, SourceError, UnreadableFileError
from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.query import SearchFilters
from kebab_tui.files.exclusion import LeftOut
from kebab_tui.files.read import VanishedFileError, read_file
from kebab_tui.files.walk import Entry, FoundFile, WalkProblem, WalkRules, explain_ignored, survey
from kebab_tui.formats.decode import ReadLimits, decode
from kebab_tui.indexing.pipeline import Recipe
from kebab_tui.indexing.relocate import clipped, locate, locate_within
from kebab_tui.search.ports import FileState
from kebab_tui.search.why_not import WhyNot
from kebab_tui.storage.sqlite import rows
from kebab_tui.storage.sqlite.catalogue import Catalogue, KnownFile
from kebab_tui.storage.sqlite.reader import StoreReader
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


# Where a hit or a citation is in the files as they are now.
#
# Compares texts where a stamp differs: a file that was only touched is still the same. One
# that cannot be read as text (a page of a PDF; too large, binary, forbidden by now) is not
# compared; its stamp then says whether it changed. Refuses to follow a note to another name: that is
# what indexing does.


@dataclass(frozen=True, slots=True)
class CitedPlace:
    """A citation as the index has it, the file's absolute path, and where it stands in that file."""

    citation: Citation
    path: str
    located: Located


def locate_hit(hit: SearchHit, recipe: Recipe) -> Located:
    """Where the passage of a hit stands now."""
    span = hit.citation.span
    try:
        lines = _lines(hit.root, hit.raw_path, recipe.limits)
    except VanishedFileError:
        return Located(span, "gone")
    if lines is None:
        return Located(span, "changed" if hit.stale else "same")
    return locate(hit.text, span, lines, recipe.chunk_limits.cap)


def locate_citation(catalogue: Catalogue, target: str, recipe: Recipe) -> CitedPlace:
    """Where the lines stand that a citation, a chunk's id or a path names; NotFoundError says why nowhere."""
    found = inspect(catalogue, target)
    span = found.cited or SourceSpan(1, 1)
    path = os.path.join(found.root, os.fsdecode(found.document.raw_path))
    citation = Citation(found.document.path, span)
    try:
        lines = _lines(found.root, found.document.raw_path, recipe.limits)
    except VanishedFileError:
        return CitedPlace(citation, path, Located(span, "gone"))
    if found.cited is None or found.file_state == "same":
        if lines is not None and span.first > max(len(lines), 1):
            raise NotFoundError(
                f"{citation.path} has no line {span.first:,}", f"its last line is {len(lines):,}"
            )
        return CitedPlace(citation, path, Located(span, "same"))
    if lines is None:
        return CitedPlace(citation, path, Located(span, "changed"))
    return CitedPlace(citation, path, _cited(span, found.chunks, lines, recipe.chunk_limits.cap))


def _cited(span: SourceSpan, chunks: Sequence[Chunk], lines: Sequence[str], cap: int) -> Located:
    """Lines that may begin in one passage and end in another: both ends are found by their own."""
    if not chunks:
        return clipped(span, len(lines))
    begin, end = (_part(span, chunk, lines, cap) for chunk in (chunks[0], chunks[-1]))
    if len(chunks) == 1 or end.span.last < begin.span.first:
        return begin
    whole = SourceSpan(begin.span.first, end.span.last)
    together = (begin.state, begin.shift) == (end.state, end.shift)
    return Located(whole, begin.state if together else "changed", begin.shift)


def _part(span: SourceSpan, chunk: Chunk, lines: Sequence[str], cap: int) -> Located:
    """Where those of the cited lines went that belong to this passage."""
    part = SourceSpan(max(span.first, chunk.span.first), min(span.last, chunk.span.last))
    return locate_within(part, chunk.text, chunk.span, lines, cap)


def _lines(root: str, raw_path: bytes, limits: ReadLimits) -> Sequence[str] | None:
    """The file's lines; None where they cannot be read. VanishedFileError where there is no file."""
    try:
        return decode(read_file(root, os.fsdecode(raw_path), limits).data).lines
    except VanishedFileError:
        raise
    except UnreadableFileError:
        return None


# Every file of the folders with its state: read, failed, skipped, waiting to be read, or left out.
#
# Compares the folders as they are now with what the index remembers, as an ingest would,
# and changes nothing. What failed comes first: those files are known before any folder has
# been walked. Opens no file but the ignore files, and holds no read transaction while it walks.

StateOfFile = Literal["ok", "failed", "skipped", "pending", "ignored"]

_GONE = "no longer there; the next look at the folder takes it out of the index"
_LEFT_OUT = "left out by now; the next look at the folder takes it out of the index"
_UNSEEN = "cannot be seen now; the index keeps it"
_CHANGED = "changed since it was read"
_NEW = "not read yet"
_OLD_READER = "read by an older version; it will be read anew"


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file, or a folder that is left out as a whole (its path ends with a slash).

    `path` is for people, relative to the source; `location` opens the file. `rule` is the
    line that leaves the file out, `rule_at` the ignore file that holds it and its line.
    """

    source: SourceId
    path: str
    location: str
    state: StateOfFile
    reason: str = ""
    rule: str = ""
    rule_at: str = ""


def file_states(reader: StoreReader, made_by: str) -> Iterator[ListedFile]:
    """The files of every source: first all that could not be read, then as they are walked.

    `made_by` is what reads notes now: what something else has read is waiting.
    """
    try:
        with reader.catalogue() as catalogue:
            sources = {source.source_id: source for source in catalogue.sources()}
            unread, _ = catalogue.documents(SearchFilters(), ("failed", "skipped"))
    except NotIndexedError:
        return
    told: dict[SourceId, set[bytes]] = {source: set() for source in sources}
    for note in unread:
        told[note.source].add(note.raw_path)
        yield _unread(sources[note.source], note)
    for source in sources.values():
        with reader.catalogue() as catalogue:
            known = catalogue.known_files(source.source_id)
        left = {path: file for path, file in known.items() if path not in told[source.source_id]}
        try:
            yield from _walked(source, left, told[source.source_id], made_by)
        except SourceError as error:
            yield ListedFile(source.source_id, "", source.root, "failed", error.message)
            for raw_path, file in left.items():
                yield _one(source, rows.path_text(raw_path), file.state, _UNSEEN)


def _unread(source: Source, note: Document) -> ListedFile:
    """What failed or was skipped, as far as it still stands there."""
    path = rows.path_text(note.raw_path)
    if os.path.lexists(f"{source.root}/{path}"):
        return _one(source, path, note.state, note.reason)
    return _one(source, path, "pending", _GONE)


def _walked(
    source: Source, left: dict[bytes, KnownFile], told: Collection[bytes], made_by: str
) -> Iterator[ListedFile]:
    unseen: list[bytes] = []
    for entry in survey(source.root, WalkRules(source.include, source.exclude)):
        raw_path = os.fsencode(entry.path)
        if isinstance(entry, WalkProblem):
            unseen.append(raw_path)
        if raw_path not in told:
            yield _listed(source, entry, left.pop(raw_path, None), made_by)
    for raw_path in left:
        yield _not_met(source, raw_path, unseen)


def _not_met(source: Source, raw_path: bytes, unseen: Iterable[bytes]) -> ListedFile:
    """A known file that the walk has not come to."""
    path = rows.path_text(raw_path)
    if any(not folder or raw_path.startswith(folder + b"/") for folder in unseen):
        return _one(source, path, "ok", _UNSEEN)
    there = os.path.lexists(f"{source.root}/{path}")
    return _one(source, path, "pending", _LEFT_OUT if there else _GONE)


def _listed(source: Source, entry: Entry, file: KnownFile | None, made_by: str) -> ListedFile:
    match entry:
        case LeftOut(path, exclusion) if exclusion.rule is not None:
            rule = exclusion.rule
            return _one(source, path, "ignored", exclusion.reason, rule.text, rule.origin)
        case LeftOut(path, exclusion):
            return _one(source, path, "ignored", exclusion.reason)
        case WalkProblem(path, reason):
            return _one(source, path, "failed", reason)
        case FoundFile(path, fingerprint):
            if file is None:
                return _one(source, path, "pending", _NEW)
            if file.made_by != made_by:
                return _one(source, path, "pending", _OLD_READER)
            if file.state == "ok" and fingerprint != file.fingerprint:
                return _one(source, path, "pending", _CHANGED)
            return _one(source, path, file.state, file.reason)


def _one(
    source: Source, path: str, state: StateOfFile, reason: str, rule: str = "", rule_at: str = ""
) -> ListedFile:
    location = f"{source.root}/{path}"
    return ListedFile(source.source_id, rows.shown(path), location, state, reason, rule, rule_at)
