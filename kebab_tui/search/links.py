"""Resolves links when they are read: what a link leads to, which notes link to a note, what is broken.

A link means, in this order: a path relative to its note, a path in its source, the end of a path (or a
name), a stated title, an alias; normalised and in any case. Of several notes the nearest counts: in the
own source, then by the distance of the folders. Whatever else it could mean is told, too. A name without
a folder and an extension is no path.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from kebab_tui.domain.citation import SourceSpan
from kebab_tui.domain.errors import FilterError, UnfinishedFilterError
from kebab_tui.domain.facets import LINK, URL, Facet, fold
from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.domain.links import (
    LinkDirection,
    LinkedNote,
    LinkProblem,
    WrittenLink,
    folded_path,
    link_key,
    path_forms,
    path_keys,
)
from kebab_tui.domain.names import EXTENSION, is_called_after_its_folder, name_key, stem_of, typed_name
from kebab_tui.domain.query import SearchFilters
from kebab_tui.search.link_anchors import Outline
from kebab_tui.search.ports import CalledNote, Snapshot

OutlineOf = Callable[[LinkedNote], Outline | None]
"""The headings and blocks of a note; None for a format without any."""
_FILE = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}\Z")
FindFile = Callable[[LinkedNote, str], str]
"""The path of a file that is no note, by the note that links to it and its path as written; empty if none."""


class FoundLink(NamedTuple):
    """A link with all that it could mean; the first of `candidates` is what it means."""

    note: LinkedNote
    link: WrittenLink
    candidates: tuple[LinkedNote, ...] = ()
    span: SourceSpan | None = None
    problem: LinkProblem | None = None
    file: str = ""


class Resolver:
    """What links mean among the notes of one snapshot that pass the filters. Reads only notes it needs."""

    def __init__(self, snapshot: Snapshot, filters: SearchFilters) -> None:
        self._snapshot = snapshot
        self._filters = filters
        self._asked: set[str] = set()
        self._prepared: set[str] = set()
        self._known: set[DocId] = set()
        self._has_indexes = False
        self._by_end: dict[str, list[tuple[str, LinkedNote]]] = defaultdict(list)
        """The forms of paths by their last part."""
        self._by_name: dict[tuple[str, str], list[LinkedNote]] = defaultdict(list)
        self._only: dict[str, tuple[LinkedNote, ...]] = {}
        """The note of a name that no other note has, wherever the link is."""
        self._resolved: dict[tuple[str, str, str], tuple[LinkedNote, ...]] = {}

    def prepare(self, links: Iterable[tuple[LinkedNote, str]]) -> None:
        """Read the notes that these links may mean, at once."""
        by_path: dict[str, list[LinkedNote]] = defaultdict(list)
        for note, path in links:
            by_path[path].append(note)
        keys = {key for path, notes in by_path.items() for key in _name_keys(notes, path)} - self._asked
        self._prepared |= by_path.keys()
        if keys:
            self._asked |= keys
            self._add(self._snapshot.called(sorted(keys), self._filters))

    def meant(self, note: LinkedNote, path: str) -> tuple[LinkedNote, ...]:
        """The notes that a link to `path` in a note could mean equally well, the nearest first."""
        if not path:
            return (note,)
        if (only := self._only.get(path)) is not None:
            return only
        place = note.source, posixpath.dirname(note.path), path
        if place not in self._resolved:
            if path not in self._prepared or is_called_after_its_folder(path):
                self.prepare([(note, path)])
            self._resolved[place] = self._meant(note, path)
        return self._resolved[place]

    def called(self, typed: str) -> tuple[LinkedNote, ...]:
        """The notes that a user means by a path or a name, wherever they are."""
        nowhere = LinkedNote(DocId(""), SourceId(""), "", "", b"", "")
        path = typed_name(typed) or typed.strip()
        self.prepare([(nowhere, path)])
        return self._by_ends(nowhere, path.lstrip("./")) or self._named(nowhere, path)

    def _add(self, notes: Iterable[CalledNote]) -> None:
        for note, names in notes:
            if note.doc_id in self._known:
                continue
            self._known.add(note.doc_id)
            for form in path_forms(note.path):
                self._by_end[form.rpartition("/")[2]].append((form, note))
            for key in {(kind, fold(name)) for kind, name in names}:
                self._by_name[key].append(note)

    def _meant(self, note: LinkedNote, path: str) -> tuple[LinkedNote, ...]:
        written = unicodedata.normalize("NFC", path.replace("\\", "/"))
        folder = posixpath.dirname(note.path)
        is_rooted, is_relative = written.startswith("/"), written.startswith(("./", "../"))
        is_name = "/" not in written and not EXTENSION.search(written)  # and no path
        if is_name and (found := self._by_ends(note, written)):
            if len(found) == 1 and not is_called_after_its_folder(written):  # of those only some are read
                self._only[path] = found
            return found
        if not is_rooted and (found := self._at(note, posixpath.join(folder, written))):
            return found
        if not is_relative and (found := self._at(note, written.lstrip("/"))):
            return found
        if is_rooted or is_relative:
            return ()
        found = self._by_ends(note, written)
        if not found and is_called_after_its_folder(written) and not self._has_indexes:
            self._has_indexes = True
            self._add(self._snapshot.called_after_folders(self._filters))
            found = self._by_ends(note, written)
        return found or self._named(note, written)

    def _at(self, note: LinkedNote, path: str) -> tuple[LinkedNote, ...]:
        """The notes at a path in the source of the note."""
        path = posixpath.normpath(path)
        folded = folded_path(path)
        here = [
            (form, other)
            for form, other in self._by_end.get(folded.rpartition("/")[2], ())
            if form == folded and other.source == note.source
        ]
        for exact in (path, f"{path}.md"):  # before the same name in another case or with another extension
            same = [other for _, other in here if unicodedata.normalize("NFC", other.path) == exact]
            if same:
                return tuple(same[:1])
        return _nearest_first(note, path, (other for _, other in here))

    def _by_ends(self, note: LinkedNote, path: str) -> tuple[LinkedNote, ...]:
        folded = folded_path(path).strip("/")
        ending = "/" + folded
        found = (
            other
            for form, other in self._by_end.get(folded.rpartition("/")[2], ())
            if form == folded or form.endswith(ending)
        )
        return _nearest_first(note, path, found)

    def _named(self, note: LinkedNote, name: str) -> tuple[LinkedNote, ...]:
        for kind in ("title", "alias"):
            if found := self._by_name.get((kind, fold(name.strip()))):
                return _nearest_first(note, name, found)
        return ()


def _name_keys(notes: Sequence[LinkedNote], path: str) -> Iterator[str]:
    """The keys of the names of the notes that a link in these notes may mean."""
    key = link_key(path)
    last = key.rpartition("/")[2]
    yield name_key(last)
    yield name_key(stem_of(last))
    if last != key:
        yield name_key(path)
    for note in notes if is_called_after_its_folder(last) else ():
        root = posixpath.basename(note.root.rstrip("/"))
        for start in (posixpath.dirname(note.path), ""):
            folder = posixpath.dirname(posixpath.normpath(posixpath.join(start, path.lstrip("/"))))
            yield name_key(posixpath.basename(folder) or root)


def _nearest_first(note: LinkedNote, path: str, found: Iterable[LinkedNote]) -> tuple[LinkedNote, ...]:
    distinct = tuple(dict.fromkeys(found))
    if len(distinct) < 2:
        return distinct
    own = note.path.split("/")[:-1]
    written = unicodedata.normalize("NFC", path)

    def order(other: LinkedNote) -> tuple[bool, int, bool, int, str]:
        folders = other.path.split("/")[:-1]
        shared = 0
        for ours, theirs in zip(own, folders, strict=False):
            if ours != theirs:
                break
            shared += 1
        away = len(own) + len(folders) - 2 * shared
        is_exact = written in other.path
        return other.source != note.source, away, not is_exact, len(other.path), other.path

    return tuple(sorted(distinct, key=order))


def links_of(
    snapshot: Snapshot,
    direction: LinkDirection,
    note: LinkedNote | None,
    filters: SearchFilters,
    page: slice,
    outline_of: OutlineOf,
    find_file: FindFile,
) -> tuple[list[FoundLink], int]:
    """A page of the links from, to or in a note, or in all notes, and the number of all.

    `filters`: the notes that may be at either end.
    """
    if direction == "in":
        to_note = [] if note is None else list(_links_to(snapshot, (note,), filters))
        found = []
        for other, facet, candidates in to_note[page]:
            link = WrittenLink.of(facet)
            found.append(FoundLink(other, link, candidates, *_anchored(link, candidates[0], outline_of)))
        return found, len(to_note)
    own = filters if note is None else SearchFilters(doc_ids=(note.doc_id,))
    written = snapshot.links([(URL if direction == "external" else LINK).id], own)
    total = len(written)
    if direction != "broken":
        written = written[page]
    links = [(other, WrittenLink.of(facet)) for other, facet in written]
    if direction == "external":
        return [FoundLink(other, link) for other, link in links], total
    resolver = Resolver(snapshot, filters)
    resolver.prepare((other, link.path) for other, link in links)
    found = [_found(resolver, other, link, outline_of, find_file) for other, link in links]
    if direction == "broken":
        found = [one for one in found if one.problem is not None]
        return found[page], len(found)
    return found, total


def resolved(snapshot: Snapshot, filters: SearchFilters, *, begun: str = "") -> SearchFilters:
    """The filters with the notes that `links:` and `linkedby:` stand for; raises FilterError for no note.

    `begun`: the end of a text that is being typed.
    """
    if not filters.links:
        return filters
    among = SearchFilters(without=filters.without, shareable=filters.shareable)
    resolver = Resolver(snapshot, among)
    found = []
    for one in filters.links:
        docs: set[DocId] = set()
        for name in one.names:
            notes = resolver.called(name)
            if notes:
                docs |= (linking if one.key == "links" else linked_by)(snapshot, notes, among)
            elif one.key == "linkedby" or not (linked := linking_nowhere(snapshot, name, among)):
                if begun.endswith(name):
                    raise UnfinishedFilterError(f"{one.key}: expects the name or path of a note")
                hint = "`kebab find` finds notes by name, also misspelt"
                raise FilterError(f"invalid {one.key}:{name}; no note has this name, and no link", hint)
            else:
                docs |= linked
        found.append(replace(one, docs=tuple(sorted(docs))))
    return replace(filters, links=tuple(found))


def linking(snapshot: Snapshot, notes: Sequence[LinkedNote], filters: SearchFilters) -> set[DocId]:
    """The notes that link to one of these notes."""
    return {other.doc_id for other, _, _ in _links_to(snapshot, notes, filters)}


def linked_by(snapshot: Snapshot, notes: Sequence[LinkedNote], filters: SearchFilters) -> set[DocId]:
    """The notes that these notes link to."""
    own = SearchFilters(doc_ids=tuple(note.doc_id for note in notes))
    written = [(other, facet.value) for other, facet in snapshot.links([LINK.id], own)]
    resolver = Resolver(snapshot, filters)
    resolver.prepare(written)
    meant = ((other, resolver.meant(other, path)[:1]) for other, path in written)
    return {target.doc_id for other, targets in meant for target in targets if target != other}


def linking_nowhere(snapshot: Snapshot, name: str, filters: SearchFilters) -> set[DocId]:
    """The notes that link to a name that no note has."""
    written = snapshot.links([LINK.id], filters, keys=[link_key(typed_name(name) or name)])
    resolver = Resolver(snapshot, filters)
    resolver.prepare((other, facet.value) for other, facet in written)
    return {other.doc_id for other, facet in written if not resolver.meant(other, facet.value)}


def _links_to(
    snapshot: Snapshot, notes: Sequence[LinkedNote], filters: SearchFilters
) -> Iterator[tuple[LinkedNote, Facet, tuple[LinkedNote, ...]]]:
    """The links of other notes that mean one of these notes."""
    wanted = {note.doc_id for note in notes}
    called = snapshot.called(None, SearchFilters(doc_ids=tuple(wanted)))
    keys = {key for note in notes for key in path_keys(note.path)}
    keys |= {link_key(name) for one in called for _, name in one.names}
    written = snapshot.links([LINK.id], filters, keys=sorted(keys - {""}))
    resolver = Resolver(snapshot, filters)
    resolver.prepare((other, facet.value) for other, facet in written)
    for other, facet in written:
        candidates = resolver.meant(other, facet.value)
        if candidates and candidates[0].doc_id in wanted and other.doc_id != candidates[0].doc_id:
            yield other, facet, candidates


def _found(
    resolver: Resolver, note: LinkedNote, link: WrittenLink, outline_of: OutlineOf, find_file: FindFile
) -> FoundLink:
    candidates = resolver.meant(note, link.path)
    if candidates:
        return FoundLink(note, link, candidates, *_anchored(link, candidates[0], outline_of))
    if file := find_file(note, link.path):
        return FoundLink(note, link, file=file)
    is_note = link.form in ("wiki", "embed") and not _FILE.search(link.path)
    return FoundLink(note, link, problem="no_note" if is_note or EXTENSION.search(link.path) else "no_file")


def _anchored(
    link: WrittenLink, target: LinkedNote, outline_of: OutlineOf
) -> tuple[SourceSpan | None, LinkProblem | None]:
    """The lines that the anchor of a link names."""
    if not link.anchor or (outline := outline_of(target)) is None:
        return None, None
    span = outline.find(link.anchor)
    if span is not None:
        return span, None
    return None, "no_block" if link.anchor.startswith("^") else "no_heading"
