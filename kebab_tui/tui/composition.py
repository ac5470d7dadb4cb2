"""What the screen is made of, where each part stands, and whose a key is.

Knows no engine and no message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input

from kebab_tui.tui.actions import Actions, action_of
from kebab_tui.tui.bindings import bind, bind_app
from kebab_tui.tui.chips import ChipsLine
from kebab_tui.tui.explain_panel import ExplainPanel
from kebab_tui.tui.hits_list import HitsList
from kebab_tui.tui.key_names import shown
from kebab_tui.tui.keys_in_order import KeysInOrder
from kebab_tui.tui.keys_line import KeysLine
from kebab_tui.tui.preview import Preview
from kebab_tui.tui.query_box import QueryBox, QueryLine
from kebab_tui.tui.states import WordsPane
from kebab_tui.tui.status_line import StatusLine
from kebab_tui.tui.what_if import Keys

if TYPE_CHECKING:
    from kebab_tui.tui.history import History
    from kebab_tui.tui.layout import Layout

Pane = TypeVar("Pane", bound=Widget)


class Composition(KeysInOrder[tuple[str, ...]]):
    """One query line, three panes, a status line."""

    CSS_PATH = "app.tcss"
    TITLE = "kebab"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, actions: Actions, history: History, query: str) -> None:
        super().__init__()
        bind_app(self, actions)
        self.actions = actions
        self.history = history
        self._query_at_first = query

    # Held and not looked up: an answer may come when the last widget is already gone.
    box: QueryBox
    query_line: QueryLine
    chips: ChipsLine
    hits: HitsList
    words: WordsPane
    preview: Preview
    explain: ExplainPanel
    panes: Container
    status: StatusLine
    footer: KeysLine

    def compose(self) -> ComposeResult:
        self.box = QueryBox(self._query_at_first, actions=self.actions, history=self.history, id="box")
        self.query_line = QueryLine(self.box, id="query")
        self.chips = ChipsLine(id="chips")
        self.hits = _titled(HitsList(id="hits"), "hits")
        self.words = WordsPane(id="words")
        self.preview = _titled(Preview(id="preview"), "preview")
        self.explain = _titled(ExplainPanel(keys=self._knobs, id="explain"), "explain")
        self.panes = Container(self.hits, self.words, self.preview, self.explain, id="panes")
        self.status = StatusLine(id="status")
        self.footer = KeysLine(id="footer")
        yield from (self.query_line, self.chips, self.panes, self.status, self.footer)

    @property
    def _knobs(self) -> Keys:
        """The user's keys for the what-if strip."""
        return Keys(
            f"{self._key('rrf_k_down')} {self._key('rrf_k_up')}",
            f"{self._key('vector_weight_down')} {self._key('vector_weight_up')}",
            self._key("second_look"),
            self._key("what_if_reset"),
        )

    def _key(self, action_id: str) -> str:
        return next(map(shown, action_of(self.actions, action_id).keys("lists")), "")

    def bind_panes(self) -> None:
        """Give the panes their keys; the box has brought its own."""
        for pane in (self.hits, self.preview, self.explain):
            bind(pane, self.actions, "lists")

    def typing_box(self) -> Input | None:
        """What is typed in a list and means nothing there belongs to the query."""
        return self.box if len(self.screen_stack) == 1 else super().typing_box()

    def refresh_bindings(self) -> None:
        if self.screen_stack:  # at the end the last answer may come when there is none any more
            super().refresh_bindings()

    def place(self, chosen: Layout, has_hits: bool, starting: bool) -> None:
        """Put the panes where a layout wants them; words stand in for hits that are not there."""
        for arrangement in ("stacked", "beside", "columns", "single"):
            self.panes.set_class(has_hits and arrangement == chosen.arrangement, f"-{arrangement}")
        self.panes.set_class(len(chosen.panes) < 3, "-pair")
        starting = starting and "preview" in chosen.panes
        self.hits.display = has_hits and "hits" in chosen.panes
        self.words.display = starting or not has_hits
        self.preview.display = has_hits and "preview" in chosen.panes and not starting
        self.explain.display = has_hits and "explain" in chosen.panes
        self.set_class(chosen.frames, "-framed")
        self.set_class(not chosen.frames, "-plain")
        self.query_line.frame(chosen.frames)
        self.footer.display = chosen.footer


def _titled(pane: Pane, title: str) -> Pane:
    pane.border_title = Content(title)
    return pane
