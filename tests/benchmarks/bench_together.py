"""What searching feels of another process that writes to the same index.

    python -m tests.benchmarks.bench_together FOLDER [--searches N]

FOLDER: real notes of 100,000 passages or more. They are in the index; then another
process reads the whole folder a second time, as a source of its own, takes it out and
reads it again, until all searches are done. What is searched is twice as much at one time
and half of that at another: the reference is the mean of searching both with nobody else.
Beside that stands the same search while another process merely keeps a processor as busy.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from kebab_tui.domain.query import SearchQuery
from kebab_tui.settings.model import Settings
from kebab_tui.workspace import Workspace
from tests.benchmarks.bench_lexical_index import load_store
from tests.benchmarks.bench_searching import queries_from
from tests.benchmarks.measuring import Figure, machine, notes_of, percentile, report

CHUNKS = 100_000
_WRITE = (
    "import os, sys; os.nice(10);"
    "from kebab_tui.settings.model import Settings; from kebab_tui.workspace import Callbacks, Workspace;"
    "workspace = Workspace(Settings(), sys.argv[1])\n"
    "while True:\n"
    "    report = workspace.ingest([sys.argv[2]], Callbacks())\n"
    "    workspace.remove_source(report.sources[0].source, Callbacks())"
)
_WRITE_ONCE = _WRITE.replace("while True:", "if True:").rpartition("\n")[0]
_BURN = "import os; os.nice(10)\nwhile True: hash('x' * 1000)"


@contextmanager
def beside(*program: str) -> Iterator[Callable[[], bool]]:
    """Run a Python program meanwhile; gives whether it still runs."""
    process = subprocess.Popen([sys.executable, "-c", *program], stderr=subprocess.DEVNULL)
    try:
        yield lambda: process.poll() is None
    finally:
        process.kill()
        process.wait()


def search(
    root: str, queries: Sequence[SearchQuery], times: int, go_on: Callable[[], bool]
) -> tuple[list[float], int]:
    """Milliseconds of each search, and how many failed; ends early when `go_on` says so."""
    workspace = Workspace(Settings(), root)
    taken, failed = [], 0
    for number in range(times):
        if not go_on():
            break
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
    with tempfile.TemporaryDirectory() as root:
        load_store(notes, root)
        search(root, queries, len(queries), lambda: True)
        alone, _ = search(root, queries, searches, lambda: True)
        with beside(_BURN) as runs:
            busy, _ = search(root, queries, searches, runs)
        with beside(_WRITE, root, os.path.abspath(folder)) as runs:
            written, failed = search(root, queries, searches, runs)
        subprocess.run([sys.executable, "-c", _WRITE_ONCE, root, os.path.abspath(folder)], check=True)
        search(root, queries, len(queries), lambda: True)
        twice, _ = search(root, queries, searches, lambda: True)
    quiet = (percentile(alone, 0.99) + percentile(twice, 0.99)) / 2
    return [
        Figure("searches while another process wrote", len(written), ""),
        Figure("of these, failed", failed, "", 0),
        Figure("nobody else, p99", percentile(alone, 0.99), "ms"),
        Figure("nobody else, all twice, p99", percentile(twice, 0.99), "ms"),
        Figure("another process busy with something else, p99", percentile(busy, 0.99), "ms"),
        Figure("another process writing, p99", percentile(written, 0.99), "ms"),
        Figure("writing / nobody, mean of once and twice, p99", percentile(written, 0.99) / quiet, "x", 1.5),
        Figure("writing / busy, p99", percentile(written, 0.99) / percentile(busy, 0.99), "x"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--searches", type=int, default=10_000)
    given = parser.parse_args()
    print(machine())
    report("searching while another process writes", measure(given.folder, given.searches))


if __name__ == "__main__":
    main()
