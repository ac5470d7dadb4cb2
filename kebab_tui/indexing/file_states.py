"""Every file of the folders with its state: read, failed, skipped, waiting to be read, or left out.

Compares the folders as they are now with what the index remembers, as an ingest would,
and changes nothing. What failed comes first: those files are known before any folder has
been walked. Opens no file but the ignore files, and holds no read transaction while it walks.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from kebab_tui.domain.document import Document, Source
from kebab_tui.domain.errors import NotIndexedError, SourceError
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.query import SearchFilters
from kebab_tui.files.exclusion import Entry, LeftOut, survey
from kebab_tui.files.walk import FoundFile, WalkProblem, WalkRules
from kebab_tui.storage.sqlite import rows
from kebab_tui.storage.sqlite.catalogue import KnownFile
from kebab_tui.storage.sqlite.reader import StoreReader

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
