"""`kebab-tui` on a pseudo-terminal of its own: every byte it sends is kept."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.command_line import ROOT

_PATIENCE_S = 120.0
_CONTROLS = re.compile(
    rb"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    rb"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC
    rb"|\x1bP[^\x1b]*\x1b\\"  # DCS
    rb"|\x1b[=>()78]B?"
)
SCREEN = (sys.executable, "-c", "from kebab_tui.tui import main; main()")
_IDLE = "from kebab_tui.tui import app, main; app.KebabApp.index = lambda *_, **__: None; main()"
IDLE_SCREEN = (sys.executable, "-c", _IDLE)
"""Starts no indexing."""


def _readable(*descriptors: int, timeout_ms: int | None = None) -> list[int]:
    """Those that can be read, or are hung up; `select` knows no descriptor above 1,023."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in poll.poll(timeout_ms)]


class PtyScreen:
    """One run; the size is (columns, rows)."""

    def __init__(
        self,
        *argv: str,
        home: Path,
        program: Sequence[str] = SCREEN,
        size: tuple[int, int] = (120, 36),
        environ: Mapping[str, str] | None = None,
        stdout: int | None = None,
    ) -> None:
        self._master, self.terminal = pty.openpty()
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.before: list[Any] = termios.tcgetattr(self.terminal)
        self._heard = bytearray()
        self._is_gone = False
        self._enough, self._no_more = os.pipe()
        self._news = threading.Condition()
        clean = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
        }
        self.process = subprocess.Popen(
            [*program, *argv],
            stdin=self.terminal,
            stdout=self.terminal if stdout is None else stdout,
            stderr=self.terminal,
            env=clean | dict(environ or {}),
            cwd=home,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self._reader = threading.Thread(target=self._listen, name="terminal", daemon=True)
        self._reader.start()

    def _listen(self) -> None:
        """Reads only what is there: a terminal that someone waits to read from does not go away."""
        while self._enough not in _readable(self._master, self._enough):
            with self._news:
                try:
                    self._heard += os.read(self._master, 1 << 16)
                except OSError:
                    return
                self._news.notify_all()

    @property
    def sent(self) -> bytes:
        """Everything that the terminal got so far."""
        with self._news:
            return bytes(self._heard)

    @property
    def text(self) -> str:
        """The same without what steers the terminal."""
        return _CONTROLS.sub(b"", self.sent).decode("utf-8", "replace")

    def wait_for(self, text: str) -> None:
        """Until the text has been painted."""
        end = time.monotonic() + _PATIENCE_S
        while text not in self.text:
            with self._news:
                assert time.monotonic() < end and self.process.poll() is None, self.text[-4000:]
                self._news.wait(0.2)

    def wait_for_after(self, place: int, text: str) -> None:
        """Until the text has been painted behind the first `place` bytes."""
        end = time.monotonic() + _PATIENCE_S
        while text not in _CONTROLS.sub(b"", self.sent[place:]).decode("utf-8", "replace"):
            with self._news:
                assert time.monotonic() < end and self.process.poll() is None, self.text[-4000:]
                self._news.wait(0.2)

    def wait_for_end_text(self, text: str) -> None:
        """The same for a run that has ended, whose last words may still be under way."""
        end = time.monotonic() + _PATIENCE_S
        while text not in self.text:
            with self._news:
                assert time.monotonic() < end, self.text
                self._news.wait(0.2)

    def type(self, keys: str) -> None:
        self.send(keys.encode())

    def send(self, data: bytes) -> None:
        """Bytes as a keyboard, an input method or a paste sends them."""
        while data:
            data = data[os.write(self._master, data) :]

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def hang_up(self) -> None:
        """The terminal goes away, as when its window is closed."""
        os.write(self._no_more, b".")
        self._reader.join(_PATIENCE_S)
        os.close(self.terminal)
        os.close(self._master)
        self._is_gone = True

    def end(self) -> None:
        """Wait for the end, and for its last words."""
        self.process.wait(_PATIENCE_S)
        while not self._is_gone and self._has_more():
            time.sleep(0.001)

    def _has_more(self) -> bool:
        """Whether something was sent that the reader has not taken yet."""
        with self._news:
            return bool(_readable(self._master, timeout_ms=0))

    @property
    def is_restored(self) -> bool:
        """The first screen is back, with its cursor, and lines are read as they were before."""
        sent = self.sent
        gone, back = sent.rfind(b"\x1b[?1049h"), sent.rfind(b"\x1b[?1049l")
        shown, hidden = sent.rfind(b"\x1b[?25h"), sent.rfind(b"\x1b[?25l")
        return back > gone >= 0 and shown > hidden and termios.tcgetattr(self.terminal) == self.before

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if not self._is_gone:
            os.close(self.terminal)  # the last one: the reader hears the end
            self._reader.join(_PATIENCE_S)
            os.close(self._master)
        os.close(self._enough)
        os.close(self._no_more)


Start = Callable[..., PtyScreen]
"""Starts a screen with these arguments; the fixture ends it."""
