"""The whole screen for tests: starts it on an index, and waits for its output."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import structs
from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Input

from kebab_tui.domain.hit import SearchResponse
from kebab_tui.settings.settings import Settings
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.current_query import PAGE, CurrentQuery, PendingActions
from kebab_tui.tui.engine_thread import EngineThread
from kebab_tui.tui.history import HistoryRecorder
from kebab_tui.tui.launch import Options
from kebab_tui.tui.layout import Toggles, apply_theme
from kebab_tui.tui.results import ResultsPresenter
from kebab_tui.tui.widgets.status_line import StatusContent
from kebab_tui.workspace import Workspace

Screen = Pilot[tuple[str, ...]]
WIDE = (120, 36)
_DEADLINE_S = 60.0
"""Generous for a busy machine: everything awaited arrives within a second."""


def kebab(
    data: Path,
    workspace: Callable[[], Any] | None = None,
    settings: Settings | None = None,
    page: int = PAGE,
    **options: Any,
) -> KebabApp:
    """The application on an index, without background indexing."""
    made = structs.replace(settings or Settings(), data_dir=str(data))
    hits = options.pop("hits", None)
    app = KebabApp(Options(**({"watch": False} | options)), made, hits=hits)
    app.indexing = Idle()  # type: ignore[assignment]
    if workspace is not None:
        app.engine = EngineThread(workspace, app.post_message)
    if workspace is not None or page != PAGE:
        app.current_query = CurrentQuery(app.engine, app.results.show_searching, page)
    return app


class Idle:
    """Replaces the indexing process in tests about other things."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    @property
    def watcher_pid(self) -> int:
        return 0

    def start(self, folders: Sequence[str]) -> None:
        self.asked.append(tuple(folders))

    def close(self) -> None:
        pass


_NAMED = {
    "\t": "tab",
    "\r": "enter",
    "\x05": "ctrl+e",
    "\x0e": "ctrl+n",
    "\x15": "ctrl+u",
    "\x17": "ctrl+w",
    "\x1b": "escape",
    "\x7f": "backspace",
}
"""Keys that type no character, by the character that a terminal sends."""


class Proxy:
    """The real engine, with some methods replaced."""

    def __init__(self, data: Path, **verbs: Callable[..., Any]) -> None:
        self._real = Workspace(Settings(), str(data))
        self.verbs = verbs

    def __getattr__(self, name: str) -> Any:
        verb = self.verbs.get(name)
        return getattr(self._real, name) if verb is None else partial(verb, self._real)


class SharedScreen:
    """One running application that many tests use, one after the other.

    Each test finds it as if it had just been started with its options: the widgets, their styles
    and the open engine stay, all state is new. A test that fails takes the application with it.
    For tests that end or configure the application, `kebab` makes one of their own.
    """

    def __init__(self, data: Path) -> None:
        self._data = data
        self._runner = asyncio.Runner()
        self._proxy: Proxy | None = None
        self._app: KebabApp | None = None
        self._pilot: Screen | None = None
        self._running: AbstractAsyncContextManager[Screen] | None = None

    def run(self, test: Coroutine[Any, Any, None]) -> None:
        """All tests that use it share its event loop."""
        self._runner.run(test)

    @asynccontextmanager
    async def __call__(
        self,
        query: str = "",
        *,
        mode: str = "lexical",
        explain: bool = False,
        theme: str = "",
        size: tuple[int, int] = WIDE,
        verbs: Mapping[str, Callable[..., Any]] | None = None,
    ) -> AsyncIterator[Screen]:
        """The screen with this in its box; `verbs` replace the engine's, as in `Proxy`.

        Searches by words unless the test is about meaning.
        """
        pilot = self._pilot or await self._start()
        app, proxy = self._app, self._proxy
        assert app is not None and proxy is not None
        try:
            proxy.verbs = dict(verbs or {})
            await _begin_anew(
                pilot, app, Options(query=query, mode=mode, explain=explain, theme=theme, watch=False), size
            )
            yield pilot
            proxy.verbs = {}
            await _leave_be(pilot, app)
        except BaseException:
            await self._stop()
            raise

    def close(self) -> None:
        with self._runner:
            self._runner.run(self._stop())

    async def _start(self) -> Screen:
        self._proxy = Proxy(self._data)
        self._app = kebab(self._data, lambda: self._proxy)
        self._running = self._app.run_test(size=WIDE)
        self._pilot = await self._running.__aenter__()
        await found(self._pilot)
        return self._pilot

    async def _stop(self) -> None:
        running, self._running, self._pilot = self._running, None, None
        if running is not None:
            await running.__aexit__(None, None, None)


_NOTHING = SearchResponse("", "hybrid", (), 0, None, (), (), "", 0)


async def _begin_anew(pilot: Screen, app: KebabApp, options: Options, size: tuple[int, int]) -> None:
    app.options = options
    app.indexing = Idle()  # type: ignore[assignment]
    apply_theme(app, options.theme or "dark")
    app.mode = options.mode  # type: ignore[assignment]
    app.query_line.mode = app.mode
    app.toggles = Toggles(explain=options.explain)
    Path(app.history._path).unlink(missing_ok=True)
    app.history._queries.clear()
    app.history._at = 0
    app.recorder = HistoryRecorder(app.history)
    parse, app.results = app.results.parse, ResultsPresenter(app, app.mode)
    app.results.parse = parse
    app.current_query._show_searching = app.results.show_searching
    app.current_query.cancel()
    app._pending, app._cursor_is_pinned, app._has_news = PendingActions(), False, False
    app.hits._marks.clear()
    app.hits._located.clear()
    app.hits.show(_NOTHING)
    app.preview.clear()
    app.explain.clear("")
    for pane in (app.hits, app.preview, app.explain):
        pane.vertical_scrollbar.position = 0
    app.status.clear_message()
    app.status.show(StatusContent(mode=app.mode))
    app.chips.show(())
    with app.prevent(Input.Changed):
        app.box.write(options.query)
    app.screen.set_focus(app.box)
    if app.size != size:
        await pilot.resize_terminal(*size)
    app.typing.key_pressed()
    app.ask()


async def _leave_be(pilot: Screen, app: KebabApp) -> None:
    """Close overlays, and let the engine finish its jobs."""
    app.app_focus = True
    while len(app.screen_stack) > 1:
        app.pop_screen()
    app.engine.cancel()
    await until(pilot, lambda: not app.engine._jobs)


async def until(pilot: Pilot[Any], condition: Callable[[], object]) -> None:
    """Wait for a condition; the message after a timeout is the screen."""
    end, pause = time.monotonic() + _DEADLINE_S, 0.002
    while not condition():
        assert time.monotonic() < end, painted(pilot.app)
        await asyncio.sleep(pause)  # the engine thread wakes the event loop
        pause = min(1.2 * pause, 0.05)  # polling costs time, too
    await pilot.pause()


async def found(pilot: Screen) -> KebabApp:
    """Wait until the final response to the query in the box is painted."""
    app = pilot.app
    assert isinstance(app, KebabApp)
    await until(pilot, lambda: is_answered(app))
    return app


def type_at_once(app: KebabApp, keys: str) -> None:
    """All keys in one read, as from a quick typist on a slow machine."""
    assert app._driver is not None
    for character in keys:
        key = _NAMED.get(character) or _character_to_key(character)
        app._driver.process_message(events.Key(key, character))


async def focus(pilot: Screen, widget: Widget) -> None:
    """Give a pane the keys."""
    widget.focus()
    await until(pilot, lambda: pilot.app.focused is widget)


async def settled(pilot: Screen) -> KebabApp:
    """Wait for an answer to some question, or for its refusal."""
    app = pilot.app
    assert isinstance(app, KebabApp)
    await until(pilot, lambda: app.status.status.hits is not None or "error" in painted(app))
    return app


def has_keys(widget: Widget) -> bool:
    """Whether this pane gets the keys."""
    return widget.app.focused is widget


def is_answered(app: KebabApp) -> bool:
    answer = app.results.response
    return (
        answer is not None
        and answer.complete
        and answer.query.strip() == app.box.value.strip()
        and (not answer.query.strip() or answer.mode == app.mode)
    )


def painted(app: Any) -> str:
    """The text of the screen, line by line."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


def paths(app: KebabApp) -> list[str]:
    return [hit.path for hit in app.hits._hits]
