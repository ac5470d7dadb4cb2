"""Counts and times the stages of one answer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kebab_tui.domain.hit import Stage


@dataclass(slots=True)
class RunningStage:
    """A stage under way; whoever works on it says how many candidates it kept, if it deals with any."""

    kept: int | None = None


class Stopwatch:
    def __init__(self) -> None:
        self._stages: dict[str, Stage] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[RunningStage]:
        """A stage that is entered again goes on where it was left."""
        running = RunningStage()
        start = time.perf_counter()
        yield running
        before = self._stages.pop(name).milliseconds if name in self._stages else 0.0
        taken = (time.perf_counter() - start) * 1000
        self._stages[name] = Stage(name, running.kept, before + taken)

    @property
    def stages(self) -> tuple[Stage, ...]:
        return tuple(self._stages.values())
