"""Runs what `launch` made: a terminal editor to its end, an editor with a window by itself.

Never raises: whatever goes wrong is a message, because the caller may have lent its
terminal away. Never uses a shell.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from kebab_tui.domain.text import visible
from kebab_tui.editor.choice import line_hint
from kebab_tui.editor.launch import Launch

_FIRST_SIGNS_S = 0.1
"""How long a window may take to fail: `No such option` comes at once, success says nothing."""
_TERMINAL_SIGNALS = (signal.SIGINT, signal.SIGQUIT)


@dataclass(frozen=True, slots=True)
class Outcome:
    """`message` is for the user: what was opened, or why not. Visible text, without a line break.

    `interrupted`: ctrl+c ended the editor.
    """

    ok: bool
    message: str
    interrupted: bool = False


def open_note(made: Launch, path: str, terminal: int | None = None) -> Outcome:
    """Open an existing file; `terminal` is the descriptor that stands in for the three streams."""
    if not os.path.exists(path):
        return _outcome(f"{path} is no longer there", ok=False)
    try:
        code = _run(made, terminal) if made.kind == "terminal" else _detach(made)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return _outcome(f"{made.program} could not be started: {reason}", ok=False)
    if code:
        return _outcome(f"{made.program} {_ending(code)}", ok=False, interrupted=code == -signal.SIGINT)
    return _outcome(line_hint(made) or f"opened in {made.program}", ok=True)


def _run(made: Launch, terminal: int | None) -> int:
    with _deaf_to_the_terminal():
        return subprocess.run(
            made.argv, stdin=terminal, stdout=terminal, stderr=terminal, check=False
        ).returncode


@contextlib.contextmanager
def _deaf_to_the_terminal() -> Iterator[None]:
    """Keys that interrupt are the editor's. Handlers, not SIG_IGN: that one would be inherited."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [(number, signal.signal(number, lambda *_: None)) for number in _TERMINAL_SIGNALS]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _detach(made: Launch) -> int:
    """Start it in a session of its own; 0 unless it failed at once."""
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(
        made.argv, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
    )
    try:
        return process.wait(_FIRST_SIGNS_S)
    except subprocess.TimeoutExpired:
        # It may run for hours; somebody has to take note of its end.
        threading.Thread(target=process.wait, name="editor", daemon=True).start()
        return 0


def _ending(code: int) -> str:
    if code > 0:
        return f"ended with exit code {code}"
    with contextlib.suppress(ValueError):
        return f"was ended by {signal.Signals(-code).name}"
    return f"was ended by signal {-code}"


def _outcome(text: str, *, ok: bool, interrupted: bool = False) -> Outcome:
    return Outcome(ok, visible(text).replace("\n", "␊"), interrupted)
