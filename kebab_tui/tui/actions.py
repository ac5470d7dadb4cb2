"""The registry of all keys: the actions of every screen, and their bindings.

Bindings, footers, help sheet, palette, the README's table and the user's `[keys]` come
from this registry. An action is one line here and one method: `Commands.do_<id>` for the
main screen, or the Textual action that `runs` names for a screen above it.

A key works `everywhere` on a screen, only in its text box (`query`), only in its `lists`
(any other pane), only in the explanation or the copy menu (`panel`), or only in the normal mode of vim keys
(`vim`). Keys of the last two may type a character; elsewhere characters go into the text box.
A widget gets the keys of its place and those that work everywhere, and loses those of its
class; an input keeps the ones that edit its text. A screen gets those that work everywhere, in
case no widget has the focus; in normal mode, those of `vim` too. The application gets the keys
that work over every screen: to quit, to interrupt and to suspend.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, get_args

from textual.app import App
from textual.binding import Binding, BindingsMap
from textual.dom import DOMNode
from textual.widgets import Input

from kebab_tui.tui.keys import arrives_as, shown

Place = Literal["everywhere", "query", "lists", "panel", "vim"]
PLACES: tuple[Place, ...] = ("query", "lists", "panel", "vim")

ScreenName = Literal[
    "Main", "Files", "Why not", "Help", "Palette", "Switcher", "Links", "Copy", "Folder", "Question"
]
SCREENS: tuple[ScreenName, ...] = get_args(ScreenName)

Section = Literal[
    "Hits",
    "Notes",
    "Query",
    "Preview",
    "Explain",
    "Screen",
    "Files",
    "Why not",
    "Help",
    "Palette",
    "Switcher",
    "Links",
    "Copy",
    "Folder",
    "Question",
]
SECTIONS: tuple[Section, ...] = get_args(Section)

When = Literal[
    "always", "hits", "moves", "empty_query", "filters", "corrected", "explain", "first_run",
    "completing", "choosing", "chosen",
]  # fmt: skip
SHARING: tuple[When, ...] = ("empty_query", "completing", "choosing", "chosen")
"""An action that is available only then may share a key with another one, and comes before it."""

_OVERLAYS = tuple(screen for screen in SCREENS if screen != "Main")
OVER_ALL = ("quit", "interrupt", "suspend")
"""The actions that work over every screen."""

EDITING_KEYS = BindingsMap(Input.BINDINGS).key_to_bindings.keys() - {"enter"}
"""The keys with which Textual's input edits and selects its text."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The state of the screen that decides which actions are available."""

    hits: bool = False
    moves: bool = False
    """Whether there are hits, or a text to scroll."""
    empty_query: bool = True
    filters: bool = False
    corrected: bool = False
    """Whether words of the query are corrected, or would be."""
    explain: bool = False
    first_run: bool = False
    completing: bool = False
    """Whether there is a completion or a suggestion to accept."""
    choosing: bool = False
    """Whether the user can move among them."""
    chosen: bool = False
    """Whether the user has moved to one."""
    always: bool = True


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
    panel: tuple[str, ...] = ()
    vim: tuple[str, ...] = ()
    when: When = "always"
    in_footer: int = 0
    """Its rank in the footer, 1 for the first; 0: not there."""
    in_pane: bool = False
    """In the footer only while the pane of its section has the focus, and then before the others."""
    also: tuple[ScreenName, ...] = ()
    """Other screens on which its keys work, those in `everywhere`."""
    runs: str = ""
    """The Textual action, on the screen or on the widget with the key; by default `do_<id>` of `Commands`."""
    needs_key: bool = False
    """Whether the user would be trapped without a key for it."""

    def keys(self, *places: Place) -> tuple[str, ...]:
        """The keys in some places together; the first one is displayed."""
        own: dict[Place, tuple[str, ...]] = {
            "everywhere": (),
            "query": self.query,
            "lists": self.lists,
            "panel": (*self.lists, *self.panel),
            "vim": (*self.lists, *self.vim),
        }
        return tuple(dict.fromkeys((*self.everywhere, *chain.from_iterable(own[place] for place in places))))

    @property
    def all_keys(self) -> tuple[str, ...]:
        return (*self.everywhere, *self.query, *self.lists, *self.panel, *self.vim)

    def is_available(self, facts: Facts) -> bool:
        """Whether the action would have an effect now."""
        return bool(getattr(facts, self.when))

    @property
    def screen(self) -> ScreenName:
        return next((screen for screen in SCREENS if screen == self.section), "Main")

    @property
    def call(self) -> str:
        """What Textual runs at its keys."""
        return self.runs or f"app.act({self.id!r})"


Actions = tuple[Action, ...]

ACTIONS: Actions = (
    Action("open", "open", "Open the line in the editor, the page in the viewer, or every marked hit", "Hits",
           ("enter", "ctrl+o"), vim=("e",), when="hits", in_footer=1),
    Action("next_hit", "next", "Go to the next hit; in the preview, scroll a line down", "Hits",
           ("down", "ctrl+n"), vim=("j",), when="moves"),
    Action("previous_hit", "previous", "Go to the previous hit; in the preview, scroll a line up", "Hits",
           ("up", "ctrl+p"), vim=("k",), when="moves"),
    Action("next_page", "page down", "Go a page down; in a PDF, on to the next page", "Hits",
           ("pagedown",), when="moves"),
    Action("previous_page", "page up", "Go a page up; in a PDF, back to the previous page", "Hits",
           ("pageup",), when="moves"),
    Action("half_page_down", "half page down", "Go half a page down", "Hits", vim=("ctrl+d",), when="moves"),
    Action("half_page_up", "half page up", "Go half a page up", "Hits", vim=("ctrl+u",), when="moves"),
    Action("first_hit", "first", "Go to the first hit; in the preview, to the top", "Hits",
           lists=("home",), vim=("g",), when="moves"),
    Action("last_hit", "last", "Go to the last hit; in the preview, to the end", "Hits",
           lists=("end",), vim=("G",), when="moves"),
    Action("expand", "more of the note", "Show or fold the other passages of the note", "Hits",
           ("alt+e",), vim=("o",), when="hits", in_footer=1, in_pane=True),
    Action("copy", "copy", "Copy the citation, or every marked one", "Hits",
           ("ctrl+y",), vim=("y",), when="hits", in_footer=10),
    Action("copy_text", "copy as", "Copy as a quotation, link, path, URL or context; or every marked hit",
           "Hits", ("alt+y",), vim=("Y",), when="hits"),
    Action("mark", "mark", "Mark the hit, to open or copy several at once", "Hits",
           ("ctrl+space",), vim=("space",), when="hits", in_footer=2, in_pane=True),
    Action("switcher", "go to note", "Go to a note by its name, or start a new one", "Notes",
           ("ctrl+g",), vim=("'",), in_footer=4),
    Action("links", "links", "Show the links of the note, those to it, similar notes and broken links",
           "Notes", ("f9",), vim=("L",), when="hits", in_footer=4),
    Action("follow", "follow link", "Show the note of the first link in the cited lines; deletes no word",
           "Notes", ("ctrl+f",), vim=("f",), when="hits", in_footer=5, in_pane=True),
    Action("visit_back", "note before", "Go back to the note that a link was followed from", "Notes",
           ("alt+left",), vim=("H",), when="hits"),
    Action("visit_forward", "note after", "Go forward again to the followed note", "Notes",
           ("alt+right",), vim=("J",), when="hits"),
    Action("focus_query", "query", "Go to the query box", "Query",
           ("ctrl+l",), vim=("/", "i")),
    Action("mode", "mode", "Switch the mode: hybrid, keyword, semantic", "Query",
           ("ctrl+t",), in_footer=11),
    Action("drop_filter", "drop filter", "Remove the last filter from the query", "Query",
           ("f8",), vim=("x",), when="filters"),
    Action("scope", "folder only", "Search only the folder of the hit, or everywhere again", "Query",
           ("alt+i",)),
    Action("exact", "as typed", "Search the words as typed, not corrected; or corrected again", "Query",
           ("alt+x",), when="corrected", in_footer=3),
    Action("complete", "complete", "Accept the completion or the suggestion", "Query",
           query=("tab",), when="completing"),
    Action("next_completion", "next completion", "Go to the next completion or suggestion", "Query",
           query=("down", "ctrl+n"), when="choosing"),
    Action("previous_completion", "previous completion", "Go to the previous completion or suggestion",
           "Query", query=("up", "ctrl+p"), when="chosen"),
    Action("take_completion", "take completion", "Accept the completion that was moved to", "Query",
           query=("enter",), when="chosen"),
    Action("recall_query", "last query", "Bring back the last query when the box is empty", "Query",
           query=("up",), when="empty_query"),
    Action("older_query", "older query", "Go back in the history of queries", "Query",
           query=("ctrl+up",)),
    Action("newer_query", "newer query", "Go forward in the history of queries", "Query",
           query=("ctrl+down",)),
    Action("preview", "preview", "Show or hide the preview", "Preview",
           ("f3",), in_footer=8),
    Action("wrap", "wrap", "Wrap long lines, or cut them", "Preview",
           ("alt+z",), vim=("w",), in_footer=4, in_pane=True),
    Action("render", "rendered", "Show Markdown rendered, or its source", "Preview",
           ("alt+m",), vim=("m",), in_footer=3, in_pane=True),
    Action("next_match", "next match", "Go to the next match in the note or page", "Preview",
           ("alt+n",), vim=("n",), when="hits", in_footer=1, in_pane=True),
    Action("previous_match", "previous match", "Go to the previous match in the note or page", "Preview",
           ("alt+p",), vim=("N",), when="hits", in_footer=2, in_pane=True),
    Action("scroll_down", "scroll down", "Scroll the preview down", "Preview", ("shift+down",), when="hits"),
    Action("scroll_up", "scroll up", "Scroll the preview up", "Preview", ("shift+up",), when="hits"),
    Action("scroll_left", "scroll left", "Scroll unwrapped lines to the left", "Preview",
           lists=("left",), when="hits"),
    Action("scroll_right", "scroll right", "Scroll unwrapped lines to the right", "Preview",
           lists=("right",), when="hits"),
    Action("explain", "explain", "Show or hide why the hit ranks where it does", "Explain",
           ("f4",), in_footer=9),
    Action("why_not", "why not", "Ask why a note is not among the hits, or not higher", "Explain",
           ("alt+w",), vim=("W",)),
    Action("rrf_k_down", "smaller rrf_k", "What if rrf_k were smaller", "Explain",
           panel=("[",), when="explain"),
    Action("rrf_k_up", "larger rrf_k", "What if rrf_k were larger", "Explain",
           panel=("]",), when="explain"),
    Action("vector_weight_down", "less meaning", "What if meaning were a smaller share of the score",
           "Explain", panel=("{",), when="explain", in_footer=1, in_pane=True),
    Action("vector_weight_up", "more meaning", "What if meaning were a larger share of the score",
           "Explain", panel=("}",), when="explain", in_footer=2, in_pane=True),
    Action("rerank", "re-ranking", "What if re-ranking were off, or on again", "Explain",
           panel=("|",), when="explain", in_footer=3, in_pane=True),
    Action("what_if_reset", "as searched", "Go back to the ranks that were searched", "Explain",
           panel=("=",), when="explain", in_footer=4, in_pane=True),
    Action("layout", "layout", "Put the preview beside or below the hits", "Screen",
           ("f6",)),
    Action("zoom", "zoom", "Zoom the focused pane, or show all panes again", "Screen",
           ("f11",), vim=("z",)),
    Action("next_pane", "pane", "Go to the next pane", "Screen", ("tab",), in_footer=5),
    Action("previous_pane", "previous pane", "Go to the previous pane", "Screen", ("shift+tab",)),
    Action("rescan", "rescan", "Look for changed notes and search again", "Screen",
           ("f5", "ctrl+r")),
    Action("health", "files", "Show the folders and every file; pause, remove, read again", "Screen",
           ("f12",), also=("Files",)),
    Action("add_folder", "add folder", "Search a folder of notes that is typed or picked", "Screen",
           ("alt+o",)),
    Action("sample_vault", "sample notes", "Try the screen on the sample notes; again: back to yours",
           "Screen", ("f7",), when="first_run", in_footer=2, also=("Folder",)),
    Action("help", "help", "Show the query language and the keys", "Screen", ("f1",), vim=("?",),
           in_footer=7, also=("Files", "Why not", "Palette", "Help", "Switcher", "Links", "Copy", "Folder")),
    Action("palette", "commands", "Command palette: find a command by its name", "Screen",
           ("f2",), vim=(":",), in_footer=6,
           also=("Files", "Why not", "Palette", "Switcher", "Links", "Copy", "Folder")),
    Action("back", "back", "Back: close, cancel, focus or clear the query", "Screen",
           ("escape",)),
    Action("interrupt", "copy or quit", "Copy the selected text; else leave --pick; twice: quit",
           "Screen", ("ctrl+c",), also=_OVERLAYS),
    Action("suspend", "suspend", "Suspend the program; `fg` in the shell brings it back", "Screen",
           ("ctrl+z",), also=_OVERLAYS),
    Action("quit", "quit", "Quit", "Screen", ("ctrl+q",), vim=("q",), in_footer=12,
           also=_OVERLAYS, needs_key=True),
    Action("files_open", "open", "Open the file, or fold the group", "Files",
           ("enter", "ctrl+o"), vim=("e",), runs="screen.open", in_footer=1),
    Action("files_retry", "retry failed", "Read the failed files again", "Files",
           ("alt+r",), vim=("r",), runs="screen.retry", in_footer=1),
    Action("files_pause", "pause", "Pause the folder, or watch it again", "Files",
           ("alt+p",), vim=("p",), runs="screen.pause", in_footer=1),
    Action("files_remove", "remove", "Remove the folder from the index; no file is changed", "Files",
           ("alt+d",), vim=("d",), runs="screen.remove", in_footer=1),
    Action("files_undo", "undo", "Bring back the removed folder, until the program ends", "Files",
           ("alt+u",), vim=("u",), runs="screen.undo"),
    Action("files_rescan", "rescan", "Scan the folders again", "Files",
           ("f5", "ctrl+r"), runs="screen.rescan", in_footer=1),
    Action("files_filter", "filter", "Go to the filter", "Files",
           ("ctrl+l",), vim=("/",), runs="screen.filter", in_footer=1),
    Action("files_fold", "fold", "Fold or unfold the group", "Files",
           ("alt+e",), vim=("o", "space"), runs="screen.fold", in_footer=1),
    Action("files_next", "next", "Go to the next file", "Files",
           ("down", "ctrl+n"), vim=("j",), runs="screen.move(1)"),
    Action("files_previous", "previous", "Go to the previous file", "Files",
           ("up", "ctrl+p"), vim=("k",), runs="screen.move(-1)"),
    Action("files_page_down", "page down", "Go a page of files down", "Files",
           ("pagedown",), runs="screen.page(1)"),
    Action("files_page_up", "page up", "Go a page of files up", "Files", ("pageup",), runs="screen.page(-1)"),
    Action("files_first", "first", "Go to the first file", "Files",
           lists=("home",), vim=("g",), runs="screen.move(-1000000000)"),
    Action("files_last", "last", "Go to the last file", "Files",
           lists=("end",), vim=("G",), runs="screen.move(1000000000)"),
    Action("files_next_pane", "next pane", "Go from the files to the filter, or back", "Files",
           ("tab",), runs="app.focus_next"),
    Action("files_previous_pane", "previous pane", "Go from the filter to the files, or back", "Files",
           ("shift+tab",), runs="app.focus_previous"),
    Action("files_back", "close", "Clear the filter, or close the page", "Files",
           ("escape",), runs="screen.back", in_footer=1, needs_key=True),
    Action("files_close", "close at once", "Close the page", "Files", vim=("q",), runs="screen.dismiss"),
    Action("why_not_ask", "ask or go", "Ask why this note is not higher; then go to it", "Why not",
           query=("enter",), runs="screen.ask", in_footer=1),
    Action("why_not_complete", "complete", "Complete the path", "Why not",
           query=("tab",), runs="screen.complete", in_footer=1),
    Action("why_not_next", "next path", "Go to the next path", "Why not",
           query=("down", "ctrl+n"), runs="screen.move(1)"),
    Action("why_not_previous", "previous path", "Go to the previous path, or to the input", "Why not",
           query=("up", "ctrl+p"), runs="screen.move(-1)"),
    Action("why_not_page_down", "page down", "Scroll the answer a page down", "Why not",
           query=("pagedown",), runs="screen.page(1)"),
    Action("why_not_page_up", "page up", "Scroll the answer a page up", "Why not",
           query=("pageup",), runs="screen.page(-1)"),
    Action("why_not_close", "close", "Close the question", "Why not",
           query=("escape",), runs="screen.dismiss", in_footer=1, needs_key=True),
    Action("help_filter", "filter", "Go to the filter of the help", "Help",
           ("ctrl+l",), vim=("/",), runs="screen.filter", in_footer=1),
    Action("help_down", "down", "Scroll the help down", "Help",
           ("down", "ctrl+n"), vim=("j",), runs="screen.move(1)"),
    Action("help_up", "up", "Scroll the help up", "Help",
           ("up", "ctrl+p"), vim=("k",), runs="screen.move(-1)"),
    Action("help_page_down", "page down", "Scroll the help a page down", "Help",
           ("pagedown",), vim=("ctrl+d", "space"), runs="screen.page(1)"),
    Action("help_page_up", "page up", "Scroll the help a page up", "Help",
           ("pageup",), vim=("ctrl+u",), runs="screen.page(-1)"),
    Action("help_first", "first", "Go to the beginning of the help", "Help",
           lists=("home",), vim=("g",), runs="screen.move(-1000000000)"),
    Action("help_last", "last", "Go to the end of the help", "Help",
           lists=("end",), vim=("G",), runs="screen.move(1000000000)"),
    Action("help_close", "close", "Clear the filter of the help, or close it", "Help",
           ("escape",), runs="screen.back", in_footer=1, needs_key=True),
    Action("help_leave", "close at once", "Close the help", "Help",
           ("enter",), vim=("q", "?"), runs="screen.dismiss"),
    Action("palette_run", "run", "Run the command, or keep the theme", "Palette",
           query=("enter",), runs="screen.choose", in_footer=1),
    Action("palette_next", "next", "Go to the next command", "Palette",
           query=("down", "ctrl+n"), runs="screen.move(1)"),
    Action("palette_previous", "previous", "Go to the previous command", "Palette",
           query=("up", "ctrl+p"), runs="screen.move(-1)"),
    Action("palette_page_down", "page down", "Go a page of commands down", "Palette",
           query=("pagedown",), runs="screen.page(1)"),
    Action("palette_page_up", "page up", "Go a page of commands up", "Palette",
           query=("pageup",), runs="screen.page(-1)"),
    Action("palette_first", "first", "Go to the first command", "Palette",
           query=("ctrl+home",), runs="screen.move(-1000000000)"),
    Action("palette_last", "last", "Go to the last command", "Palette",
           query=("ctrl+end",), runs="screen.move(1000000000)"),
    Action("palette_close", "close", "Close the palette", "Palette",
           query=("escape",), runs="screen.close", in_footer=1, needs_key=True),
    Action("switcher_open", "open", "Open the note, or pick it; start a new note", "Switcher",
           query=("enter", "ctrl+o"), runs="screen.use('open')", in_footer=1),
    Action("switcher_search", "passages", "Search in the notes of this name", "Switcher",
           query=("tab",), runs="screen.use('search')", in_footer=1),
    Action("switcher_copy", "copy", "Copy the path of the note", "Switcher",
           query=("ctrl+y",), runs="screen.use('copy')", in_footer=1),
    Action("switcher_create", "new", "Start a new note with the typed name", "Switcher",
           query=("alt+c",), runs="screen.use('create')", in_footer=1),
    Action("switcher_next", "next", "Go to the next note", "Switcher",
           query=("down", "ctrl+n", "ctrl+g"), runs="screen.move(1)"),
    Action("switcher_previous", "previous", "Go to the previous note", "Switcher",
           query=("up", "ctrl+p"), runs="screen.move(-1)"),
    Action("switcher_page_down", "page down", "Go a page of notes down", "Switcher",
           query=("pagedown",), runs="screen.page(1)"),
    Action("switcher_page_up", "page up", "Go a page of notes up", "Switcher",
           query=("pageup",), runs="screen.page(-1)"),
    Action("switcher_first", "first", "Go to the first note", "Switcher",
           query=("ctrl+home",), runs="screen.move(-1000000000)"),
    Action("switcher_last", "last", "Go to the last loaded note", "Switcher",
           query=("ctrl+end",), runs="screen.move(1000000000)"),
    Action("switcher_scroll_down", "scroll down", "Scroll the note down", "Switcher",
           query=("shift+down",), runs="screen.scroll_preview(1)"),
    Action("switcher_scroll_up", "scroll up", "Scroll the note up", "Switcher",
           query=("shift+up",), runs="screen.scroll_preview(-1)"),
    Action("switcher_close", "close", "Go back to the hits", "Switcher",
           query=("escape",), runs="screen.dismiss", in_footer=1, needs_key=True),
    Action("links_open", "open", "Open the note at the line, or pick it; copy an address or a file's path",
           "Links", query=("enter", "ctrl+o"), runs="screen.use('open')", in_footer=1),
    Action("links_follow", "follow", "Show the links of the selected note; deletes no word", "Links",
           query=("ctrl+f",), runs="screen.follow", in_footer=1),
    Action("links_back", "back", "Go back to the links of the note before", "Links",
           query=("alt+left",), runs="screen.step(-1)", in_footer=1),
    Action("links_forward", "forward", "Go forward again to the links of the note after", "Links",
           query=("alt+right",), runs="screen.step(1)"),
    Action("links_section", "next part", "Go to the next part: links, linked from, similar, broken", "Links",
           query=("tab",), runs="screen.section(1)", in_footer=1),
    Action("links_previous_section", "previous part", "Go to the previous part", "Links",
           query=("shift+tab",), runs="screen.section(-1)"),
    Action("links_copy", "copy", "Copy the citation of the row, or its address", "Links",
           query=("ctrl+y",), runs="screen.use('copy')", in_footer=1),
    Action("links_create", "new", "Start the note that a broken link names", "Links",
           query=("alt+c",), runs="screen.use('create')", in_footer=1),
    Action("links_next", "next", "Go to the next link", "Links",
           query=("down", "ctrl+n"), runs="screen.move(1)"),
    Action("links_previous", "previous", "Go to the previous link", "Links",
           query=("up", "ctrl+p"), runs="screen.move(-1)"),
    Action("links_page_down", "page down", "Go a page of links down", "Links",
           query=("pagedown",), runs="screen.page(1)"),
    Action("links_page_up", "page up", "Go a page of links up", "Links",
           query=("pageup",), runs="screen.page(-1)"),
    Action("links_first", "first", "Go to the first link", "Links",
           query=("ctrl+home",), runs="screen.move(-1000000000)"),
    Action("links_last", "last", "Go to the last link", "Links",
           query=("ctrl+end",), runs="screen.move(1000000000)"),
    Action("links_scroll_down", "scroll down", "Scroll the previewed note down", "Links",
           query=("shift+down",), runs="screen.scroll_preview(1)"),
    Action("links_scroll_up", "scroll up", "Scroll the previewed note up", "Links",
           query=("shift+up",), runs="screen.scroll_preview(-1)"),
    Action("links_close", "close", "Go back to the hits; the preview shows the note visited last", "Links",
           query=("escape", "f9"), runs="screen.dismiss", in_footer=1, needs_key=True),
    Action("copy_choose", "copy", "Copy in the selected form", "Copy",
           ("enter", "alt+y"), runs="screen.choose", in_footer=1),
    Action("copy_as_quote", "quotation with its source", "Copy the passage as a quotation, with a link",
           "Copy", panel=("q",), runs="screen.copy_as('quote')"),
    Action("copy_as_citation", "citation", "Copy the citation", "Copy",
           panel=("c",), runs="screen.copy_as('citation')"),
    Action("copy_as_link", "Markdown link", "Copy a Markdown link with title and heading", "Copy",
           panel=("l",), runs="screen.copy_as('link')"),
    Action("copy_as_path", "absolute path", "Copy the absolute path with the line", "Copy",
           panel=("p",), runs="screen.copy_as('path')"),
    Action("copy_as_url", "file URL", "Copy a file:// URL", "Copy",
           panel=("u",), runs="screen.copy_as('url')"),
    Action("copy_as_obsidian", "Obsidian link", "Copy an obsidian:// link, for a note in a vault", "Copy",
           panel=("o",), runs="screen.copy_as('obsidian')"),
    Action("copy_as_context", "context for a model", "Copy the passages with the rules of their folders",
           "Copy", panel=("x",), runs="screen.copy_as('context')"),
    Action("copy_next", "next", "Go to the next form", "Copy",
           ("down", "ctrl+n"), panel=("j",), runs="screen.move(1)"),
    Action("copy_previous", "previous", "Go to the previous form", "Copy",
           ("up", "ctrl+p"), panel=("k",), runs="screen.move(-1)"),
    Action("copy_close", "close", "Close the menu", "Copy",
           ("escape",), runs="screen.dismiss", in_footer=1, needs_key=True),
    Action("folder_choose", "search it", "Index and search the selected folder", "Folder",
           query=("enter", "ctrl+o"), runs="screen.choose", in_footer=1),
    Action("folder_complete", "complete", "Complete the path with the selected folder", "Folder",
           query=("tab",), runs="screen.complete", in_footer=1),
    Action("folder_next", "next", "Go to the next folder", "Folder",
           query=("down", "ctrl+n"), runs="screen.move(1)"),
    Action("folder_previous", "previous", "Go to the previous folder", "Folder",
           query=("up", "ctrl+p"), runs="screen.move(-1)"),
    Action("folder_page_down", "page down", "Go a page of folders down", "Folder",
           query=("pagedown",), runs="screen.page(1)"),
    Action("folder_page_up", "page up", "Go a page of folders up", "Folder",
           query=("pageup",), runs="screen.page(-1)"),
    Action("folder_close", "close", "Choose no folder", "Folder",
           query=("escape",), runs="screen.dismiss", in_footer=1, needs_key=True),
    Action("question_choose", "choose", "Give the selected answer", "Question",
           ("enter",), runs="screen.choose", in_footer=1),
    Action("question_next", "next", "Go to the next answer", "Question",
           ("down", "ctrl+n", "tab"), runs="screen.move(1)"),
    Action("question_previous", "previous", "Go to the previous answer", "Question",
           ("up", "ctrl+p", "shift+tab"), runs="screen.move(-1)"),
    Action("question_no", "no", "Answer with no", "Question",
           ("escape",), runs="screen.no", in_footer=1, needs_key=True),
)  # fmt: skip


def action_of(actions: Actions, action_id: str) -> Action:
    """The action with this id, which must exist."""
    return next(action for action in actions if action.id == action_id)


def available(actions: Actions, facts: Facts) -> Actions:
    """The available actions, in the order of the registry."""
    return tuple(action for action in actions if action.is_available(facts))


def actions_on(actions: Actions, screen: ScreenName) -> Actions:
    """The actions of a screen; of those that belong to another one, the keys that work everywhere."""
    return tuple(
        action
        if action.screen == screen
        else replace(action, query=(), lists=(), panel=(), vim=(), in_footer=0)
        for action in actions
        if screen in (action.screen, *action.also)
    )


def name_of(screen: object) -> ScreenName:
    """The name of a screen in the registry, which the screens above the main one declare."""
    name: ScreenName = getattr(screen, "screen_name", "Main")
    return name


def first_key(actions: Actions, action_id: str) -> str:
    """The key of an action to display in a text; an action may have none."""
    return next(map(shown, action_of(actions, action_id).all_keys), "")


def footer_key(key: str) -> str:
    """A key as the footer shows it: short, for 80 columns."""
    return shown(key).replace("ctrl+", "^")


def bindings(actions: Actions, *places: Place) -> Iterator[Binding]:
    """One binding per key."""
    for action in sorted(actions, key=lambda action: action.when not in SHARING):
        for key in action.keys(*places):
            for name in arrives_as(key):
                yield Binding(
                    name,
                    action.call,
                    action.label,
                    key_display=footer_key(key),
                    tooltip=action.help,
                )


def bind(node: DOMNode, actions: Actions, screen: ScreenName, *places: Place) -> None:
    """Put the keys of some places on a widget or a screen, instead of those of its class."""
    keys: dict[str, list[Binding]] = {}
    if isinstance(node, Input) and (of_class := type(node)._merged_bindings) is not None:
        keys = {key: bound for key, bound in of_class.key_to_bindings.items() if key in EDITING_KEYS}
    own = BindingsMap(bindings(actions_on(actions, screen), *places)).key_to_bindings
    # Textual has a public way for an App only; this map belongs to the instance.
    node._bindings.key_to_bindings = keys | own


def bind_app(app: App[Any], actions: Actions) -> None:
    """Bind the actions that work over every screen to the application."""
    own = app._bindings.key_to_bindings
    for key in ("ctrl+q", "ctrl+c", app.COMMAND_PALETTE_BINDING):
        own.pop(key, None)  # Textual's own bindings
    over_all = bindings(tuple(action_of(actions, name) for name in OVER_ALL), "everywhere")
    own.update(BindingsMap(replace(binding, priority=True) for binding in over_all).key_to_bindings)
