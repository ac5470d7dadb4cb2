"""Lends the terminal to an editor, and takes it back whole.

An editor with a window of its own leaves the screen up. Inside `suspend` nothing may be
raised and nothing awaited: Textual would leave a live screen in a cooked terminal, or
paint over the editor. What happened is returned, for a toast.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from textual.app import SuspendNotSupported

from kebab_tui.domain.text import visible
from kebab_tui.editor import OpenResult, open_note

if TYPE_CHECKING:
    from textual.app import App

    from kebab_tui.editor import Launch

Result = TypeVar("Result")

_TERMINAL = "/dev/tty"


def open_in_editor(app: App[Result], made: Launch, path: str) -> OpenResult:
    """Open an existing file; returns when a terminal editor has ended, at once for one with a window."""
    if made.kind == "gui":
        return open_note(made, path)
    try:
        with app.suspend():
            return _inside(made, path)
    except SuspendNotSupported:
        return OpenResult(
            False, f"this terminal cannot be lent to {made.program}; the file is {visible(path)}"
        )


def _inside(made: Launch, path: str) -> OpenResult:
    try:
        with _terminal() as descriptor:
            return open_note(made, path, descriptor)
    except Exception as error:  # noqa: BLE001 - past this block the screen would be lost
        return OpenResult(False, visible(f"{made.program} could not be run: {error}"))


@contextlib.contextmanager
def _terminal() -> Iterator[int | None]:
    """The terminal itself: stdout may lead to a pipe that waits for the pick, stderr to the log."""
    try:
        descriptor = os.open(_TERMINAL, os.O_RDWR)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)
