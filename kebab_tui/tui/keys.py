"""Key names (as users write them, as Textual calls them, as displayed), and keys in order.

Users write `f4`, `ctrl+n`, `PgUp`, or the character that the key types (`?`, `G`).
`KeysInOrder` finishes each key before the next one, and decides whether a character is text
or a command. Knows no actions.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import unicodedata
from collections.abc import Sequence
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

_DELETING = ("backspace", "ctrl+w", "ctrl+u")
"""Like characters, these keys edit the query from every pane."""

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


def capitalized(shown: str) -> str:
    """A displayed key for a sentence: `Ctrl+C`."""
    return re.sub(r"\b[a-z]", lambda letter: letter[0].upper(), shown)


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

    A character goes into the text box of the screen, unless the focused pane has it as a key.
    With vim keys, in normal mode and in the lists of the other screens, characters are commands;
    Korean letters are then those on the same keys. The key of an action that is unavailable now
    types nothing.
    """

    def __init__(self, app: App[Any], *, vim: bool = False) -> None:
        self._app = app
        self._is_pressed = False
        self.vim = vim
        self.is_normal = False
        """Whether the main screen is in normal mode."""
        self.box: Input | None = None
        """Receives text typed elsewhere; a screen above the main one may have its own `typing_box`."""

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
        is_alt = event.key.startswith("alt+") and self._is_bound(event.key)
        if text and not is_alt:
            if self._takes_commands:
                for key in command_keys(text, event.key):
                    await self._run(key)
                return True
            if isinstance(app.focused, Input):
                return self._type(text)
        if await self._run(event.key):
            return True
        on_main = len(app.screen_stack) == 1 and not self._takes_commands
        if on_main and event.key in _DELETING and self.box not in (None, app.focused):
            app.screen.set_focus(self.box)
            return await self._run(event.key)
        return is_alt or (text is not None and (self._is_bound(event.key) or self._type(text)))

    @property
    def _takes_commands(self) -> bool:
        """Whether characters are commands and not text."""
        if len(self._app.screen_stack) > 1:
            takes = self.vim or getattr(self._app.screen, "takes_letters", False)
            return takes and not isinstance(self._app.focused, Input)
        return self.is_normal

    async def _run(self, key: str) -> bool:
        """Run the action of a key, if it has one that is available."""
        for priority in (True, False):
            if await self._app._check_bindings(key, priority=priority):
                return True
        return False

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


def command_keys(text: str, key: str) -> Sequence[str]:
    """The keys of a typed character; of Hangul, those with the same place on a two-set keyboard.

    An input method may put the letters of several commands together: 하 is `g` and `k`.
    """
    from kebab_tui.domain.keyboard import is_hangul, keys_of  # only vim keys need it

    return keys_of(text) if is_hangul(text) else (key,)


def insert(box: Input, text: str) -> None:
    """Replace the selection with a text."""
    box._restart_blink()  # a visible cursor while typing
    start, end = sorted(box.selection)
    # An input method may send a syllable in parts, each after the one before.
    before = box.value[max(start - 1, 0) : start]
    box.replace(unicodedata.normalize("NFC", before + text), start - len(before), end)


def paste(box: Input, text: str) -> None:
    """Insert a text as one line, up to the maximum length."""
    space = (box.max_length or LONGEST) - len(box.value) + len(box.selected_text)
    insert(box, flattened(text, space))
