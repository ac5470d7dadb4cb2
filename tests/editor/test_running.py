"""Running an editor: to its end in the terminal, detached with a window. Every failure is a message."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kebab_tui.editor import Kind, Launch, open_note

WRITER = """
import json, os, sys
streams = [os.fstat(number).st_rdev for number in range(3)]
told = {"argv": sys.argv[2:], "session": os.getsid(0), "streams": streams}
with open(sys.argv[1] + ".new", "w") as file:
    json.dump(told, file)
os.rename(sys.argv[1] + ".new", sys.argv[1])
"""


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "note.md"
    path.write_text("one\ntwo\n")
    return path


def script(kind: Kind, code: str, *words: str) -> Launch:
    return Launch((sys.executable, "-c", code, *words), kind)


def eventually(happened: Callable[[], bool]) -> bool:
    for _ in range(3000):
        if happened():
            return True
        time.sleep(0.02)  # another process, which tells nobody when it is done
    return False


def test_a_terminal_editor_runs_to_its_end(note: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    outcome = open_note(script("terminal", WRITER, str(told), "-x", "a b\n'\"$(id)"), str(note))
    assert outcome.ok
    assert json.loads(told.read_text())["argv"] == ["-x", "a b\n'\"$(id)"]


def test_a_window_opens_in_a_session_of_its_own_without_our_streams(note: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    outcome = open_note(script("gui", WRITER + "\nimport time; time.sleep(1)", str(told)), str(note))
    assert outcome.ok
    assert eventually(told.exists)
    seen = json.loads(told.read_text())
    assert seen["session"] != os.getsid(0)
    assert seen["streams"] == [os.stat(os.devnull).st_rdev] * 3


@pytest.mark.parametrize("kind", ["terminal", "gui"])
def test_a_missing_program_is_a_message(note: Path, kind: Kind) -> None:
    outcome = open_note(Launch(("/nowhere/ed\x1b[2J", str(note)), kind), str(note))
    assert (outcome.ok, "\x1b" in outcome.message) == (False, False)
    assert "could not be started: No such file" in outcome.message


def test_a_program_that_may_not_run_is_a_message(note: Path) -> None:
    assert "Permission denied" in open_note(Launch((str(note),), "terminal"), str(note)).message


def test_a_failing_editor_is_a_message(note: Path) -> None:
    outcome = open_note(script("terminal", "import sys; sys.exit(3)"), str(note))
    assert not outcome.ok
    assert outcome.message.endswith("ended with exit code 3")


def test_a_window_that_fails_at_once_is_a_message(
    note: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kebab_tui.editor._FAILS_WITHIN_S", 30.0)
    assert not open_note(script("gui", "import sys; sys.exit(1)"), str(note)).ok


def test_an_editor_that_is_killed_is_a_message(note: Path) -> None:
    outcome = open_note(script("terminal", "import os; os.kill(os.getpid(), 9)"), str(note))
    assert outcome.message.endswith("was ended by SIGKILL")
    assert not outcome.interrupted


def test_an_editor_that_ctrl_c_ends_was_interrupted(note: Path) -> None:
    ended = "import os, signal; signal.signal(signal.SIGINT, signal.SIG_DFL); os.kill(os.getpid(), 2)"
    assert open_note(script("terminal", ended), str(note)).interrupted


def test_a_deleted_file_is_a_message_and_nothing_is_started(note: Path, tmp_path: Path) -> None:
    note.unlink()
    told = tmp_path / "told"
    outcome = open_note(script("terminal", WRITER, str(told)), str(note))
    assert outcome == type(outcome)(False, f"{note} is no longer there")
    assert not told.exists()


def test_a_new_file_is_created_by_the_editor_only(tmp_path: Path) -> None:
    path = tmp_path / "new.md"
    told = tmp_path / "told"
    assert open_note(script("terminal", WRITER, str(told)), str(path), is_new=True).ok
    assert told.exists()
    assert not path.exists()


def test_ctrl_c_belongs_to_the_editor(note: Path) -> None:
    press = "import os, signal; os.kill(os.getppid(), signal.SIGINT)"
    before = signal.getsignal(signal.SIGINT)
    assert open_note(script("terminal", press), str(note)).ok
    assert signal.getsignal(signal.SIGINT) is before
    default = "import signal; assert signal.getsignal(signal.SIGQUIT) is signal.SIG_DFL"
    assert open_note(script("terminal", default), str(note)).ok
