"""Compares the speed of two checkouts, in turns, so that a busy machine slows both alike.

python -m tests.benchmarks.compare FOLDER BEFORE [--rounds 5]

FOLDER: real notes; BEFORE: an earlier checkout that runs with this Python. Each checkout indexes the
notes, then both answer the same questions and follow the same edits. Figures are medians of the
rounds in processor time, as ratios to the earlier checkout; different answers are counted.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.bench_cold import run
from tests.benchmarks.bench_searching import HEAVY, queries_from
from tests.benchmarks.measuring import machine, median, notes_of
from tests.command_line import ROOT

_GOAL = 1.05
_KEBAB = (sys.executable, "-c", "from kebab_tui.cli import main; main()")
_COMMANDS = {
    "cold kebab --version": ("--version",),
    "cold kebab search, lexical": ("search", "container image", "--mode", "lexical"),
    "cold kebab search, hybrid": ("search", "container image", "--mode", "hybrid"),
    "ingest of an unchanged folder": ("ingest", "--quiet"),
}
_WARM = """
import hashlib, json, os, statistics, sys, time
from kebab_tui.domain.query import SearchQuery
from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Callbacks, Workspace

data, notes, questions = sys.argv[1], sys.argv[2], json.load(open(sys.argv[3]))
workspace = Workspace(Settings(), data)
spent, answers = {}, []
def timed(action):
    start = time.process_time()
    result = action()
    return time.process_time() - start, result
for mode in ("lexical", "hybrid"):
    workspace.search(SearchQuery("warm up", mode))
    for group, texts in questions.items():
        times = []
        for text in texts:
            seconds, found = timed(lambda: workspace.search(SearchQuery(text, mode)))
            times.append(seconds)
            answers.append([(hit.path, str(hit.citation), round(hit.score, 6)) for hit in found.hits])
        spent[f"{mode}, {group}"] = statistics.median(times)
edited = sorted(os.path.join(folder, name) for folder, _, names in os.walk(notes) for name in names)[:20]
times = []
for path in edited:
    with open(path, "a") as file:
        file.write("\\n\\nedited\\n")
    times.append(timed(lambda: workspace.ingest([notes], Callbacks()))[0])
spent["one edited note"] = statistics.median(times)
print(json.dumps([spent, [hashlib.sha256(repr(answer).encode()).hexdigest() for answer in answers]]))
"""


class _Checkout:
    """A program with an index of its own copy of the notes."""

    def __init__(self, code: Path, place: Path, notes: str) -> None:
        self._notes, self._data = place / "notes", place / "data"
        shutil.copytree(notes, self._notes)
        self._environ = {name: value for name, value in os.environ.items() if name[:6] != "KEBAB_"}
        self._environ.pop("PYTHONDONTWRITEBYTECODE", None)
        self._environ |= {
            "PYTHONPATH": str(code),
            "PYTHONPYCACHEPREFIX": str(place / "pyc"),
            "KEBAB_DATA_DIR": str(self._data),
        }
        run([*_KEBAB, "ingest", "--wait", str(self._notes)], self._environ)

    def measure(self, questions: Path) -> tuple[dict[str, float], list[str]]:
        """Seconds of each figure, and a hash of each answer."""
        spent = {name: run([*_KEBAB, *argv], self._environ)[1] for name, argv in _COMMANDS.items()}
        fresh = str(self._data) + "-fresh"
        argv = [*_KEBAB, "ingest", "--quiet", "--data-dir", fresh, str(self._notes)]
        spent["ingest of a new folder"] = run(argv, self._environ)[1]
        shutil.rmtree(fresh)
        # The index is copied, because the edits change it and the next round asks the same of it.
        data, notes = f"{self._data}-copy", f"{self._notes}-copy"
        shutil.copytree(self._data, data)
        os.rename(self._notes, notes)
        shutil.copytree(notes, self._notes)
        done = subprocess.run(
            [sys.executable, "-c", _WARM, data, str(self._notes), str(questions)],
            env=self._environ, capture_output=True, text=True, check=True,
        )  # fmt: skip
        shutil.rmtree(data)
        shutil.rmtree(self._notes)
        os.rename(notes, self._notes)
        warm, answers = json.loads(done.stdout)
        return {**spent, **warm}, answers


def _questions(notes: str) -> dict[str, Sequence[str]]:
    dice = random.Random(4)
    found = notes_of(notes, 10_000)
    return {
        "a single word": queries_from(found, 1, dice),
        "2-4 words": [text for words in (2, 3, 4) for text in queries_from(found, words, dice)],
        "heavy questions": HEAVY,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("before", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as root:
        questions = Path(root, "questions.json")
        questions.write_text(json.dumps(_questions(given.folder)))
        sides = []
        for name, code in (("before", given.before.absolute()), ("now", ROOT)):
            place = Path(root, name)
            place.mkdir()
            sides.append(_Checkout(code, place, given.folder))
        rounds = []
        for number in range(given.rounds + 1):
            measured = [side.measure(questions) for side in sides]
            if number:  # the first round compiles
                rounds.append(measured)
    print(f"{'processor time, medians':<44} {'before':>10} {'now':>10} {'ratio':>6}")
    for name in rounds[0][0][0]:
        before, now = (median([each[side][0][name] for each in rounds]) for side in (0, 1))
        ratio = median([each[1][0][name] / each[0][0][name] for each in rounds])
        verdict = "met" if ratio <= _GOAL else "met within 10 %" if ratio <= 1.1 * _GOAL else "MISSED"
        times = f"{1000 * before:>7.1f} ms {1000 * now:>7.1f} ms"
        print(f"{name:<44} {times} {ratio:>6.2f}  goal <= {_GOAL} {verdict}")
    before_answers, now_answers = rounds[0][0][1], rounds[0][1][1]
    different = sum(one != other for one, other in zip(before_answers, now_answers, strict=True))
    print(f"different answers: {different} of {len(now_answers)}")


if __name__ == "__main__":
    main()
