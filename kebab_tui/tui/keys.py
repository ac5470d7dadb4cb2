"""Key names (as users write them, as Textual calls them, as displayed), and keys in order.

Users write `f4`, `ctrl+n`, `PgUp`, or the character that the key types (`?`, `G`).
`KeysInOrder` finishes each key before the next one. Knows no actions.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import Any

from textual import events
from textual.app import App
from textual.widgets import Input

from kebab_tui.tui.glyphs import glyph
from kebab_tui.tui.widgets.query_text import LONGEST, flattened

_MODIFIERS = ("ctrl", "alt", "shift", "super")
_OTHER_NAMES = {
    "esc": "escape",
    "return": "enter",
    "pgup": "pageup",
    "pgdn": "pagedown",
    "pgdown": "pagedown",
    "del": "delete",
    "ins": "insert",
    "control": "ctrl",
    "meta": "alt",
    "question_mark": "?",
    "slash": "/",
    "colon": ":",
}
_NAMED = frozenset(
    ("escape", "enter", "tab", "space", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown")
) | {"up", "down", "left", "right", *(f"f{number}" for number in range(1, 25))}
_SHOWN = {
    "escape": "esc",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "up": glyph("↑", "up"),
    "down": glyph("↓", "down"),
    "left": glyph("←", "left"),
    "right": glyph("→", "right"),
}
_ARRIVES_AS = {"ctrl+space": ("ctrl+space", "ctrl+@"), ",": ("comma",)}
"""Without the Kitty protocol ctrl+space is NUL, which Textual calls ctrl+@. Textual splits keys at commas."""

_SAME = {"ctrl+i": "tab", "ctrl+m": "enter", "ctrl+h": "backspace", "ctrl+[": "escape"}
"""Keys for which a terminal sends the same; the value is the name that arrives."""

EDITING = frozenset({"backspace", "delete", "left", "right"})
"""Keys that edit the query and must not be rebound."""

RESERVED = {"ctrl+c": "copies the selected text", "super+c": "copies the selected text"}
"""Keys that do the same on every screen and cannot be rebound."""

_CLICK_TIMEOUT_S = 0.5
"""How long a key waits for a widget that handles an earlier click."""


def key_name(written: str) -> str | None:
    """The canonical name of a key; None for an unknown key."""
    if len(written) == 1:
        return written if written.isprintable() and not written.isspace() else None
    *modifiers, base = written.strip().lower().replace("++", "+plus").split("+")
    modifiers = [_OTHER_NAMES.get(modifier, modifier) for modifier in modifiers]
    base = _OTHER_NAMES.get(base, base)
    is_key = base in _NAMED or (len(base) == 1 and base.isprintable() and (modifiers or base.isascii()))
    if not is_key or not set(modifiers) <= set(_MODIFIERS) or len(set(modifiers)) < len(modifiers):
        return None
    name = "+".join((*sorted(modifiers, key=_MODIFIERS.index), base))
    return _SAME.get(name, name)


def types_a_character(key: str) -> bool:
    """Whether the key writes something into the query box."""
    return len(key) == 1 or key == "space"


def arrives_as(key: str) -> tuple[str, ...]:
    """The names that Textual uses for the key."""
    return _ARRIVES_AS.get(key, (key,))


def shown(key: str) -> str:
    """The key as displayed in the footer, the help sheet and the documentation."""
    *modifiers, base = key.split("+") if len(key) > 1 else (key,)
    if re.fullmatch(r"f\d+", base):
        base = base.upper()
    return "+".join((*modifiers, _SHOWN.get(base, base)))


def shown_all(keys: tuple[str, ...]) -> str:
    """Several keys for one action, in order."""
    return " ".join(shown(key) for key in keys)


class KeysInOrder:
    """Handles every key of an application completely before the next one.

    Textual puts a key into the queue of the focused widget, and looks for its binding when it
    comes back to the application. When keys arrive together, from a quick typist on a slow
    machine or a pasting multiplexer, a letter would overtake the `ctrl+u` before it, or go to
    the old focus. Here letters, pasted text and bindings are handled at once, in the turn of
    the application, after an earlier click. All other keys take Textual's way, and widgets
    post messages as usual.
    """

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._is_pressed = False
        self.box: Input | None = None
        """Receives text typed elsewhere; over it, a screen may have a `typing_box` of its own."""

    async def handle(self, event: events.Event) -> bool:
        """Handle an event, unless Textual should; the application calls this in `on_event`."""
        app = self._app
        if isinstance(event, events.MouseDown) and not event.is_forwarded:
            self._is_pressed = True
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            return False
        app.app_focus = True  # some terminals report a lost focus and still send keys
        if self._is_pressed:
            await self._finish_click()
        if isinstance(event, events.Paste):
            return self._type(event.text, pasted=True)
        text = event.character if event.is_printable else None
        # A terminal sends esc and x for alt+x, and Textual adds the letter to the name of the key.
        is_named = event.key.startswith("alt+") and self._is_bound(event.key)
        if text and isinstance(app.focused, Input) and not is_named:
            return self._type(text)
        for priority in (True, False):
            if await app._check_bindings(event.key, priority=priority):
                return True
        return is_named or (text is not None and self._type(text))

    def _is_bound(self, key: str) -> bool:
        """Whether some action has the key, though it may not be possible now."""
        return any(key in bindings.key_to_bindings for _, bindings in self._app.screen._modal_binding_chain)

    async def _finish_click(self) -> None:
        """Wait until the widgets have handled an earlier click."""
        self._is_pressed = False
        under = self._app._mouse_down_widget
        if under is not None and under.is_running:
            reached = asyncio.Event()
            under.call_later(reached.set)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(reached.wait(), _CLICK_TIMEOUT_S)

    def _type(self, text: str, *, pasted: bool = False) -> bool:
        app, box = self._app, self.box
        if isinstance(app.focused, Input):
            box = app.focused
        elif len(app.screen_stack) > 1:
            box = getattr(app.screen, "typing_box", None)
        if box is None:
            return False
        if box is not app.focused:
            app.screen.set_focus(box)  # synchronous: the next key may already be queued
        (paste if pasted else insert)(box, text)
        return True


def insert(box: Input, text: str) -> None:
    """Replace the selection with a text."""
    box._restart_blink()  # a visible cursor while typing
    start, end = sorted(box.selection)
    box.replace(text, start, end)


def paste(box: Input, text: str) -> None:
    """Insert a text as one line, up to the maximum length."""
    space = (box.max_length or LONGEST) - len(box.value) + len(box.selected_text)
    insert(box, flattened(text, space))
