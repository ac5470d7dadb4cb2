"""The help sheet and the command palette, both made from the registry of actions.

The sheet lists the keys of the focused pane, then all others, then the query language. The
palette finds the actions that are available now by name, and runs them as their keys do.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Protocol, cast

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.worker import WorkerError

from kebab_tui.domain.facets import FACETS
from kebab_tui.tui.actions import (
    SCREENS,
    SECTIONS,
    Action,
    Actions,
    Facts,
    Place,
    ScreenName,
    Section,
    actions_on,
    available,
    bind,
    name_of,
)
from kebab_tui.tui.keys import shown_all
from kebab_tui.tui.widgets.footer import footer_text

_ELSEWHERE: dict[Place, str] = {"query": "In the query box", "lists": "In the lists"}
_EDITING = (
    ("ctrl+a ctrl+e", "Go to the beginning, to the end"),
    ("ctrl+w ctrl+u", "Delete a word or a filter; delete all to the left"),
    ("→ ctrl+e", "At the end: accept the suggestion"),
)
_LANGUAGE = (
    ('"a phrase"', "These words in this order"),
    ("-word", "Notes without this word"),
    ("rust OR go", "Either word; without OR, all words"),
    *(
        (
            f"{kind.key}:a,b {kind.key}:a {kind.key}:b",
            f"Notes with either{' in a' if kind.within else ''} {kind.id}; with both",
        )
        for kind in FACETS.values()
        if kind.key is not None
    ),
    ("-tag:x -path:old", "Notes without the tag; outside the path"),
    ("path:notes/**", "Notes below a folder; * matches within one folder"),
    ("lang:ko type:markdown", "By language, by type; kind: in: trust: title: heading:"),
    ("after:7d before:2026-01", "Notes modified since a date; before a date"),
    ("'raw AND (fts5)'", "A whole query in single quotes uses SQLite FTS5 syntax"),
)


@dataclass(frozen=True, slots=True)
class HelpGroup:
    """A title over rows of keys (or query syntax) and their meaning."""

    title: str
    rows: tuple[tuple[str, str], ...]


def help_groups(actions: Actions, section: Section) -> tuple[HelpGroup, ...]:
    """All actions with their keys; those of the focused pane or of the screen on top first."""
    place: Place = "query" if section == "Query" else "lists"  # in the query box, characters are typed text
    other: Place = "lists" if place == "query" else "query"
    main = actions_on(actions, "Main")
    groups = [_group(title, (a for a in main if a.section == title), place) for title in SECTIONS]
    groups.append(_group(_ELSEWHERE[other], (a for a in main if not a.keys(place)), other))
    for screen in SCREENS[1:]:
        typed: Place = "query" if screen in ("Why not", "Palette") else "lists"
        # What works on several screens is listed once, and on the screen where help was asked for.
        listed = (a for a in actions_on(actions, screen) if screen in (a.screen, section))
        groups.append(_group(screen, listed, typed))
    groups.sort(key=lambda group: group.title != section)
    writing = (HelpGroup("Editing the query", _EDITING), HelpGroup("Query language", _LANGUAGE))
    return tuple(group for group in (*groups, *writing) if group.rows)


def help_content(groups: tuple[HelpGroup, ...]) -> Content:
    """The groups as text in two columns: keys and meanings."""
    column = max(cell_len(left) for group in groups for left, _ in group.rows) + 2
    lines: list[Content] = []
    for group in groups:
        lines.append(Content.styled(group.title, "bold $primary"))
        for left, right in group.rows:
            lines.append(Content.assemble((left, "bold"), " " * (column - cell_len(left)), right))
        lines.append(Content(""))
    return Content("\n").join(lines)


class HelpSheet(ModalScreen[None]):
    """Covers the screen until a key closes it."""

    DEFAULT_CSS = """
    HelpSheet { align: center middle; }
    HelpSheet > VerticalScroll {
        width: 90%; max-width: 92; height: 90%;
        background: $surface; border: round $primary; padding: 0 1;
    }
    """
    screen_name: ClassVar[ScreenName] = "Help"

    def __init__(self, actions: Actions, section: Section) -> None:
        super().__init__()
        self._actions = actions
        self._section = section

    def compose(self) -> ComposeResult:
        with VerticalScroll() as sheet:
            sheet.border_title = Content("keys")
            sheet.border_subtitle = Content(footer_text(self._actions, "Help"))
            yield Static(help_content(help_groups(self._actions, self._section)))

    def on_mount(self) -> None:
        for node in (self, self.query_one(VerticalScroll)):
            bind(node, self._actions, "Help", "lists")


def _group(title: str, actions: Iterable[Action], place: Place) -> HelpGroup:
    rows = ((shown_all(action.keys(place)), action.help) for action in actions if action.keys(place))
    return HelpGroup(title, tuple(rows))


class Commanded(Protocol):
    """The part of the application that the palette needs."""

    @property
    def actions(self) -> Actions: ...

    @property
    def facts(self) -> Facts: ...


def commands(actions: Actions, facts: Facts, screen: ScreenName = "Main") -> Actions:
    """The available actions of a screen, without the palette itself."""
    return tuple(a for a in available(actions_on(actions, screen), facts) if a.id != "palette")


def _with_keys(name: Content, action: Action) -> Content:
    # The palette parses the help, a plain str, as markup.
    return name + Content.styled(f"  {shown_all(action.all_keys)}", "dim")


def palette() -> CommandPalette:
    """The palette as a screen."""
    return _Palette([ActionCommands], placeholder="Command")


class _Palette(CommandPalette):
    """Runs the command that matches the whole text, even if Enter arrives early, and only once."""

    screen_name: ClassVar[ScreenName] = "Palette"
    _is_chosen = False

    def on_mount(self) -> None:
        for node in (self, self.query_one(Input)):
            bind(node, cast(Commanded, self.app).actions, "Palette", "query")

    async def action_submit(self) -> None:
        await self.query_one(Input).action_submit()  # comes after the text typed before it

    @on(Input.Submitted)
    async def _choose(self, event: Input.Submitted) -> None:
        event.stop()
        event.prevent_default()  # it would run a match of the previous text
        for search in [worker for worker in self.workers if worker.node is self]:
            with contextlib.suppress(WorkerError):
                await search.wait()
        self._select_or_command()

    @on(OptionList.OptionSelected)
    def _once(self, event: OptionList.OptionSelected) -> None:
        if self._is_chosen:
            event.stop()
            event.prevent_default()  # it would close the screen below, too
        self._is_chosen = True


class ActionCommands(Provider):
    """Provides the actions of the registry to the palette."""

    async def discover(self) -> Hits:
        for action in self._commands():
            display = _with_keys(Content(action.label), action)
            yield DiscoveryHit(display, self._run(action), text=action.label, help=action.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for action in self._commands():
            # The README and the settings use the id.
            name = max(matcher.match(action.label), matcher.match(action.id))
            score = max(name, 0.9 * matcher.match(action.help))
            if score > 0:
                display = _with_keys(matcher.highlight(action.label), action)
                yield Hit(score, display, self._run(action), text=action.label, help=action.help)

    def _commands(self) -> Actions:
        app = cast(Commanded, self.app)
        return commands(app.actions, app.facts, name_of(self.screen))

    def _run(self, action: Action) -> Callable[[], Awaitable[bool]]:
        return lambda: self.app.run_action(action.call)
