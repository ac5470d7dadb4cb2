"""A real terminal for tests: one tmux server of its own, polled until it shows what is waited for."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_DEADLINE_S = 120.0


class Terminal:
    def __init__(self, socket: Path) -> None:
        self._socket = str(socket)

    def start(self, argv: Sequence[str], environ: Mapping[str, str]) -> None:
        variables = [f"{name}={value}" for name, value in environ.items()]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", "env", *variables, *argv)

    def tmux(self, *argv: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *argv], capture_output=True, check=True, timeout=30
        )
        return done.stdout.decode()

    def keys(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    @property
    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    @property
    def cursor_line(self) -> str:
        row = int(self.tmux("display-message", "-p", "#{cursor_y}"))
        return self.screen.split("\n")[row]

    def wait(self, happened: Callable[[], bool]) -> None:
        """Until it happens; the screen is the message if it does not."""
        end = time.monotonic() + _DEADLINE_S
        while not happened():
            assert time.monotonic() < end, self.screen
            time.sleep(0.04)  # a terminal tells nobody that it has painted

    def wait_for(self, text: str) -> None:
        self.wait(lambda: text in self.screen)

    def close(self) -> None:
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], capture_output=True, check=False)
