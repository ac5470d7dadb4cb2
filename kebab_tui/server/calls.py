"""Runs what agents ask, one call after another, in one thread of the engine; and words their errors.

One thread answers more calls a second than several, which would compete for the interpreter. The model is
loaded step by step in the same thread: a call comes between two steps.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from kebab_tui.domain.errors import (
    Failure,
    NotFoundError,
    NotIndexedError,
    RawQueryError,
    UsageError,
    failure_of,
)
from kebab_tui.server.view import AgentView
from kebab_tui.workspace import Workspace

T = TypeVar("T")


class Calls:
    """The one thread that uses the index, and what it may see of it."""

    def __init__(self, workspace: Workspace, view: AgentView) -> None:
        self._workspace = workspace
        self._view = view
        self._engine = ThreadPoolExecutor(1, "engine")
        self._warming: asyncio.Task[None] | None = None

    async def run(self, call: Callable[[AgentView], T]) -> T:
        """The result of a call; one that is cancelled while it waits never begins."""
        return await asyncio.get_running_loop().run_in_executor(self._engine, call, self._view)

    def close(self) -> None:
        """Wait for the running call; the others never begin."""
        self._engine.shutdown(cancel_futures=True)

    def warm_up(self) -> None:
        """Load the model between the calls; at once if nothing is asked."""
        if self._warming is None:
            self._warming = asyncio.create_task(self._warm_up())

    async def _warm_up(self) -> None:
        steps = self._workspace.warm_up(by_meaning=True)
        try:
            while await self.run(lambda _: next(steps, _END)) is not _END:
                pass
        except Exception:  # noqa: BLE001 - a call reports the same error
            return


class _End:
    pass


_END = _End()


def failure_for_agent(error: Exception) -> Failure:
    """What an agent is told; errors of the index, which have paths of this machine, stay in general terms."""
    if isinstance(error, UsageError | NotFoundError | NotIndexedError | RawQueryError):
        return Failure(error.code, error.message, error.hint)
    known = failure_of(error)
    code = known.code if known is not None else "internal"
    return Failure(code, "the index cannot answer now", "ask the user to run `kebab doctor`")
