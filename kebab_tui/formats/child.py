"""The child process that runs one parser for `formats.isolated`, and the frames that both exchange.

A request is the description of a file and its bytes; the answer is a result as JSON, or a `Refusal`. Ends
with its standard input; on Linux also when its parent dies while a file is parsed. Imports the parser before
it limits itself; afterwards it can open next to no file and write to none.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import struct
import sys
import time
from importlib import import_module
from types import ModuleType
from typing import Literal

import msgspec

from kebab_tui.domain.checkpoint import Checkpoint, TookTooLongError
from kebab_tui.domain.errors import UnreadableFileError, UnsuitableFileError

MEMORY_MB = 512
_DESCRIPTORS = 16
HEAD = struct.Struct(">II")
"""Of a request: the sizes of its description and of the file. Of an answer: its size, and 1 for a refusal."""
_PIECE = 1 << 20
_PR_SET_PDEATHSIG = 1


class ParseRequest(msgspec.Struct, frozen=True):
    """A file to parse: by which function of the parser, with which further arguments."""

    function: str
    path: str
    seconds: float
    """CPU time limit."""
    arguments: tuple[int, ...] = ()


class Refusal(msgspec.Struct, frozen=True):
    """Why a file could not be parsed."""

    kind: Literal["unreadable", "unsuitable", "too_slow", "too_large"]
    message: str
    hint: str = ""


def main(module: str) -> None:
    """Answer requests until the standard input ends."""
    answers = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # a library that prints must not write into an answer
    parser = import_module(module)
    _limit_process()
    while True:
        try:
            described, size = HEAD.unpack(receive(0, HEAD.size))
            request = msgspec.json.decode(receive(0, described), type=ParseRequest)
            answer = _answer(parser, request, receive(0, size))
            is_refusal = isinstance(answer, Refusal)
            encoded = msgspec.json.encode(answer) if isinstance(answer, Refusal) else answer
            send(answers, HEAD.pack(len(encoded), is_refusal))
            send(answers, encoded)
        except (EOFError, OSError):
            os._exit(0)


def _answer(parser: ModuleType, request: ParseRequest, data: bytes) -> bytes | Refusal:
    _limit_cpu_time(request.seconds)
    checkpoint = Checkpoint(request.seconds)
    try:
        read = getattr(parser, request.function)
        return msgspec.json.encode(read(data, request.path, *request.arguments, checkpoint))
    except TookTooLongError as error:
        return Refusal("too_slow", error.message, error.hint)
    except UnsuitableFileError as error:
        return Refusal("unsuitable", error.message, error.hint)
    except UnreadableFileError as error:
        return Refusal("unreadable", error.message, error.hint)
    except MemoryError:
        return Refusal("too_large", f"needs more than {MEMORY_MB} MB of memory")
    except Exception as error:  # noqa: BLE001 -- a defect fails one file, and the caller gets the reason
        reason = f"could not be parsed ({type(error).__name__}: {error!s:.200})"
        return Refusal("unreadable", reason, "This is a defect; please report it.")


def _limit_process() -> None:
    """Limit memory, files and descriptors, as far as the system can; die with the parent."""
    if sys.platform == "win32":
        return
    import resource

    if sys.platform == "linux":
        import ctypes

        parent = os.getppid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)

    memory = MEMORY_MB << 20
    for name, limit in (("AS", memory), ("CORE", 0), ("FSIZE", 0), ("NOFILE", _DESCRIPTORS)):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))


def _limit_cpu_time(seconds: float) -> None:
    """Let the system end this process if its parser never returns."""
    if sys.platform == "win32":
        return
    import resource

    with contextlib.suppress(OSError, ValueError):
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        soft = math.ceil(time.process_time() + max(seconds, 0)) + 1
        if hard != resource.RLIM_INFINITY:
            soft = min(soft, hard)
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def send(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view[:_PIECE]) :]


def receive(descriptor: int, size: int) -> bytes:
    """Exactly so many bytes; raises EOFError if the other end closes before."""
    data = bytearray()
    while len(data) < size:
        piece = os.read(descriptor, min(size - len(data), _PIECE))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)
