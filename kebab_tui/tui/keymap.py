"""The user's `[keys]`: other keys for some actions.

What is written replaces all keys of an action. A key that types a character holds in
the lists only; every other key holds wherever the action does. Refuses an action or a
key that does not exist, and two actions that want one key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from itertools import combinations

from kebab_tui.domain.errors import ConfigError
from kebab_tui.tui.actions import ACTIONS, PLACES, SECTIONS, Action, Actions
from kebab_tui.tui.keys import EDITING, key_name, shown, types_a_character


def keymap(written: Mapping[str, tuple[str, ...]]) -> Actions:
    """The registry with the user's keys in it."""
    for action_id in written:
        _known(action_id)
    if not written.get("quit", ("ctrl+q",)):
        raise ConfigError(
            "keys.quit: nothing would leave the screen any more", "give it a key, such as ctrl+q"
        )
    actions = tuple(_rekeyed(action, written.get(action.id)) for action in ACTIONS)
    for first, second, key in _clashes(actions):
        raise ConfigError(
            f"keys: {first.id} and {second.id} both want {shown(key)}",
            f"give one of them another key under [keys], such as {_spare(first, second, written)} = […]",
        )
    return actions


def _known(action_id: str) -> None:
    names = [action.id for action in ACTIONS]
    if action_id not in names:
        near = get_close_matches(action_id, names, 1)
        hint = f"did you mean {near[0]}?" if near else "the actions are: " + ", ".join(names)
        raise ConfigError(f"keys.{action_id}: there is no action {action_id}", hint)


def _rekeyed(action: Action, written: tuple[str, ...] | None) -> Action:
    if written is None:
        return action
    keys = tuple(dict.fromkeys(_key(action, key) for key in written))
    if not (action.everywhere or action.query):
        return replace(action, lists=keys)
    typing = tuple(key for key in keys if types_a_character(key))
    others = tuple(key for key in keys if not types_a_character(key))
    if editing := [shown(key) for key in others if key in EDITING]:
        raise ConfigError(
            f"keys.{action.id}: {editing[0]} edits what is typed in the query box", "use a key such as ctrl+g"
        )
    if action.everywhere:
        return replace(action, everywhere=others, query=(), lists=typing)
    if typing:
        raise ConfigError(
            f"keys.{action.id}: {typing[0]} would be typed into the query box", "use a key such as ctrl+g"
        )
    return replace(action, query=others)


def _key(action: Action, written: str) -> str:
    key = key_name(written)
    if key is None:
        raise ConfigError(
            f"keys.{action.id}: there is no key {written!r}", "write keys as in f4, ctrl+n, shift+up, pgdn, ?"
        )
    return key


def _clashes(actions: Actions) -> Iterator[tuple[Action, Action, str]]:
    for place in PLACES:
        for first, second in combinations(actions, 2):
            if _may_share(first, second):
                continue
            for key in first.keys(place):
                if key in second.keys(place):
                    yield first, second, key


def _may_share(first: Action, second: Action) -> bool:
    """What holds on an empty box only steps in front of what the key does otherwise."""
    return (first.when == "empty_query") != (second.when == "empty_query")


def _spare(first: Action, second: Action, written: Mapping[str, tuple[str, ...]]) -> str:
    """The action whose keys the user has not chosen, if there is one."""
    return second.id if first.id in written else first.id


# The README's table of keys, written from the registry.

BEGIN, END = "<!-- keys -->", "<!-- /keys -->"


def key_table() -> str:
    """A Markdown table: the action, its keys in the query box, its keys in the lists."""
    return "\n".join(_lines())


def with_key_table(text: str) -> str:
    """A document with the table between its markers; without markers it stays as it is."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{begin}\n{key_table()}\n{end}{after}" if end else text


def _lines() -> Iterator[str]:
    yield "| | in the query box | in the lists | `[keys]` |"
    yield "|---|---|---|---|"
    for section in SECTIONS:
        yield f"| **{section}** | | | |"
        for action in ACTIONS:
            if action.section == section:
                yield _line(action)


def _line(action: Action) -> str:
    return (
        f"| {action.help} | {_cell(action.keys('query'))} | {_cell(action.keys('lists'))} | `{action.id}` |"
    )


def _cell(keys: tuple[str, ...]) -> str:
    # A bar inside a code span would still end the cell of a table.
    return " ".join(f"`{shown(key)}`".replace("|", r"\|") for key in keys)
