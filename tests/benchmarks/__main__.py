"""Every benchmark that a folder of notes is enough for, one after the other.

python -m tests.benchmarks FOLDER
"""

from __future__ import annotations

import subprocess
import sys

_MODEL = "models/kebab-ko-en"


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    corpus = sys.argv[1]
    commands = [
        ["bench_chunker", "--corpus", corpus],
        ["bench_lexical_index", corpus],
        ["bench_searching", corpus],
        ["bench_typos", corpus],
        ["bench_find", corpus],
        ["bench_together", corpus],
        ["bench_cold"],
        ["bench_vectors"],
        ["bench_embedding", "--corpus", corpus, "--model", _MODEL],
    ]
    failed = 0
    for name, *arguments in commands:
        print(f"\n$ python -m tests.benchmarks.{name} {' '.join(arguments)}", flush=True)
        failed |= subprocess.run(
            [sys.executable, "-m", f"tests.benchmarks.{name}", *arguments], check=False
        ).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main())
