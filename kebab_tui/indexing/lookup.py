"""Finds what a user names: a note by path, a chunk by id, a passage by citation; lists all files with
their states.

Compares the present files with the index, explains why a file is not indexed, and changes nothing. It
does not follow a note to a new name: indexing does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kebab_tui.domain.checkpoint import Checkpoint
from kebab_tui.domain.citation import Citation, Located, SourceSpan, TextPosition, parse_citation
from kebab_tui.domain.document import Chunk, Document, PageText, ParsedNote, Source
from kebab_tui.domain.errors import NotFoundError, NotIndexedError, SourceError, UnreadableFileError
from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.ids import ChunkRow, SourceId
from kebab_tui.domain.names import stem_of
from kebab_tui.domain.pages import cite, page_count
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.text import display_path
from kebab_tui.domain.versions import Version, cited_in
from kebab_tui.files.exclusion import LeftOut
from kebab_tui.files.file_state import file_state
from kebab_tui.files.read import VanishedFileError, exists, read_file, read_head
from kebab_tui.files.tree_root import TreeRoot, is_tree
from kebab_tui.files.walk import Entry, FoundFile, WalkProblem, explain_ignored, is_private, survey
from kebab_tui.formats.decode import decode
from kebab_tui.formats.note import PRIVACY_BYTES, states_private
from kebab_tui.formats.registry import Format, format_of
from kebab_tui.indexing.pipeline import Recipe
from kebab_tui.indexing.relocate import clipped, clipped_page, locate, locate_on_page, locate_within
from kebab_tui.search.find_names import NAME_ORDER, FoundNote, NameMatch
from kebab_tui.search.matching_line import matching_line
from kebab_tui.search.ports import FileState
from kebab_tui.search.why_not import WhyNot
from kebab_tui.storage.ports import Catalogue, KnownFile, Reader

Find = Callable[[str, int], "list[FoundNote]"]
"""Finds at most so many notes by name."""
StateOfFile = Literal["ok", "failed", "skipped", "pending", "ignored"]

_NO_LINES = re.compile(r"(?s)(?P<path>.+)[:#]L?\d+(?:-L?\d+)?")
_CHUNK_ID = re.compile(r"[0-9a-f]{6,32}")
_MANY = 5
_PAGE_SECONDS = 3.0
"""CPU time for what a reader waits for: a page, or the new place of one."""
_DELETED = "deleted; the next scan removes it from the index"
_EXCLUDED = "excluded now; the next scan removes it from the index"
_UNSEEN = "cannot be read now; it stays in the index"
_CHANGED = "changed since it was read"
_NEW = "not read yet"
_OLD_READER = "indexed by an older version; it will be read again"


@dataclass(frozen=True, slots=True)
class Inspection:
    """A note with its chunks; only the named ones if the target names a chunk or lines."""

    document: Document
    chunks: tuple[Chunk, ...]
    root: str
    file_state: FileState
    cited: SourceSpan | None = None
    """The lines of the citation or of the chunk."""
    version: Version | None = None
    """The version that it is of; None for a present note."""

    @property
    def location(self) -> str:
        """The absolute path of the file; of a version, as `git show` takes it."""
        if self.version is not None:
            return f"{self.version.label}:{self.version.prefix}{self.document.path}"
        return os.path.join(self.root, os.fsdecode(self.document.raw_path))

    def cite(self, span: SourceSpan) -> Citation:
        """The citation of a span of the note."""
        cited = cite(self.document, span)
        return cited if self.version is None else cited_in(cited, self.version)


@dataclass(frozen=True, slots=True)
class CitedPlace:
    """A citation from the index, the absolute path of the file, and the current lines in that file."""

    citation: Citation
    path: str
    located: Located
    is_copy: bool = False
    """The path is that of a read-only copy, of a file of a version."""


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file, or an excluded folder (its path ends with a slash).

    `path` is for display, relative to the source; `location` opens the file. `rule` is the ignore rule
    that excludes the file, `rule_at` its ignore file and line.
    """

    source: SourceId
    path: str
    location: str
    state: StateOfFile
    reason: str = ""
    rule: str = ""
    rule_at: str = ""


def inspect(catalogue: Catalogue, target: str, recipe: Recipe, find: Find) -> Inspection:
    """Look up a path, a citation, a chunk id or a name; raises NotFoundError with the reason."""
    if _CHUNK_ID.fullmatch(target) and (named := catalogue.chunks_named(target)):
        if len(named) > 1:
            raise NotFoundError(f"several passages begin with {target}", "give more digits of the id")
        document = catalogue.document(named[0].doc_id)
        assert document is not None  # a foreign key ensures it
        return inspection_of(catalogue, document, tuple(named), named[0].span)
    document = find_document(catalogue, target)
    if document is not None:
        return inspection_of(catalogue, document, tuple(catalogue.chunks_of(document.doc_id)))
    citation = parse_citation(target)
    document = find_document(catalogue, citation.path) if citation else None
    if citation is None and (stem := _NO_LINES.fullmatch(target)) and find_document(catalogue, stem["path"]):
        raise NotFoundError(
            f"{target} names no lines", "lines count from 1, and the last is not before the first: PATH:L5-L9"
        )
    if document is None and (called := note_named(target, find, exact=citation is not None)):
        return inspection_of(catalogue, called, tuple(catalogue.chunks_of(called.doc_id)))
    if document is None and citation is not None:
        document = note_named(citation.path, find, exact=True)
    if citation is None or document is None:
        verdict = why_not_indexed(catalogue.sources(), target, None, recipe)
        raise NotFoundError(f"not in the index: {target} ({verdict.detail})", verdict.advice)
    span = citation.span
    check_cited(document, span)
    return inspection_of(catalogue, document, chunks_within(catalogue, document, span), span)


def named_passages(
    catalogue: Catalogue, target: str, find: Find
) -> tuple[Document | None, tuple[ChunkRow, ...] | None]:
    """The note of a path, a name or a citation; of a citation, the passages that it names."""
    citation = parse_citation(target)
    document = find_document(catalogue, target) or note_named(target, find, exact=citation is not None)
    if document is not None or citation is None:
        return document, None
    document = find_document(catalogue, citation.path) or note_named(citation.path, find, exact=True)
    if document is None:
        return None, None
    check_cited(document, citation.span)
    chunks = chunks_within(catalogue, document, citation.span)
    if not chunks and document.chunks:
        raise NotFoundError(f"no passage is at {target}", "give other lines, or the path alone")
    return document, tuple(chunk.row for chunk in chunks)


def check_cited(document: Document, span: SourceSpan) -> None:
    """Raise NotFoundError if the document has no such page, or is not cited in this way."""
    pages = page_count(document.facets)
    if span.page is None and pages:
        raise NotFoundError(
            f"{document.path} is cited by page, not by line", f"for example: {document.path}#p=1"
        )
    if span.page is not None and span.page > pages:
        last = f"its last page is {pages:,}" if pages else "it has lines: PATH:L5-L9"
        raise NotFoundError(f"{document.path} has no page {span.page:,}", last)


def chunks_within(catalogue: Catalogue, document: Document, span: SourceSpan) -> tuple[Chunk, ...]:
    """The chunks of a document that have some of these lines, or are on this page."""
    chunks = catalogue.chunks_of(document.doc_id)
    if span.page is not None:
        return tuple(chunk for chunk in chunks if chunk.span.page == span.page)
    return tuple(chunk for chunk in chunks if chunk.span.first <= span.last and chunk.span.last >= span.first)


def inspection_of(
    catalogue: Catalogue, document: Document, chunks: tuple[Chunk, ...], cited: SourceSpan | None = None
) -> Inspection:
    root = catalogue.root_of(document.source)
    state = file_state(root, document.raw_path, document.fingerprint)
    return Inspection(document, chunks, root, state, cited)


def find_document(catalogue: Catalogue, path: str) -> Document | None:
    """The note at a path: a path on disk, within a source, or the end of one; it must be unambiguous."""
    if (found := _source_containing(catalogue.sources(counted=False), path)) is not None:
        source, inner = found
        here = [note for note in catalogue.documents_at(inner) if note.source == source.source_id]
        if here:
            return _same_bytes(here, inner)[0]
    notes = catalogue.documents_at(path.removeprefix("./"))
    notes = _same_bytes(notes, path) or catalogue.documents_ending(display_path(path), _MANY)
    if len(notes) > 1:
        names = ", ".join(f"{note.source}: {note.path}" for note in notes)
        raise NotFoundError(f"several notes are named {path}: {names}", "give the whole path")
    return notes[0] if notes else None


def note_named(typed: str, find: Find, *, exact: bool = False) -> Document | None:
    """The one note that is meant by a name; raises NotFoundError with the nearest names.

    None if there is nothing near, or if `typed` is rather the path of a file. `exact`: nothing similar.
    """
    if typed.startswith(("/", "~", "./", "../")) or os.path.isfile(typed):
        return None
    found = [(note, note.matched) for note in find(typed, _MANY + 1) if note.matched is not None]
    found = [(note, name) for note, name in found if name.match is not NameMatch.SCATTERED]
    if not found:
        return None
    best = min((name.match, NAME_ORDER[name.kind]) for _, name in found)
    if best[0] is NameMatch.EXACT:
        called = [note for note, name in found if (name.match, NAME_ORDER[name.kind]) == best]
        if len(called) > 1:
            raise NotFoundError(f"several notes are named {typed}: {_places(called)}", "give the whole path")
        return called[0].document
    if exact or stem_of(typed) != typed.rpartition("/")[2]:  # a file name or a place in one
        return None
    nearest = [note for note, name in found if name.match == best[0]]
    if len(found) == 1 or (len(nearest) == 1 and best[0] <= NameMatch.WORD):
        return nearest[0].document
    raise NotFoundError(
        f"no note is named {typed}; the nearest are {_places([note for note, _ in found])}",
        "give the whole name, or choose with `kebab find`",
    )


def _places(notes: Sequence[FoundNote]) -> str:
    listed = [f"{note.document.source}: {note.document.path}" for note in notes]
    return ", ".join([*listed[:_MANY], *(["…"] if len(listed) > _MANY else [])])


def _same_bytes(notes: list[Document], path: str) -> list[Document]:
    """Prefer the note with exactly these bytes among paths that look the same."""
    return [note for note in notes if note.raw_path == os.fsencode(path)] or notes


def why_not_indexed(
    sources: Sequence[Source], path: str, document: Document | None, recipe: Recipe
) -> WhyNot:
    """Why a file is not in the index."""
    if document is not None:
        reason = document.reason or "it contains no text"
        return WhyNot(document.path, "not indexed", f"{document.state}: {reason}", "")
    found = _source_containing(sources, path)
    if found is None and not os.path.isabs(path):
        below = (source for source in sources if os.path.lexists(os.path.join(source.root, path)))
        found = next(((source, os.path.normpath(path)) for source in below), None)
    if found is None:
        folders = ", ".join(source.root for source in sources) or "none yet"
        if sources and not os.path.lexists(os.path.expanduser(path)):
            detail = f"no such file, neither here nor in an indexed folder: {folders}"
            return WhyNot(path, "not indexed", detail, "`kebab list` shows the notes")
        detail = f"it is outside the indexed folders: {folders}"
        return WhyNot(path, "not indexed", detail, "run `kebab ingest FOLDER`")
    source, inner = found
    if not os.path.lexists(os.path.join(source.root, inner)):
        return WhyNot(path, "not indexed", "no such file", "")
    ignored = explain_ignored(source.root, inner, recipe.rules_of(source))
    if ignored is not None:
        return WhyNot(path, "not indexed", ignored, "")
    return WhyNot(path, "not indexed", "not scanned yet", f"run `kebab ingest {source.root}`")


def _source_containing(sources: Sequence[Source], path: str) -> tuple[Source, str] | None:
    """The source and the path within it, as the shell sees the path or with its links resolved."""
    if "\0" in path:
        return None
    full = os.path.abspath(os.path.expanduser(path))
    folder, name = os.path.split(full)
    real = os.path.join(os.path.realpath(folder), name)
    for source in sources:
        for absolute, root in ((full, source.root), (real, os.path.realpath(source.root))):
            root = root.rstrip("/") + "/"
            if absolute.startswith(root):
                return source, absolute[len(root) :]
    return None


def locate_hit(hit: SearchHit, recipe: Recipe) -> Located:
    """The current lines of a hit. The stamp decides if the file cannot be read as text."""
    span = hit.citation.span
    if is_tree(hit.root):  # a commit never changes
        return Located(span, "same")
    if span.page is not None:
        return _locate_hit_on_page(hit, recipe)
    try:
        lines = present_lines(hit.root, hit.raw_path, recipe)
    except VanishedFileError:
        return Located(span, "gone")
    if lines is None:
        return Located(span, "changed" if hit.stale else "same")
    return locate(hit.text, span, lines, recipe.chunk_limits.cap)


def _locate_hit_on_page(hit: SearchHit, recipe: Recipe) -> Located:
    """The current page of a hit. Reads the document only if it has changed: that takes a while."""
    span = hit.citation.span
    try:
        status = os.lstat(os.path.join(os.fsencode(hit.root), hit.raw_path))
        if not hit.stale and max(status.st_mtime_ns, status.st_ctime_ns) < hit.indexed_ns:
            return Located(span, "same")
        note = _parsed(hit.root, hit.raw_path, recipe)
    except (VanishedFileError, FileNotFoundError):
        return Located(span, "gone")
    except (UnreadableFileError, OSError):
        return Located(span, "changed")
    return locate_on_page(hit.text, span, note, recipe.chunk_limits.cap)


def matching_position(hit: SearchHit, located: Located, query: str, recipe: Recipe) -> TextPosition:
    """Where the words of a query are best matched in the present lines of a hit."""
    text = None if located.span.page is not None else present_passage(hit, located, recipe)
    if text is None:
        return TextPosition(located.span.first)
    return matching_line(hit, text, located.span.first, query).position


def present_passage(hit: SearchHit, located: Located, recipe: Recipe) -> str | None:
    """The present text of a located passage; None if its file is gone, or no text."""
    try:
        lines = present_lines(hit.root, hit.raw_path, recipe)
    except VanishedFileError:
        return None
    return None if lines is None else "\n".join(lines[located.span.first - 1 : located.span.last])


def locate_citation(catalogue: Catalogue, target: str, recipe: Recipe, find: Find) -> CitedPlace:
    """The current lines of a citation, a chunk id, a path or a name; raises NotFoundError with the reason."""
    found = inspect(catalogue, target, recipe, find)
    path = os.path.join(found.root, os.fsdecode(found.document.raw_path))
    span = found.cited or SourceSpan(1, 1, page=1 if page_count(found.document.facets) else None)
    citation = cite(found.document, span)
    if span.page is not None:
        return CitedPlace(citation, path, locate_page(found, span, recipe))
    try:
        lines = present_lines(found.root, found.document.raw_path, recipe)
    except VanishedFileError:
        return CitedPlace(citation, path, Located(citation.span, "gone"))
    return CitedPlace(citation, path, located_now(found, lines, recipe))


def located_now(found: Inspection, lines: Sequence[str] | None, recipe: Recipe) -> Located:
    """Where the cited lines are among the present lines of the file; None: it cannot be read as text."""
    span = found.cited or SourceSpan(1, 1)
    if found.cited is None or found.file_state == "same":
        if lines is not None and span.first > max(len(lines), 1):
            raise NotFoundError(
                f"{found.document.path} has no line {span.first:,}", f"its last line is {len(lines):,}"
            )
        return Located(span, "same")
    if lines is None:
        return Located(span, "changed")
    return _locate_lines(span, found.chunks, lines, recipe.chunk_limits.cap)


def locate_page(found: Inspection, span: SourceSpan, recipe: Recipe) -> Located:
    """The current page with the text of a page: that of its first passage which is still there."""
    if found.file_state != "changed" or found.cited is None:
        return Located(span, "gone" if found.file_state == "gone" else "same")
    try:
        note = _parsed(found.root, found.document.raw_path, recipe)
    except VanishedFileError:
        return Located(span, "gone")
    except UnreadableFileError:
        return Located(span, "changed")
    places = (locate_on_page(c.text, c.span, note, recipe.chunk_limits.cap) for c in found.chunks)
    best = min(places, key=lambda place: place.state == "changed", default=clipped_page(span, note))
    return replace(best, span=SourceSpan(1, 1, page=best.span.page))


def page_of(root: str, raw_path: bytes, number: int, recipe: Recipe) -> PageText:
    """The present text of one page; raises UnreadableFileError, also if it takes too long."""
    kind, data, path = _read_paged(root, raw_path, recipe)
    return kind.page(data, path, number, Checkpoint(_PAGE_SECONDS))


def _parsed(root: str, raw_path: bytes, recipe: Recipe) -> ParsedNote:
    """The present text of all pages; raises UnreadableFileError, also if it takes too long."""
    kind, data, path = _read_paged(root, raw_path, recipe)
    return kind.parse(data, path, Checkpoint(_PAGE_SECONDS))


def _read_paged(root: str, raw_path: bytes, recipe: Recipe) -> tuple[Format, bytes, str]:
    path = os.fsdecode(raw_path)
    kind = format_of(path)
    if kind is None or not kind.paged:
        raise UnreadableFileError("has no pages")
    return kind, read_file(root, path, recipe.limits_of(kind)).data, path


def _locate_lines(span: SourceSpan, chunks: Sequence[Chunk], lines: Sequence[str], cap: int) -> Located:
    """The lines may begin in one chunk and end in another: locate both ends, each by its chunk."""
    if not chunks:
        return clipped(span, len(lines))
    ends = []
    for chunk in (chunks[0], chunks[-1]):
        part = SourceSpan(max(span.first, chunk.span.first), min(span.last, chunk.span.last))
        ends.append(locate_within(part, chunk.text, chunk.span, lines, cap))
    begin, end = ends
    if len(chunks) == 1 or end.span.last < begin.span.first:
        return begin
    whole = SourceSpan(begin.span.first, end.span.last)
    together = (begin.state, begin.shift) == (end.state, end.shift)
    return Located(whole, begin.state if together else "changed", begin.shift)


def present_lines(root: str, raw_path: bytes, recipe: Recipe) -> Sequence[str] | None:
    """The lines of a file; None if it cannot be read as text. Raises VanishedFileError."""
    path = os.fsdecode(raw_path)
    try:
        return decode(read_file(root, path, recipe.limits_of(format_of(path))).data).lines
    except VanishedFileError:
        raise
    except UnreadableFileError:
        return None


def may_share(root: str, raw_path: bytes) -> bool:
    """Whether a note is not private now, by its file and the `.kebabprivate` of its folders.

    False if that cannot be seen: the note is gone, unreadable, or behind a link. A note of a version is
    private, too, if the present note at its path is.
    """
    path = os.fsdecode(raw_path)
    if is_private_at_present(root, raw_path):
        return False
    kind = format_of(path)
    try:
        size = 0 if kind is not None and kind.paged else PRIVACY_BYTES
        head = read_head(root, path, size)
        lines = decode(head).lines if size else ()
    except UnreadableFileError:
        return False
    return not states_private(lines) and not is_private(root, path)


def is_private_at_present(root: str, raw_path: bytes) -> bool:
    """Whether a note of a version is private in the folder that it is a version of."""
    tree = TreeRoot.parse(root)
    if tree is None:
        return False
    path = os.fsdecode(raw_path)
    if is_private(tree.folder, path):
        return True
    return exists(tree.folder, path) and not may_share(tree.folder, raw_path)


def file_states(reader: Reader, recipe: Recipe) -> Iterator[ListedFile]:
    """The files of every source: failed and skipped ones first, the others in the order of the walk.

    Compares the folders with the index as an ingest would. Opens no file except ignore files, and keeps
    no read transaction open during the walk. Notes that other versions read are pending.
    """
    try:
        with reader.catalogue() as catalogue:
            sources = {source.source_id: source for source in catalogue.sources()}
            unread, _ = catalogue.documents(SearchFilters(), ("failed", "skipped"))
    except NotIndexedError:
        return
    listed: dict[SourceId, set[bytes]] = {source: set() for source in sources}
    for note in unread:
        listed[note.source].add(note.raw_path)
        source, path = sources[note.source], os.fsdecode(note.raw_path)
        if os.path.lexists(f"{source.root}/{path}"):
            yield _file(source, path, note.state, note.reason)
        else:
            yield _file(source, path, "pending", _DELETED)
    for source in sources.values():
        done = listed[source.source_id]
        with reader.catalogue() as catalogue:
            known = catalogue.known_files(source.source_id)
        left = {path: file for path, file in known.items() if path not in done}
        unseen: list[bytes] = []
        try:
            for entry in survey(source.root, recipe.rules_of(source)):
                raw_path = os.fsencode(entry.path)
                if isinstance(entry, WalkProblem):
                    unseen.append(raw_path)
                if raw_path not in done:
                    yield _walked(source, entry, left.pop(raw_path, None), recipe.made_by)
        except SourceError as error:
            yield ListedFile(source.source_id, "", source.root, "failed", error.message)
            for raw_path, file in left.items():
                yield _file(source, os.fsdecode(raw_path), file.state, _UNSEEN)
            continue
        for raw_path in left:
            path = os.fsdecode(raw_path)
            if any(not folder or raw_path.startswith(folder + b"/") for folder in unseen):
                yield _file(source, path, "ok", _UNSEEN)
            else:
                exists = os.path.lexists(f"{source.root}/{path}")
                yield _file(source, path, "pending", _EXCLUDED if exists else _DELETED)


def _walked(source: Source, entry: Entry, file: KnownFile | None, made_by: Mapping[str, str]) -> ListedFile:
    match entry:
        case LeftOut(path, exclusion) if exclusion.rule is not None:
            rule = exclusion.rule
            return _file(source, path, "ignored", exclusion.reason, rule.text, rule.origin)
        case LeftOut(path, exclusion):
            return _file(source, path, "ignored", exclusion.reason)
        case WalkProblem(path, reason):
            return _file(source, path, "failed", reason)
        case FoundFile(path, fingerprint, kind):
            if file is None:
                return _file(source, path, "pending", _NEW)
            if file.made_by != made_by[kind.id]:
                return _file(source, path, "pending", _OLD_READER)
            if file.state == "ok" and fingerprint != file.fingerprint:
                return _file(source, path, "pending", _CHANGED)
            return _file(source, path, file.state, file.reason)


def _file(
    source: Source, path: str, state: StateOfFile, reason: str, rule: str = "", rule_at: str = ""
) -> ListedFile:
    location = f"{source.root}/{path}"
    return ListedFile(source.source_id, display_path(path), location, state, reason, rule, rule_at)
