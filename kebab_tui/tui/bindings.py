"""Gives the keys of the registry to the widgets and the footer.

A widget gets the keys of its place *and* those that hold everywhere, so that none of
its own (`ctrl+k` of an input, `home` of a scrolling view) stands in front of them.
The application gets those that hold everywhere, for when nothing has the focus, and
`quit` before anything else. Every binding runs `app.act('<id>')`, which it performs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from textual.app import App
from textual.binding import Binding, BindingsMap
from textual.dom import DOMNode

from kebab_tui.tui.actions import Actions, Place
from kebab_tui.tui.key_names import arrives_as, shown


def act(action_id: str) -> str:
    """The call that performs an action, as bindings and the palette write it."""
    return f"app.act({action_id!r})"


def bindings(actions: Actions, place: Place) -> list[Binding]:
    """One binding a key; of each action only the first key is shown in the footer."""
    return list(_bindings(actions, place))


def bind(node: DOMNode, actions: Actions, place: Place) -> None:
    """Put the keys of a place on a widget, over those that its class brought along."""
    ours = BindingsMap(bindings(actions, place)).key_to_bindings
    # The library lets only an App bind keys at run time; a widget's own map is its instance's, too.
    node._bindings.key_to_bindings.update(ours)


def bind_call(node: DOMNode, keys: Iterable[str], call: str) -> None:
    """Let keys of the registry call something else while `node` is on top."""
    ours = BindingsMap(Binding(name, call) for key in keys for name in arrives_as(key))
    node._bindings.key_to_bindings.update(ours.key_to_bindings)


def bind_app(app: App[Any], actions: Actions) -> None:
    """Put the keys that hold everywhere on the application; `quit` works over every other screen, too."""
    own = app._bindings.key_to_bindings
    for key in ("ctrl+q", app.COMMAND_PALETTE_BINDING):
        own.pop(key, None)  # the library's own meanings, which would come before those of any widget
    own.update(BindingsMap(_everywhere(actions)).key_to_bindings)


def _everywhere(actions: Actions) -> Iterator[Binding]:
    for action in actions:
        only_everywhere = replace(action, query=(), lists=())
        for binding in _bindings((only_everywhere,), "query"):
            yield replace(binding, id=None, priority=action.id == "quit")


def _bindings(actions: Actions, place: Place) -> Iterator[Binding]:
    # What holds on an empty box only must be asked before what its key does otherwise.
    for action in sorted(actions, key=lambda action: action.when != "empty_query"):
        for number, key in enumerate(action.keys(place)):
            for name in arrives_as(key):
                yield Binding(
                    name,
                    act(action.id),
                    action.label,
                    show=action.in_footer and number == 0,
                    key_display=shown(key).replace("ctrl+", "^"),  # in 80 columns the footer is narrow
                    tooltip=action.help,
                    id=f"{action.id}.{place}",
                )
