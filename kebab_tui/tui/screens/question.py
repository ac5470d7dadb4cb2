"""A question with two answers, each a row; Esc is the second one."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from kebab_tui.tui.actions import Actions, ScreenName, bind
from kebab_tui.tui.screens.framed import Frame, FramedList, FramedRow
from kebab_tui.tui.widgets.footer import footer_text
from kebab_tui.tui.widgets.segments import Segment, one_line


class Question(ModalScreen[bool]):
    """Ends with whether the answer is yes."""

    DEFAULT_CSS = """
    Question {
        align: center middle;
        & > Frame { width: 90%; max-width: 80; height: auto; }
        & #question-text { margin: 1 0; }
        & FramedList { height: 2; }
    }
    """
    screen_name: ClassVar[ScreenName] = "Question"

    def __init__(self, actions: Actions, title: str, text: str, yes: str, no: str) -> None:
        super().__init__()
        self._actions = actions
        self._title = title
        self._text = Static(Content(one_line(text)), id="question-text")
        self._rows = FramedList()
        self._answers = yes, no

    def compose(self) -> ComposeResult:
        keys = footer_text(self._actions, "Question")
        yield Frame(self._text, self._rows, title=self._title, keys=keys)

    def on_mount(self) -> None:
        bind(self, self._actions, "Question", "everywhere")
        self._rows.show([FramedRow((Segment(answer),)) for answer in self._answers])

    def retell(self, text: str) -> None:
        """Replace the text of the question, such as by a new count."""
        self._text.update(Content(one_line(text)))

    def action_move(self, step: int) -> None:
        self._rows.move_to(self._rows.cursor + step)

    def action_choose(self) -> None:
        self.dismiss(self._rows.cursor == 0)

    def action_no(self) -> None:
        self.dismiss(False)

    @on(FramedList.RowClicked)
    def _row_clicked(self, event: FramedList.RowClicked) -> None:
        event.stop()
        self.action_choose()

    def on_key(self, event: events.Key) -> None:
        event.stop()  # characters answer nothing
