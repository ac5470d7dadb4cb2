"""A parser for tests of the isolated reader: does to its process what the file says."""

from __future__ import annotations

import os
import signal
import sys
import time

from kebab_tui.domain.checkpoint import Checkpoint
from kebab_tui.domain.document import Block, ParsedNote
from kebab_tui.domain.errors import UnsuitableFileError


def parse(data: bytes, path: str, checkpoint: Checkpoint) -> ParsedNote:
    match data.partition(b" ")[0]:
        case b"loop":
            while True:
                pass
        case b"checked-loop":
            while True:
                checkpoint()
        case b"hang":
            time.sleep(1_000)
        case b"bomb":
            kept = []
            while True:
                kept.append(bytearray(1 << 20))
        case b"abort":
            os.abort()
        case b"segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        case b"exit":
            os._exit(0)
        case b"encrypted":
            raise UnsuitableFileError("encrypted", "decrypt it")
        case b"defect":
            raise KeyError("x" * 10_000)
        case b"much":
            return note("x" * (80 << 20))
        case b"noise":
            os.write(1, b"noise")
            print("noise", flush=True)
        case b"world":
            return note(*world())
    return note(data.decode())


def twice(data: bytes, path: str, number: int, checkpoint: Checkpoint) -> list[str]:
    return [path, data.decode() * number]


def note(*lines: str) -> ParsedNote:
    return ParsedNote("Foreign", "foreign", "en", lines, (Block("prose", 1, len(lines)),))


def world() -> list[str]:
    """What this process can reach."""
    found = [f"variable {name}" for name in os.environ]
    found += [f"descriptor {os.readlink(f'/proc/self/fd/{fd}')}" for fd in os.listdir("/proc/self/fd")[:-1]]
    found.append(f"folder {os.getcwd()}")
    for what, path, flags in (
        ("terminal", "/dev/tty", os.O_RDWR),
        ("file", f"/tmp/kebab-{os.getpid()}", os.O_CREAT | os.O_WRONLY),
    ):
        try:
            descriptor = os.open(path, flags)
            os.write(descriptor, b"x")
            found.append(what)
        except OSError:
            pass
    return [*found, *(f"module {name}" for name in sys.modules)]
