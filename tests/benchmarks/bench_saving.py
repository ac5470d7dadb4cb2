"""How soon a saved note is painted, and what a screen costs at which nobody does anything.

    python -m tests.benchmarks.bench_saving CORPUS [--vaults FOLDER] [--saves N] [--idle SECONDS]

The screen itself on a terminal of its own, with its indexer, on 100,000 passages of CORPUS;
the notes that are saved are in a small folder beside them. The clock runs from the end of
the save until the terminal has the new text of the hit. When it was committed is what the
indexer itself says, so that one sees whose the time is.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Workspace
from tests.benchmarks.bench_idle import ASLEEP_S, idle, until_at_rest
from tests.benchmarks.measuring import Figure, machine, median, percentile, report
from tests.benchmarks.screen.terminal import SCREEN, Terminal, environment, shows
from tests.benchmarks.screen.vaults import prepared

_NOTES = 10
_TOPIC = "quokka ledger"
_QUERY = f"{_TOPIC} in:herds"
"""All notes of the small folder, and no others, so that every hit is in view."""
_PACE_S = (1.0, 2.5)
_NANOSECOND = 1e-9


@dataclass(frozen=True, slots=True)
class Save:
    """Milliseconds from the end of a save."""

    to_commit: float
    to_paint: float


def measure(data: str, notes: Path, environ: Mapping[str, str], saves: int, idle_s: float) -> list[Figure]:
    for number in range(_NOTES):
        _path(notes, number).write_text(_note(number, "first"))
    argv = (*SCREEN, "--data-dir", data, "--query", _QUERY, str(notes))
    workspace = Workspace(Settings(), data)
    with Terminal(argv, environ) as screen:
        screen.wait_for(shows(_marker("first", _NOTES - 1)))
        until_at_rest(workspace, screen)
        taken = list(_saves(workspace, screen, notes, saves))
        screen.listen_until(time.perf_counter() + ASLEEP_S)
        figures = idle(screen, idle_s)
    workspace.close()
    painted, committed = [save.to_paint for save in taken], [save.to_commit for save in taken]
    after = [save.to_paint - save.to_commit for save in taken]
    return [
        Figure(f"save to painted, {saves} saves, p50", median(painted), "ms", 350),
        Figure("  p95", percentile(painted, 0.95), "ms", 600),
        Figure("  longest", max(painted), "ms"),
        Figure("of that, save to commit, p50", median(committed), "ms"),
        Figure("  p95", percentile(committed, 0.95), "ms"),
        Figure("of that, commit to painted, p50", median(after), "ms"),
        Figure("  p95", percentile(after, 0.95), "ms"),
        *figures,
    ]


def _saves(workspace: Workspace, screen: Terminal, notes: Path, count: int) -> Iterator[Save]:
    """Write in place and by a new file under the old name, in turn, each at a moment of its own."""
    dice = random.Random(5)
    for turn in range(count):
        screen.listen_until(time.perf_counter() + dice.uniform(*_PACE_S))
        number = dice.randrange(_NOTES)
        path, text = _path(notes, number), _note(number, f"turn{turn}")
        since = len(screen.pieces)
        if turn % 2:
            scratch = path.with_name(f".{path.name}.swp")
            scratch.write_text(text)
            os.replace(scratch, path)
        else:
            path.write_text(text)
        saved, saved_ns = time.perf_counter(), time.time_ns()
        painted = screen.wait_for(shows(_marker(f"turn{turn}", number)), since)
        live = workspace.live()
        assert live is not None
        assert live.last is not None
        committed = (live.last.committed_ns - saved_ns) * _NANOSECOND
        yield Save(1000 * committed, 1000 * (painted - saved))


def _path(notes: Path, number: int) -> Path:
    return notes / f"herd-{number}.md"


def _marker(state: str, number: int) -> str:
    return f"{state} of herd {number}"


def _note(number: int, state: str) -> str:
    """A note of some sections, one of which is what the query finds."""
    sections = [f"## Section {part}\n\n" + f"Line {part} about the weather. " * 30 for part in range(6)]
    ledger = f"## Ledger\n\nThe {_TOPIC} says {_marker(state, number)} at noon."
    return "\n\n".join([f"# Herd {number}", *sections, ledger]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument("--vaults", default="")
    parser.add_argument("--saves", type=int, default=60)
    parser.add_argument("--idle", type=float, default=30.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kebab-saving-") as scratch:
        vaults = prepared(given.vaults or os.path.join(scratch, "vaults"), given.corpus)
        data = shutil.copytree(vaults.large.data, os.path.join(scratch, "data"))
        notes = Path(scratch, "herds")
        notes.mkdir()
        home = os.path.join(scratch, "home")
        os.makedirs(home)
        print(machine())
        report(
            "saving with 100,000 passages open",
            measure(data, notes, environment(home), given.saves, given.idle),
        )
        print(machine())


if __name__ == "__main__":
    main()
