"""A small screen that opens a note on `o`, for the true-terminal tests: `python -m … PATH LINE`."""

from __future__ import annotations

import os
import shutil
import sys

from textual.app import App, ComposeResult
from textual.widgets import Static

from kebab_tui.editor import choose
from kebab_tui.settings.settings import EditorSettings
from kebab_tui.tui.clipboard import copy
from kebab_tui.tui.hand_off import open_in_editor


class EditingHost(App[None]):
    BINDINGS = [("o", "open"), ("y", "copy"), ("k", "count")]  # noqa: RUF012 - Textual's own declaration
    presses = 0

    def compose(self) -> ComposeResult:
        yield Static("ready", id="said")
        yield Static("presses 0", id="presses")

    def action_open(self) -> None:
        path, line = sys.argv[1], int(sys.argv[2])
        settings = EditorSettings(command=os.environ.get("TEMPLATE", ""))
        made = choose(settings, os.environ, lambda program: shutil.which(program) or program).at(path, line)
        outcome = open_in_editor(self, made, path)
        self.say(f"ok={outcome.ok} {outcome.message}")

    def action_copy(self) -> None:
        self.say(copy("노트.md:L3", self.copy_to_clipboard, os.environ))

    def action_count(self) -> None:
        self.presses += 1
        self.query_one("#presses", Static).update(f"presses {self.presses}")

    def say(self, text: str) -> None:
        self.query_one("#said", Static).update(f"said {text}", layout=True)


if __name__ == "__main__":
    EditingHost().run(mouse=False)
