"""nDCG@10 of judged questions in two fixed halves, by hybrid search and by keyword search.

    python -m tests.benchmarks.judged_sets FOLDER [--half dev|last]

FOLDER has the BEIR folders `cranfield` and `k8s-ko-en`; for the split `same` of the latter, only the page in
the language of the question is right. Runs `kebab eval`, whose indexes stay in .run/judged_sets: a minute for
the vectors the first time, some minutes for the questions each time. A copied index would have every note
twice: begin anew elsewhere. A hash of its id puts each question into one of two halves: tune with `dev`,
measure `last` at the end.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from kebab_tui.evaluation.measure import HEADLINE, EvalRun, QueryResult, load_run
from tests.benchmarks.known_item_queries import Half, half_of
from tests.benchmarks.measuring import machine, stopwatch

PLACE = Path(".run/judged_sets")
LEAST_GAIN = -0.005
"""Of hybrid search over keyword search."""


@dataclass(frozen=True, slots=True)
class JudgedSet:
    folder: str
    split: str
    goal: float
    """For the whole set, by hybrid search."""


SETS = (
    JudgedSet("cranfield", "test", 0.570),
    JudgedSet("k8s-ko-en", "test", 0.728),
    JudgedSet("k8s-ko-en", "same", 0.838),
)


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=get_args(Half))
    given = parser.parse_args()
    print(machine())
    for judged in SETS:
        with stopwatch() as passed:
            run = _evaluated(judged, given.folder / judged.folder)
        print(f"\n{judged.folder}, {judged.split}, in {passed():.0f} s")
        print(f"{'':<10}{'n':>5}{'lexical':>10}{'hybrid':>10}{'+/-':>10}")
        if given.half != "last":
            _print_row("half dev", run, lambda one: half_of(one.id) == "dev")
        if given.half != "dev":
            _print_row("half last", run, lambda one: half_of(one.id) == "last")
        if given.half is None:
            _print_row("all", run, lambda _: True, judged.goal)
    return 0


def _evaluated(judged: JudgedSet, folder: Path) -> EvalRun:
    PLACE.mkdir(parents=True, exist_ok=True)
    saved = PLACE / f"{judged.folder}-{judged.split}.json"
    command = [sys.executable, "-m", "kebab_tui", "--data-dir", str(PLACE), "eval", "--beir", str(folder)]
    command += ["--split", judged.split, "--modes", "lexical,hybrid", "--k", "10", "--save", str(saved)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return load_run(str(saved))


def _print_row(
    name: str, run: EvalRun, wanted: Callable[[QueryResult], bool], goal: float | None = None
) -> None:
    values = {
        mode: [one.metrics[HEADLINE] for one in found.answers if wanted(one)]
        for mode, found in run.modes.items()
    }
    lexical, hybrid = _mean(values["lexical"]), _mean(values["hybrid"])
    verdict = f"  goal +/- >= {LEAST_GAIN} {_judged(hybrid - lexical, LEAST_GAIN)}"
    if goal is not None:
        verdict += f"  goal >= {goal:.3f} {_judged(hybrid, goal)}"
    shown = f"{lexical:>10.4f}{hybrid:>10.4f}{hybrid - lexical:>+10.4f}"
    print(f"{name:<10}{len(values['hybrid']):>5}{shown}{verdict}")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _judged(value: float, goal: float) -> str:
    return "met" if value >= goal else "MISSED"


if __name__ == "__main__":
    sys.exit(main())
