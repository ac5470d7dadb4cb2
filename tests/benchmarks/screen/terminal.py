"""A program on a pseudo-terminal, every piece of its output kept with the time it arrived.

One thread reads all terminals, and looks at no more of the output than it must while the
clock runs: it would take the processor from what is measured. Plain text is what is left of
a piece of output when what steers the terminal is taken out.
"""

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
import time
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

SIZE = (120, 36)
_PATIENCE_S = 60.0
_WINDOW = 1 << 12
"""Bytes before a piece that are looked at with it: more than what is waited for is painted with."""
_STEERING = re.compile(
    rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1bP[^\x1b]*\x1b\\|\x1b[=>()78]B?"
)
_COLOURS = re.compile(rb"\x1b\[[0-9;:]*m")


class Terminal:
    """One run of a program; ends with the `with` block."""

    _all: ClassVar[dict[int, Terminal]] = {}
    """Those that run, by their descriptors: one that nobody reads makes its program wait."""

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str]) -> None:
        self._master, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
        self.pieces: list[tuple[float, bytes]] = []
        self._gone = False
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            argv,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env=dict(environ),
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(terminal)
        self._all[self._master] = self

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        del self._all[self._master]
        os.close(self._master)

    def listen(self, seconds: float) -> bool:
        """Take what comes within the time, here and on the other terminals; False when nothing does here."""
        end = time.perf_counter() + seconds
        while True:
            left = max(0.0, end - time.perf_counter())
            ready = select.select([key for key, one in self._all.items() if not one._gone], [], [], left)[0]
            for descriptor in ready:
                self._all[descriptor]._take()
            if self._master in ready or self._gone:
                return True
            if not ready:
                return False

    def _take(self) -> None:
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:
            data = b""
        self._gone = not data
        self.pieces.append((time.perf_counter(), data))

    def wait_for(self, painted: Callable[[bytes], bool], since: int = 0) -> float:
        """The time when what came after so many pieces was first `painted`."""
        return self.pieces[self._piece(painted, since)][0]

    def wait_for_each(self, moments: Mapping[str, Callable[[bytes], bool]]) -> dict[str, float]:
        """The same for what is painted one after the other."""
        found, piece = {}, 0
        for name, painted in moments.items():
            piece = self._piece(painted, max(0, piece - 1))
            found[name] = self.pieces[piece][0]
        return found

    def _piece(self, painted: Callable[[bytes], bool], since: int) -> int:
        end = time.perf_counter() + _PATIENCE_S
        seen, before = since, b""
        while True:
            while seen < len(self.pieces):
                data = before + self.pieces[seen][1]
                if painted(data):
                    return seen
                before = data[-_WINDOW:]
                seen += 1
            if self._gone or time.perf_counter() > end:
                raise TimeoutError(plain(b"".join(data for _, data in self.pieces))[-3000:])
            self.listen(0.5)

    def settle(self, quiet: float) -> float:
        """Wait until nothing was painted for so many seconds; gives the time of the last piece."""
        while self.listen(quiet):
            if self._gone:
                break
        return self.pieces[-1][0] if self.pieces else self.started

    def listen_until(self, moment: float) -> None:
        """Take all that comes before a moment of the clock."""
        while (left := moment - time.perf_counter()) > 0:
            self.listen(left)

    def press(self, keys: str) -> float:
        """Type; gives the time."""
        at = time.perf_counter()
        os.write(self._master, keys.encode())
        return at


def shows(text: str) -> Callable[[bytes], bool]:
    """Whether a text is in the output, whatever its colours."""
    wanted = text.encode()
    return lambda data: wanted in data or wanted in _STEERING.sub(b"", data)


def _finds(pattern: str) -> Callable[[bytes], bool]:
    wanted = re.compile(pattern.encode())
    return lambda data: wanted.search(_STEERING.sub(b"", data)) is not None


FIRST_HITS = _finds(r"\d passages?( so far)? ─")
"""Whether hits are painted: the frame that counts them is painted with them."""
ALL_HITS = _finds(r"\d passages? ─")
"""The same for the hits by both words and meaning: no more follow."""


def plain(data: bytes) -> str:
    return _STEERING.sub(b"", data).decode("utf-8", "replace")


def uncoloured(data: bytes) -> bytes:
    """The output with its cursor movements, without colours."""
    return _COLOURS.sub(b"", data)


def environment(home: str, **more: str) -> dict[str, str]:
    """What every measured program gets: byte code is kept, as for an installed one."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": home,
        "PYTHONPATH": os.getcwd(),
        "PYTHONPYCACHEPREFIX": os.path.join(home, "bytecode"),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
        **more,
    }


SCREEN = (sys.executable, "-c", "from kebab_tui.tui import main; main()")
