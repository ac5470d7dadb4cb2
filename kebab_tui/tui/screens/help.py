"""The help: the query language, every key of the registry, the signs on the screen.

The keys of the focused pane come before those of the others. Typing filters the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.screen import ModalScreen
from textual.widgets import Input

from kebab_tui import __version__
from kebab_tui.domain.facets import FACETS
from kebab_tui.tui.actions import EDITING_KEYS, SECTIONS, Actions, ScreenName, Section, actions_on, bind
from kebab_tui.tui.keys import shown_all
from kebab_tui.tui.screens.framed import FilterLine, Frame
from kebab_tui.tui.widgets.footer import footer_text
from kebab_tui.tui.widgets.segments import (
    CHECK,
    DOT,
    DOWN,
    GAP,
    TIMES,
    UP,
    Row,
    RowsView,
    Segment,
    bar,
    cut,
    paragraph,
    wrapped,
)

_WIDEST = 24
"""Cells of the left column, at most."""
_NARROWEST = 8
_LANGUAGE = (
    ("rust tokio", "Notes with all the words, in any form"),
    ("Weekly plan", "A note with this name, alias or title comes first"),
    ('"a phrase"', "These words in this order"),
    ("emb*", "Words that begin with emb"),
    ("-word", "Without this word"),
    ("rust OR go", "Either word"),
    *(
        row
        for kind in FACETS.values()
        if kind.key is not None and not kind.compared and not kind.many
        for row in (
            (f"{kind.key}:a,b", f"With either {'text in the ' if kind.within else ''}{kind.id}"),
            (
                f"{kind.key}:a {kind.key}:b",
                f"With both texts in the {kind.id}" if kind.within else f"With both {kind.plural}",
            ),
        )
    ),
    ("tag:=a", "With this tag, and not only one below it"),
    ("task:open task:done", "With open tasks, with done ones"),
    ("prop:due prop:rating>3", "With this key; with such a value"),
    ("links:a linkedby:b", "That link to a note; that a note links to"),
    ("has:links -has:tasks", "With any links; without tasks"),
    ("-tag:x -path:old", "Without the tag; outside the path"),
    ("path:notes/**", "Below a folder; * matches within one folder"),
    ("in:work", "In one of your folders, by its name in F12"),
    ("version:v1.2", "In a version of your folders, read from git"),
    ("title:plan heading:goals", "A word in the title, in a heading"),
    ("type:markdown lang:ko", "By type, by language"),
    ("kind:code trust:primary", "By kind of passage, by trust"),
    ("after:7d before:2026-01", "Dated since a date; before a date"),
    ("modified:7d", "Files changed since a date; <2026-01 before it"),
    ("'raw AND (fts5)'", "A whole query in single quotes: SQLite FTS5 syntax"),
    ('tag:rust -draft "error handling" after:30d', "An example of several together"),
)
_EDITING = (
    (shown_all(("left", "right", "ctrl+a", "ctrl+e")), "Go by characters; to the beginning, to the end"),
    ("ctrl+w ctrl+u ctrl+k", "Delete a word or a filter; all to the left; all to the right"),
    (shown_all(("right", "ctrl+e")), "At the end: accept the suggestion"),
    (shown_all(("shift+left", "shift+right")), "Select text"),
)
_IN_PANEL = ", while the explanation has the focus"
_SHELL_KEYS = ("ctrl+b", "ctrl+f", "ctrl+g", "ctrl+l", "ctrl+n", "ctrl+p", "ctrl+r", "ctrl+t", "ctrl+y")
"""Keys that edit a line in a shell and not in Textual's input."""
_LEGEND = (
    ("name matches", "The name, an alias or the title is the query"),
    ("text matches", "Notes whose text matches, the best first"),
    ("partial match", "Only some of the words match"),
    ("by meaning only", "No word matches; the passage means something near"),
    ("further keyword matches", "Keyword matches that the ranking by meaning leaves out"),
    ("weak match", "The best there is, but not near"),
    ("moved", "The passage is at other lines or on another page by now"),
    ("changed", "The note was modified after it was indexed"),
    ("gone", "The note does not exist any more"),
    ("+2", "Further passages of the same note"),
    (CHECK, "Marked, to open or copy several at once"),
    (bar(1, 3), "The score, compared with the best hit of the page"),
    ("+ ~", "The hit is new, or its text has changed, since the notes were indexed again"),
    (f"{UP}2 {DOWN}1", "Ranks that a what-if moves the hit up or down"),
)
_MOUSE = (
    ("click", f"Select a hit, focus a pane, run a key of the footer, remove a filter at its {TIMES}"),
    ("double click", "Open the hit"),
    ("wheel", "Scroll the pane below the pointer"),
    ("shift+drag", "Select text with the terminal, in most of them"),
)


@dataclass(frozen=True, slots=True)
class HelpGroup:
    """A title over rows of keys, query syntax or badges, and their meaning."""

    title: str
    rows: tuple[tuple[str, str], ...]


def help_groups(actions: Actions, section: Section) -> tuple[HelpGroup, ...]:
    """The query language, the keys of the focused pane or page, those of all others, the rest."""
    keys = [
        HelpGroup(
            title,
            tuple(
                (
                    shown_all(action.all_keys),
                    action.help + (_IN_PANEL if action.panel and action.screen == "Main" else ""),
                )
                for action in actions
                if action.section == title and action.all_keys
            ),
        )
        for title in sorted(SECTIONS, key=lambda title: title != section)
    ]
    groups = (
        HelpGroup("What a query can say", _LANGUAGE),
        *keys,
        HelpGroup("Editing the query", (*_EDITING, *_overridden(actions))),
        HelpGroup("Signs", _LEGEND),
        HelpGroup("Mouse", _MOUSE),
    )
    return tuple(group for group in groups if group.rows)


def _overridden(actions: Actions) -> Iterator[tuple[str, str]]:
    """The editing keys that do something else in the query box."""
    taken = {key for action in actions_on(actions, "Main") for key in action.keys("query")}
    keys = tuple(sorted(taken.intersection({*EDITING_KEYS, *_SHELL_KEYS})))
    if keys:
        yield shown_all(keys), "Edit elsewhere, but not here: they have other actions"


def filtered(groups: Sequence[HelpGroup], text: str) -> Iterator[HelpGroup]:
    """The rows that contain every word of the text, ignoring case."""
    words = text.casefold().split()
    for group in groups:
        rows = tuple(
            row
            for row in group.rows
            if all(word in f"{group.title} {row[0]} {row[1]}".casefold() for word in words)
        )
        if rows:
            yield HelpGroup(group.title, rows)


def help_rows(groups: Sequence[HelpGroup], width: int) -> Iterator[Row]:
    """The groups in two columns, each cell wrapped."""
    lefts = (cell_len(left) for group in groups for left, _ in group.rows)
    column = min(max(lefts, default=0), _WIDEST, max(width // 3, _NARROWEST))
    for number, group in enumerate(groups):
        if number:
            yield ()
        yield (Segment(cut(group.title, width), "sum"),)
        for left, right in group.rows:
            cells = zip_longest(wrapped(left, column), wrapped(right, width - column - GAP), fillvalue="")
            for key, meaning in cells:
                padding = " " * (column + GAP - cell_len(key))
                yield (Segment(key, "heading"), Segment(padding), Segment(meaning))


class HelpText(RowsView, can_focus=True, inherit_bindings=False):
    DEFAULT_CSS = """
    HelpText { height: 1fr; }
    """

    def __init__(self, groups: tuple[HelpGroup, ...]) -> None:
        super().__init__()
        self._groups = groups
        self._filter = ""

    def rows_at(self, width: int) -> list[Row]:
        groups = list(filtered(self._groups, self._filter))
        return list(help_rows(groups, width) if groups else paragraph("nothing found", width, "muted"))

    def filter(self, text: str) -> None:
        self._filter = text
        self.lay_out()
        self.scroll_home(animate=False)


class HelpSheet(ModalScreen[None]):
    """Covers the screen until a key closes it."""

    DEFAULT_CSS = """
    HelpSheet { align: center middle; }
    HelpSheet > Frame { width: 90%; max-width: 100; height: 90%; }
    """
    screen_name: ClassVar[ScreenName] = "Help"

    def __init__(self, actions: Actions, section: Section) -> None:
        super().__init__()
        self._actions = actions
        self.text = HelpText(help_groups(actions, section))

    def compose(self) -> ComposeResult:
        yield Frame(
            FilterLine("type to filter"),
            self.text,
            title=f"help {DOT} kebab-tui {__version__}",
            keys=footer_text(self._actions, "Help"),
        )

    def on_mount(self) -> None:
        bind(self, self._actions, "Help", "everywhere")
        bind(self.text, self._actions, "Help", "vim")
        bind(self.typing_box, self._actions, "Help", "query")
        self.set_focus(self.text)

    @property
    def typing_box(self) -> Input:
        """Receives the keys without a binding."""
        return self.query_one(Input)

    @on(Input.Changed)
    def _text_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.text.filter(event.value)

    def action_move(self, step: int) -> None:
        self.text.scroll_relative(y=step, animate=False)

    def action_page(self, step: int) -> None:
        self.action_move(step * max(self.text.size.height - 1, 1))

    def action_filter(self) -> None:
        self.set_focus(self.typing_box)

    def action_back(self) -> None:
        """Clear the filter, or close the help."""
        if self.typing_box.value:
            self.typing_box.clear()
            self.set_focus(self.text)
        else:
            self.dismiss()
