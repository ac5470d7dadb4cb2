"""The help sheet: the keys of the focused pane first, then all others, then how to write a query.

`help_groups` is pure and made from the registry. The sheet performs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from kebab_tui.tui.actions import SECTIONS, Action, Actions, Place, Section, action_of
from kebab_tui.tui.bindings import bind_call
from kebab_tui.tui.key_names import shown_all

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
