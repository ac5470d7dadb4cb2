"""How soon a saved note, and a whole branch that is checked out, are in the index.

    python -m tests.benchmarks.bench_live FOLDER

FOLDER: real notes, copied first; 100,000 passages show what a large index costs. The
indexer is a process of its own, as behind the screen; this one saves and looks. The part
from the commit to the painted screen is the screen's.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from kebab_tui.indexing.daemon import IndexDaemon
from kebab_tui.indexing.worker import WorkerConfig
from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Callbacks, WatchCallbacks, Workspace
from tests.benchmarks.measuring import Figure, machine, median, percentile, report, stopwatch

SAVES = 200
CHECKED_OUT = 5_000
_SETTLE_MS = 150.0


def keep(data: str, notes: str, vectors: str) -> None:
    """The indexer's process: until its standard input ends, as the screen's does."""
    workspace = Workspace(Settings(), data)
    parts = workspace._parts
    charge = WorkerConfig(parts.index, parts.recipe)
    if vectors == "vectors":
        charge = parts.worker_config("bench")
    over = False
    os.set_blocking(0, False)

    def stopping() -> bool:
        nonlocal over
        with contextlib.suppress(BlockingIOError):
            over = over or os.read(0, 1) == b""
        return over

    IndexDaemon(charge, WatchCallbacks(stopping)).run([notes])
    workspace.close()


@contextlib.contextmanager
def indexer(data: str, notes: str, vectors: str) -> Iterator[None]:
    argv = [sys.executable, "-m", "tests.benchmarks.bench_live", "--keep", data, notes, vectors]
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as process:
        workspace = Workspace(Settings(), data)
        until(
            lambda: (live := workspace.live()) is not None and live.pid == process.pid and _is_read(workspace)
        )
        yield
        assert process.stdin is not None
        process.stdin.close()
    workspace.close()


def _is_read(workspace: Workspace) -> bool:
    live, sources = workspace.live(), workspace.sources()
    return (
        live is not None
        and live.phase.kind != "reading"
        and live.pending == 0
        and bool(sources)
        and all(source.state == "indexed" for source in sources)
    )


class Looker:
    """Looks into the database as a follower does."""

    def __init__(self, data: str) -> None:
        self._connection = sqlite3.connect(f"file:{data}/kebab.sqlite?mode=ro", uri=True)

    def has(self, content: bytes) -> bool:
        wanted = hashlib.sha256(content).hexdigest()
        statement = "SELECT 1 FROM documents WHERE path = ? AND content_hash = ?"
        return self._connection.execute(statement, (self.path, wanted)).fetchone() is not None

    path = ""

    def hashes(self) -> set[str]:
        return {row[0] for row in self._connection.execute("SELECT content_hash FROM documents")}

    def count(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM documents").fetchone()[0])

    def close(self) -> None:
        self._connection.close()


def until(seen: Callable[[], bool], every_s: float = 0.02) -> None:
    while not seen():
        time.sleep(every_s)


def saves(data: str, notes: str, count: int) -> list[float]:
    """Milliseconds from the end of a save to the commit that a follower can see."""
    dice, looker, taken = random.Random(5), Looker(data), []
    some = dice.sample(sorted(Path(notes).rglob("*.md")), 50)
    for turn in range(count):
        path = dice.choice(some)
        content = path.read_bytes() + f"\n\nAn added line number {turn}.\n".encode()
        looker.path = str(path.relative_to(notes))
        scratch = path.with_name(f".{path.name}.swp")
        if turn % 2:
            scratch.write_bytes(content)
            os.replace(scratch, path)
        else:
            path.write_bytes(content)
        with stopwatch() as spent:
            until(lambda content=content: looker.has(content), 0.001)  # type: ignore[misc]
            taken.append(1000 * spent())
    looker.close()
    return taken


def checkout(place: str, corpus: str) -> list[Figure]:
    """A branch of many notes, until the index has every one of them, beside an ingest of the same."""
    notes, data, fresh = (os.path.join(place, name) for name in ("branch", "branch-data", "fresh-data"))
    os.mkdir(notes)
    Path(notes, "first.md").write_text("# First\n\nThe only note of the first branch.\n")
    git(notes, "init", "-q", "-b", "main")
    git(notes, "add", ".")
    git(notes, "commit", "-qm", "first")
    git(notes, "checkout", "-qb", "many")
    for path in sorted(Path(corpus).rglob("*.md"))[:CHECKED_OUT]:
        target = Path(notes, path.relative_to(corpus))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    git(notes, "add", ".")
    git(notes, "commit", "-qm", "many")
    workspace = Workspace(Settings(), fresh)
    with stopwatch() as spent:
        workspace.ingest([notes], Callbacks())
        plain = spent()
    workspace.close()
    wanted = _hashes(fresh)
    git(notes, "checkout", "-q", "main")
    with stopwatch() as spent:
        git(notes, "checkout", "-q", "many")
        alone = spent()
    git(notes, "checkout", "-q", "main")
    with indexer(data, notes, "words"):
        looker = Looker(data)
        with stopwatch() as spent:
            git(notes, "checkout", "-q", "many")
            checked_out = spent()
            until(lambda: looker.count() == len(wanted) and looker.hashes() == wanted)
            consistent = spent()
        with stopwatch() as spent:
            git(notes, "checkout", "-q", "main")
            until(lambda: looker.count() == 1)
            back = spent()
        looker.close()
    return [
        Figure(f"plain ingest of {CHECKED_OUT:,} notes", plain, "s"),
        Figure("git checkout of them, nobody watching", alone, "s"),
        Figure("git checkout of them, watched", checked_out, "s"),
        Figure("from its start until consistent / plain ingest", consistent / plain, "x", 1.5),
        Figure("from its end until consistent / plain ingest", (consistent - checked_out) / plain, "x", 1.5),
        Figure("checkout back, until all are gone", back, "s"),
    ]


def _hashes(data: str) -> set[str]:
    looker = Looker(data)
    try:
        return looker.hashes()
    finally:
        looker.close()


def git(folder: str, *argv: str) -> None:
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0")
    subprocess.run(["git", *identity, *argv], cwd=folder, check=True, capture_output=True)


def measure(corpus: str) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="kebab-live-") as place:
        figures = checkout(place, corpus)
        notes, data = os.path.join(place, "notes"), os.path.join(place, "data")
        shutil.copytree(corpus, notes, ignore=shutil.ignore_patterns(".git"))
        for vectors, what in (("words", "at rest"), ("vectors", "while vectors are made")):
            with indexer(data, notes, vectors):
                taken = saves(data, notes, SAVES)
            figures += [
                Figure(f"save to commit, {what}, p50", median(taken), "ms"),
                Figure("  p95", percentile(taken, 0.95), "ms", 400),
                Figure("  p50 without the settle", median(taken) - _SETTLE_MS, "ms", 50),
            ]
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("keeping", nargs="*")
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    if given.keep:
        keep(given.folder, *given.keeping)
        return
    print(machine())
    report("keeping in step", measure(given.folder))


if __name__ == "__main__":
    main()
