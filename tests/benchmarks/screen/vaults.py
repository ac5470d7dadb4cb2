"""The notes that the screen is measured on, and their indexes.

`large`: real notes, as many of a folder's as make 100,000 passages. `long`: notes of 300
and of 20,000 lines, one passage of each about the same thing. `wide`: the same with lines of
100,000 characters. `growing`: real notes for another process to index meanwhile. What was
built once in a folder is taken up again.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kebab_tui.domain.change import SaveNote
from kebab_tui.domain.document import Source
from kebab_tui.domain.ids import SourceId
from kebab_tui.files.walk import FoundFile, WalkRules, walk
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.writer import StoreWriter
from tests.benchmarks.bench_lexical_index import load_store
from tests.benchmarks.bench_searching import CHUNKS, give_vectors
from tests.benchmarks.measuring import notes_of

LENGTHS = (300, 20_000)
"""Lines of the long notes."""
WIDE_LINE = 100_000
"""Characters of the lines of the wide notes."""
TOPIC = "quokka migration ledger"
"""What every long and every wide note has one passage about."""
_LONG_NOTES = 16
_WIDE_LINES = 4
_GROWING_BYTES = 40_000_000
_REAL_VECTORS = 500
_BUILT = "built"


@dataclass(frozen=True, slots=True)
class Vault:
    """Notes, and the data folder of their index."""

    notes: str
    data: str


@dataclass(frozen=True, slots=True)
class Vaults:
    large: Vault
    long: dict[int, Vault]
    wide: Vault
    growing: str


def prepared(root: str, corpus: str) -> Vaults:
    """All vaults below `root`; builds what is not there."""
    large = _vault(root, "large")
    long = {lines: _vault(root, f"long-{lines}") for lines in LENGTHS}
    wide = _vault(root, "wide")
    growing = os.path.join(root, "growing")
    if not os.path.exists(os.path.join(root, _BUILT)):
        print("building the indexes, a few minutes", flush=True)
        _build_large(large, corpus)
        for lines, vault in long.items():
            _write_long_notes(vault.notes, lines)
            _index(vault, notes_of(vault.notes, CHUNKS))
        _write_growing_notes(growing, corpus)
        with open(os.path.join(root, _BUILT), "w", encoding="utf-8"):
            pass
    if not os.path.exists(wide.data):
        _write_wide_notes(wide.notes)
        _index(wide, notes_of(wide.notes, CHUNKS))
    return Vaults(large, long, wide, growing)


def _vault(root: str, name: str) -> Vault:
    return Vault(os.path.join(root, name, "notes"), os.path.join(root, name, "data"))


def _build_large(vault: Vault, corpus: str) -> None:
    """Copies, so that the screen finds its folder as it was indexed, and no note more."""
    _copy(corpus, vault.notes, sys.maxsize)
    notes = notes_of(vault.notes, CHUNKS)
    kept = {note.document.path for note in notes}
    for found in _files(vault.notes):
        if found.path not in kept:
            os.unlink(os.path.join(vault.notes, found.path))
    _index(vault, notes)


def _index(vault: Vault, notes: Sequence[SaveNote]) -> None:
    shutil.rmtree(vault.data, ignore_errors=True)
    os.makedirs(vault.data)
    load_store(notes, vault.data)
    writer = StoreWriter(DataFolder(vault.data))
    writer.save_sources([Source(SourceId("bench"), "bench", vault.notes)])
    writer.close()
    give_vectors(vault.data, _REAL_VECTORS)
    # What the screen would do at its start is done now: the figures are of a settled index.
    subprocess.run([*INDEXER, vault.data, ""], check=True, stdout=subprocess.DEVNULL)


INDEXER = (sys.executable, "-m", "kebab_tui.tui.indexer")
"""What the screen itself starts to index; takes a data folder, a configuration, and folders."""


def _write_long_notes(folder: str, lines: int) -> None:
    dice = random.Random(lines)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for number in range(_LONG_NOTES):
        text = list(_sentences(dice, lines))
        text[dice.randrange(lines // 4, 3 * lines // 4)] = f"The {TOPIC} of herd {number} is kept here."
        with open(os.path.join(folder, f"note-{number:02}.md"), "w", encoding="utf-8") as note:
            note.write("\n".join(text))


def _write_wide_notes(folder: str) -> None:
    dice = random.Random(WIDE_LINE)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for number in range(_LONG_NOTES):
        lines = []
        for _ in range(_WIDE_LINES):
            words = dice.choices(_WORDS, k=WIDE_LINE // 5)
            words[dice.randrange(1000, 8000)] = "."
            lines.append(" ".join(words)[:WIDE_LINE])
        middle = lines[1].index(" . ")
        lines[1] = f"{lines[1][:middle]}. The {TOPIC} of herd {number} is kept here.{lines[1][middle:]}"
        with open(os.path.join(folder, f"note-{number:02}.md"), "w", encoding="utf-8") as note:
            note.write("\n\n".join(lines))


_WORDS = (
    "window",
    "server",
    "설정",
    "`queue`",
    "pointer",
    "회의",
    "budget",
    "**river**",
    "index",
    "배포",
    "garden",
    "_signal_",
    "kernel",
    "기록",
    "[link](other.md)",
    "border",
    "matrix",
    "검색",
    "engine",
    "paper",
    "여행",
    "module",
    "channel",
    "문서",
    "anchor",
)


def _sentences(dice: random.Random, count: int) -> Iterator[str]:
    """Lines of Markdown: paragraphs, headings, and code in fences."""
    for number in range(count):
        match number % 40:
            case 0:
                yield f"## Section {number} {dice.choice(_WORDS)}"
            case 1 | 9 | 30:
                yield ""
            case 10:
                yield "```python"
            case 29:
                yield "```"
            case place if 10 < place < 29:
                yield f"value_{number} = compute({dice.randrange(1000)}, 'name')  # {dice.choice(_WORDS)}"
            case _:
                yield " ".join(dice.choices(_WORDS, k=9)) + "."


def _write_growing_notes(folder: str, corpus: str) -> None:
    """Their lines are turned round: a passage that is in the large index would cost no vector."""
    _copy(corpus, folder, _GROWING_BYTES)
    for found in _files(folder):
        path = os.path.join(folder, found.path)
        with open(path, encoding="utf-8", errors="replace") as note:
            turned = [" ".join(reversed(line.split())) for line in note]
        with open(path, "w", encoding="utf-8") as note:
            note.write("\n".join(turned))


def _copy(corpus: str, folder: str, most_bytes: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    copied = 0
    for found in _files(corpus):
        target = os.path.join(folder, found.path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(os.path.join(corpus, found.path), target)
        copied += os.path.getsize(target)
        if copied > most_bytes:
            return


def _files(folder: str) -> list[FoundFile]:
    return [found for found in walk(folder, WalkRules()) if isinstance(found, FoundFile)]
