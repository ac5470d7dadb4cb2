"""Counts the distinct functions of the package that run for a keystroke, for Enter, and for a watched note.

python -m tests.benchmarks.count_functions [CHECKOUT …]

Traces the real programs on the sample notes: `kebab-tui` on a pseudo-terminal for one typed letter
(until both answers are shown) and for Enter (until the editor has started), `kebab watch` for one
saved note (until it has a vector). The functions of all threads count. Name other checkouts to
compare them with this one; each must run with this Python.
"""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.command_line import ROOT

_PATIENCE_S = 120.0
_QUIET_S = 3.0
_TRACED = """
import os, signal, sys, threading
recording, seen = False, set()
def profile(frame, event, argument):
    if recording and event == "call" and "kebab_tui" in frame.f_code.co_filename:
        seen.add(frame.f_code)
def toggle(number, frame):
    global recording
    recording = not recording
    if recording:
        seen.clear()
        return
    folder = os.environ["COUNTED"]
    with open(folder + "/writing", "w") as file:
        for code in list(seen):
            if not code.co_name.startswith("<"):
                file.write(code.co_filename + " " + code.co_qualname + chr(10))
    os.rename(folder + "/writing", folder + "/counted")
threading.setprofile(profile)
signal.signal(signal.SIGUSR1, toggle)
sys.setprofile(profile)
"""
_SCREEN = _TRACED + "sys.argv[0] = 'kebab-tui'\nfrom kebab_tui.tui import main; main()"
_COMMAND = _TRACED + "sys.argv[0] = 'kebab'\nfrom kebab_tui.cli import main; main()"
_EDITOR = """#!/bin/sh
touch "$COUNTED/editor"
while [ ! -e "$COUNTED/close" ]; do sleep 0.05; done
"""


@dataclass(frozen=True)
class Functions:
    """The functions that ran, as `module function`."""

    names: frozenset[str]

    @property
    def modules(self) -> int:
        return len({name.split()[0] for name in self.names})

    def __str__(self) -> str:
        return f"{len(self.names)} functions in {self.modules} modules"


class _Program:
    """A traced program on a pseudo-terminal."""

    def __init__(self, checkout: Path, home: Path, code: str, *argv: str) -> None:
        self._counted = home / "trace"
        self._counted.mkdir(exist_ok=True)
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(checkout)
            os.execve(sys.executable, [sys.executable, "-c", code, *argv], _environ(checkout, home))
        import fcntl
        import struct
        import termios

        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))

    def run(self, seconds: float) -> bytes:
        """Let the program run, and return what it writes meanwhile."""
        heard = b""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self._terminal], [], [], left)[0]:
                heard += os.read(self._terminal, 1 << 16)
        return heard

    def wait_quiet(self) -> None:
        """Let the program run until it writes nothing for a while."""
        _until(lambda: not self.run(_QUIET_S), "the program to be quiet")

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        _until(lambda: bool(condition() or (self.run(0.1) and condition())), what)

    def record(self) -> None:
        os.kill(self._pid, signal.SIGUSR1)
        self.run(0.2)

    def recorded(self) -> Functions:
        os.kill(self._pid, signal.SIGUSR1)
        file = self._counted / "counted"
        self.wait_for(file.exists, "the count")
        lines = file.read_text().splitlines()
        file.unlink()
        return Functions(frozenset(line.partition("kebab_tui/")[2] for line in lines))

    def close(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._terminal)


def count(checkout: Path) -> Mapping[str, Functions]:
    """The functions of the three paths in one checkout."""
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        notes = home / "notes"
        shutil.copytree(ROOT / "fixtures" / "notes", notes)
        editor = home / "editor"
        editor.write_text(_EDITOR)
        editor.chmod(0o700)
        _kebab(checkout, home, "ingest", str(notes))
        _kebab(checkout, home, "index", "--embed")

        screen = _Program(checkout, home, _SCREEN)
        try:
            screen.run(5)
            screen.type("cac")
            screen.wait_quiet()
            screen.record()
            screen.type("h")
            screen.run(_QUIET_S)
            counts["keystroke"] = screen.recorded()
            screen.record()
            screen.type("\r")
            screen.wait_for((home / "trace" / "editor").exists, "the editor")
            counts["Enter"] = screen.recorded()
        finally:
            (home / "trace" / "close").touch()
            screen.close()

        watch = _Program(checkout, home, _COMMAND, "watch")
        try:
            watch.run(5)
            for number in range(2):  # the first one loads the model
                watch.wait_quiet()
                watch.record()
                note = notes / f"new note {number}.md"
                note.write_text(f"# Nocturne {number}\n\nA note about owls, written just now.\n")
                watch.run(_QUIET_S)
                watch.wait_for(lambda: _vectors_are_complete(checkout, home), "the vector of the note")
                counts["watched note"] = watch.recorded()
        finally:
            watch.close()
    return counts


def _vectors_are_complete(checkout: Path, home: Path) -> bool:
    status = json.loads(_kebab(checkout, home, "index", "--status", "--json"))
    vectors = status.get("vectors", status)
    return int(vectors.get("pending", 0)) == 0


def _kebab(checkout: Path, home: Path, *argv: str) -> str:
    code = "import sys; sys.argv[0] = 'kebab'; from kebab_tui.cli import main; main()"
    command = [sys.executable, "-c", code, *argv]
    ran = subprocess.run(command, env=_environ(checkout, home), cwd=checkout, capture_output=True, text=True)
    if ran.returncode:
        raise SystemExit(f"kebab {' '.join(argv)} failed in {checkout}: {ran.stderr}")
    return ran.stdout


def _environ(checkout: Path, home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(checkout),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "COUNTED": str(home / "trace"),
        "EDITOR": str(home / "editor"),
    }


def _until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"waited {_PATIENCE_S:.0f} s for {what}")


def main(checkouts: Sequence[str]) -> None:
    own = count(ROOT)
    for checkout in checkouts:
        before = count(Path(checkout).resolve())
        for path, functions in own.items():
            share = 100 * len(functions.names) / len(before[path].names)
            print(f"{path}: {functions}; {before[path]} in {checkout} ({share:.0f} %)")
    if not checkouts:
        for path, functions in own.items():
            print(f"{path}: {functions}")


if __name__ == "__main__":
    main(sys.argv[1:])
