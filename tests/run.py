"""Runs the checks and the tests, runs a failed test once more alone, and adds up the processor time.

python -m tests.run [--checks] [--] [pytest's arguments]

--checks runs ruff, mypy and import-linter first. A test that passes only when it runs alone is
printed under FLAKY. The run is red if a test fails twice, if more than two tests are flaky, or if
one of them is about citations, recovery, locks, writers or torture.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MAY_BE_FLAKY = 2
ONCE_MORE = 20  # with more failures than that, none is run again: something is broken
NEVER_FLAKY = (
    "citation", "locat", "damage", "checksum", "recover", "lock", "writer", "succession", "torture",
)  # fmt: skip
CHECKS = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
    ("mypy",),
    ("lint-imports",),
)
_FAILED, _NO_TESTS = 1, 5
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The tests that failed beside others, and those of them that failed alone, too."""

    failed: tuple[str, ...]
    failed_alone: tuple[str, ...]

    @property
    def flaky(self) -> tuple[str, ...]:
        return tuple(test for test in self.failed if test not in self.failed_alone)

    @property
    def red(self) -> bool:
        strict = any(word in test for test in self.flaky for word in NEVER_FLAKY)
        return bool(self.failed_alone) or strict or len(self.flaky) > MAY_BE_FLAKY

    def lines(self) -> list[str]:
        told = [f"FAILED TWICE {test}" for test in self.failed_alone]
        told += [f"FLAKY {test}" for test in self.flaky]
        if self.flaky and self.red and not self.failed_alone:
            told.append(f"red: at most {MAY_BE_FLAKY} tests may be flaky, none with {' '.join(NEVER_FLAKY)}")
        return told


def main(arguments: list[str]) -> int:
    started = time.monotonic()
    _adopt_orphans()
    checks = arguments[:1] == ["--checks"]
    code = _checks() if checks else 0
    if code == 0:
        code = _tests([argument for argument in arguments[checks:] if argument != "--"])
    _reap()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"processor time of all processes: {used.ru_utime + used.ru_stime:.0f} s "
        f"({used.ru_utime:.0f} user, {used.ru_stime:.0f} system) in {time.monotonic() - started:.0f} s"
    )
    return code


def _checks() -> int:
    for command in CHECKS:
        print("$", *command, flush=True)
        if code := subprocess.run([_tool(command[0]), *command[1:]], check=False).returncode:
            return code
    return 0


def _tests(arguments: list[str]) -> int:
    code, failed = _pytest(arguments)
    if code != _FAILED or not 0 < len(failed) <= ONCE_MORE:
        return code
    print(f"\n{len(failed)} failed; each is run once more, alone", flush=True)
    outcome = Outcome(failed, tuple(test for test in failed if _pytest(["-p", "no:xdist", test])[0]))
    print(*outcome.lines(), sep="\n", flush=True)
    return _FAILED if outcome.red else 0


def _pytest(arguments: list[str]) -> tuple[int, tuple[str, ...]]:
    """The exit code, and the tests that failed."""
    with tempfile.TemporaryDirectory() as cache:
        command = [_tool("pytest"), *arguments, "-o", f"cache_dir={cache}"]
        code = subprocess.run(command, check=False).returncode
        try:
            failed = json.loads(Path(cache, "v/cache/lastfailed").read_text())
        except OSError:
            failed = {}
    return code, tuple(failed)


def _tool(name: str) -> str:
    return str(Path(sys.executable).parent / name)


def _adopt_orphans() -> None:
    """Processes whose parents end become children of this one, so that their time counts, too."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def _reap() -> None:
    """Count the orphans that have ended. One that still runs is named: a test left it behind."""
    with suppress(ChildProcessError):
        while True:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                print("left running by the tests:", *_children(), sep="\n  ")
                return


def _children() -> list[str]:
    found = subprocess.run(
        ["ps", "-o", "pid=,args=", "--ppid", str(os.getpid())], capture_output=True, text=True, check=False
    )
    return [line.strip() for line in found.stdout.splitlines() if " ps " not in line]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
