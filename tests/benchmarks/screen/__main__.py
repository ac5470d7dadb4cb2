"""How quick the screen is, in a terminal, beside references in the same run.

    python -m tests.benchmarks.screen CORPUS [--vaults FOLDER] [--only PART…] [--rounds N]

CORPUS: real notes of 100,000 passages or more. The indexes are built in FOLDER, a
temporary one unless told, and taken up again from there. Programs to compare the start
with (posting, harlequin, fzf) are found on the PATH.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from tests.benchmarks.measuring import Figure, machine, report
from tests.benchmarks.screen import keys, memory, moving, readable, reading, starting
from tests.benchmarks.screen.terminal import environment
from tests.benchmarks.screen.vaults import WIDE_LINE, Vaults, prepared

_SAMPLE = os.path.join(os.path.dirname(__file__), "..", "..", "..", "fixtures", "notes")
_SAMPLE_QUERY = "포트 충돌 해결"
_QUERY = "window server"
_PARTS = ("start", "keys", "cursor", "reading", "memory", "rows")


@dataclass(frozen=True, slots=True)
class Bench:
    vaults: Vaults
    environ: dict[str, str]
    rounds: int

    def parts(self) -> Iterator[tuple[str, str, Callable[[], list[Figure]]]]:
        yield "start", "start, as multiples of the minimal application that stands", self.start
        yield "keys", "typing, 100,000 passages", self.keys
        yield "cursor", "moving the cursor, preview and explain open", self.cursor
        yield "reading", "passages read by scrolling down only, 120x36", self.reading
        yield "memory", "memory, 100,000 passages", self.memory
        yield "rows", "the rows of hits at 120x36", partial(readable.measure, self.vaults.large.data)

    def start(self) -> list[Figure]:
        small = os.path.join(self.environ["HOME"], "sample")
        ingest = [sys.executable, "-m", "kebab_tui", "--data-dir", small, "ingest", "--wait", _SAMPLE]
        subprocess.run(ingest, env=self.environ, check=True, stdout=subprocess.DEVNULL)
        large = self.vaults.large.data, _QUERY
        return starting.measure((small, _SAMPLE_QUERY), large, self.environ, self.rounds)

    def keys(self) -> list[Figure]:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root:  # its indexer may still end
            data = shutil.copytree(self.vaults.large.data, os.path.join(root, "data"))
            vaults = self.vaults
            return keys.measure(data, vaults.growing, vaults.large.notes, self.environ, 2 * self.rounds)

    def cursor(self) -> list[Figure]:
        kinds = {f"notes of {lines:,} lines": vault for lines, vault in self.vaults.long.items()}
        kinds[f"lines of {WIDE_LINE:,} characters"] = self.vaults.wide
        return [
            figure
            for notes, vault in kinds.items()
            for figure in moving.measure(vault.data, notes, self.environ, max(1, self.rounds // 4))
        ]

    def reading(self) -> list[Figure]:
        large = self.vaults.large
        return reading.measure(large.data, large.notes, hits=200)

    def memory(self) -> list[Figure]:
        return memory.measure(self.vaults.large.data, _QUERY, self.environ)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument("--vaults", default="")
    parser.add_argument("--only", nargs="+", choices=_PARTS, default=_PARTS)
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        vaults = prepared(given.vaults or os.path.join(scratch, "vaults"), given.corpus)
        home = os.path.join(scratch, "home")
        os.makedirs(home)
        print(machine())
        for name, title, measure in Bench(vaults, environment(home), given.rounds).parts():
            if name in given.only:
                report(title, measure())
        print(machine())


if __name__ == "__main__":
    main()
