"""The process behind the screen that keeps the index in step: it lives no longer than its parent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kebab_tui.storage.lock import WriterLock
from tests.vault import Vault

pytestmark = pytest.mark.slow

ROOT = str(Path(__file__).parents[2])
WAIT_S = 120.0
_PARENT = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=sys.stdin, stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
child.wait()
"""


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    made = Vault(tmp_path)
    made.write("a.md", "alpha")
    yield made
    made.workspace.close()


def argv(vault: Vault, *options: str) -> list[str]:
    return [
        sys.executable, "-m", "kebab_tui.tui.indexer", *options, str(vault.data), "", str(vault.root),
    ]  # fmt: skip


@contextmanager
def keeping(vault: Vault) -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    environ = {"PATH": os.environ["PATH"], "HOME": str(vault.data), "PYTHONPATH": ROOT}
    with subprocess.Popen(argv(vault, "--watch"), stdin=pipe, stdout=pipe, text=True, env=environ) as process:
        try:
            yield process
        finally:
            process.kill()


def until(seen: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not seen():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def told(process: subprocess.Popen[str]) -> dict[str, object]:
    assert process.stdout is not None
    facts: dict[str, object] = json.loads(process.stdout.readline())
    return facts


def test_it_keeps_the_index_up_to_date_until_its_input_ends(vault: Vault) -> None:
    with keeping(vault) as process:
        assert told(process) == {"state": "started"}
        until(lambda: "a.md" in vault.ids())
        vault.write("b.md", "beta")
        until(lambda: "b.md" in vault.ids())
        live = vault.workspace.live()
        assert live is not None
        assert live.pid == process.pid
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(WAIT_S) == 0
    assert vault.workspace.live() is None


def test_it_ends_on_sigterm(vault: Vault) -> None:
    with keeping(vault) as process:
        told(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_S) == 0


def test_it_ends_when_its_parent_is_killed_and_its_input_does_not(vault: Vault) -> None:
    """Another process may hold the other end of its input open."""
    reading, writing = os.pipe()
    environ = {"PATH": os.environ["PATH"], "HOME": str(vault.data), "PYTHONPATH": ROOT}
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT, *argv(vault, "--watch")],
        stdin=reading, stdout=subprocess.PIPE, text=True, env=environ,
    ) as parent:  # fmt: skip
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        until(lambda: (live := vault.workspace.live()) is not None and live.pid == child)
        parent.kill()
    until(lambda: WriterLock(vault.files.lock).holder() is None)
    os.close(reading)
    os.close(writing)


def test_a_second_one_follows_the_first_and_takes_over(vault: Vault) -> None:
    with keeping(vault) as first:
        told(first)
        until(lambda: "a.md" in vault.ids())
        with keeping(vault) as second:
            assert told(second) == {"state": "started"}
            first.kill()
            until(lambda: (live := vault.workspace.live()) is not None and live.pid == second.pid)


def test_without_the_option_it_does_its_work_once(vault: Vault) -> None:
    done = subprocess.run(
        argv(vault), stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=ROOT, check=True
    )
    states = [json.loads(line)["state"] for line in done.stdout.splitlines()]
    assert states == ["started", "done"]
    assert list(vault.ids()) == ["a.md"]


def test_a_missing_folder_is_reported(vault: Vault) -> None:
    vault.root.rename(vault.root.with_name("away"))
    with keeping(vault) as process:
        facts = told(process)
        assert facts["state"] == "error"
        assert "folder not found" in str(facts["message"])
        assert process.wait(WAIT_S) == 2
