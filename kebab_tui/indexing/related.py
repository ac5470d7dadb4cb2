"""What a note is related to: its links both ways, the files they lead to, and notes of a near meaning."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from kebab_tui.domain.citation import Citation
from kebab_tui.domain.errors import ModelError, NotFoundError
from kebab_tui.domain.ids import ChunkRow, DocId
from kebab_tui.domain.links import LinkDirection, LinkedNote, NoteLink, NoteLinks, SimilarNote, folded_path
from kebab_tui.domain.query import SearchFilters
from kebab_tui.formats.registry import format_of
from kebab_tui.search.link_anchors import Outline
from kebab_tui.search.links import links_of
from kebab_tui.search.ports import Among

if TYPE_CHECKING:
    from kebab_tui.indexing.lookup import Inspection
    from kebab_tui.search.ports import Vector
    from kebab_tui.storage.ports import ChangeFeed, Reader
    from kebab_tui.vector_search import OpenVectors

_MOST_FILES = 200_000
"""Files of a folder among which the name of an attachment is looked up."""
_NEAREST = 300
"""Passages near the note whose notes are compared."""
_COMPARED = 60
"""Notes that are compared, at least."""


def note_links(
    reader: Reader,
    found: Inspection | None,
    direction: LinkDirection,
    filters: SearchFilters,
    limit: int,
    offset: int,
) -> NoteLinks:
    """The links of a note, or those in all notes; `filters`: the notes that may be at either end."""
    with reader.catalogue() as catalogue, reader.snapshot() as snapshot:
        document = None if found is None else found.document
        note = None
        if found is not None and document is not None:
            place = document.source, found.root, document.path, document.raw_path
            note = LinkedNote(document.doc_id, *place, document.title)

        @cache
        def outline_of(doc: DocId, path: str) -> Outline | None:
            return Outline.of(path, catalogue.chunks_of(doc))

        page, total = links_of(
            snapshot, direction, note, filters, slice(offset, None if limit < 0 else offset + limit),
            lambda other: outline_of(other.doc_id, other.path), _FileFinder(filters.shareable).find,
        )  # fmt: skip
        targets = {} if document is None else {document.doc_id: document}
        wanted = {one.candidates[0].doc_id for one in page if one.candidates} - targets.keys()
        if wanted:
            documents, _ = catalogue.documents(SearchFilters(doc_ids=tuple(wanted)))
            targets |= {one.doc_id: one for one in documents}
    links = tuple(
        NoteLink(
            one.note,
            one.link,
            targets.get(one.candidates[0].doc_id) if one.candidates else None,
            one.span,
            one.candidates if len(one.candidates) > 1 else (),
            one.problem,
            one.file,
            one.candidates[0] if one.candidates else None,
        )
        for one in page
    )
    return NoteLinks(links, total)


class _FileFinder:
    """Finds files that are no notes of the index: attachments, folders, files of other types."""

    def __init__(self, shareable: bool) -> None:
        """`shareable`: finds no file that could be a private note."""
        self._shareable = shareable
        self._names: dict[str, dict[str, str]] = {}

    def find(self, note: LinkedNote, path: str) -> str:
        if "\0" in path or (self._shareable and format_of(path) is not None):
            return ""
        folder = os.path.dirname(os.fsdecode(note.raw_path))
        for start in (folder, ""):
            place = os.path.normpath(os.path.join(start, path.lstrip("/") if path[:1] == "/" else path))
            inside = not place.startswith("..") and not os.path.isabs(place)
            if inside and _exists(os.path.join(note.root, place)):
                return place
        if "/" in path or not os.path.splitext(path)[1]:
            return ""
        return self._in(note.root).get(folded_path(path), "")

    def _in(self, root: str) -> dict[str, str]:
        """The files below a folder by name; the first of each name."""
        if root not in self._names:
            names = self._names[root] = {}
            for at, folders, files in os.walk(root):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                for name in files:
                    names.setdefault(folded_path(name), os.path.relpath(os.path.join(at, name), root))
                if len(names) > _MOST_FILES:
                    break
        return self._names[root]


def _exists(path: str) -> bool:
    try:
        return os.path.lexists(path)
    except (OSError, ValueError):
        return False


def similar_notes(
    reader: Reader, found: Inspection, vectors: OpenVectors, limit: int, filters: SearchFilters
) -> list[SimilarNote]:
    """The notes nearest in meaning to a note, or to a passage of it, the nearest first.

    Notes are compared by the mean of their vectors; a passage, with the nearest passage of each note.
    """
    import numpy as np

    with (
        reader.catalogue() as catalogue,
        reader.snapshot() as snapshot,
        reader.vectors(vectors.model) as feed,
    ):
        own = snapshot.chunk_rows(found.document.doc_id)
        named = [chunk.row for chunk in found.chunks] if found.cited is not None else own
        mean = _mean(feed, [named], vectors.dims)[0]
        if mean is None:
            if not own:
                raise NotFoundError(f"{found.document.path} contains no text", "`kebab inspect` shows it")
            raise ModelError(f"no vectors of {found.document.path} yet", "run `kebab index --embed`")
        among = Among(filters) if filters.active else None
        near = vectors.searched.nearest(mean, _NEAREST + len(own), among)
        notes = snapshot.notes_of([one.row for one in near])
        best: dict[DocId, tuple[float, ChunkRow]] = {}
        for one in near:
            doc = notes.get(one.row)
            if doc is not None and doc != found.document.doc_id:
                best.setdefault(doc, (one.cosine, one.row))
        scores = {doc: cosine for doc, (cosine, _) in best.items()}
        if found.cited is None:
            compared = list(best)[: max(_COMPARED, 4 * limit)]
            rows: dict[DocId, list[ChunkRow]] = defaultdict(list)
            for row, doc in snapshot.chunks_of(compared).items():
                rows[doc].append(row)
            means = _mean(feed, [rows[doc] for doc in compared], vectors.dims)
            scores = {
                doc: float(np.clip(other @ mean, -1.0, 1.0))
                for doc, other in zip(compared, means, strict=True)
                if other is not None
            }
        ordered = sorted(scores, key=lambda doc: (-scores[doc], doc))[:limit] if limit else []
        documents = (
            {}
            if not ordered
            else {
                document.doc_id: document
                for document in catalogue.documents(SearchFilters(doc_ids=tuple(ordered)))[0]
            }
        )
        passages = snapshot.hydrate([best[doc][1] for doc in ordered])
        return [
            SimilarNote(
                documents[doc],
                passages[row].root,
                scores[doc],
                Citation(documents[doc].path, passages[row].chunk.span, passages[row].chunk.heading_path),
                passages[row].chunk.text,
            )
            for doc in ordered
            if (row := best[doc][1]) in passages
        ]


def _mean(feed: ChangeFeed, notes: Sequence[Sequence[ChunkRow]], dims: int) -> list[Vector | None]:
    """The mean of the vectors of each note, all parts of passages included, of length 1; None without any."""
    import numpy as np

    blobs = feed.vectors([row for rows in notes for row in rows])
    found: list[Vector | None] = []
    for rows in notes:
        valid = [blob for row in rows if (blob := blobs.get(row)) and len(blob) % (2 * dims) == 0]
        if not valid:
            found.append(None)
            continue
        total = np.frombuffer(b"".join(valid), np.float16).reshape(-1, dims).astype(np.float32).sum(axis=0)
        length = float(np.linalg.norm(total))
        found.append(total / length if np.isfinite(length) and length > 0 else None)
    return found
