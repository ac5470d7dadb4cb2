"""Runs the parsers of isolated formats in child processes with limits.

One child for each parser. It starts at the first file, serves one file after the other, and ends when idle.
The system limits its memory, CPU time and open files, where it can; this module limits the time by the clock
and the size of the answer, everywhere. A file that kills the child or exceeds a limit is a failed document,
and the next file gets a new child. Foreign bytes are never parsed in this process: without a child, the file
fails.

The child (`formats.child`) gets the bytes of a file through a pipe and answers with JSON. It has no terminal,
none of our open files and locks, and no variables of the environment.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from typing import TypeVar

import msgspec

from kebab_tui.domain.checkpoint import Checkpoint, TookTooLongError, too_long
from kebab_tui.domain.errors import UnreadableFileError, UnsuitableFileError
from kebab_tui.formats.child import HEAD, MEMORY_MB, ParseRequest, Refusal, receive, send

T = TypeVar("T")

MOST_ANSWER = 64 << 20
IDLE_S = 10.0
"""A child without a request for this long ends."""
_POLL_S = 0.05
"""Interval between two looks at a stop request."""
_ENDING_S = 5.0
_BOOT = "import sys; sys.path[:] = sys.argv[2:]; from kebab_tui.formats.child import main; main(sys.argv[1])"
_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
"""Where a system finds libraries; all that a child gets of the environment."""


class ReaderDiedError(TookTooLongError):
    """The file killed its reader; like a slow file, it is not read again until it changes."""

    code = "file_reader_died"


_ERRORS: dict[str, type[UnreadableFileError]] = {
    "unreadable": UnreadableFileError,
    "unsuitable": UnsuitableFileError,
    "too_slow": TookTooLongError,
    "too_large": ReaderDiedError,
}


def read(
    module: str,
    function: str,
    answer: type[T],
    data: bytes,
    path: str,
    seconds: float,
    checkpoint: Checkpoint,
    *arguments: int,
) -> T:
    """Return `function(data, path, *arguments, checkpoint)` of a parser, computed in its child.

    `seconds`: its CPU time. Raises UnreadableFileError with the reason, and what `checkpoint` raises.
    """
    checkpoint()
    shown = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    request = msgspec.json.encode(ParseRequest(function, shown, seconds, arguments))
    with _guard:
        reader = _readers.setdefault(module, _Reader(module))
    with reader.lock:
        return reader.read(request, data, wall_seconds(seconds), checkpoint, answer)


def wall_seconds(seconds: float) -> float:
    """The time by the clock for a file with this CPU time, on a busy machine."""
    return 10 + 1.5 * max(seconds, 0)


def close() -> None:
    """End all children; those of other threads too, if they are still busy."""
    for reader in list(_readers.values()):
        if reader.lock.acquire(timeout=_POLL_S):
            with contextlib.ExitStack() as stack:
                stack.callback(reader.lock.release)
                reader.end()
        else:
            reader.kill()


class _Reader:
    """The child of one parser. Call `read` and `end` with `lock`."""

    def __init__(self, module: str) -> None:
        self.lock = threading.Lock()
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None
        self._served = 0
        self._last_used = 0.0

    def read(self, request: bytes, data: bytes, wall_s: float, checkpoint: Checkpoint, answer: type[T]) -> T:
        while True:
            process = self._started()
            is_first = self._served == 0
            self._served += 1
            try:
                received = self._exchange(process, request, data, wall_s, checkpoint)
                if not isinstance(received, Refusal):
                    return msgspec.json.decode(received, type=answer)
                if received.kind == "too_large":
                    self.end()
                raise _ERRORS[received.kind](received.message, received.hint)
            except ReaderDiedError:
                if is_first:
                    raise  # else an earlier file may be the cause: once more, in a new child
            except msgspec.DecodeError as error:
                self.end()
                raise UnreadableFileError(f"its reader gave an invalid answer: {error}") from error
            finally:
                self._last_used = time.monotonic()

    def _exchange(
        self,
        process: subprocess.Popen[bytes],
        request: bytes,
        data: bytes,
        wall_s: float,
        checkpoint: Checkpoint,
    ) -> bytes | Refusal:
        """Transfer in another thread, so that a stop and the clock are heeded on every system."""
        transfer = _Transfer(process, request, data)
        end = time.monotonic() + wall_s
        try:
            transfer.start()
            while not transfer.is_done.wait(_POLL_S):
                checkpoint()
                if time.monotonic() > end:
                    raise too_long(wall_s, "")
            if transfer.error is not None:
                raise _death(process) if isinstance(transfer.error, OSError | EOFError) else transfer.error
        except BaseException:
            self.kill()
            transfer.join(_ENDING_S)  # before its pipes are closed
            self.end()
            raise
        return transfer.answer

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.end()
        try:
            self._process = subprocess.Popen(
                # `-I`: the working folder and the environment add no modules; `-S`: the paths are complete.
                [sys.executable, "-I", "-S", "-c", _BOOT, self._module, *map(os.path.abspath, sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd=os.path.abspath(os.sep),
                env={name: os.environ[name] for name in _VARIABLES if name in os.environ},
                start_new_session=True,  # no terminal; Ctrl+C is for this process, which then ends it
            )
        except (OSError, ValueError) as error:
            raise UnreadableFileError(f"its reader could not be started: {error}") from error
        self._last_used = time.monotonic()
        threading.Thread(
            target=self._end_when_idle, args=(self._process,), name="idle reader", daemon=True
        ).start()
        return self._process

    def _end_when_idle(self, process: subprocess.Popen[bytes]) -> None:
        while True:
            time.sleep(IDLE_S / 4)
            with self.lock:
                if self._process is not process:
                    return
                if time.monotonic() - self._last_used >= IDLE_S:
                    self.end()

    def end(self) -> None:
        self.kill()
        process, self._process, self._served = self._process, None, 0
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()

    def kill(self) -> None:
        if (process := self._process) is not None:
            process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_ENDING_S)


class _Transfer(threading.Thread):
    """Sends a request and receives its answer."""

    def __init__(self, process: subprocess.Popen[bytes], request: bytes, data: bytes) -> None:
        super().__init__(name="isolated reader", daemon=True)
        self._process = process
        self._parts = (HEAD.pack(len(request), len(data)), request, data)
        self.is_done = threading.Event()
        self.answer: bytes | Refusal = b""
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            for part in self._parts:
                send(self._process.stdin.fileno(), part)
            size, is_refusal = HEAD.unpack(receive(self._process.stdout.fileno(), HEAD.size))
            if size > MOST_ANSWER:
                raise ReaderDiedError(f"has more than {MOST_ANSWER >> 20} MB of text")
            answer = receive(self._process.stdout.fileno(), size)
            self.answer = msgspec.json.decode(answer, type=Refusal) if is_refusal else answer
        except Exception as error:  # noqa: BLE001 -- raised by the thread that waits
            self.error = error
        self.is_done.set()


def _death(process: subprocess.Popen[bytes]) -> UnreadableFileError:
    """Why the child ended."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_ENDING_S)
    code = process.returncode
    ending = "its pipe broke" if code is None else f"exit code {code}"
    if code is not None and code < 0:
        if code == -getattr(signal, "SIGXCPU", 0):
            return TookTooLongError("took too long: it used up its CPU time")
        with contextlib.suppress(ValueError):
            ending = signal.Signals(-code).name
    return ReaderDiedError(
        f"its reader died ({ending}): the file is damaged, or needs more than {MEMORY_MB} MB of memory"
    )


_guard = threading.Lock()
_readers: dict[str, _Reader] = {}
atexit.register(close)
