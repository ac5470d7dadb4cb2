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


class Checkpoint:
    """Called while one file is read, by the thread that reads it."""

    __slots__ = ("_end", "_seconds", "_stopping")

    def __init__(self, seconds: float = math.inf, stopping: Callable[[], bool] = lambda: False) -> None:
        self._seconds = seconds
        self._end = thread_time() + seconds
        self._stopping = stopping

    def __call__(self) -> None:
        if self._stopping():
            raise ReadingStopped
        if thread_time() > self._end:
            raise TookTooLongError(
                f"took too long: more than {self._seconds:.1f} s of CPU time",
                "Split the note, or exclude it with .kebabignore.",
            )


UNLIMITED = Checkpoint()
