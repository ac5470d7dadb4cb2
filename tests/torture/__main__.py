"""Prints two tables, of kills and of damaged files; fails when anything at all was lost.

`missed`: the victim's run ended before it came to the point. `manual`: the user would have had a
step to do. `litter`: the victim left a file that is harmless, and that nobody takes away. The
columns of the second table are those of `Outcome`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Mapping

from tests.torture.damaging import COUNTED, Outcome
from tests.torture.harness import Score, damage_everything, torture
from tests.torture.points import ROUND

_WIDTH, _CELL = 58, 7
_KILLS = ("kills", "missed", "corrupt", "stale", "manual", "litter")


def main(rounds: int, seed: int, processes: int, only: str) -> int:
    complaints = [*kills(rounds, seed, processes, only), *([] if only else damages(seed, processes))]
    print(*complaints, sep="\n")
    return 1 if complaints else 0


def kills(rounds: int, seed: int, processes: int, only: str) -> Iterator[str]:
    points = [point for point in ROUND if only in point.name]
    scores: Mapping[str, Score] = {}
    for turn, so_far in enumerate(torture(rounds, seed, processes, points), 1):
        scores = so_far
        print(f"\r{turn}/{rounds}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    _print_row("killed at", _KILLS)
    for name, score in {**scores, "all": total(scores.values())}.items():
        _print_row(name, score.figures())
    for name, score in scores.items():
        yield from (f"{name}: {text}" for text in score.complaints)


def damages(seed: int, processes: int) -> Iterator[str]:
    print()
    _print_row("damaged file", COUNTED)
    whole = Outcome()
    for damage, outcome in damage_everything(seed, processes):
        name = f"{damage.file}: {damage.name}"
        _print_row(name, outcome.figures())
        whole.take(outcome)
        yield from (f"{name}: {text}" for text in outcome.complaints)
    _print_row("all", whole.figures())


def total(scores: Iterable[Score]) -> Score:
    whole = Score()
    for score in scores:
        whole.take(score)
    return whole


def _print_row(name: str, cells: Iterable[object]) -> None:
    print(f"{name:<{_WIDTH}}", *(f"{cell:>{_CELL}}" for cell in cells), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("rounds", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes side by side")
    parser.add_argument("--only", default="", help="points whose name holds this text, and no damages")
    return parser.parse_args()


if __name__ == "__main__":
    given = _arguments()
    sys.exit(main(given.rounds, given.seed, given.jobs, given.only))
