"""`w`: why is this note not among the hits? Type a path, see which stage dropped it.

Asks nothing by itself: it posts what was typed and what is asked, and shows what it is
given. A wrong path is an answer as good as any other ("there is no such file").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input

from kebab_tui.tui.widgets.segments import (
    ARROW,
    CHECK,
    CROSS,
    GAP,
    Row,
    RowsView,
    Segment,
    cut_path,
    one_line,
    paragraph,
)

if TYPE_CHECKING:
    from kebab_tui.search.why_not import WhyNot


MOST_OFFERED = 6

_STAGES = (
    ("not indexed", "indexed"),
    ("filtered", "passes the filters"),
    ("no match", "matches the query"),
    ("below score", "scores enough"),
    ("ranked", "stands on this page"),
)
"""The stage that may drop a note, and what it is when it does not."""


def verdict_rows(why: WhyNot, width: int) -> Iterator[Row]:
    """The stages a note came through, the one that stopped it, and what can be done."""
    yield (Segment(cut_path(one_line(why.path), width), "heading"),)
    for stage, passed in _STAGES:
        if stage == why.stage:
            break
        yield from paragraph(f"{CHECK} {passed}", width)
    if why.stage == "listed":
        yield from paragraph(one_line(why.detail), width, "sum", indent=GAP)
    else:
        yield from paragraph(f"{CROSS} {why.stage}: {one_line(why.detail)}", width, "warning")
    if why.advice:
        yield from paragraph(f"{ARROW} {one_line(why.advice)}", width, indent=GAP)
    if why.score is not None:
        yield from paragraph(f"score {why.score:.4f}", width, "muted", indent=GAP)


def offer_rows(paths: Sequence[str], chosen: int | None, width: int) -> Iterator[Row]:
    """Paths to choose from; the chosen one is marked by more than its style."""
    for place, path in enumerate(paths):
        mark = ">" if place == chosen else " "
        text = cut_path(one_line(path), width - 2)
        yield (Segment(f"{mark} {text}", "heading" if place == chosen else "muted"),)


class _PromptBody(RowsView, can_focus=False):
    """Below the box: paths that fit what was typed, or the verdict on one."""

    DEFAULT_CSS = """
    _PromptBody { height: auto; max-height: 1fr; }
    """

    class Picked(Message):
        """An offered path was clicked."""

        def __init__(self, path: str) -> None:
            super().__init__()
            self.path = path

    def __init__(self) -> None:
        super().__init__(id="why-not-answer")
        self.paths: tuple[str, ...] = ()
        self.chosen: int | None = None
        self.verdict: WhyNot | None = None
        self.said = ""

    def rows_at(self, width: int) -> list[Row]:
        if self.verdict is not None:
            return list(verdict_rows(self.verdict, width))
        said = list(paragraph(one_line(self.said), width, "muted"))
        return said + list(offer_rows(self.paths, self.chosen, width))

    def on_click(self, event: events.Click) -> None:
        """Every offered path is one row, and they are the last ones."""
        place = event.y + self.scroll_offset.y - (len(self.lines) - len(self.paths))
        if self.verdict is None and 0 <= place < len(self.paths):
            self.post_message(self.Picked(self.paths[place]))


class WhyNotPrompt(ModalScreen[None]):
    """One box and its answer; stays open for the next path until escape."""

    DEFAULT_CSS = """
    WhyNotPrompt {
        align: center middle;
        & > Vertical {
            width: 90%; max-width: 90; height: auto; max-height: 90%;
            border: round $accent; border-title-color: $accent; background: $surface; padding: 0 1;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "close"),
        Binding("down,ctrl+n", "choose(1)", "next path", priority=True),
        Binding("up,ctrl+p", "choose(-1)", "previous path", priority=True),
        Binding("tab", "complete", "complete", priority=True),
        Binding("pagedown", "page(1)", "page down", priority=True),
        Binding("pageup", "page(-1)", "page up", priority=True),
    ]

    class Typed(Message):
        """Paths that hold `part` are wanted: answer with `offer`."""

        def __init__(self, part: str) -> None:
            super().__init__()
            self.part = part

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, WhyNotPrompt.Typed)

    class Asked(Message):
        """What about the note at `path`? Answer with `answer` or `fail`."""

        def __init__(self, path: str) -> None:
            super().__init__()
            self.path = path

    def __init__(self, query: str) -> None:
        super().__init__()
        self._query = query
        self._answer = _PromptBody()
        self._asked = ""
        self._is_asked = False
        """Enter came before the paths that hold what was typed."""
        self._offered_for: str | None = None

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            yield Input(placeholder="path of a note", select_on_focus=False, compact=True)
            yield self._answer
        box.border_title = "why not?"
        box.border_subtitle = "enter asks · tab completes · esc closes"

    def on_mount(self) -> None:
        query = one_line(self._query)
        self._say(f"Which note should “{query}” have found?" if query else "Which note is missing?")
        self.post_message(self.Typed(""))

    # What it is told

    def offer(self, part: str, paths: Sequence[str]) -> None:
        """Paths that hold `part`; too late when something else has been typed since."""
        if part == self._typed and self._answer.verdict is None:
            self._answer.paths, self._answer.chosen = tuple(paths[:MOST_OFFERED]), None
            self._offered_for = part
            self._answer.lay_out()
            if self._is_asked:
                self._is_asked = False
                self._ask_about(self._meant)

    def answer(self, path: str, why: WhyNot) -> None:
        if path == self._asked:
            self._answer.verdict = why
            self._answer.lay_out()

    def fail(self, path: str, message: str, hint: str) -> None:
        """The engine could not say."""
        if path == self._asked:
            self._say(f"{message}: {hint}" if hint else message)

    # What the user does

    @property
    def typing_box(self) -> Input:
        return self.query_one(Input)

    @property
    def _typed(self) -> str:
        return self.typing_box.value

    def _say(self, text: str) -> None:
        self._answer.said, self._answer.verdict = text, None
        self._answer.paths, self._answer.chosen = (), None
        self._answer.lay_out()

    @on(Input.Changed)
    def _look_for_paths(self, event: Input.Changed) -> None:
        event.stop()
        if event.value == self._asked:
            return  # a path that was just taken from the offer
        self._asked, self._is_asked = "", False
        self._say("")
        self.post_message(self.Typed(event.value))

    @on(Input.Submitted)
    def _ask(self, event: Input.Submitted) -> None:
        event.stop()
        self._is_asked = self._offered_for != self._typed
        if not self._is_asked:
            self._ask_about(self._chosen() or self._meant)

    @on(_PromptBody.Picked)
    def _ask_about_clicked(self, event: _PromptBody.Picked) -> None:
        event.stop()
        self._ask_about(event.path)

    def _ask_about(self, path: str) -> None:
        if not path:
            return
        self._asked = path
        self._fill_in(path)
        self._say("asking …")
        self.post_message(self.Asked(path))

    def action_choose(self, step: int) -> None:
        """Go through the offered paths; above the first one stands the box itself."""
        here = -1 if self._answer.chosen is None else self._answer.chosen
        place = min(max(here + step, -1), len(self._answer.paths) - 1)
        self._answer.chosen = None if place < 0 else place
        self._answer.lay_out()

    def action_complete(self) -> None:
        paths = self._answer.paths
        if paths and self._offered_for == self._typed:
            self._fill_in(self._chosen() or paths[0])

    def _fill_in(self, path: str) -> None:
        box = self.query_one(Input)
        box.value = path
        box.cursor_position = len(path)

    def action_page(self, step: int) -> None:
        """A long verdict in a small terminal."""
        self._answer.scroll_relative(y=step * max(self._answer.size.height - 1, 1), animate=False)

    @property
    def _meant(self) -> str:
        """The one note whose path has what was typed in it, else just that."""
        paths = self._answer.paths
        return paths[0] if len(paths) == 1 else self._typed.strip()

    def _chosen(self) -> str | None:
        chosen = self._answer.chosen
        return None if chosen is None else self._answer.paths[chosen]
