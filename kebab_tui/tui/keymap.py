"""The user's `[keys]`: other keys for some actions.

The keys in the settings replace all keys of an action. A key that types a character works in
the normal mode of vim keys, or while the explanation has the focus; every other key works
wherever the action does. An entry of characters only leaves the other keys of its action as
they are. Refuses an unknown action or key, a character for an action of a text box, and one
key for two actions of a screen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

from kebab_tui.domain.errors import ConfigError
from kebab_tui.domain.text import did_you_mean
from kebab_tui.tui.actions import (
    ACTIONS,
    PLACES,
    SCREENS,
    SHARING,
    Action,
    Actions,
    Place,
    ScreenName,
    actions_on,
    first_key,
)
from kebab_tui.tui.keys import EDITING, key_name, shown, types_a_character


def keymap(written: Mapping[str, tuple[str, ...]], *, vim: bool = True, pick: bool = False) -> Actions:
    """The registry with the user's keys; without `vim`, no action has keys of the normal mode.

    With `pick`, the actions that open a note are labelled for what they do then.
    """
    names = [action.id for action in ACTIONS]
    for action_id in written:
        if action_id not in names:
            hint = did_you_mean(action_id, names) or "the actions are: " + ", ".join(names)
            raise ConfigError(f"keys.{action_id}: unknown action: {action_id}", hint)
    actions = tuple(
        _with_keys(action, written[action.id]) if action.id in written else action for action in ACTIONS
    )
    if not vim:
        actions = tuple(replace(action, vim=()) for action in actions)
    if pick:
        actions = tuple(
            replace(action, label="pick") if action.id in ("open", "switcher_open", "links_open") else action
            for action in actions
        )
    taken: dict[tuple[ScreenName, Place, str, str], Action] = {}
    for screen, place in product(SCREENS, PLACES):
        for action in actions_on(actions, screen):
            for key in action.keys(place):
                when = action.when if action.when in SHARING else ""
                first = taken.setdefault((screen, place, key, when), action)
                if first.id != action.id:
                    other = action.id if first.id in written else first.id
                    raise ConfigError(
                        f"keys: {first.id} and {action.id} both use {shown(key)}",
                        f"give one of them another key under [keys], such as {other} = […]",
                    )
    return actions


def _with_keys(action: Action, written: tuple[str, ...]) -> Action:
    keys = []
    for name in written:
        key = key_name(name)
        if key is None:
            raise ConfigError(
                f"keys.{action.id}: unknown key: {name!r}", "write keys as in f4, ctrl+n, shift+up, pgdn, ?"
            )
        if key not in keys:
            keys.append(key)
    if action.panel:
        return replace(action, everywhere=(), panel=tuple(keys))
    typing = tuple(key for key in keys if types_a_character(key))
    others = tuple(key for key in keys if not types_a_character(key))
    if typing and action.query:
        raise ConfigError(
            f"keys.{action.id}: {typing[0]} would be typed into the text box", "use a key such as alt+g"
        )
    if typing and not others:
        return replace(action, vim=typing)
    if action.needs_key and not others:
        raise ConfigError(
            f"keys.{action.id}: needs a key to {action.label}", f"such as {first_key(ACTIONS, action.id)}"
        )
    bare = replace(action, everywhere=(), query=(), lists=(), vim=typing)
    if not (action.everywhere or action.query):
        return replace(bare, lists=others)
    if editing := [shown(key) for key in others if key in EDITING]:
        raise ConfigError(
            f"keys.{action.id}: {editing[0]} edits the text in the box", "use a key such as alt+g"
        )
    return replace(bare, everywhere=others) if action.everywhere else replace(bare, query=others)
