"""Prepares the real notes that benchmarks use, from folders named to it.

    python -m tests.benchmarks.corpus FOLDER... [--to .run]

FOLDER is a folder of Markdown, or REPOSITORY:FOLDER for a folder in the last commit of a git
repository. Two folders are made:

.run/corpus   the notes of all folders in turn, until there are about 100,000 passages
.run/vault    about 900 notes: an equal share of each folder, by whole subfolders
"""

from __future__ import annotations

import argparse
import io
import os
import random
import shutil
import subprocess
import sys
import tarfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.measuring import notes_of

PASSAGES = 100_000
NOTES = 900
SEED = 7


@dataclass(frozen=True, slots=True)
class Size:
    notes: int
    passages: int
    megabytes: float

    def __str__(self) -> str:
        return f"{self.notes:,} notes, {self.passages:,} passages, {self.megabytes:.1f} MB"


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--to", type=Path, default=Path(".run"))
    given = parser.parse_args()
    originals = given.to / "originals"
    shutil.rmtree(originals, ignore_errors=True)
    for number, folder in enumerate(given.folders):
        _fetch(folder, originals / str(number))
    sources = sorted(originals.iterdir(), key=lambda path: int(path.name))
    if empty := [folder for folder, source in zip(given.folders, sources, strict=True) if not _notes(source)]:
        print(f"no Markdown in {', '.join(empty)}", file=sys.stderr)
        return 2
    corpus, vault = given.to / "corpus", given.to / "vault"
    _copy(_enough(sources), originals, corpus)
    _copy(_shares(sources), originals, vault)
    shutil.rmtree(originals)
    for made in (corpus, vault):
        print(f"{made}: {_size(made)}")
    return 0


def _fetch(folder: str, target: Path) -> None:
    """Copy the Markdown of a folder, or of a folder in a repository's last commit."""
    repository, colon, inside = folder.rpartition(":")
    if os.path.isdir(folder) or not colon:
        markdown = shutil.ignore_patterns(".git", "node_modules")
        shutil.copytree(folder, target, symlinks=True, ignore=markdown)
    else:
        command = ["git", "-C", repository, "archive", f"HEAD:{inside}"]
        packed = subprocess.run(command, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(target, filter="data")


def _notes(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.md") if path.is_file() and not path.is_symlink())


def _enough(sources: Iterable[Path]) -> list[Path]:
    chosen: list[Path] = []
    missing = PASSAGES
    for source in sources:
        made = notes_of(str(source), missing)
        missing -= sum(len(note.passages) for note in made)
        chosen += [source / note.document.path for note in made]
        if missing <= 0:
            break
    return chosen


def _shares(sources: list[Path]) -> list[Path]:
    """Whole subfolders in a fixed random order, so that links between neighbours stay."""
    chosen: list[Path] = []
    for number, source in enumerate(sources, 1):
        folders = defaultdict(list)
        for path in _notes(source):
            folders[path.parent].append(path)
        order = sorted(folders)
        random.Random(SEED).shuffle(order)
        for folder in order:
            if len(chosen) + len(folders[folder]) <= NOTES * number // len(sources):
                chosen += folders[folder]
    return chosen


def _copy(notes: Iterable[Path], root: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    for note in notes:
        copy = target / note.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(note, copy)


def _size(folder: Path) -> Size:
    notes = _notes(folder)
    passages = sum(len(note.passages) for note in notes_of(str(folder), sys.maxsize))
    return Size(len(notes), passages, sum(note.stat().st_size for note in notes) / 1e6)


if __name__ == "__main__":
    sys.exit(main())
