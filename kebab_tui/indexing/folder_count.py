"""Counts the notes of a folder before it is indexed, and estimates how long that takes.

Indexes a sample of the notes into a temporary index, to measure the speed of this machine on these notes.
"""

from __future__ import annotations

import contextlib
import os
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

from kebab_tui.domain.checkpoint import Checkpoint, ReadingStopped
from kebab_tui.domain.document import OtherFiles, Source
from kebab_tui.domain.errors import KebabError
from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.domain.scope import path_below
from kebab_tui.domain.text import duration
from kebab_tui.files.walk import FoundFile, PathScanner
from kebab_tui.indexing.pipeline import FileTarget, Recipe, change_of
from kebab_tui.search.ports import FieldWeights
from kebab_tui.storage.backends import open_index

_SAMPLE = 64
_SAMPLE_S = 1.0
_REPORT_S = 0.1
_FILES = 5
"""So many times as many files as notes are too many."""


@dataclass(frozen=True, slots=True)
class FolderCount:
    """The notes of a folder so far; `complete`: all of them."""

    root: str
    notes: int = 0
    other_files: OtherFiles = OtherFiles()
    seconds: float | None = None
    """How long it takes to index them, as measured on a sample; None while unknown."""
    complete: bool = False
    is_home: bool = False
    """Whether it is the home folder, or a folder above it."""

    def must_ask(self, most: int) -> bool:
        """Whether to ask before it is indexed: it has more notes than `most`, or many more files."""
        return self.is_home or self.notes > most or self.notes + self.other_files.count > _FILES * most

    def __str__(self) -> str:
        """`12,431 notes · 310 files of other types in /usr, about 4 min`."""
        others = self.other_files.count
        least = "" if self.complete else "at least "
        parts = [f"{least}{self.notes:,} {'note' if self.notes == 1 else 'notes'}"]
        if others:
            parts.append(f"{others:,} {'file' if others == 1 else 'files'} of other types")
        place = f"{self.root} (your home folder, or one above it)" if self.is_home else self.root
        time = ""
        if self.seconds is not None:
            time = f", {'about ' if self.seconds >= 1 else ''}{duration(self.seconds)}"
        return f"{' · '.join(parts)} in {place}{time}"


def is_home(folder: str) -> bool:
    """Whether a folder is the home folder, or above it."""
    return path_below(os.path.realpath(os.path.expanduser("~")), os.path.realpath(folder)) is not None


def count_folder(
    folder: str,
    recipe: Recipe,
    most: int,
    progress: Callable[[FolderCount], None],
    stopping: Callable[[], bool],
    scratch: str,
) -> FolderCount:
    """Count until asked to stop; measure the speed if the user must be asked (`most`).

    `scratch`: where the temporary index goes. Raises SourceError for a folder that cannot be walked.
    """
    root = os.path.abspath(os.path.expanduser(folder))
    home, chance, due = is_home(root), random.Random(0), 0.0  # noqa: S311 - no secret
    sample: list[FoundFile] = []
    notes, per_note = 0, None

    def counted(*, complete: bool = False) -> FolderCount:
        seconds = None if per_note is None else notes * per_note
        return FolderCount(root, notes, scanner.other_files, seconds, complete, home)

    def checked() -> bool:
        nonlocal due
        if (now := time.monotonic()) >= due:
            due = now + _REPORT_S
            progress(counted())
        return stopping()

    source = Source(SourceId("sample"), "", root)
    scanner = PathScanner(root, recipe.rules_of(source), Checkpoint(stopping=checked))
    with contextlib.suppress(ReadingStopped):
        for found in scanner.walk():
            if not isinstance(found, FoundFile):
                continue
            notes += 1
            if len(sample) < _SAMPLE:
                sample.append(found)
            elif (place := chance.randrange(notes)) < _SAMPLE:
                sample[place] = found
            if notes in (_SAMPLE, most + 1) and counted().must_ask(most):
                per_note = _seconds_per_note(source, sample, recipe, stopping, scratch)
            if checked():
                return counted()
        if counted().must_ask(most):
            per_note = _seconds_per_note(source, sample, recipe, stopping, scratch)
        return counted(complete=True)
    return counted()


def _seconds_per_note(
    source: Source, sample: list[FoundFile], recipe: Recipe, stopping: Callable[[], bool], scratch: str
) -> float | None:
    """Index the sample as `ingest` would, and measure; None if it cannot be indexed."""
    done, began, reading = 0, 0.0, 0.0
    with (
        contextlib.suppress(KebabError, OSError),
        tempfile.TemporaryDirectory(dir=scratch, prefix="sample-", ignore_cleanup_errors=True) as folder,
    ):
        index = open_index("", folder, FieldWeights())
        with index.write("sample", 0, lambda _: None) as session:
            session.writer.save_sources([source])
            changes, taken = [], set[DocId]()
            began = time.monotonic()
            for found in sample:
                if stopping() or time.monotonic() - began > _SAMPLE_S:
                    break
                change = change_of(
                    found, FileTarget(source.source_id, source.root, found.path), recipe, taken
                )
                if change is not None:
                    changes.append(change)
                done += 1
            session.writer.apply(changes)
            reading = time.monotonic() - began
        index.reader.close()
    return reading / done if done and reading else None
