"""How long a command takes from nothing to its answer, on the sample vault.

    python -m tests.benchmarks.bench_cold

Whole processes, taken in turns, so that a busy machine slows all alike. What somebody waits
for is the wall clock, here the quickest of the rounds; processor time is printed beside it.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence

from tests.benchmarks.measuring import Figure, machine, median, report

_ROUNDS = 15
_NOTES = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "notes")
_KEBAB = [sys.executable, "-c", "from kebab_tui.cli import main; main()"]
_REFERENCE = [sys.executable, "-c", "import sqlite3, click"]


def run(argv: Sequence[str], environ: Mapping[str, str]) -> tuple[float, float]:
    """Seconds by the clock on the wall, and of the processor."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(argv, env=dict(environ), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as root:
        # Byte code is kept as for an installed program, whatever this shell says of it.
        environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environ |= {
            "KEBAB_DATA_DIR": os.path.join(root, "data"),
            "PYTHONPYCACHEPREFIX": os.path.join(root, "pyc"),
        }
        search = [*_KEBAB, "search", "충돌", "--mode"]
        commands = {"reference": _REFERENCE, "lexical": [*search, "lexical"], "hybrid": [*search, "hybrid"]}
        run([*_KEBAB, "ingest", "--wait", _NOTES], environ)
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for round_number in range(_ROUNDS + 1):
            for name, argv in commands.items():
                spent = run(argv, environ)
                if round_number:  # the first one compiles
                    taken[name].append(spent)
    wall = {name: min(wall for wall, _ in spent) for name, spent in taken.items()}
    processor = {name: median([processor for _, processor in spent]) for name, spent in taken.items()}
    return [
        Figure("python -c 'import sqlite3, click'", 1000 * wall["reference"], "ms"),
        Figure("cold kebab search --mode lexical / that", wall["lexical"] / wall["reference"], "x", 2.4),
        Figure("  by processor time", processor["lexical"] / processor["reference"], "x"),
        Figure("cold kebab search --mode hybrid / lexical", wall["hybrid"] / wall["lexical"], "x", 4.0),
        Figure("  by processor time", processor["hybrid"] / processor["lexical"], "x"),
    ]


if __name__ == "__main__":
    print(machine())
    report("cold start", measure())
