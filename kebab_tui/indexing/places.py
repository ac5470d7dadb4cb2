"""Where a hit or a citation is in the files as they are now.

Compares texts where a stamp differs: a file that was only touched is still the same. One
that cannot be read as text (a page of a PDF; too large, binary, forbidden by now) is not
compared; its stamp then says whether it changed. Refuses to follow a note to another name: that is
what indexing does.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from kebab_tui.domain.citation import Citation, Located, SourceSpan
from kebab_tui.domain.document import Chunk
from kebab_tui.domain.errors import NotFoundError, UnreadableFileError
from kebab_tui.domain.hit import SearchHit
from kebab_tui.files.read import VanishedFileError, read_file
from kebab_tui.formats.decode import ReadLimits, decode
from kebab_tui.indexing.inspection import inspect
from kebab_tui.indexing.locating import clipped, locate, locate_within
from kebab_tui.indexing.pipeline import Recipe
from kebab_tui.storage.sqlite.catalogue import Catalogue


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
