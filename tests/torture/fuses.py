"""How a victim is made to die: a fuse, and what burns it down, put into the program from outside."""

from __future__ import annotations

import functools
import os
import signal
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

Arm = Callable[["Fuse"], None]


@dataclass(slots=True)
class Fuse:
    """Burns one step each time the point is passed, and kills on the last."""

    steps: int

    def burn(self) -> None:
        self.steps -= 1
        if self.steps == 0:
            die()


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


def at_random(fuse: Fuse) -> None:
    """Some time within the run: the fuse counts milliseconds."""
    timer = threading.Timer(fuse.steps / 1000, die)
    timer.daemon = True
    timer.start()


def from_outside(_: Fuse) -> None:
    """Whoever started the victim kills it."""


def before(owner: str, name: str) -> Arm:
    return functools.partial(_wrap, owner, name, True)


def after(owner: str, name: str) -> Arm:
    return functools.partial(_wrap, owner, name, False)


def _wrap(owner: str, name: str, is_before: bool, fuse: Fuse) -> None:
    module, _, cls = owner.partition(":")
    target: Any = __import__(module, fromlist=["_"])
    target = getattr(target, cls) if cls else target
    real = getattr(target, name)

    @functools.wraps(real)
    def wrapped(*args: Any, **keywords: Any) -> Any:
        if is_before:
            fuse.burn()
        result = real(*args, **keywords)
        if not is_before:
            fuse.burn()
        return result

    setattr(target, name, wrapped)


def statement(beginning: str, is_before: bool) -> Arm:
    """Before or after a statement of SQL that begins like this."""

    def arm(fuse: Fuse) -> None:
        class Connection(sqlite3.Connection):
            def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
                # A reading transaction ends with the same word.
                meant = sql.lstrip().startswith(beginning) and not _is_reader(super())
                if meant and is_before:
                    fuse.burn()
                cursor = super().execute(sql, *values)
                if meant and not is_before:
                    fuse.burn()
                return cursor

        vars(sqlite3)["connect"] = functools.partial(_connect, sqlite3.connect, Connection)

    return arm


def _is_reader(connection: Any) -> bool:
    return bool(connection.execute("PRAGMA query_only").fetchone()[0])


def _connect(real: Callable[..., sqlite3.Connection], factory: type, *args: Any, **keywords: Any) -> Any:
    """A connection that the program wants to be of a kind of its own stays that."""
    return real(*args, **({"factory": factory} | keywords))


def replacing(ending: str, is_before: bool) -> Arm:
    """Before or after a file takes a name that holds `ending`."""

    def arm(fuse: Fuse) -> None:
        real = os.replace

        def replace(source: Any, target: Any, **keywords: Any) -> None:
            meant = ending in os.fspath(target)
            if meant and is_before:
                fuse.burn()
            real(source, target, **keywords)
            if meant and not is_before:
                fuse.burn()

        vars(os)["replace"] = replace

    return arm
