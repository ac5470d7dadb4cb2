"""The names of keys: as written by people, as the terminal library calls them, as shown.

A written name is `f4`, `ctrl+n`, `PgUp`, or the character that the key types (`?`, `G`).
Knows keys, but no action.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import Generic

from textual import events
from textual.app import App, ReturnType
from textual.widgets import Input

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
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
}
_ARRIVES_AS = {"ctrl+space": ("ctrl+space", "ctrl+@"), ",": ("comma",)}
"""ctrl+space is NUL without the Kitty protocol, which the library calls ctrl+@; it splits lists at commas."""

_SAME = {"ctrl+i": "tab", "ctrl+m": "enter", "ctrl+h": "backspace", "ctrl+[": "escape"}
"""What a terminal sends for both; the other name is the one by which it arrives."""

EDITING = frozenset({"backspace", "delete", "left", "right"})
"""Without these nothing that was typed could be corrected."""

_SAFE = re.compile(
    r"f([1-9]|1[0-2])|ctrl\+[a-gln-z]|ctrl\+[jk]|ctrl\+space|(shift\+)?(up|down|left|right|tab)"
    r"|enter|escape|space|home|end|pageup|pagedown|."
)


def key_name(written: str) -> str | None:
    """The one spelling of a key; None when there is no such key."""
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


def survives(key: str) -> bool:
    """Whether the key comes through ssh and tmux, without the Kitty protocol, as itself."""
    return _SAFE.fullmatch(key) is not None


def arrives_as(key: str) -> tuple[str, ...]:
    """What the terminal library calls the key."""
    return _ARRIVES_AS.get(key, (key,))


def shown(key: str) -> str:
    """The key as the footer, the help sheet and the documentation write it."""
    *modifiers, base = key.split("+") if len(key) > 1 else (key,)
    if re.fullmatch(r"f\d+", base):
        base = base.upper()
    return "+".join((*modifiers, _SHOWN.get(base, base)))


def shown_all(keys: tuple[str, ...]) -> str:
    """Several keys for the same thing, in their order."""
    return " ".join(shown(key) for key in keys)


# Every key is done with before the next one is looked at.
#
# The library hands a key to the focused widget's queue and looks for what it is bound to
# when it has come back to the application. Of keys that arrive together, from a quick hand
# on a slow machine or a pasting multiplexer, a letter would so overtake the `ctrl+u`
# before it, or go where the focus was. Here letters, pasted text and bindings are dealt
# with at once, in the application's turn, after what the mouse did before; what nobody here
# knows goes the library's way. What a key makes a widget tell goes by message as ever.

_PATIENCE_S = 0.5
"""A widget that has not come to what it was clicked for by then does not hold the keys."""


class KeysInOrder(App[ReturnType], Generic[ReturnType]):
    _is_pressed = False

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            self.app_focus = True  # a terminal that has said that it lost the focus gets keys all the same
            await self._let_go()
            if isinstance(event, events.Paste):
                done = self._type(event.text, pasted=True)
            else:
                done = await self._take_key(event)
            if done:
                return
        elif isinstance(event, events.MouseDown) and not event.is_forwarded:
            self._is_pressed = True
        await super().on_event(event)

    def typing_box(self) -> Input | None:
        """Where a text belongs that is typed outside of any box and bound to nothing."""
        box: Input | None = getattr(self.screen, "typing_box", None)
        return box

    async def _take_key(self, event: events.Key) -> bool:
        if event.key == "escape":
            self.screen.clear_selection()  # the library does so where nobody has bound it
        text = event.character if event.is_printable else None
        if text and isinstance(self.focused, Input):
            return self._type(text)
        for priority in (True, False):
            if await self._check_bindings(event.key, priority=priority):
                return True
        return text is not None and self._type(text)

    async def _let_go(self) -> None:
        """What the mouse did before the key is still on its way through the widgets: wait for it."""
        if not self._is_pressed:
            return
        self._is_pressed = False
        under = self._mouse_down_widget
        if under is not None and under.is_running:
            reached = asyncio.Event()
            under.call_later(reached.set)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(reached.wait(), _PATIENCE_S)

    def _type(self, text: str, *, pasted: bool = False) -> bool:
        focused = self.focused
        box = focused if isinstance(focused, Input) else self.typing_box()
        if box is None:
            return False
        if box is not focused:
            self.screen.set_focus(box)  # at once: the next key may be waiting
        (paste if pasted else insert)(box, text)
        return True


def insert(box: Input, text: str) -> None:
    """Put a text in place of what is selected."""
    box._restart_blink()  # the cursor is seen while somebody types
    start, end = sorted(box.selection)
    box.replace(text, start, end)


def paste(box: Input, text: str) -> None:
    """Insert a text as one line, as much of it as there is room for."""
    room = (box.max_length or LONGEST) - len(box.value) + len(box.selected_text)
    insert(box, flattened(text, room))
