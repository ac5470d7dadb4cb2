"""The registry of the screen's actions, their bindings, and what Esc does.

Bindings, footer, help sheet, palette, the README's table and the user's `[keys]` come
from this registry. A key works `everywhere`, only in the `query` box, or only in the
`lists` (hits, preview, explanation), where it may type a character. `Commands` performs
the actions by id.

A widget gets the keys of its place and those that work everywhere, so that none of its
own (`ctrl+k` of an input, `home` of a scrolling view) comes first. The application gets
those that work everywhere, in case no widget has the focus, and `quit` with priority.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, assert_never

from textual.app import App
from textual.binding import Binding, BindingsMap
from textual.dom import DOMNode

from kebab_tui.tui.keys import arrives_as, shown

Place = Literal["query", "lists"]
PLACES: tuple[Place, ...] = ("query", "lists")

Section = Literal["Hits", "Query", "Preview", "Explain", "Screen"]
SECTIONS: tuple[Section, ...] = ("Hits", "Query", "Preview", "Explain", "Screen")

When = Literal["always", "hits", "empty_query", "filters", "explain", "first_run"]

EscapeAction = Literal[
    "close_overlay", "stop_search", "focus_query", "drop_marks", "clear_query", "show_how_to_quit"
]


@dataclass(frozen=True, slots=True)
class Facts:
    """The state of the screen that decides which actions are available."""

    hits: bool = False
    empty_query: bool = True
    filters: bool = False
    explain: bool = False
    first_run: bool = False


@dataclass(frozen=True, slots=True)
class Action:
    """`label` is for the footer and the palette; `help` is a sentence without a full stop."""

    id: str
    label: str
    help: str
    section: Section
    everywhere: tuple[str, ...] = ()
    query: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    when: When = "always"
    in_footer: bool = False

    def keys(self, place: Place) -> tuple[str, ...]:
        """The keys in one place; the first one is displayed."""
        own = self.query if place == "query" else self.lists
        return (*self.everywhere, *own)

    def is_available(self, facts: Facts) -> bool:
        """Whether the action would have an effect now."""
        match self.when:
            case "always":
                return True
            case "hits":
                return facts.hits
            case "empty_query":
                return facts.empty_query
            case "filters":
                return facts.filters
            case "explain":
                return facts.explain
            case "first_run":
                return facts.first_run
            case _:
                assert_never(self.when)


Actions = tuple[Action, ...]

ACTIONS: Actions = (
    Action("open", "open", "Open the citation, or every marked one, in the editor", "Hits",
           ("enter", "ctrl+o"), lists=("e",), when="hits", in_footer=True),
    Action("next_hit", "next", "Go to the next hit; in the preview, scroll a line down", "Hits",
           ("down", "ctrl+n", "ctrl+j"), lists=("j",), when="hits"),
    Action("previous_hit", "previous", "Go to the previous hit; in the preview, scroll a line up", "Hits",
           ("up", "ctrl+p", "ctrl+k"), lists=("k",), when="hits"),
    Action("next_page", "page down", "Go a page down", "Hits", ("pagedown",), when="hits"),
    Action("previous_page", "page up", "Go a page up", "Hits", ("pageup",), when="hits"),
    Action("first_hit", "first", "Go to the first hit; in the preview, to the top", "Hits",
           lists=("home", "g"), when="hits"),
    Action("last_hit", "last", "Go to the last hit; in the preview, to the end", "Hits",
           lists=("end", "G"), when="hits"),
    Action("copy", "copy", "Copy the citation, or every marked one", "Hits",
           ("ctrl+y",), lists=("y",), when="hits", in_footer=True),
    Action("copy_text", "copy text", "Copy the citation with its text", "Hits", lists=("Y",), when="hits"),
    Action("mark", "mark", "Mark the hit, to open or copy several at once", "Hits",
           ("ctrl+space",), lists=("space",), when="hits"),
    Action("focus_query", "query", "Go to the query box", "Query",
           ("ctrl+l",), lists=("/",)),
    Action("mode", "mode", "Search by both, by words only, by meaning only", "Query",
           ("ctrl+t",), in_footer=True),
    Action("drop_filter", "drop filter", "Take the last filter out of the query", "Query",
           ("f8",), lists=("x",), when="filters"),
    Action("recall_query", "last query", "Bring back the last query when the box is empty", "Query",
           query=("up",), when="empty_query"),
    Action("older_query", "older query", "Go back in the queries asked before", "Query",
           query=("ctrl+up",)),
    Action("newer_query", "newer query", "Go forward in the queries asked before", "Query",
           query=("ctrl+down",)),
    Action("preview", "preview", "Show or hide the preview", "Preview",
           ("f3",), in_footer=True),
    Action("scroll_down", "scroll down", "Scroll the preview down", "Preview", ("shift+down",), when="hits"),
    Action("scroll_up", "scroll up", "Scroll the preview up", "Preview", ("shift+up",), when="hits"),
    Action("half_page_down", "half page down", "Scroll the preview half a page down", "Preview",
           lists=("ctrl+d",), when="hits"),
    Action("half_page_up", "half page up", "Scroll the preview half a page up", "Preview",
           lists=("ctrl+u",), when="hits"),
    Action("next_match", "next match", "Go to the next word of the query in the note", "Preview",
           lists=("n",), when="hits"),
    Action("previous_match", "previous match", "Go to the previous word of the query in the note", "Preview",
           lists=("N",), when="hits"),
    Action("render", "rendered", "Show the Markdown rendered, or its source again", "Preview",
           lists=("m",), when="hits"),
    Action("explain", "explain", "Show or hide why the hit ranks where it does", "Explain",
           ("f4",), in_footer=True),
    Action("rrf_k_down", "smaller rrf_k", "What if rrf_k were smaller", "Explain",
           lists=("[",), when="explain"),
    Action("rrf_k_up", "larger rrf_k", "What if rrf_k were larger", "Explain",
           lists=("]",), when="explain"),
    Action("vector_weight_down", "less meaning", "What if meaning counted less", "Explain",
           lists=("{",), when="explain"),
    Action("vector_weight_up", "more meaning", "What if meaning counted more", "Explain",
           lists=("}",), when="explain"),
    Action("rerank", "rerank", "What if the rerank were off, or on again", "Explain",
           lists=("|",), when="explain"),
    Action("what_if_reset", "as searched", "Go back to the ranks that were searched", "Explain",
           lists=("=",), when="explain"),
    Action("why_not", "why not", "Ask why a note is not among the hits", "Explain", lists=("w",)),
    Action("layout", "layout", "Put the preview beside or below the hits", "Screen",
           ("f6",)),
    Action("zoom", "zoom", "Give the focused pane the whole screen, or take it back", "Screen",
           ("f11",), lists=("z",)),
    Action("next_pane", "next pane", "Go to the next pane", "Screen", ("tab",)),
    Action("previous_pane", "previous pane", "Go to the previous pane", "Screen", ("shift+tab",)),
    Action("rescan", "rescan", "Look for changed notes and ask again", "Screen",
           ("f5", "ctrl+r")),
    Action("health", "files", "Show every file with its state, and read again what failed", "Screen",
           ("f12",)),
    Action("sample_vault", "sample notes", "Try the screen on the sample notes", "Screen",
           ("f7",), when="first_run", in_footer=True),
    Action("help", "help", "Show the keys of the focused pane, then all others", "Screen",
           ("f1",), lists=("?",), in_footer=True),
    Action("palette", "commands", "Find an action by its name", "Screen",
           ("f2",), lists=(":",), in_footer=True),
    Action("back", "back", "Close what is on top, stop the search, go to the query, clear it", "Screen",
           ("escape",)),
    Action("quit", "quit", "Quit", "Screen", ("ctrl+q",), lists=("q",), in_footer=True),
)  # fmt: skip


def action_of(actions: Actions, action_id: str) -> Action:
    """The action with this id, which must exist."""
    return next(action for action in actions if action.id == action_id)


def available(actions: Actions, facts: Facts) -> Actions:
    """The available actions, in the order of the registry."""
    return tuple(action for action in actions if action.is_available(facts))


def act(action_id: str) -> str:
    """The Textual action that performs an action of the registry."""
    return f"app.act({action_id!r})"


def bindings(actions: Actions, place: Place) -> Iterator[Binding]:
    """One binding per key; the footer shows only the first key of an action."""
    # A binding for an empty box comes before the other binding of its key.
    for action in sorted(actions, key=lambda action: action.when != "empty_query"):
        for number, key in enumerate(action.keys(place)):
            for name in arrives_as(key):
                yield Binding(
                    name,
                    act(action.id),
                    action.label,
                    show=action.in_footer and number == 0,
                    key_display=shown(key).replace("ctrl+", "^"),  # short: a footer has 80 columns
                    tooltip=action.help,
                    id=f"{action.id}.{place}",
                )


def bind(node: DOMNode, actions: Actions, place: Place) -> None:
    """Put the keys of a place on a widget, in place of those of its class."""
    # Textual has a public way for an App only; this map belongs to the instance.
    node._bindings.key_to_bindings.update(BindingsMap(bindings(actions, place)).key_to_bindings)


def bind_call(node: DOMNode, keys: Iterable[str], call: str) -> None:
    """Bind keys of the registry to another call while `node` is on top."""
    ours = BindingsMap(Binding(name, call) for key in keys for name in arrives_as(key))
    node._bindings.key_to_bindings.update(ours.key_to_bindings)


def bind_app(app: App[Any], actions: Actions) -> None:
    """Bind the keys that work everywhere to the application; `quit` works over every screen."""
    own = app._bindings.key_to_bindings
    for key in ("ctrl+q", app.COMMAND_PALETTE_BINDING):
        own.pop(key, None)  # Textual's own bindings would come before those of the widgets
    own.update(
        BindingsMap(
            replace(binding, id=None, priority=action.id == "quit")
            for action in actions
            for binding in bindings((replace(action, query=(), lists=()),), "query")
        ).key_to_bindings
    )


@dataclass(frozen=True, slots=True)
class EscapeState:
    """The state that decides what Esc does."""

    overlay: bool
    searching: bool
    """Whether a slow query is running."""
    marks: bool
    """Whether hits are marked, of this query or an earlier one."""
    focus: Place
    query: str


def escape_action(state: EscapeState) -> EscapeAction:
    """The first possible step. No step loses more than the text of the query."""
    if state.overlay:
        return "close_overlay"
    if state.searching:
        return "stop_search"
    if state.focus != "query":
        return "focus_query"
    if state.marks:
        return "drop_marks"
    if state.query:
        return "clear_query"
    return "show_how_to_quit"
