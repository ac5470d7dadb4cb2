"""Searches while another process loads a folder for the first time, and kills such loads.

    python -m tests.benchmarks.bench_first_load NOTES [--kills 10] [--seed 7]

A search every 100 ms, in its own process, from the first commit to the last: none may fail, and each is of
one committed revision. Then the folder is loaded again into another data folder and killed at random moments;
the index must be equal to that of the first load. Needs the space of two indexes in the folder for
temporary files.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kebab_tui.domain.errors import NotIndexedError
from kebab_tui.domain.query import SearchQuery
from kebab_tui.settings.settings import Settings
from kebab_tui.storage.sqlite import first_load
from kebab_tui.workspace import Workspace
from tests.benchmarks.measuring import Figure, machine, median, percentile, report

_EVERY_S = 0.1
_K = 10
_QUERIES = (
    "array", "promise rejection", "how to install", "regular expression flags", "css grid",
    "error OR warning", "document", "http header", "event listener", '"web worker"',
)  # fmt: skip
_TABLES = (
    (
        "SELECT doc_id, raw_path, title, type, lang, trust, flags, size, mtime_ns, content_hash, made_by, "
        "state, reason, dated, dated_by FROM documents ORDER BY doc_id"
    ),
    (
        "SELECT chunk_id, doc_id, ordinal, kind, line_first, line_last, page, heading_path, text, title, "
        "grams, embed_hash, hangul FROM chunks ORDER BY doc_id, ordinal"
    ),
    "SELECT * FROM facets ORDER BY doc_id, ordinal",
    "SELECT doc_id, names, grams FROM note_names ORDER BY doc_id",
    "SELECT word, stem FROM words ORDER BY word",
    "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name",
)


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("notes", type=Path)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as scratch:
        whole, killed = os.path.join(scratch, "whole"), os.path.join(scratch, "killed")
        searched = searching(str(given.notes), whole)
        report("searching during a first load, every 100 ms", searched.figures())
        print(*searched.complaints[:20], sep="\n")
        figures, complaints = killing(str(given.notes), whole, killed, given.kills, given.seed, searched)
        report("a first load that is killed", figures)
        print(*complaints, sep="\n")
        return 1 if complaints or searched.complaints else 0


@dataclass(slots=True)
class Searched:
    answers: int = 0
    revisions: dict[int, dict[str, int]] = field(default_factory=dict)
    """By revision: the matches of each query."""
    spent_ms: list[float] = field(default_factory=list)
    """Processor time of each search."""
    complaints: list[str] = field(default_factory=list)
    load_s: float = 0.0
    wall_s: float = 0.0

    def figures(self) -> list[Figure]:
        return [
            Figure("load, wall", self.wall_s, "s"),
            Figure("load, processor", self.load_s, "s"),
            Figure("searches", self.answers, ""),
            Figure("failed or wrong", len(self.complaints), "", 0.0),
            Figure("revisions seen", len(self.revisions), ""),
            Figure("processor time, p50", median(self.spent_ms), "ms"),
            Figure("processor time, p95", percentile(self.spent_ms, 0.95), "ms"),
        ]

    def take(self, text: str, revision: int, matches: int) -> None:
        """Revisions follow one another; in one of them a query always finds the same."""
        if self.revisions and revision < max(self.revisions):
            self.complaints.append(f"{text}: revision {revision} after {max(self.revisions)}")
        known = self.revisions.setdefault(revision, {})
        if known.setdefault(text, matches) != matches:
            self.complaints.append(f"{text}: {known[text]} and {matches} matches in revision {revision}")
        earlier = [found[text] for at, found in self.revisions.items() if at < revision and text in found]
        # Of several words, fewer match once enough passages have all of them.
        if earlier and max(earlier) > matches and " " not in text:
            self.complaints.append(f"{text}: {matches} matches in revision {revision}, {max(earlier)} before")
        self.answers += 1


def searching(notes: str, data: str) -> Searched:
    searched = Searched()
    began, before = time.monotonic(), children_s()
    load = ingest(notes, data)
    workspace = Workspace(Settings(), data)
    turn = 0
    while load.poll() is None:
        text = _QUERIES[turn % len(_QUERIES)]
        start = time.thread_time()
        try:
            response = workspace.search(SearchQuery(text, k=_K, mode="lexical"))
        except NotIndexedError:  # before the first commit
            if searched.answers:
                searched.complaints.append(f"{text}: nothing is indexed any more")
            time.sleep(_EVERY_S)
            continue
        except Exception as error:  # noqa: BLE001 - whatever it is, the search failed
            searched.complaints.append(f"{text}: {type(error).__name__}: {error}")
            time.sleep(_EVERY_S)
            continue
        turn += 1
        searched.spent_ms.append(1e3 * (time.thread_time() - start))
        searched.take(text, response.corpus_revision, response.total_matches)
        searched.complaints += [
            f"{text}: {hit.citation} does not exist" for hit in response.hits if not cited(notes, hit.path)
        ]
        time.sleep(_EVERY_S)
    searched.wall_s, searched.load_s = time.monotonic() - began, children_s() - before
    workspace.close()
    if load.returncode != 0:
        searched.complaints.append(f"the load ended with {load.returncode}")
    return searched


def killing(
    notes: str, whole: str, data: str, kills: int, seed: int, undisturbed: Searched
) -> tuple[list[Figure], list[str]]:
    dice = random.Random(seed)
    done = within = runs = 0
    before = children_s()
    while done < kills:
        load = ingest(notes, data)
        runs += 1
        try:  # each run gets a tenth of the way on average
            load.wait(dice.uniform(0.5, 2.5) * undisturbed.wall_s / kills)
        except subprocess.TimeoutExpired:
            load.send_signal(signal.SIGKILL)
            load.wait()
            done += 1
            within += is_loading(data)
            continue
        break
    load = ingest(notes, data)
    complaints = [] if load.wait() == 0 else [f"the last run ended with {load.returncode}"]
    spent = children_s() - before
    complaints += differences(whole, data)
    check = subprocess.run(
        [sys.executable, "-m", "kebab_tui", "--data-dir", data, "doctor"],
        capture_output=True,
        text=True,
    )
    problems = [line for line in check.stdout.splitlines() if "problem" in line]
    if check.returncode not in (0, 3) or problems:
        complaints += [check.stderr, *problems]
    return [
        Figure("kills", done, ""),
        Figure("kills that left an unfinished load", within, ""),
        Figure("differences, problems of doctor", len(complaints), "", 0.0),
        Figure("processor time of all runs", spent, "s"),
        Figure("lost by a kill, mean", (spent - undisturbed.load_s) / max(done, 1), "s"),
    ], complaints


def ingest(notes: str, data: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "kebab_tui", "--data-dir", data, "ingest", "--quiet", "--yes", notes]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def is_loading(data: str) -> bool:
    path = os.path.join(data, "kebab.sqlite")
    if not os.path.exists(path):
        return False
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return first_load.is_incomplete(connection)
    finally:
        connection.close()


def differences(whole: str, killed: str) -> Iterator[str]:
    paths = (os.path.join(data, "kebab.sqlite") for data in (whole, killed))
    one, other = (sqlite3.connect(path) for path in paths)
    for statement in _TABLES:
        left, right = one.execute(statement), other.execute(statement)
        number = 0
        for number, row in enumerate(left, 1):
            if row != right.fetchone():
                yield f"row {number} differs: {statement}"
                break
        else:
            if right.fetchone() is not None:
                yield f"more than {number} rows: {statement}"
    for table in ("chunks_fts", "names_fts"):
        try:
            other.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
        except sqlite3.Error as error:
            yield f"{table}: {error}"
    for (text,) in other.execute("PRAGMA integrity_check"):
        if text != "ok":
            yield text
    one.close()
    other.close()


def cited(notes: str, path: str) -> bool:
    return os.path.exists(os.path.join(notes, path))


def children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
