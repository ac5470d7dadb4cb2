"""The whole screen for tests: starts it on an index, and waits for its output."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import structs
from textual import events
from textual._context import visible_screen_stack
from textual.app import App
from textual.keys import _character_to_key
from textual.message import Message
from textual.pilot import Pilot
from textual.widget import Widget

from kebab_tui.settings.settings import ScreenSettings, Settings
from kebab_tui.tui import choices, history, recent_notes
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.current_query import PAGE
from kebab_tui.tui.engine_thread import EngineThread
from kebab_tui.tui.hit_diff import Latency
from kebab_tui.tui.indexer import Indexing
from kebab_tui.tui.keys import KeysInOrder
from kebab_tui.tui.launch import Options
from kebab_tui.tui.widgets.hits_list import HitsList
from kebab_tui.workspace import Workspace

Screen = Pilot[tuple[str, ...]]
WIDE = (120, 36)
VIM = Settings(screen=ScreenSettings(keys="vim"))
_DEADLINE_S = 60.0
"""Generous for a busy machine: everything awaited arrives within a second."""


def kebab(
    data: Path,
    workspace: Callable[[], Any] | None = None,
    settings: Settings | None = None,
    *,
    indexing: Indexing | None = None,
    hits: HitsList | None = None,
    latency: Latency | None = None,
    clock: Callable[[], float] = time.monotonic,
    page: int = PAGE,
    **options: Any,
) -> KebabApp:
    """The application on an index, without background indexing."""
    return KebabApp(
        Options(**({"watch": False} | options)),
        structs.replace(settings or Settings(), data_dir=str(data)),
        engine=None if workspace is None else EngineThread(workspace, folders=options.get("folders", ())),
        indexing=indexing or Idle(),
        hits=hits,
        latency=latency,
        clock=clock,
        page=page,
    )


class HostApp(App[None]):
    """An application around one page or widget, with keys in order."""

    def __init__(self) -> None:
        super().__init__()
        self._keys_in_order = KeysInOrder(self)

    async def on_event(self, event: events.Event) -> None:
        if not await self._keys_in_order.handle(event):
            await super().on_event(event)


class Idle:
    """Replaces the indexing process in tests about other things."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    @property
    def watcher_pid(self) -> int:
        return 0

    def report_to(self, post: Callable[[Message], object]) -> None:
        pass

    def watch(self, folders: Sequence[str]) -> None:
        self.asked.append(tuple(folders))

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
    """Screens on one open engine, one after the other, for tests that change no note."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._proxy = Proxy(data)

    @asynccontextmanager
    async def __call__(
        self,
        query: str = "",
        *,
        mode: str = "lexical",
        explain: bool = False,
        theme: str = "dark",
        size: tuple[int, int] = WIDE,
        verbs: Mapping[str, Callable[..., Any]] | None = None,
        latency: Latency | None = None,
        vim: bool = False,
    ) -> AsyncIterator[Screen]:
        """The screen with this in its box; `verbs` replace the engine's, as in `Proxy`.

        Searches by words unless the test is about meaning.
        """
        for file in (history.FILE, choices.FILE, recent_notes.FILE):
            (self._data / file).unlink(missing_ok=True)
        self._proxy.verbs = dict(verbs or {})
        app = kebab(
            self._data,
            lambda: self._proxy,
            VIM if vim else None,
            latency=latency,
            query=query,
            mode=mode,
            explain=explain,
            theme=theme,
        )
        async with app.run_test(size=size) as pilot:
            yield pilot
        app.engine._thread.join(_DEADLINE_S)


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


def type_at_once(app: App[Any], keys: Iterable[str]) -> None:
    """All keys, characters or names, in one read, as from a quick typist on a slow machine."""
    assert app._driver is not None
    for key in keys:
        is_named = len(key) > 1
        name = key if is_named else _NAMED.get(key) or _character_to_key(key)
        app._driver.process_message(events.Key(name, None if is_named else key))


async def focus(pilot: Screen, widget: Widget) -> None:
    """Give a pane the keys."""
    widget.focus()
    await until(pilot, lambda: pilot.app.focused is widget)


async def settled(pilot: Screen) -> KebabApp:
    """Wait for an answer to some question, or for its refusal."""
    app = pilot.app
    assert isinstance(app, KebabApp)
    await until(pilot, lambda: app.status.status.hits is not None or app.results._error is not None)
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
        and (not answer.query.strip() or answer.mode == app.current_query.mode)
    )


def painted(app: Any) -> str:
    """The text of the screen, line by line, with the screens behind it, as Textual paints it."""
    visible_screen_stack.set(app._background_screens)
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


def paths(app: KebabApp) -> list[str]:
    return [hit.path for hit in app.hits._hits]
