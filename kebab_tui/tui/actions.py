"""Every action of the screen, written down here and nowhere else.

Bindings, footer, help sheet, palette, the README's table and the user's `[keys]` are
made from this registry. A key holds `everywhere`, only in the `query` box, or only in
the `lists` (hits, preview, explanation), where a key that types a character may stand
too. An essential action has a key that survives ssh and tmux. Does nothing itself: the
application performs an action by its id.
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


@dataclass(frozen=True, slots=True)
class Facts:
    """What the screen shows at the moment, as far as it decides which actions make sense."""

    hits: bool = False
    empty_query: bool = True
    filters: bool = False
    explain: bool = False
    first_run: bool = False


@dataclass(frozen=True, slots=True)
class Action:
    """`label` is for the footer and the palette, `help` a sentence without its full stop."""

    id: str
    label: str
    help: str
    section: Section
    everywhere: tuple[str, ...] = ()
    query: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    when: When = "always"
    in_footer: bool = False
    essential: bool = False
    """Without it the screen cannot be used, so one of its keys must come through every terminal."""

    def keys(self, place: Place) -> tuple[str, ...]:
        """The keys that hold in one place, the one to show first."""
        own = self.query if place == "query" else self.lists
        return (*self.everywhere, *own)

    def is_available(self, facts: Facts) -> bool:
        """Whether the action would do something now."""
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
           ("enter", "ctrl+o"), lists=("e",), when="hits", in_footer=True, essential=True),
    Action("next_hit", "next", "Go to the next hit; in the preview, scroll a line down", "Hits",
           ("down", "ctrl+n", "ctrl+j"), lists=("j",), when="hits", essential=True),
    Action("previous_hit", "previous", "Go to the previous hit; in the preview, scroll a line up", "Hits",
           ("up", "ctrl+p", "ctrl+k"), lists=("k",), when="hits", essential=True),
    Action("next_page", "page down", "Go a page down", "Hits", ("pagedown",), when="hits"),
    Action("previous_page", "page up", "Go a page up", "Hits", ("pageup",), when="hits"),
    Action("first_hit", "first", "Go to the first hit; in the preview, to the top", "Hits",
           lists=("home", "g"), when="hits"),
    Action("last_hit", "last", "Go to the last hit; in the preview, to the end", "Hits",
           lists=("end", "G"), when="hits"),
    Action("copy", "copy", "Copy the citation, or every marked one", "Hits",
           ("ctrl+y",), lists=("y",), when="hits", in_footer=True, essential=True),
    Action("copy_text", "copy text", "Copy the citation with its text", "Hits", lists=("Y",), when="hits"),
    Action("mark", "mark", "Mark the hit, to open or copy several at once", "Hits",
           ("ctrl+space",), lists=("space",), when="hits", essential=True),
    Action("focus_query", "query", "Go to the query box", "Query",
           ("ctrl+l",), lists=("/",), essential=True),
    Action("mode", "mode", "Search by both, by words only, by meaning only", "Query",
           ("ctrl+t",), in_footer=True, essential=True),
    Action("drop_filter", "drop filter", "Take the last filter out of the query", "Query",
           ("f8",), lists=("x",), when="filters", essential=True),
    Action("recall_query", "last query", "Bring back the last query when the box is empty", "Query",
           query=("up",), when="empty_query"),
    Action("older_query", "older query", "Go back in the queries asked before", "Query",
           query=("ctrl+up",)),
    Action("newer_query", "newer query", "Go forward in the queries asked before", "Query",
           query=("ctrl+down",)),
    Action("preview", "preview", "Show or hide the preview", "Preview",
           ("f3",), in_footer=True, essential=True),
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
           ("f4",), in_footer=True, essential=True),
    Action("rrf_k_down", "smaller rrf_k", "What if rrf_k were smaller", "Explain",
           lists=("[",), when="explain"),
    Action("rrf_k_up", "larger rrf_k", "What if rrf_k were larger", "Explain",
           lists=("]",), when="explain"),
    Action("vector_weight_down", "less meaning", "What if meaning counted less", "Explain",
           lists=("{",), when="explain"),
    Action("vector_weight_up", "more meaning", "What if meaning counted more", "Explain",
           lists=("}",), when="explain"),
    Action("second_look", "second look", "What if the second look were off, or on again", "Explain",
           lists=("|",), when="explain"),
    Action("what_if_reset", "as searched", "Go back to the ranks that were searched", "Explain",
           lists=("=",), when="explain"),
    Action("why_not", "why not", "Ask why a note is not among the hits", "Explain", lists=("w",)),
    Action("layout", "layout", "Put the preview beside or below the hits", "Screen",
           ("f6",), essential=True),
    Action("zoom", "zoom", "Give the focused pane the whole screen, or take it back", "Screen",
           ("f11",), lists=("z",), essential=True),
    Action("next_pane", "next pane", "Go to the next pane", "Screen", ("tab",), essential=True),
    Action("previous_pane", "previous pane", "Go to the previous pane", "Screen", ("shift+tab",)),
    Action("rescan", "rescan", "Look for changed notes and ask again", "Screen",
           ("f5", "ctrl+r"), essential=True),
    Action("health", "files", "Show every file with its state, and read again what failed", "Screen",
           ("f12",), essential=True),
    Action("sample_vault", "sample notes", "Try the screen on the sample notes", "Screen",
           ("f7",), when="first_run", in_footer=True, essential=True),
    Action("help", "help", "Show the keys of the focused pane, then all others", "Screen",
           ("f1",), lists=("?",), in_footer=True, essential=True),
    Action("palette", "commands", "Find an action by its name", "Screen",
           ("f2",), lists=(":",), in_footer=True, essential=True),
    Action("back", "back", "Close what is on top, stop the search, go to the query, clear it", "Screen",
           ("escape",), essential=True),
    Action("quit", "quit", "Leave", "Screen", ("ctrl+q",), lists=("q",), in_footer=True, essential=True),
)  # fmt: skip


def action_of(actions: Actions, action_id: str) -> Action:
    """The action with this id; asking for one that is not there is a mistake of the program."""
    return next(action for action in actions if action.id == action_id)


def available(actions: Actions, facts: Facts) -> Actions:
    """The actions that would do something now, in the order of the registry."""
    return tuple(action for action in actions if action.is_available(facts))


# Gives the keys of the registry to the widgets and the footer.
#
# A widget gets the keys of its place *and* those that hold everywhere, so that none of
# its own (`ctrl+k` of an input, `home` of a scrolling view) stands in front of them.
# The application gets those that hold everywhere, for when nothing has the focus, and
# `quit` before anything else. Every binding runs `app.act('<id>')`, which it performs.


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


# What esc does: one rung of a ladder at a time, and never a loss of more than the query's text.

EscapeAction = Literal[
    "close_overlay", "stop_search", "focus_query", "drop_marks", "clear_query", "say_how_to_quit"
]


@dataclass(frozen=True, slots=True)
class EscapeState:
    """Where the user is when esc is pressed."""

    overlay: bool
    searching: bool
    """A search has been running long enough to be seen."""
    marks: bool
    """Hits are marked, of this query or of one before."""
    focus: Place
    query: str


def escape_action(standing: EscapeState) -> EscapeAction:
    """The first rung that there is."""
    if standing.overlay:
        return "close_overlay"
    if standing.searching:
        return "stop_search"
    if standing.focus != "query":
        return "focus_query"
    if standing.marks:
        return "drop_marks"
    if standing.query:
        return "clear_query"
    return "say_how_to_quit"
