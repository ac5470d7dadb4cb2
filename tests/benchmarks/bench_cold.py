"""How long a command takes from nothing to its answer, on the sample vault.

    python -m tests.benchmarks.bench_cold

Processor time of whole processes, taken in turns, so that a busy machine slows all alike.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence

from tests.benchmarks.measuring import Figure, machine, median, report

_ROUNDS = 15
_NOTES = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "notes")
_KEBAB = [sys.executable, "-c", "from kebab_tui.cli import main; main()"]
_REFERENCE = [sys.executable, "-c", "import sqlite3, click"]


def processor_seconds(argv: Sequence[str], environ: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, env=dict(environ), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


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
        processor_seconds([*_KEBAB, "ingest", "--wait", _NOTES], environ)
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for round_number in range(_ROUNDS + 1):
            for name, argv in commands.items():
                spent = processor_seconds(argv, environ)
                if round_number:  # the first one compiles
                    taken[name].append(spent)
    lexical, hybrid, reference = (median(taken[name]) for name in ("lexical", "hybrid", "reference"))
    return [
        Figure("python -c 'import sqlite3, click'", 1000 * reference, "ms"),
        Figure("cold kebab search --mode lexical / that", lexical / reference, "x", 2.5),
        Figure("cold kebab search --mode hybrid / lexical", hybrid / lexical, "x", 4.0),
    ]


if __name__ == "__main__":
    print(machine())
    report("cold start", measure())
