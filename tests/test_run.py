"""The test runner itself: what it runs again, and when it is red."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.run import MAY_BE_FLAKY, Outcome

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
FAILS_ONCE = """
from pathlib import Path
def test_second_time():
    seen = Path(__file__).with_suffix(".seen")
    if not seen.exists():
        seen.write_text("")
        raise AssertionError
"""


def run(folder: Path, name: str, text: str) -> tuple[int, str]:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "tests.run", "-p", "no:xdist", "-q", name],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_a_test_that_passes_alone_is_printed_as_flaky(tmp_path: Path) -> None:
    code, out = run(tmp_path, "test_any.py", FAILS_ONCE)
    assert code == 0
    assert "FLAKY test_any.py::test_second_time" in out
    assert "processor time of all processes: " in out


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("test_any.py", "def test_always():\n    assert False\n"),
        ("test_writer.py", FAILS_ONCE),  # never flaky
        ("test_any.py", "import nowhere\n"),
    ],
)
def test_the_run_is_red(tmp_path: Path, name: str, text: str) -> None:
    assert run(tmp_path, name, text)[0] != 0


def test_more_than_two_flaky_tests_are_red() -> None:
    tests = tuple(f"tests/test_any.py::test_{n}" for n in range(MAY_BE_FLAKY + 1))
    assert not Outcome(tests[:-1], ()).red
    assert Outcome(tests, ()).red
    assert Outcome(tests[:1], tests[:1]).red
