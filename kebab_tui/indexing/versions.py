"""Adds, refreshes and compares the versions of a folder: commits of its repository, or other folders.

Versions have an index of their own beside that of the present notes, so that no search without `version:`
sees them. A note that several versions have is read and stored once. A run that is stopped leaves the
version unfinished; `refresh` goes on.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import cast

from kebab_tui.domain.change import MarkNote, SaveNote
from kebab_tui.domain.checkpoint import Checkpoint, ReadingStopped
from kebab_tui.domain.document import Fingerprint, Source
from kebab_tui.domain.errors import NotFoundError, SourceError, UsageError
from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.domain.text import display_path
from kebab_tui.domain.versions import Version, label_problem, source_of, version_id
from kebab_tui.files.git_tree import GitRef, Repository, tree_at
from kebab_tui.files.root import check_root
from kebab_tui.files.tree_root import TreeRoot, is_tree, version_of
from kebab_tui.files.walk import FoundFile, PathScanner, WalkProblem
from kebab_tui.indexing.callbacks import Callbacks
from kebab_tui.indexing.pipeline import ChangeBatch, FileChange, FileTarget, Patience, Recipe, change_of
from kebab_tui.indexing.report import FileOutcome, Outcome, Progress
from kebab_tui.indexing.session import Session
from kebab_tui.storage.ports import KnownFile, Reader, VersionCatalogue, VersionNote, VersionWriter

_COMMIT_CHUNKS = 8_000
_COMMIT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class VersionReport:
    """What a run did to one version. `read`: notes that were parsed; `shared`: known from another version.

    `was`: the version before; None for a new one. `left_out`: links and submodules.
    """

    version: Version
    was: Version | None = None
    read: int = 0
    shared: int = 0
    unchanged: bool = False
    failed: tuple[FileOutcome, ...] = ()
    problems: tuple[str, ...] = ()
    left_out: int = 0
    cancelled: bool = False


@dataclass(slots=True)
class _Run:
    """The reading of one version."""

    session: Session
    recipe: Recipe
    callbacks: Callbacks
    failed: list[FileOutcome] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    read: int = 0
    shared: int = 0

    def source(self, source: Source, siblings: Sequence[SourceId]) -> bool:
        """Bring a version up to date; False if it was stopped."""
        writer = cast("VersionWriter", self.session.writer)
        with catalogue_of(self.session.reader) as catalogue:
            others = catalogue.version_notes((*siblings, source.source_id))
            own = catalogue.known_files(source.source_id)
        taken = {note.doc_id for note in others} | {file.doc_id for file in own.values()}
        shareable = {(note.raw_path, note.blob): note for note in others if note.blob}
        tree = tree_at(source.root) if is_tree(source.root) else None
        members: list[tuple[DocId, str]] = []
        to_read: list[tuple[FoundFile, str]] = []
        stopping = self.callbacks.stopping
        scanner = PathScanner(source.root, self.recipe.rules_of(source), Checkpoint(stopping=stopping))
        try:
            for found in scanner.walk():
                if isinstance(found, WalkProblem):
                    self.problems.append(f"{display_path(found.path) or '.'}: {found.reason}")
                    continue
                blob = tree.blob(found.path) if tree is not None else ""
                known = shareable.get((os.fsencode(found.path), blob)) if blob else None
                if known is not None and self._is_current(known, found):
                    members.append((known.doc_id, blob))
                    self.shared += known.version != source.source_id
                else:
                    to_read.append((found, blob))
        except ReadingStopped:
            return False
        # What changed is taken out first: nothing may be found in a version that it does not have.
        kept = [doc for doc, _ in members]
        if tree is None:  # its notes are shared with no other version
            present = {os.fsencode(found.path) for found, _ in to_read}
            kept += [file.doc_id for path, file in own.items() if path in present]
        left = set(writer.begin_version(source.source_id, kept))
        if tree is not None:
            own = {path: file for path, file in own.items() if file.doc_id in left}
        with tree.reading() if tree is not None else contextlib.nullcontext():
            read = self._read(source, to_read, own, taken)
        if read is None:
            return False
        writer.end_version(source.source_id, [*members, *read])
        return True

    def _is_current(self, known: VersionNote, found: FoundFile) -> bool:
        """Whether a stored note is what reading the same content would give."""
        is_private = "private_by_rule" in known.flags
        made_by = self.recipe.made_by[found.format.id]
        return known.state == "ok" and known.made_by == made_by and is_private == found.private

    def _read(
        self,
        source: Source,
        to_read: Sequence[tuple[FoundFile, str]],
        own: dict[bytes, KnownFile],
        taken: set[DocId],
    ) -> list[tuple[DocId, str]] | None:
        """Store the notes that no version has; None if stopped."""
        batch = ChangeBatch(self.session.writer, self.callbacks.changed, _COMMIT_CHUNKS, _COMMIT_SECONDS)
        too_slow: set[tuple[SourceId, str, Fingerprint]] = set()
        patience = Patience(self.callbacks.stopping, too_slow)
        found_notes: list[tuple[DocId, str]] = []
        for done, (found, blob) in enumerate(to_read):
            if self.callbacks.stopping() or self.callbacks.cancelled():
                batch.commit()
                return None
            known = own.get(os.fsencode(found.path))
            target = FileTarget(source.source_id, source.root, found.path, known)
            try:
                change = change_of(found, target, self.recipe, taken, patience)
            except ReadingStopped:
                batch.commit()
                return None
            doc: DocId | None = known.doc_id if known is not None else None
            if isinstance(change, SaveNote | MarkNote):
                doc = change.document.doc_id
                taken.add(doc)
            if isinstance(change, SaveNote):
                self.read += 1
            elif isinstance(change, MarkNote):
                document = change.document
                outcome: Outcome = "skipped" if document.state == "skipped" else "failed"
                self.failed.append(FileOutcome(document.path, outcome, document.reason))
            if change is not None:
                file = FileOutcome(display_path(found.path), "added")
                batch.add_and_maybe_commit(change, FileChange(source.source_id, file))
            if doc is not None:
                found_notes.append((doc, blob))
            self.callbacks.progress(
                Progress(source.source_id, done + 1, len(to_read), batch.added, found.path)
            )
        batch.commit()
        return found_notes


def catalogue_of(reader: Reader) -> contextlib.AbstractContextManager[VersionCatalogue]:
    """The catalogue of an index of versions, which is one of this machine."""
    return cast("contextlib.AbstractContextManager[VersionCatalogue]", reader.catalogue())


def new_versions(
    parent: Source, names: Sequence[str], glob: str, last: int, refs_of: Repository | None = None
) -> list[Source]:
    """The sources for refs of the repository of a folder; raises SourceError, UsageError."""
    repository = refs_of or Repository.of(parent.root)
    refs = repository.refs()
    wanted = [repository.resolve(name, refs) for name in names]
    if glob:
        short = {ref.removeprefix("refs/tags/"): ref for ref in refs if ref.startswith("refs/tags/")}
        matching = [name for name in short if fnmatchcase(name, glob) and not label_problem(name)]
        if not matching:
            raise SourceError(f"no tag matches {glob!r} in {repository.git_dir}", "`git tag` lists them")
        matching = matching[-last:] if last else matching
        wanted += [repository.resolve(short[name], refs) for name in matching]
    return [_of_git(parent, repository, one) for one in dict.fromkeys(wanted)]


def _of_git(parent: Source, repository: Repository, ref: GitRef) -> Source:
    if problem := label_problem(ref.label):
        raise UsageError(
            f"{ref.label!r} cannot name a version: {problem}", "tag the commit under another name"
        )
    return _child(parent, ref.label, str(repository.root(ref)))


def of_folder(parent: Source, folder: str, label: str) -> Source:
    """The source for a version that is a folder."""
    if problem := label_problem(label):
        raise UsageError(f"{label!r} cannot name a version: {problem}", "choose another --label")
    root = os.path.abspath(os.path.expanduser(folder))
    check_root(root)
    if os.path.realpath(root) == os.path.realpath(parent.root):
        raise UsageError(f"{root} is the folder itself", "name the folder with the other version")
    return _child(parent, label, root)


def _child(parent: Source, label: str, root: str) -> Source:
    """A version has the patterns, the trust and the rules of its folder."""
    child = version_id(parent.source_id, label)
    return replace(
        parent, source_id=child, root=root, version_label=label, state="new", documents=0, chunks=0
    )


def compared(versions: Iterable[Version]) -> list[Version]:
    """The versions with what has become of their refs and folders. Asks each repository once."""
    known: dict[str, dict[str, str] | SourceError] = {}
    found = []
    for version in versions:
        if version.kind == "folder":
            is_there = os.path.isdir(version.place)
            gone = replace(version, health="unreadable", reason=f"folder not found: {version.place}")
            found.append(version if is_there else gone)
            continue
        if version.place not in known:
            try:
                known[version.place] = Repository(version.place, "", "").refs()
            except SourceError as error:
                known[version.place] = error
        refs = known[version.place]
        if isinstance(refs, SourceError):
            version = replace(version, health="unreadable", reason=refs.message)
        elif version.ref and version.ref not in refs:
            version = replace(version, health="ref gone")
        elif version.ref and refs[version.ref] != version.commit:
            version = replace(version, health="moved", now=refs[version.ref])
        found.append(version)
    return found


def add_version(session: Session, source: Source, recipe: Recipe, callbacks: Callbacks) -> VersionReport:
    """Index a version; one that is known is brought up to date."""
    known = {one.source_id: one for one in session.sources()}
    before = known.get(source.source_id)
    same_root = next((one for one in known.values() if one.root == source.root), None)
    if before is None and same_root is not None:
        raise UsageError(
            f"{source.root} is the version {same_root.version_label} of {source_of(same_root.source_id)}",
            f"remove that first: kebab source version remove {source_of(same_root.source_id)} "
            f"{same_root.version_label}",
        )
    parent = source_of(source.source_id)
    siblings = [one for one in known if source_of(one) == parent and one != source.source_id]
    left_out = 0
    if is_tree(source.root):
        tree = tree_at(source.root)
        left_out = tree.links + tree.submodules
    session.writer.save_sources([source])
    session.writer.set_source_state(source.source_id, "new")
    run = _Run(session, recipe, callbacks)
    is_complete = run.source(source, siblings)
    with catalogue_of(session.reader) as catalogue:
        counts = catalogue.version_counts().get(source.source_id, (0, 0))
    after = version_of(replace(source, state="indexed" if is_complete else "new"), counts)
    was = None if before is None else version_of(before)
    return VersionReport(
        after, was, run.read, run.shared, run.read == 0 and before is not None and before.root == source.root,
        tuple(run.failed), tuple(run.problems), left_out, not is_complete,
    )  # fmt: skip


def refreshed(source: Source, parent: Source | None) -> Source:
    """The source of a version as its ref stands now, with the present details of its folder.

    A version whose ref or repository is gone stays as it is; raises SourceError then.
    """
    if parent is not None:
        now = _child(parent, source.version_label, source.root)
        source = replace(now, state=source.state)
    tree = TreeRoot.parse(source.root)
    if tree is None:
        check_root(source.root)
        return source
    refs = Repository(tree.git_dir, tree.prefix, tree.folder).refs()
    if not tree.ref:
        return source
    if tree.ref not in refs:
        raise SourceError(f"{tree.ref} is gone", "what was read of it is kept until it is removed")
    return replace(source, root=str(replace(tree, commit=refs[tree.ref])))


def chosen(versions: Sequence[Source], parent: str, labels: Sequence[str]) -> list[Source]:
    """The versions of a source with these labels; all without labels. Raises NotFoundError."""
    own = {one.version_label: one for one in versions if source_of(one.source_id) == parent}
    for label in labels:
        if label not in own:
            hint = f"its versions are: {', '.join(own)}" if own else "it has none: `kebab source version add`"
            raise NotFoundError(f"{parent} has no version {label!r}", hint)
    return [own[label] for label in labels] if labels else list(own.values())
