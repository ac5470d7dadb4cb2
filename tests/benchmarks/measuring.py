"""What all benchmarks share: the corpus, the clock, the way figures are printed.

Figures are ratios to a reference measured in the same run, because machines are noisy.
"""

from __future__ import annotations

import os
import platform
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from kebab_tui.domain.change import SaveNote
from kebab_tui.domain.ids import SourceId
from kebab_tui.files.walk import FoundFile, WalkRules, walk
from kebab_tui.indexing.pipeline import FileTarget, Recipe, change_of


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    value: float
    unit: str
    goal: float | None = None

    def __str__(self) -> str:
        verdict = ""
        if self.goal is not None:
            verdict = f"  goal <= {self.goal:g} {_judged(self.value, self.goal)}"
        return f"  {self.name:<64} {self.value:10.3f} {self.unit:<4}{verdict}"


def _judged(value: float, goal: float) -> str:
    if value <= goal:
        return "met"
    return "met within 10 %" if value <= 1.1 * goal else "MISSED"


def report(title: str, figures: Sequence[Figure]) -> None:
    print(title)
    for figure in figures:
        print(figure)
    sys.stdout.flush()


def machine() -> str:
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return (
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, load {load:.1f}"
    )


@contextmanager
def stopwatch() -> Iterator[Callable[[], float]]:
    """Seconds since the start of the block."""
    start = time.perf_counter()
    yield lambda: time.perf_counter() - start


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def notes_of(folder: str, limit_chunks: int) -> list[SaveNote]:
    """Read and cut real notes until there are enough chunks."""
    recipe, source = Recipe(), SourceId("bench")
    notes: list[SaveNote] = []
    chunks = 0
    for found in walk(folder, WalkRules()):
        if isinstance(found, FoundFile):
            change = change_of(found, FileTarget(source, folder, found.path), recipe, ())
            if isinstance(change, SaveNote):
                notes.append(change)
                chunks += len(change.passages)
        if chunks >= limit_chunks:
            break
    return notes
