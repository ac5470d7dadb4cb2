"""Has a victim killed, with whatever company it is in. What the company does about it is looked at too."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kebab_tui.workspace import Callbacks, Workspace
from tests.torture.company import (
    PATIENCE_S,
    ROOT,
    TAKE_OVER_S,
    OverdueError,
    edit_until,
    ended,
    environ,
    holds_lock,
    indexer,
    keeps,
    settled,
    until,
)
from tests.torture.edits import Editor
from tests.torture.points import Point
from tests.torture.victim import SETTINGS

_KILLED = -signal.SIGKILL
_WATCHED_S = 10.0
_OTHER_EDITOR = 77
_KEYS = ("p", "o", "r", "t", " ", "충", "돌", "\x1b[B", "\x1b[A")
_END_S = 30.0
"""So long may the process behind a screen outlive it: it looks several times a second."""


@dataclass(slots=True)
class Killed:
    """Whether the victim died at its point, and what its company is to be blamed for.

    `mended`: somebody has brought the index in step since; nothing is left for an ingest.
    """

    died: bool
    mended: bool = False
    complaints: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Attempt:
    point: Point
    notes: str
    data: str
    steps: int
    seed: int

    @property
    def editor(self) -> Editor:
        return Editor(self.notes, self.seed + _OTHER_EDITOR)


def kill(attempt: Attempt) -> Killed:
    point = attempt.point
    if point.job == "screen":
        return _with_a_screen(attempt)
    if point.company == "an indexer":
        return _beside_an_indexer(attempt)
    if point.company == "a second indexer":
        return _before_a_follower(attempt)
    if point.job == "watch":
        with _victim(attempt) as victim:
            _change_notes(attempt, victim)
            return Killed(_died(victim))
    with _victim(attempt) as victim:
        return Killed(_died(victim))


@contextlib.contextmanager
def _victim(attempt: Attempt) -> Iterator[subprocess.Popen[bytes]]:
    """The process to be killed; surely ended afterwards."""
    argv = [attempt.data, attempt.notes, attempt.point.name, str(attempt.steps), str(attempt.seed)]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.torture.victim", *argv],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _died(victim: subprocess.Popen[bytes]) -> bool:
    """Wait for the end of a victim, which is asked to come to it; False when it had one of its own."""
    _, said = victim.communicate(timeout=PATIENCE_S)
    if victim.returncode not in (0, _KILLED):
        raise AssertionError(f"the victim failed by itself: {said.decode()[-2000:]}")
    return victim.returncode == _KILLED


def _change_notes(attempt: Attempt, victim: subprocess.Popen[bytes]) -> None:
    """While the victim watches; a writer, where there is one, wants its turn in between."""
    writer = Workspace(SETTINGS, attempt.data) if attempt.point.company == "a writer" else None
    edit_until(attempt.editor, _is_up(attempt.data, victim), PATIENCE_S, 0.1)
    end = time.monotonic() + _WATCHED_S
    editor = attempt.editor
    while victim.poll() is None and time.monotonic() < end:
        edit_until(editor, lambda: victim.poll() is not None, 0.4)
        if writer is not None:
            writer.ingest([], Callbacks())
            writer.embed(Callbacks())
    if writer is not None:
        writer.close()


def _is_up(data: str, process: subprocess.Popen[bytes]) -> Callable[[], bool]:
    """Whether it keeps watch, or has ended before."""
    workspace = Workspace(SETTINGS, data)
    return lambda: process.poll() is not None or keeps(workspace, process)


def _before_a_follower(attempt: Attempt) -> Killed:
    """The victim keeps watch, another indexer follows, and takes over."""
    with _victim(attempt) as victim:
        until(_is_up(attempt.data, victim), "an indexer at work")
        with indexer(attempt.data, attempt.notes) as follower:
            edit_until(attempt.editor, lambda: victim.poll() is not None, _WATCHED_S)
            killed = Killed(_died(victim), mended=True)
            if killed.died:
                killed.complaints += _taken_over(attempt, follower)
            return killed


def _taken_over(attempt: Attempt, follower: subprocess.Popen[bytes]) -> list[str]:
    try:
        until(lambda: holds_lock(attempt.data, follower), "a follower that takes over", TAKE_OVER_S)
    except OverdueError as overdue:
        if follower.poll() is not None:
            return ["the follower has ended", *ended(follower)]
        late = [str(overdue)]
    else:
        late = []
    edit_until(attempt.editor, lambda: False, 0.2)
    return [*late, *settled(attempt.data, follower), *ended(follower)]


def _beside_an_indexer(attempt: Attempt) -> Killed:
    """Another process keeps watch; the victim wants to write, or to have something looked at."""
    with indexer(attempt.data, attempt.notes) as other:
        until(_is_up(attempt.data, other), "an indexer at work")
        editor = attempt.editor
        with _victim(attempt) as victim:
            edit_until(editor, lambda: victim.poll() is not None, PATIENCE_S, 0.05)
            killed = Killed(_died(victim), mended=True)
        if killed.died:
            killed.complaints += _goes_on(attempt, other)
        return killed


def _goes_on(attempt: Attempt, other: subprocess.Popen[bytes]) -> list[str]:
    try:
        until(lambda: holds_lock(attempt.data, other), "the indexer takes the lock again", TAKE_OVER_S)
        late = []
    except OverdueError as overdue:
        late = [str(overdue)]
    return [*late, *settled(attempt.data, other), *ended(other)]


def _with_a_screen(attempt: Attempt) -> Killed:
    from tests.tui.pty_screen import PtyScreen

    home = Path(attempt.data).parent
    terminal = {"TERM": "xterm-256color", "LANG": "C.UTF-8"}
    screen = PtyScreen(
        "--data-dir", attempt.data, attempt.notes, home=home, environ=environ(str(home)) | terminal
    )
    try:
        editor, dice = attempt.editor, random.Random(attempt.seed)
        end = time.monotonic() + attempt.steps / 1000
        while time.monotonic() < end and screen.process.poll() is None:
            editor.change()
            screen.type(dice.choice(_KEYS))
            time.sleep(0.05)
        if screen.process.poll() is not None:
            raise AssertionError(f"the screen ended by itself: {_last_words(attempt.data)}")
        screen.process.kill()
        screen.process.wait()
        return Killed(True, complaints=_alone(attempt.data))
    finally:
        screen.close()


def _last_words(data: str) -> str:
    with open(os.path.join(data, "screen.log"), encoding="utf-8", errors="replace") as log:
        return log.read()[-1000:]


def _alone(data: str) -> list[str]:
    """Whatever the screen had started ends with it."""
    try:
        until(lambda: not _behind_the_screen(data), "the end of the process behind the screen", _END_S)
    except OverdueError as overdue:
        left = _behind_the_screen(data)
        until(lambda: not _behind_the_screen(data), "the end of the process behind the screen")
        return [f"{overdue} ({left})"]
    return []


def _behind_the_screen(data: str) -> list[int]:
    """Processes that have the data folder among their arguments; none are seen where there is no /proc."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else ()):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as handle:
                argv = handle.read().split(b"\0")
        except OSError:
            continue
        if b"kebab_tui.tui.indexer" in argv and os.fsencode(data) in argv:
            found.append(int(name))
    return found
