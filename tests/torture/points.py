"""The points at which a victim dies, put into the program from outside.

A point has a name, a way to reach it, and a guess of how often it is passed in one run.
"""

from __future__ import annotations

import functools
import os
import signal
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

Scene = Literal["fresh", "edited", "damaged", "restored"]
"""What the victim finds: nothing, an index behind its notes, a damaged one, or only the list of folders."""
Arm = Callable[["Fuse"], None]


@dataclass(slots=True)
class Fuse:
    """Burns one step each time the point is passed, and kills on the last."""

    steps: int

    def burn(self) -> None:
        self.steps -= 1
        if self.steps == 0:
            die()


@dataclass(frozen=True, slots=True)
class Point:
    name: str
    arm: Arm
    passes: int = 1
    scene: Scene = "edited"


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


def at_random(fuse: Fuse) -> None:
    """Some time within the run: the fuse counts milliseconds."""
    timer = threading.Timer(fuse.steps / 1000, die)
    timer.daemon = True
    timer.start()


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
                meant = sql.lstrip().startswith(beginning)
                if meant and is_before:
                    fuse.burn()
                cursor = super().execute(sql, *values)
                if meant and not is_before:
                    fuse.burn()
                return cursor

        vars(sqlite3)["connect"] = functools.partial(sqlite3.connect, factory=Connection)

    return arm


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


_BATCH = "kebab_tui.store.batch:Batch"
_WRITER = "kebab_tui.store.writer:Writer"
_LOCK = "kebab_tui.store.lock:WriterLock"

POINTS: tuple[Point, ...] = (
    Point("random time", at_random, 160),
    Point("random time, first ingest", at_random, 250, "fresh"),
    Point("random time, damaged", at_random, 250, "damaged"),
    Point("before Batch.finish", before(_BATCH, "finish"), 4),
    Point("after Batch.finish", after(_BATCH, "finish"), 4),
    Point("before the bulk load", before(_BATCH, "_insert_around_the_trigger"), 2),
    Point("after the bulk load", after(_BATCH, "_insert_around_the_trigger"), 2),
    Point("trigger dropped", statement("DROP TRIGGER", False), 2),
    Point("before learning words", before("kebab_tui.store.vocabulary", "learn"), 3),
    Point("after learning words", after("kebab_tui.store.vocabulary", "learn"), 3),
    Point("after moves", after(_BATCH, "_move"), 1),
    Point("before COMMIT", statement("COMMIT", True), 6),
    Point("after COMMIT", statement("COMMIT", False), 6),
    Point("before COMMIT, first ingest", statement("COMMIT", True), 6, "fresh"),
    Point("after COMMIT, first ingest", statement("COMMIT", False), 6, "fresh"),
    Point("migration", statement("CREATE", False), 18, "fresh"),
    Point("sources written, not in place", replacing("sources.json", True), 1, "fresh"),
    Point("sources in place", replacing("sources.json", False), 1, "fresh"),
    Point("before restoring sources", before(_WRITER, "save_sources"), 1, "restored"),
    Point("after restoring sources", after(_WRITER, "save_sources"), 1, "restored"),
    Point("before setting aside", replacing(".damaged-", True), 2, "damaged"),
    Point("between setting aside", replacing(".damaged-", False), 2, "damaged"),
    Point("before signing the lock", before(_LOCK, "_sign"), 1),
    Point("after signing the lock", after(_LOCK, "_sign"), 1),
    Point("before the lock is let go", before(_LOCK, "release"), 1),
)
