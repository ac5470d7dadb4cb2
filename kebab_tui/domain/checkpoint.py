"""Ends the reading of a file early, on a stop request or when the file takes too long.

Readers and the chunker call a checkpoint every few hundred lines or blocks, so that the
work between two calls takes far less than the 2 s in which a process must stop.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from time import thread_time

from kebab_tui.domain.errors import UnreadableFileError

OFTEN, SELDOM = 255, 4095
"""Masks for line counters: call the checkpoint when `at & mask` is 0."""


class ReadingStopped(Exception):  # noqa: N818 -- no error: the work so far is dropped
    """A stop was requested while a file was being read."""


class TookTooLongError(UnreadableFileError):
    """Reading the file exceeded the CPU time for a file of its size."""

    code = "file_too_slow"


def too_long(seconds: float, clock: str = " of CPU time") -> TookTooLongError:
    return TookTooLongError(
        f"took too long: more than {seconds:.1f} s{clock}",
        "Split the note, or exclude it with .kebabignore.",
    )


class Checkpoint:
    """Called while one file is read, by the thread that reads it."""

    __slots__ = ("_end", "_stopping", "seconds")

    def __init__(self, seconds: float = math.inf, stopping: Callable[[], bool] = lambda: False) -> None:
        self.seconds = seconds
        """The CPU time for the file; a child process that reads it has as much again."""
        self._end = thread_time() + seconds
        self._stopping = stopping

    def __call__(self) -> None:
        if self._stopping():
            raise ReadingStopped
        if thread_time() > self._end:
            raise too_long(self.seconds)


UNLIMITED = Checkpoint()
