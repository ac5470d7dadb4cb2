"""The screen with its search taken out: the reference for the time from a key to its echo.

Takes the arguments of `kebab-tui`. Opens the engine, colours and completes what is typed;
only questions are never asked.
"""

from __future__ import annotations

from unittest import mock

from kebab_tui.domain.query import SearchQuery
from kebab_tui.tui import main


def _never(_: object, generation: int, query: SearchQuery | None, explain: bool, again: bool = False) -> None:
    pass


if __name__ == "__main__":
    with mock.patch("kebab_tui.tui.engine_thread.EngineThread.ask", _never):
        main()
