"""The names of keys: as written by people, as the terminal library calls them, as shown.

A written name is `f4`, `ctrl+n`, `PgUp`, or the character that the key types (`?`, `G`).
Knows keys, but no action.
"""

from __future__ import annotations

import re

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
