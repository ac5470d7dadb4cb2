"""The command palette: every action that would do something now, found by its name.

The application opens it (F2, `:`) and offers what `Commanded` names; chosen actions run
as their keys would.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, cast

from textual import on
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.worker import WorkerError

from kebab_tui.tui.actions import Action, Actions, Facts, available
from kebab_tui.tui.bindings import act
from kebab_tui.tui.key_names import shown_all


class Commanded(Protocol):
    """What the palette asks of the application."""

    @property
    def actions(self) -> Actions: ...

    @property
    def facts(self) -> Facts: ...


@dataclass(frozen=True, slots=True)
class Command:
    """An action as the palette lists it."""

    action_id: str
    name: str
    keys: str
    help: str


def commands(actions: Actions, facts: Facts) -> tuple[Command, ...]:
    """What can be chosen now; the palette itself is open already."""
    return tuple(
        Command(action.id, action.label, shown_all(_keys(action)), action.help)
        for action in available(actions, facts)
        if action.id != "palette"
    )


def _keys(action: Action) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*action.everywhere, *action.query, *action.lists)))


def _with_keys(name: Content, command: Command) -> Content:
    # The palette would read a `[` in the help, which is a str to it, as markup.
    return name + Content.styled(f"  {command.keys}", "dim")


def palette() -> CommandPalette:
    """The screen to push."""
    return _Palette([ActionCommands], placeholder="What to do?")


class _Palette(CommandPalette):
    """Runs what fits the text, also when Enter comes with it, and runs it once."""

    _is_chosen = False

    @on(Input.Submitted)
    async def _choose(self, event: Input.Submitted) -> None:
        event.stop()
        event.prevent_default()  # it would take what fitted the text before
        for search in [worker for worker in self.workers if worker.node is self]:
            with contextlib.suppress(WorkerError):
                await search.wait()
        self._select_or_command()

    @on(OptionList.OptionSelected)
    def _once(self, event: OptionList.OptionSelected) -> None:
        if self._is_chosen:
            event.stop()
            event.prevent_default()  # it would leave the screen below, too
        self._is_chosen = True


class ActionCommands(Provider):
    """Offers the registry to the palette."""

    async def discover(self) -> Hits:
        for command in self._commands():
            display = _with_keys(Content(command.name), command)
            yield DiscoveryHit(display, self._run(command), text=command.name, help=command.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for command in self._commands():
            # The id is what the README and the configuration call it.
            name = max(matcher.match(command.name), matcher.match(command.action_id))
            score = max(name, 0.9 * matcher.match(command.help))
            if score > 0:
                display = _with_keys(matcher.highlight(command.name), command)
                yield Hit(score, display, self._run(command), text=command.name, help=command.help)

    def _commands(self) -> tuple[Command, ...]:
        app = cast(Commanded, self.app)
        return commands(app.actions, app.facts)

    def _run(self, command: Command) -> Callable[[], Awaitable[bool]]:
        return lambda: self.app.run_action(act(command.action_id))
