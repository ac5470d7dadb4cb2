"""Prints a table of points, kills and losses; fails when anything at all was lost.

`missed`: the victim's run ended before it came to the point.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from tests.torture.harness import Score, torture


def main(rounds: int, seed: int) -> int:
    scores: dict[str, Score] = {}
    for turn, (point, score) in enumerate(torture(rounds, seed), 1):
        scores[point.name] = score
        print(f"\r{turn}/{rounds}", end="", file=sys.stderr, flush=True)
    print(f"\n{'point':<34}{'kills':>6}{'missed':>8}{'corrupt':>9}{'stale':>7}{'manual steps':>14}")
    for name, s in {**scores, "all": total(scores.values())}.items():
        print(f"{name:<34}{s.kills:>6}{s.missed:>8}{s.corrupt:>9}{s.stale:>7}{s.manual:>14}")
    complaints = [f"{name}: {text}" for name, score in scores.items() for text in score.complaints]
    print(*complaints, sep="\n")
    return 1 if complaints else 0


def total(scores: Iterable[Score]) -> Score:
    whole = Score()
    for score in scores:
        whole.kills += score.kills
        whole.missed += score.missed
        whole.corrupt += score.corrupt
        whole.stale += score.stale
        whole.manual += score.manual
    return whole


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1))
