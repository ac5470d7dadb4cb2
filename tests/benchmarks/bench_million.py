"""What a million passages cost, beside an index of a tenth of them.

    python -m tests.benchmarks.bench_million FOLDER [SMALLER] [--only PART...]

FOLDER, SMALLER: made by `python -m tests.benchmarks.million`. Saves a note in FOLDER and adds runs to
its index. Of memory the private pages count, those of no file. The system drops the pages of a mapped
file when it needs room, and all processes share them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kebab_tui.domain.query import SearchFilters, SearchMode, SearchQuery
from kebab_tui.settings.settings import Settings
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.connection import open_reader
from kebab_tui.vectors.faiss_index import FaissIndex
from kebab_tui.workspace import Workspace
from tests.benchmarks.bench_cold import run
from tests.benchmarks.bench_idle import idle, until_at_rest
from tests.benchmarks.bench_searching import latencies
from tests.benchmarks.measuring import Figure, machine, median, percentile, report, seconds
from tests.benchmarks.screen.keys import Echoes, queries_of, typed
from tests.benchmarks.screen.process import children, private_mb
from tests.benchmarks.screen.terminal import ALL_HITS, SCREEN, Terminal, environment, shows
from tests.vectors.making import Floats

_QUERIES = 200
_COMMONEST = 40
_PATHS = ("**/*api*", "copy-1/**", "**/web/**", "*guide*", "**/learn*/**", "copy-*/0/**", "**/index.md")
_K = 10
_TIE = 2e-4
"""Cosines that differ by less are equally good."""
_BLOCK = 1 << 16
_COLD_ROUNDS = 7
_TYPED = 12
_AFTER_SAVING_S = 20.0
"""The indexing process embeds a saved note, and decides about the vector file 5 s later."""
_IDLE_S = 30.0
_PARTS = ("search", "recall", "cold", "screen")


@dataclass(frozen=True, slots=True)
class Bench:
    folder: Path
    smaller: Path | None

    @property
    def data(self) -> str:
        return str(self.folder / "data")

    def search(self) -> list[Figure]:
        """Medians of one process, warm: words that stand beside each other in some note."""
        workspace = Workspace(Settings(), self.data)
        texts = list(queries_of(str(self.folder / "notes"), _QUERIES))
        workspace.search(SearchQuery("warm up", "hybrid"))
        keyword = _asked(workspace, texts, "lexical")
        hybrid = _asked(workspace, texts, "hybrid")
        with contextlib.closing(open_reader(DataFolder(self.data).database)) as database:
            words = database.execute(
                "SELECT word FROM words ORDER BY seen DESC LIMIT ?", (_COMMONEST,)
            ).fetchall()
        common = _asked(workspace, [word for (word,) in words], "lexical")
        engine = workspace._parts.engine
        paths = [
            SearchQuery(text, "lexical", filters=SearchFilters(paths=(path,)))
            for path in _PATHS
            for text in texts[:3]
        ]
        filtered = latencies(lambda query: engine.search(query, first_answer=True), paths)
        latest = [1000 * seconds(lambda: workspace.recent(50)) for _ in range(5)]
        own = private_mb(os.getpid())
        workspace.close()
        return [
            *keyword.figures("keyword, 2-3 words", 9, 40),
            Figure("keyword, the 40 commonest words, the slowest", max(common.wall), "ms", 150),
            Figure("  by processor time", max(common.processor), "ms"),
            *hybrid.figures("hybrid, 2-3 words", 22, 90),
            Figure("path filter, first answer, p50", median(filtered), "ms", 25),
            Figure("path filter, first answer, the first", filtered[0], "ms"),
            Figure("latest notes, p50", median(latest), "ms", 80),
            Figure("latest notes, the first", latest[0], "ms"),
            Figure("private memory of this process", own, "MB"),
        ]

    def recall(self) -> list[Figure]:
        """Passages found among the ten nearest, against a comparison with all vectors."""
        workspace = Workspace(Settings(), self.data)
        opened, encoder = workspace._parts.semantics.vectors(), workspace._parts.semantics.encoder()
        assert isinstance(opened.searched, FaissIndex)
        base = opened.searched.snapshot.base
        texts = queries_of(str(self.folder / "notes"), _QUERIES)
        queries = np.stack([encoder.query(text) for text in texts])
        own = np.random.default_rng(4).integers(0, len(base), _QUERIES)
        passages = base.codes[np.sort(own)].astype(np.float32)
        passages /= np.linalg.norm(passages, axis=1, keepdims=True)
        figures = []
        for name, asked in (("questions", queries), ("passages", passages)):
            shares = [
                np.mean([near.cosine >= worst - _TIE for near in opened.searched.nearest(query, _K)])
                for query, worst in zip(asked, _tenth(base.codes, base.rows, asked), strict=True)
            ]
            fits = np.mean([_pages_fit(opened.searched, query) for query in asked])
            figures += [
                # The goal is a floor: what is missed must be at most its complement.
                Figure(f"{name}: recall@10", float(np.mean(shares)), ""),
                Figure(f"{name}: missed of ten, mean", 1 - float(np.mean(shares)), "", 0.015),
                Figure(f"{name}: recall@10, the worst", float(np.min(shares)), ""),
                Figure(f"{name}: pages that do not fit", 1 - float(fits), "", 0.0),
            ]
        workspace.close()
        return figures

    def cold(self) -> list[Figure]:
        """Whole processes, in turns; the median."""
        folders = {"": self.data} | ({"smaller, ": str(self.smaller / "data")} if self.smaller else {})
        taken: dict[str, list[tuple[float, float]]] = {}
        for number in range(_COLD_ROUNDS + 1):
            for size, data in folders.items():
                for mode in _MODES:
                    spent = run(
                        [*_KEBAB, "--data-dir", data, "search", "window server", "--mode", mode], os.environ
                    )
                    if number:
                        taken.setdefault(f"{size}{mode}", []).append(spent)
        wall = {name: median([one for one, _ in spent]) for name, spent in taken.items()}
        processor = {name: median([one for _, one in spent]) for name, spent in taken.items()}
        figures = [Figure(f"kebab search, {name}, p50", 1000 * spent, "ms") for name, spent in wall.items()]
        if self.smaller:
            figures += [
                Figure("hybrid / smaller, hybrid", wall["hybrid"] / wall["smaller, hybrid"], "x", 1.4),
                Figure("  by processor time", processor["hybrid"] / processor["smaller, hybrid"], "x"),
            ]
        return figures

    def screen(self) -> list[Figure]:
        words = list(queries_of(str(self.folder / "notes"), _TYPED))
        note = next((self.folder / "notes").rglob("*.md"))
        text = note.read_bytes()
        with (
            tempfile.TemporaryDirectory() as home,
            contextlib.closing(Workspace(Settings(), self.data)) as workspace,
        ):
            environ = environment(home)
            argument = ("--data-dir", self.data)
            bare = (SCREEN[0], "-m", "tests.benchmarks.screen.no_search", *argument)
            with Terminal((*SCREEN, *argument), environ) as searching:
                searching.wait_for(shows("commands"))
                until_at_rest(workspace, searching)
                with Terminal(bare, environ) as silent:
                    silent.wait_for(shows("commands"))
                    silent.settle(2.0)
                    echoes = typed(searching, silent, words)
                searching.press("window server")
                searching.wait_for(ALL_HITS)
                figures = [
                    Figure("private memory of the screen", private_mb(searching.process.pid), "MB", 350)
                ]
                keeper = children(searching.process.pid)[0]
                try:
                    note.write_bytes(text + b"\n\nA sentence that nobody has written before.\n")
                    most = max(_samples(searching, keeper))
                finally:
                    note.write_bytes(text)
                figures.append(Figure("of the indexing process after a saved note, at most", most, "MB", 300))
                settled = _AFTER_SAVING_S + until_at_rest(workspace, searching)
                figures.append(Figure("screen settled after a saved note, within", settled, "s"))
                figures += idle(searching, _IDLE_S)
        return [*_echoes(echoes), *figures]


_MODES: tuple[SearchMode, ...] = ("lexical", "hybrid")
_KEBAB = [sys.executable, "-c", "from kebab_tui.cli import main; main()"]


@dataclass(frozen=True, slots=True)
class _Spent:
    """Milliseconds of each question; processor time is that of all threads."""

    wall: list[float]
    processor: list[float]

    def figures(self, name: str, p50: float, p95: float) -> list[Figure]:
        return [
            Figure(f"{name}, p50", median(self.wall), "ms", p50),
            Figure("  by processor time", median(self.processor), "ms"),
            Figure(f"{name}, p95", percentile(self.wall, 0.95), "ms", p95),
            Figure("  by processor time", percentile(self.processor, 0.95), "ms"),
        ]


def _asked(workspace: Workspace, texts: Sequence[str], mode: SearchMode) -> _Spent:
    spent = _Spent([], [])
    for text in texts:
        start, busy = time.perf_counter(), time.process_time()
        workspace.search(SearchQuery(text, mode))
        spent.wall.append(1000 * (time.perf_counter() - start))
        spent.processor.append(1000 * (time.process_time() - busy))
    return spent


def _tenth(codes: np.ndarray, rows: np.ndarray, queries: Floats) -> list[float]:
    """The cosine of each query with the row that is tenth."""
    best: list[dict[int, float]] = [{} for _ in queries]
    for begin in range(0, len(codes), _BLOCK):
        products = codes[begin : begin + _BLOCK].astype(np.float32) @ queries.T
        for known, column in zip(best, products.T, strict=True):
            for place in np.argpartition(-column, min(8 * _K, len(column) - 1))[: 8 * _K].tolist():
                row = int(rows[begin + place])
                known[row] = max(known.get(row, -1.0), float(column[place]))
    return [sorted(known.values(), reverse=True)[_K - 1] for known in best]


def _pages_fit(index: FaissIndex, query: Floats) -> bool:
    longer = index.nearest(query, 100)
    return all(index.nearest(query, k) == longer[:k] for k in (_K, 2 * _K, 5 * _K))


def _samples(screen: Terminal, pid: int) -> Iterator[float]:
    """The private memory of a process, many times a second."""
    end = time.perf_counter() + _AFTER_SAVING_S
    while time.perf_counter() < end:
        screen.listen_until(time.perf_counter() + 0.05)
        yield private_mb(pid)


def _echoes(echoes: Echoes) -> list[Figure]:
    mine, bare = (percentile(found, 0.95) for found in (echoes.searching, echoes.silent))
    return [
        Figure("echo of a key without search, p95", bare, "ms"),
        Figure("echo while searching / that, p95", mine / bare, "x", 1.25),
    ]


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path)
    parser.add_argument("smaller", type=Path, nargs="?")
    parser.add_argument("--only", nargs="+", choices=_PARTS, default=_PARTS)
    given = parser.parse_args()
    bench = Bench(given.folder, given.smaller)
    for name in given.only:
        print(machine())
        report(name, getattr(bench, name)())
    print(machine())


if __name__ == "__main__":
    main()
