"""The whole screen for tests: started on an index, and waited for until it shows something."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import structs
from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.widget import Widget

from kebab_tui.settings.model import Settings
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.asking import Asker
from kebab_tui.tui.launch import Options
from kebab_tui.tui.questions import Questions
from kebab_tui.workspace import Workspace

Screen = Pilot[tuple[str, ...]]
WIDE = (120, 36)
_DEADLINE_S = 20.0


def kebab(
    data: Path, workspace: Callable[[], Any] | None = None, settings: Settings | None = None, **options: Any
) -> KebabApp:
    """The application on an index; nothing behind it looks for changed notes by itself."""
    made = structs.replace(settings or Settings(), data_dir=str(data))
    app = KebabApp(Options(**({"watch": False} | options)), made)
    app.indexing = Idle()  # type: ignore[assignment]
    if workspace is not None:
        app.asker = Asker(workspace, app.post_message)
        app.questions = Questions(app.asker.ask, app.showing.search)
    return app


class Idle:
    """Stands in for the indexing process where a test is about something else."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    @property
    def keeper_pid(self) -> int:
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
"""Keys that type no character, by what a terminal sends for them."""


class Door:
    """The real engine, with something in front of some of its verbs."""

    def __init__(self, data: Path, **verbs: Callable[..., Any]) -> None:
        self._real = Workspace(Settings(), str(data))
        self._verbs = verbs

    def __getattr__(self, name: str) -> Any:
        verb = self._verbs.get(name)
        return getattr(self._real, name) if verb is None else partial(verb, self._real)


async def until(pilot: Pilot[Any], condition: Callable[[], object]) -> None:
    """Let the screen work until it is so; what it shows is the message if it never is."""
    end = time.monotonic() + _DEADLINE_S
    while not condition():
        assert time.monotonic() < end, painted(pilot.app)
        await pilot.pause()
        await asyncio.sleep(0.002)  # the engine's thread tells the event loop by itself
    await pilot.pause()


async def found(pilot: Screen) -> KebabApp:
    """Wait for the final answer to what stands in the box, and for it to be painted."""
    app = pilot.app
    assert isinstance(app, KebabApp)
    await until(pilot, lambda: is_answered(app))
    return app


def type_at_once(app: KebabApp, keys: str) -> None:
    """All keys in one read, as from a quick hand on a slow machine."""
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
    """Whether what is pressed now goes to this pane."""
    return widget.app.focused is widget


def is_answered(app: KebabApp) -> bool:
    answer = app.showing.response
    return (
        answer is not None
        and answer.complete
        and answer.query.strip() == app.box.value.strip()
        and (not answer.query.strip() or answer.mode == app.mode)
    )


def painted(app: Any) -> str:
    """What stands on the screen, line by line."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


def paths(app: KebabApp) -> list[str]:
    return [hit.path for hit in app.hits._hits]
