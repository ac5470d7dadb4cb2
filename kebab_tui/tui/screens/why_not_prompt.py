"""Asks for the path of a note and shows which stage of the search dropped it.

The prompt queries nothing: it posts `Typed` and `Asked`, and the application answers with
`offer`, `answer` or `fail`. An unknown path is a valid question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input

from kebab_tui.tui.actions import Actions, ScreenName, bind
from kebab_tui.tui.glyphs import own_text
from kebab_tui.tui.screens.framed import GUTTER, FilterLine, Frame, FramedRow, framed_row
from kebab_tui.tui.widgets.footer import footer_text
from kebab_tui.tui.widgets.segments import (
    ARROW,
    CHECK,
    CROSS,
    ELLIPSIS,
    GAP,
    Row,
    RowsView,
    Segment,
    cut_path,
    one_line,
    paragraph,
)

if TYPE_CHECKING:
    from kebab_tui.domain.errors import Failure
    from kebab_tui.search.why_not import WhyNot


MOST_OFFERED = 6

_STAGES = (
    ("not indexed", "indexed"),
    ("filtered", "passes the filters"),
    ("no match", "matches the query"),
    ("below score", "scores above the minimum"),
    ("ranked", "in the results"),
)
"""Each stage that may drop a note, and the text for a note that passes it."""


def verdict_rows(why: WhyNot, width: int) -> Iterator[Row]:
    """The stages that the note passed, the one that dropped it, and a hint."""
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
    """The offered paths, with the cursor on the chosen one."""
    for place, path in enumerate(paths):
        label = Segment(cut_path(one_line(path), width - GUTTER))
        yield framed_row(FramedRow((label,)), width, selected=place == chosen)


class _PromptBody(RowsView, can_focus=False):
    """Below the input: the paths that match it, or the verdict on one."""

    DEFAULT_CSS = """
    _PromptBody { height: 1fr; }
    """

    @dataclass
    class Picked(Message):
        """The user clicked an offered path."""

        path: str

    def __init__(self) -> None:
        super().__init__(id="why-not-answer")
        self.paths: tuple[str, ...] = ()
        self.chosen: int | None = None
        self.verdict: WhyNot | None = None
        self.message = ""

    def rows_at(self, width: int) -> list[Row]:
        if self.verdict is not None:
            return list(verdict_rows(self.verdict, width))
        message = paragraph(one_line(self.message), width, "muted")
        return [*message, *offer_rows(self.paths, self.chosen, width)]

    def on_click(self, event: events.Click) -> None:
        """The offered paths are the last rows, one row each."""
        place = event.y + self.scroll_offset.y - (len(self.lines) - len(self.paths))
        if self.verdict is None and 0 <= place < len(self.paths):
            self.post_message(self.Picked(self.paths[place]))


class WhyNotPrompt(ModalScreen[None]):
    """An input and its verdict; stays open for further paths until Esc."""

    DEFAULT_CSS = """
    WhyNotPrompt { align: center middle; }
    WhyNotPrompt > Frame { width: 90%; max-width: 100; height: 60%; max-height: 18; }
    """
    screen_name: ClassVar[ScreenName] = "Why not"

    @dataclass
    class Typed(Message):
        """The prompt needs paths that contain `part`; answer with `offer`."""

        part: str

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, WhyNotPrompt.Typed)

    @dataclass
    class Asked(Message):
        """The prompt needs the verdict on `path`; answer with `answer` or `fail`."""

        path: str

    def __init__(self, actions: Actions, query: str) -> None:
        super().__init__()
        self._actions = actions
        self._query = query
        self._answer = _PromptBody()
        self._asked = ""
        self._is_waiting = False
        """The user pressed Enter before the paths arrived."""
        self._offered_for: str | None = None

    def compose(self) -> ComposeResult:
        yield Frame(
            FilterLine("path of a note"),
            self._answer,
            title="why not?",
            keys=footer_text(self._actions, "Why not"),
        )

    def on_mount(self) -> None:
        for node in (self, self.typing_box):
            bind(node, self._actions, "Why not", "query")
        query = one_line(self._query)
        self._show_message(own_text(f"Which note is missing{f' for “{query}”' if query else ''}?"))
        self.post_message(self.Typed(""))

    def offer(self, part: str, paths: Sequence[str]) -> None:
        """Show paths that contain `part`, unless the input has changed since."""
        if part == self._typed and self._answer.verdict is None:
            self._answer.paths, self._answer.chosen = tuple(paths[:MOST_OFFERED]), None
            self._offered_for = part
            self._answer.lay_out()
            if self._is_waiting:
                self._is_waiting = False
                self._ask(self._meant)

    def answer(self, path: str, why: WhyNot) -> None:
        if path == self._asked:
            self._answer.verdict = why
            self._answer.lay_out()

    def fail(self, path: str, failure: Failure) -> None:
        if path == self._asked:
            self._show_message(f"{failure.message}: {failure.hint}" if failure.hint else failure.message)

    @property
    def typing_box(self) -> Input:
        return self.query_one(Input)

    @property
    def _typed(self) -> str:
        return self.typing_box.value

    def _show_message(self, text: str) -> None:
        self._answer.message, self._answer.verdict = text, None
        self._answer.paths, self._answer.chosen = (), None
        self._answer.lay_out()

    @on(Input.Changed)
    def _text_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value == self._asked:
            return  # completed from the offered paths
        self._asked, self._is_waiting = "", False
        self._show_message("")
        self.post_message(self.Typed(event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._is_waiting = self._offered_for != self._typed
        if not self._is_waiting:
            self._ask(self._chosen() or self._meant)

    @on(_PromptBody.Picked)
    def _path_picked(self, event: _PromptBody.Picked) -> None:
        event.stop()
        self._ask(event.path)

    def _ask(self, path: str) -> None:
        if not path:
            return
        self._asked = path
        self._fill_in(path)
        self._show_message(f"searching {ELLIPSIS}")
        self.post_message(self.Asked(path))

    async def action_ask(self) -> None:
        await self.typing_box.action_submit()  # comes after the text typed before it

    def action_move(self, step: int) -> None:
        """Move through the offered paths; above the first one, back to the input."""
        here = -1 if self._answer.chosen is None else self._answer.chosen
        place = min(max(here + step, -1), len(self._answer.paths) - 1)
        self._answer.chosen = None if place < 0 else place
        self._answer.lay_out()

    def action_complete(self) -> None:
        paths = self._answer.paths
        if paths and self._offered_for == self._typed:
            self._fill_in(self._chosen() or paths[0])

    def _fill_in(self, path: str) -> None:
        self.typing_box.value = path
        self.typing_box.cursor_position = len(path)

    def action_page(self, step: int) -> None:
        """Scroll a verdict that is longer than the screen."""
        self._answer.scroll_relative(y=step * max(self._answer.size.height - 1, 1), animate=False)

    @property
    def _meant(self) -> str:
        """The only offered path, else the text of the input."""
        paths = self._answer.paths
        return paths[0] if len(paths) == 1 else self._typed.strip()

    def _chosen(self) -> str | None:
        chosen = self._answer.chosen
        return None if chosen is None else self._answer.paths[chosen]
