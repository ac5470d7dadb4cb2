"""Copies text: the way to the clipboard.

A native tool if the clipboard is on this machine; then tmux, which passes the text to
its terminal; then the terminal by OSC 52, which confirms nothing. The message for the
user contains the first line, in case the clipboard did not get it. All copied text is
sanitized: pasting it never sends a key or an escape sequence.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kebab_tui.domain.text import sanitize
from kebab_tui.tui.widgets.segments import ELLIPSIS

Find = Callable[[str], str | None]
Write = Callable[[str], None]
"""Sends text to the terminal as OSC 52: `App.copy_to_clipboard`."""


@dataclass(frozen=True, slots=True)
class ClipboardTool:
    """A program that puts its standard input on the clipboard."""

    argv: tuple[str, ...]
    where: str
    encoding: str = "utf-8"


_REMOTE = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")
_NATIVE: tuple[tuple[str, ClipboardTool], ...] = (
    ("", ClipboardTool(("pbcopy",), "clipboard")),
    ("WAYLAND_DISPLAY", ClipboardTool(("wl-copy",), "clipboard")),
    ("DISPLAY", ClipboardTool(("xclip", "-selection", "clipboard"), "clipboard")),
    ("DISPLAY", ClipboardTool(("xsel", "--clipboard", "--input"), "clipboard")),
    ("", ClipboardTool(("clip.exe",), "clipboard", "utf-16")),
)
"""Each tool with the environment variable that it needs."""
_TMUX = ClipboardTool(("tmux", "load-buffer", "-w", "-"), "tmux + terminal clipboard")
_TIMEOUT_S = 1.0
_SHOWN = 160
"""How many characters of the first line the message contains."""


def copy(text: str, write: Write, environ: Mapping[str, str], find: Find = shutil.which) -> str:
    """Copy sanitized text by the first way that works; returns the message for the user."""
    text = sanitize(text)
    first = text.partition("\n")[0]
    line = first[: _SHOWN + 1].replace("\t", " ")
    shown = line if len(text) == len(first) <= _SHOWN else f"{line[: _SHOWN - 1]} {ELLIPSIS}"
    for tool in tools(environ, find):
        try:
            # Nothing is read from a tool: some stay behind to serve the clipboard, and keep streams open.
            done = subprocess.run(
                tool.argv,
                input=text.encode(tool.encoding),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.SubprocessError):
            continue
        if done.returncode == 0:
            return f"Copied ({tool.where}): {shown}"
    write(text)
    return f"Copied (terminal clipboard): {shown}"


def tools(environ: Mapping[str, str], find: Find) -> Iterator[ClipboardTool]:
    """The programs to try here, best first."""
    if not any(environ.get(name) for name in _REMOTE):
        for variable, tool in _NATIVE:
            if (not variable or environ.get(variable)) and find(tool.argv[0]):
                yield tool
    if environ.get("TMUX") and find(_TMUX.argv[0]):
        yield _TMUX
