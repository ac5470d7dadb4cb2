"""The copy menu: the forms in which the chosen passages can be copied, each with a key and its beginning.

It copies nothing: it ends with the text of a form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.screen import ModalScreen

from kebab_tui.tui.actions import Actions, ScreenName, action_of, bind
from kebab_tui.tui.keys import shown
from kebab_tui.tui.screens.framed import Frame, FramedList, FramedRow
from kebab_tui.tui.widgets.footer import footer_text
from kebab_tui.tui.widgets.segments import Segment


class CopyMenu(ModalScreen[str]):
    DEFAULT_CSS = """
    CopyMenu { align: center middle; }
    CopyMenu > Frame { width: 90%; max-width: 100; height: auto; max-height: 100%; }
    CopyMenu FramedList { height: 7; }
    """
    screen_name: ClassVar[ScreenName] = "Copy"
    takes_letters: ClassVar[bool] = True

    def __init__(self, actions: Actions, forms: Mapping[str, str], passages: int) -> None:
        """`forms`: the text of each form, by its id."""
        super().__init__()
        self._actions = actions
        self._forms = forms
        self._ids = tuple(forms)
        self.rows = FramedList()
        self._title = "copy" if passages == 1 else f"copy {passages:,} passages"

    def compose(self) -> ComposeResult:
        keys = footer_text(self._actions, "Copy")
        yield Frame(self.rows, title=self._title, keys=keys)

    def on_mount(self) -> None:
        bind(self, self._actions, "Copy", "panel")
        forms = [action_of(self._actions, f"copy_as_{form}") for form in self._ids]
        width = max(len(action.label) for action in forms)
        rows = []
        for action, text in zip(forms, self._forms.values(), strict=True):
            keys = " ".join(map(shown, action.all_keys))
            label = Segment(action.label.ljust(width))
            rows.append(FramedRow((label,), keys, more=text.partition("\n")[0]))
        self.rows.styles.height = len(rows)
        self.rows.show(rows)

    @on(FramedList.RowClicked)
    def _row_clicked(self, event: FramedList.RowClicked) -> None:
        event.stop()
        self.action_choose()

    def action_move(self, step: int) -> None:
        self.rows.move_to(self.rows.cursor + step)

    def action_choose(self) -> None:
        self.action_copy_as(self._ids[self.rows.cursor])

    def action_copy_as(self, form: str) -> None:
        if form in self._forms:
            self.dismiss(self._forms[form])
