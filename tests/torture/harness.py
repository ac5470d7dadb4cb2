"""Sets a scene, has the victim killed, and judges what is left."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import repeat
from unittest import mock

from kebab_tui.search.snippet import Snippet
from tests.torture.aftermath import Verdict, judge
from tests.torture.damage import DAMAGES, Damage
from tests.torture.damaging import Outcome, sound_index, try_damage
from tests.torture.killing import Attempt, Killed, kill
from tests.torture.points import POINTS, ROUND, Point, named
from tests.torture.scenes import set_scene
from tests.torture.victim import SAMPLED

_APART = 1_000_003


@dataclass(slots=True)
class Score:
    """What happened at one point."""

    kills: int = 0
    missed: int = 0
    corrupt: int = 0
    stale: int = 0
    manual: int = 0
    litter: int = 0
    complaints: list[str] = field(default_factory=list)

    def add(self, verdict: Verdict, seed: int) -> None:
        self.kills += 1
        self.corrupt += bool(verdict.corrupt)
        self.stale += bool(verdict.stale)
        self.manual += bool(verdict.manual)
        self.litter += bool(verdict.litter)
        self.complaints += [f"seed {seed}: {complaint}" for complaint in verdict.complaints]

    def figures(self) -> tuple[int, ...]:
        return self.kills, self.missed, self.corrupt, self.stale, self.manual, self.litter

    def take(self, other: Score) -> None:
        self.kills += other.kills
        self.missed += other.missed
        self.corrupt += other.corrupt
        self.stale += other.stale
        self.manual += other.manual
        self.litter += other.litter
        self.complaints += other.complaints


def torture(
    rounds: int, seed: int, processes: int, only: Sequence[Point] = ROUND
) -> Iterator[dict[str, Score]]:
    """Kill `rounds` victims, point after point, in several processes; gives the scores so far."""
    wanted = [only[turn % len(only)] for turn in range(rounds)]
    scores = {point.name: Score() for point in POINTS if point in wanted}
    with ProcessPoolExecutor(processes) as pool:
        turns = {
            pool.submit(killed_and_judged, point.name, seed + turn): point.name
            for turn, point in enumerate(wanted)
        }
        for turn in as_completed(turns):
            scores[turns[turn]].take(turn.result())
            yield scores


def damage_everything(seed: int, processes: int) -> Iterator[tuple[Damage, Outcome]]:
    """Every damage there is, each to copies of one sound index."""
    place = tempfile.mkdtemp(prefix="kebab-torture-")
    try:
        sound = sound_index(place, most=1000)
        with ProcessPoolExecutor(processes) as pool:
            outcomes = pool.map(try_damage, repeat(sound), DAMAGES, repeat(place), repeat(seed))
            yield from zip(DAMAGES, outcomes, strict=True)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def killed_and_judged(name: str, seed: int) -> Score:
    score = Score()
    try:
        with mock.patch("kebab_tui.vectors.faiss_index._SAMPLED", SAMPLED), _without_excerpts():
            one(named(name), seed, score)
    except Exception as error:  # noqa: BLE001 - a long run goes on, and this is its finding
        score.corrupt += 1
        score.complaints.append(f"seed {seed}: {type(error).__name__}: {error}")
    return score


def _without_excerpts() -> AbstractContextManager[object]:
    """Thousands of hits are compared, by their rows, scores and lines: nobody reads the excerpts."""
    return mock.patch("kebab_tui.search.engine.snippet", return_value=Snippet("", ()))


def one(point: Point, seed: int, score: Score) -> None:
    """Kill at a pass drawn by the seed; where a run has fewer, at the first pass, or in another run."""
    drawn = random.Random(seed).randint(1, point.passes)
    for steps, history in ((drawn, seed), (1, seed), (1, seed + _APART), (1, seed + 2 * _APART)):
        place = tempfile.mkdtemp(prefix="kebab-torture-")
        try:
            attempt = Attempt(
                point, os.path.join(place, "notes"), os.path.join(place, "data"), steps, history
            )
            set_scene(point, attempt.notes, attempt.data, history)
            killed = kill(attempt)
            if killed.died:
                score.add(_verdict(attempt, killed, place), history)
                return
        finally:
            shutil.rmtree(place, ignore_errors=True)
    score.missed += 1


def _verdict(attempt: Attempt, killed: Killed, place: str) -> Verdict:
    scratch = os.path.join(place, "scratch")
    os.mkdir(scratch)
    verdict = judge(attempt.point, attempt.data, attempt.notes, scratch, attempt.seed, mended=killed.mended)
    verdict.manual += killed.complaints
    return verdict
