"""Makes an index of a million passages in a folder, from the notes of `make corpus`.

    python -m tests.benchmarks.million CORPUS FOLDER [--passages N] [--real N]

FOLDER/notes  copies of the notes. In each but the first, three words in ten have another ending, the same
              ones each time: another vocabulary and other texts, by the same grammar.
FOLDER/data   the data folder of their index. The model makes the vectors of some passages; the others
              have noisy copies of those: embedding all of them takes hours and changes no latency.

Continues after an interruption: finished parts are kept. 200,000 passages take two minutes.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import os
import random
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import numpy as np

from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.text import embedded_text
from kebab_tui.embedding.encoder import Encoder
from kebab_tui.embedding.model_folders import BUNDLED_MODEL, ModelCatalogue
from kebab_tui.settings.settings import Settings
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.connection import open_reader
from kebab_tui.storage.sqlite.writer import StoreWriter
from kebab_tui.vectors.sync import FILE_NAME
from kebab_tui.workspace import Callbacks, Workspace
from tests.benchmarks.bench_searching import noisy
from tests.benchmarks.corpus import PASSAGES
from tests.benchmarks.measuring import Figure, machine, notes_of, report, stopwatch
from tests.benchmarks.screen.process import peak_mb

MILLION = 1_000_000
NEEDED_GB = 20
"""Free space for a million passages: notes, database, its log, vectors and a second file of them."""
_PER_REAL = 125
"""As many noisy copies of each real vector, at any size: neighbours are equally near."""
_ENDINGS = ("", "ra", "zo", "ite", "um", "eth", "ky", "oon", "ade", "isk")
_HANGUL_ENDINGS = ("", "라", "조", "이", "움", "에", "키", "온", "데", "스")
_WORD = re.compile(r"[^\W\d_]{4,}")
_COMMIT = 20_000
_SEED = 7


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--passages", type=int, default=MILLION)
    parser.add_argument("--real", type=int, help=f"vectors of the model; otherwise one in {_PER_REAL}")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    needed = NEEDED_GB * 1e9 * given.passages / MILLION
    if (free := shutil.disk_usage(given.folder).free) < needed:
        print(f"{given.folder}: {free / 1e9:.1f} GB free, {needed / 1e9:.1f} GB needed", file=sys.stderr)
        return 2
    print(machine())
    notes, data = given.folder / "notes", given.folder / "data"
    each = sum(len(note.passages) for note in notes_of(str(given.corpus), PASSAGES))
    copies = max(1, round(given.passages / each))
    if copies > len(_ENDINGS):
        print(f"{given.corpus} has {each:,} passages: too few for {given.passages:,}", file=sys.stderr)
        return 2
    for number in range(copies):
        _copy(given.corpus, notes / f"copy-{number}", number)
    report("first ingest", _ingest(notes, data))
    report("vectors", _give_vectors(data, given.real or given.passages // _PER_REAL))
    return 0


def _copy(corpus: Path, target: Path, number: int) -> None:
    if target.exists():
        return
    altered = functools.partial(_WORD.sub, _altered(number))
    scratch = target.with_name(f"{target.name}.part")
    shutil.rmtree(scratch, ignore_errors=True)
    for note in sorted(corpus.rglob("*.md")):
        folders = note.parent.relative_to(corpus)
        copied = scratch / altered(str(folders)) / note.name
        copied.parent.mkdir(parents=True, exist_ok=True)
        copied.write_text(_text_of(note, altered), encoding="utf-8")
    scratch.rename(target)


def _altered(number: int) -> Callable[[re.Match[str]], str]:
    @functools.cache
    def ending(word: str) -> str:
        if crc32(f"{number} {word}".encode()) % 10 >= 3:
            return ""
        return (_HANGUL_ENDINGS if "가" <= word[-1] <= "힣" else _ENDINGS)[number]

    return lambda found: found[0] + ending(found[0].lower())


def _text_of(note: Path, altered: Callable[[str], str]) -> str:
    """The text of a note; of its front matter only the title is altered."""
    text = note.read_text(encoding="utf-8", errors="replace")
    front, mark, body = text.partition("\n---\n") if text.startswith("---\n") else ("", "", text)
    titled = (line.partition(":") for line in front.split("\n"))
    lines = [key + colon + (altered(value) if key == "title" else value) for key, colon, value in titled]
    return "\n".join(lines) + mark + altered(body)


def _ingest(notes: Path, data: Path) -> list[Figure]:
    before = written_bytes()
    workspace = Workspace(Settings(), str(data))
    with stopwatch() as spent:
        workspace.ingest([str(notes)], Callbacks())
        seconds = spent()
    with workspace._parts.index.reader.catalogue() as catalogue:
        figures = catalogue.figures()
    workspace.close()
    database = os.path.getsize(data / "kebab.sqlite")
    return [
        Figure("notes", figures.documents, ""),
        Figure("passages", figures.chunks, ""),
        Figure("wall", seconds, "s"),
        Figure("database", database / 1e6, "MB"),
        Figure("written / database", (written_bytes() - before) / database, "x", 5.0),
        Figure("memory at its peak", peak_mb(os.getpid()), "MB"),
    ]


def written_bytes() -> int:
    """What this process had the disk write so far."""
    with open("/proc/self/io") as file:
        return int(dict(line.split(": ") for line in file)["write_bytes"])


def _give_vectors(data: Path, real: int) -> list[Figure]:
    workspace = Workspace(Settings(), str(data))
    card = ModelCatalogue(str(data)).find(BUNDLED_MODEL)
    folder = DataFolder(str(data))
    reader, writer = open_reader(folder.database), StoreWriter(folder)
    rows = [row for (row,) in reader.execute("SELECT min(id) FROM chunks GROUP BY embed_hash ORDER BY 1")]
    parents = random.Random(_SEED).sample(rows, min(real, len(rows)))
    with workspace._parts.index.reader.vectors(card.fingerprint) as source:
        pending = source.pending_of([ChunkRow(row) for row in parents])
    with stopwatch() as spent:
        encoded = Encoder(card).passages(embedded_text(p.title, p.heading_path, p.text) for p in pending)
        blobs = [vectors.astype(np.float16).tobytes() for vectors in encoded]
        embedding_s = spent()
    writer.save_vectors(
        card.fingerprint, [(one.text_hash, blob) for one, blob in zip(pending, blobs, strict=True)]
    )
    with workspace._parts.index.reader.vectors(card.fingerprint) as source:
        made = [
            np.frombuffer(blob, np.float16).reshape(-1, card.dims).astype(np.float32)
            for blob in source.vectors([ChunkRow(row) for row in sorted(parents)]).values()
        ]
    without = "SELECT DISTINCT embed_hash FROM chunks EXCEPT SELECT text_hash FROM embeddings WHERE model = ?"
    hashes = iter([text_hash for (text_hash,) in reader.execute(without, (card.fingerprint,))])
    with stopwatch() as spent:
        dice = np.random.default_rng(_SEED)
        while part := list(itertools.islice(hashes, _COMMIT)):
            copies = (noisy(made[parent], dice) for parent in dice.integers(0, len(made), len(part)))
            blobs = [copy.astype(np.float16).tobytes() for copy in copies]
            writer.save_vectors(card.fingerprint, list(zip(part, blobs, strict=True)))
        filling_s = spent()
    writer.close()
    with stopwatch() as spent:
        workspace._parts.semantics.save()
        saving_s = spent()
    workspace.close()
    return [
        Figure("real passages", len(made), ""),
        Figure("embedding what was missing of them", embedding_s, "s"),
        Figure("storing noisy copies", filling_s, "s"),
        Figure("building and writing the vector file", saving_s, "s"),
        Figure("vector file", os.path.getsize(data / FILE_NAME) / 1e6, "MB"),
        Figure("database", os.path.getsize(data / "kebab.sqlite") / 1e6, "MB"),
        Figure("memory at its peak", peak_mb(os.getpid()), "MB"),
    ]


if __name__ == "__main__":
    sys.exit(main())
