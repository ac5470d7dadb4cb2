"""The help sheet: the keys of the focused pane first, then all others, then how to write a query.

`help_groups` is pure and made from the registry. The sheet performs nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol, cast

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.worker import WorkerError

from kebab_tui.tui.actions import (
    SECTIONS,
    Action,
    Actions,
    Facts,
    Place,
    Section,
    act,
    action_of,
    available,
    bind_call,
)
from kebab_tui.tui.keys import shown_all

_ELSEWHERE: dict[Place, str] = {"query": "In the query box", "lists": "In the lists"}
_EDITING = (
    ("ctrl+a ctrl+e", "To the beginning, to the end"),
    ("ctrl+w ctrl+u", "Delete a word or a whole key:value, everything to the left"),
    ("→ ctrl+e", "At the end: accept what is offered in grey"),
)
_LANGUAGE = (
    ('"a phrase"', "These words in this order"),
    ("-word", "Not this word"),
    ("rust OR go", "One of them; words side by side are all wanted"),
    ("tag:a,b tag:a tag:b", "Notes with one of the tags; with both"),
    ("-tag:x -path:old", "Notes without the tag, or from elsewhere"),
    ("path:notes/**", "Notes below a folder; * stays within one"),
    ("lang:ko type:markdown", "By language, by type; kind: in: trust: title: heading:"),
    ("after:7d before:2026-01", "Notes changed since, or until"),
    ("'raw AND (fts5)'", "A whole query in single quotes is SQLite's own syntax"),
)


@dataclass(frozen=True, slots=True)
class HelpGroup:
    """A title over rows of keys (or words of the query) and what they do."""

    title: str
    rows: tuple[tuple[str, str], ...]


def place_of(pane: Section) -> Place:
    """Whether keys that type characters are free in this pane."""
    return "query" if pane == "Query" else "lists"


def help_groups(actions: Actions, pane: Section) -> tuple[HelpGroup, ...]:
    """Every action with its keys; those of the focused pane come first."""
    place = place_of(pane)
    sections = sorted(SECTIONS, key=lambda section: section != pane)
    groups = [_group(section, [a for a in actions if a.section == section], place) for section in sections]
    other: Place = "lists" if place == "query" else "query"
    elsewhere = _group(_ELSEWHERE[other], [a for a in actions if not a.keys(place)], other)
    writing = (HelpGroup("Editing the query", _EDITING), HelpGroup("What a query can say", _LANGUAGE))
    return tuple(group for group in (*groups, elsewhere, *writing) if group.rows)


def help_content(groups: tuple[HelpGroup, ...]) -> Content:
    """The groups as text: keys in one column, meanings in the next."""
    column = max(cell_len(left) for group in groups for left, _ in group.rows) + 2
    return Content("\n").join(_lines(groups, column))


class HelpSheet(ModalScreen[None]):
    """Lies over the screen until a key closes it."""

    DEFAULT_CSS = """
    HelpSheet { align: center middle; }
    HelpSheet > VerticalScroll {
        width: 90%; max-width: 92; height: 90%;
        background: $surface; border: round $primary; padding: 0 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,enter", "close_sheet", "Close"),
    ]

    def __init__(self, actions: Actions, pane: Section) -> None:
        super().__init__()
        self._groups = help_groups(actions, pane)
        # The key that opened the sheet closes it, whichever it is.
        bind_call(self, action_of(actions, "help").keys("lists"), "close_sheet")

    def compose(self) -> ComposeResult:
        with VerticalScroll() as sheet:
            sheet.border_title = Content("keys")
            sheet.border_subtitle = Content("esc closes")
            yield Static(help_content(self._groups))

    def action_close_sheet(self) -> None:
        self.dismiss()


def _group(title: str, actions: list[Action], place: Place) -> HelpGroup:
    rows = ((shown_all(action.keys(place)), action.help) for action in actions if action.keys(place))
    return HelpGroup(title, tuple(rows))


def _lines(groups: tuple[HelpGroup, ...], column: int) -> Iterator[Content]:
    for group in groups:
        yield Content.styled(group.title, "bold $primary")
        for left, right in group.rows:
            yield Content.assemble((left, "bold"), " " * (column - cell_len(left)), right)
        yield Content("")


# The command palette: every action that would do something now, found by its name.
#
# The application opens it (F2, `:`) and offers what `Commanded` names; chosen actions run
# as their keys would.


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
