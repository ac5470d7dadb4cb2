"""Where reading a file can end early: a stop was asked for, or the file took too long.

Readers and the chunker call a checkpoint every few hundred lines or blocks. Between two calls
lies far less work than `STOP_WITHIN_S` allows, whatever the file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from time import thread_time

from kebab_tui.domain.errors import UnreadableFileError

STOP_WITHIN_S = 2.0
"""A process that is asked to stop ends within this time, also while it reads a large file."""
OFTEN, SELDOM = 255, 4095
"""Masks for line counters: a checkpoint where `at & mask` is 0."""


class ReadingStopped(Exception):  # noqa: N818 -- no error: what was read so far is dropped
    """A stop was asked for while a file was read."""


class TookTooLongError(UnreadableFileError):
    """Reading the file took more CPU time than a file of its size may take."""

    code = "file_too_slow"


class Checkpoint:
    """To be called while one file is read, by the thread that reads it."""

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
                "Split the note, or leave it out with .kebabignore.",
            )


UNLIMITED = Checkpoint()
