"""The least a Textual application with a list is: the reference for the first paint."""

from __future__ import annotations

from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Footer, Input, OptionList

READY = "reference paints"


class Minimal(App[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", "Help"),
        Binding("ctrl+o", "open", "Open"),
        Binding("ctrl+y", "copy", "Copy"),
    ]

    def compose(self) -> ComposeResult:
        yield Input(placeholder=READY)
        yield OptionList(*(f"notes/folder/note-{number:03}.md:{number}" for number in range(50)))
        yield Footer()

    def on_mount(self) -> None:
        self.query_one(Input).focus()


if __name__ == "__main__":
    Minimal().run()
