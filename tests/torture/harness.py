"""Sets a scene, has the victim killed, and judges what is left."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kebab_tui.domain.source import Source
from kebab_tui.store.connection import open_writer
from kebab_tui.workspace import Callbacks, Workspace
from tests.torture.aftermath import Verdict, judge
from tests.torture.edits import Editor
from tests.torture.points import POINTS, Point
from tests.torture.victim import SETTINGS

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_KILLED = -9
_APART = 1_000_003


@dataclass(slots=True)
class Score:
    """What happened at one point."""

    kills: int = 0
    missed: int = 0
    corrupt: int = 0
    stale: int = 0
    manual: int = 0
    complaints: list[str] = field(default_factory=list)

    def add(self, verdict: Verdict, seed: int) -> None:
        self.kills += 1
        self.corrupt += bool(verdict.corrupt)
        self.stale += bool(verdict.stale)
        self.manual += bool(verdict.manual)
        self.complaints += [f"seed {seed}: {complaint}" for complaint in verdict.complaints]


def torture(rounds: int, seed: int, points: Sequence[Point] = POINTS) -> Iterator[tuple[Point, Score]]:
    """Kill `rounds` victims, point after point; gives each point's score so far."""
    scores = {point.name: Score() for point in points}
    for turn in range(rounds):
        point = points[turn % len(points)]
        score = scores[point.name]
        one(point, seed + turn, score)
        yield point, score


def one(point: Point, seed: int, score: Score) -> None:
    """Kill at a pass drawn by the seed; where a run has fewer, at the first pass, or in another run."""
    drawn = random.Random(seed).randint(1, point.passes)
    for steps, history in ((drawn, seed), (1, seed), (1, seed + _APART), (1, seed + 2 * _APART)):
        place = tempfile.mkdtemp(prefix="kebab-torture-")
        try:
            notes, data = os.path.join(place, "notes"), os.path.join(place, "data")
            set_scene(point, notes, data, history)
            if kill(point, notes, data, steps, history):
                score.add(judge(data, notes, os.path.join(place, "fresh"), point.scene == "damaged"), history)
                return
        finally:
            shutil.rmtree(place)
    score.missed += 1


def set_scene(point: Point, notes: str, data: str, seed: int) -> None:
    os.mkdir(notes)
    editor = Editor(notes, seed)
    editor.fill(14)
    if point.scene == "fresh":
        return
    workspace = Workspace(SETTINGS, data)
    workspace.ingest([notes], Callbacks())
    other = notes + "-other"
    os.mkdir(other)
    workspace.add_source(Source(workspace.new_source_id(other), "other", other), Callbacks())
    workspace.close()
    for _ in range(8):
        editor.change()
    database = workspace.folder.database
    open_writer(database).close()  # after the last reader: the log is folded in and gone
    if point.scene == "damaged":
        os.truncate(database, os.path.getsize(database) // 2)
        with open(database + "-wal", "wb") as log:
            log.write(b"a log of nothing")
    elif point.scene == "restored":
        os.remove(database)


def kill(point: Point, notes: str, data: str, steps: int, seed: int) -> bool:
    """Whether the victim died at its point; False when the run ended before."""
    argv = [sys.executable, "-m", "tests.torture.victim", data, notes, point.name, str(steps), str(seed)]
    done = subprocess.run(argv, cwd=_ROOT, capture_output=True, check=False, timeout=120)
    if done.returncode not in (0, _KILLED):
        raise AssertionError(f"the victim failed by itself: {done.stderr.decode()[-2000:]}")
    return done.returncode == _KILLED
