"""Ends work that a newer request has made pointless, such as the search for the last but one letter.

A thread declares what it does as interruptible; a store asks `is_superseded` while it runs a statement, and
raises `Superseded`. The question belongs to that work alone, so that a late answer never ends the next one:
`sqlite3.Connection.interrupt` from another thread could.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Superseded(BaseException):
    """Nobody waits for the result. No `Exception`: nothing but who asked may handle it."""


class _Local(threading.local):
    question: Callable[[], bool] | None = None


_LOCAL = _Local()


@contextmanager
def interruptible(superseded: Callable[[], bool]) -> Iterator[None]:
    """Within the context, work of this thread may end with `Superseded` once `superseded` is true.

    Some thousand times a second at most, `superseded` is called; it takes no lock.
    """
    before, _LOCAL.question = _LOCAL.question, superseded
    try:
        yield
    finally:
        _LOCAL.question = before


@contextmanager
def uninterruptible() -> Iterator[None]:
    """Within the context, nothing ends early: the result is worth keeping for later requests."""
    before, _LOCAL.question = _LOCAL.question, None
    try:
        yield
    finally:
        _LOCAL.question = before


def is_superseded() -> bool:
    """Whether this thread's work is of no use any more."""
    return _LOCAL.question is not None and _LOCAL.question()
