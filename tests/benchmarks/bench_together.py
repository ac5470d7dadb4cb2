"""What searching feels of another process that writes to the same index.

    python -m tests.benchmarks.bench_together FOLDER [--searches N]

FOLDER: real notes of 100,000 passages or more. A copy of them is indexed; then another
process changes most passages of the copy and indexes it again, over and over, until all
searches are done. What is searched stays as large, and the words that are sought as
frequent, so that the difference is the writing. Beside that stands the same search while
another process merely keeps a processor as busy.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kebab_tui.domain.change import SaveNote
from kebab_tui.domain.query import SearchQuery
from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Callbacks, Workspace
from tests.benchmarks.bench_searching import queries_from
from tests.benchmarks.measuring import Figure, machine, notes_of, percentile, report

CHUNKS = 100_000
_REWRITE = """
import itertools, os, pathlib, re, sys
from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Callbacks; from kebab_tui.workspace import Workspace
os.nice(10)
workspace = Workspace(Settings(), sys.argv[1])
notes = [path for path in pathlib.Path(sys.argv[2]).rglob("*") if path.is_file()]
for number in itertools.count():
    for note in notes:
        text = re.sub(rb"(?m)([.:;,])( amended\\d+)?$", rb"\\1 amended%d" % number, note.read_bytes())
        note.write_bytes(text)
    print(workspace.ingest([sys.argv[2]], Callbacks()).chunks_added, flush=True)
"""
"""Lines that end a sentence get another last word: most passages are new, none is about something else."""
_BURN = "import os; os.nice(10)\nwhile True: hash('x' * 1000)"


@contextmanager
def beside(program: str, *argv: str) -> Iterator[subprocess.Popen[str]]:
    """Run a Python program meanwhile."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *argv],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def search(root: str, queries: Sequence[SearchQuery], times: int) -> tuple[list[float], int]:
    """Milliseconds of each search, and how many failed."""
    workspace = Workspace(Settings(), root)
    taken, failed = [], 0
    for number in range(times):
        start = time.perf_counter()
        try:
            workspace.search(queries[number % len(queries)])
        except Exception as error:  # noqa: BLE001 - whatever it is, it counts
            failed += 1
            print(f"  {type(error).__name__}: {error}")
        taken.append(1000 * (time.perf_counter() - start))
    workspace.close()
    return taken, failed


def measure(folder: str, searches: int) -> list[Figure]:
    notes = notes_of(folder, CHUNKS)
    dice = random.Random(5)
    queries = [SearchQuery(text, "lexical") for words in (2, 3) for text in queries_from(notes, words, dice)]
    with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as copy:
        copy_notes(notes, folder, copy)
        chunks = Workspace(Settings(), root).ingest([copy], Callbacks()).chunks_added
        search(root, queries, len(queries))
        alone, _ = search(root, queries, searches)
        with beside(_BURN):
            busy, _ = search(root, queries, searches)
        with beside(_REWRITE, root, copy) as writer:
            written, failed = search(root, queries, searches)
            assert writer.poll() is None, "the writer ended early"
            writer.kill()
            rounds = [int(line) for line in writer.stdout or ()]
        search(root, queries, len(queries))
        after, _ = search(root, queries, searches)
    quiet = percentile(alone, 0.99)
    return [
        Figure("passages", chunks, ""),
        Figure("searches while another process wrote", len(written), ""),
        Figure("passages that it wrote in whole rounds meanwhile", sum(rounds), ""),
        Figure("searches that failed", failed, "", 0),
        *(
            Figure(f"{what}, {share:.0%}", percentile(taken, share), "ms")
            for what, taken in (
                ("nobody else", alone),
                ("another process busy with something else", busy),
                ("another process writing", written),
                ("nobody else, afterwards", after),
            )
            for share in (0.5, 0.99)
        ),
        Figure("writing / nobody, p99", percentile(written, 0.99) / quiet, "x", 1.5),
        Figure("writing / busy, p99", percentile(written, 0.99) / percentile(busy, 0.99), "x"),
    ]


def copy_notes(notes: Sequence[SaveNote], folder: str, to: str) -> None:
    for note in notes:
        target = os.path.join(to, note.document.path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(os.path.join(folder, note.document.path), target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--searches", type=int, default=10_000)
    given = parser.parse_args()
    print(machine())
    report("searching while another process writes", measure(given.folder, given.searches))


if __name__ == "__main__":
    main()
