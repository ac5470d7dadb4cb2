"""Copies text: which text, and which way to the clipboard.

A native tool if the clipboard is on this machine; then tmux, which passes the text to
its terminal; then the terminal by OSC 52, which confirms nothing. The message for the
user contains the first line, in case the clipboard did not get it. All copied text is
sanitized: pasting it never sends a key or an escape sequence.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kebab_tui.domain.text import sanitize
from kebab_tui.tui.messages import LocatedHit
from kebab_tui.tui.widgets.segments import ELLIPSIS, sanitize_line

Find = Callable[[str], str | None]
Write = Callable[[str], None]
"""Sends text to the terminal as OSC 52: `App.copy_to_clipboard`."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that puts its standard input on the clipboard."""

    argv: tuple[str, ...]
    where: str
    encoding: str = "utf-8"


_REMOTE = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")
_NATIVE: tuple[tuple[str, Tool], ...] = (
    ("", Tool(("pbcopy",), "clipboard")),
    ("WAYLAND_DISPLAY", Tool(("wl-copy",), "clipboard")),
    ("DISPLAY", Tool(("xclip", "-selection", "clipboard"), "clipboard")),
    ("DISPLAY", Tool(("xsel", "--clipboard", "--input"), "clipboard")),
    ("", Tool(("clip.exe",), "clipboard", "utf-16")),
)
"""Each tool with the environment variable that it needs."""
_TMUX = Tool(("tmux", "load-buffer", "-w", "-"), "tmux and the terminal's clipboard")
_TIMEOUT_S = 1.0
_SHOWN = 160
"""How many characters of the first line the message contains."""


def citation_text(place: LocatedHit) -> str:
    """`path:L12-L34` with the present lines of the passage; always one line."""
    span = (place.located or place.hit.citation).span
    return sanitize_line(str(replace(place.hit.citation, span=span)))


def citations_text(places: Sequence[LocatedHit]) -> str:
    """One citation per line."""
    return "\n".join(map(citation_text, places))


def quotations_text(places: Sequence[LocatedHit]) -> str:
    """Citations, each with its passage as indexed, separated by empty lines."""
    return "\n\n".join(f"{citation_text(place)}\n{place.hit.text}" for place in places)


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
            return f"copied to {tool.where}: {shown}"
    write(text)
    return f"sent to the terminal's clipboard: {shown}"


def tools(environ: Mapping[str, str], find: Find) -> Iterator[Tool]:
    """The programs to try here, best first."""
    if not any(environ.get(name) for name in _REMOTE):
        for variable, tool in _NATIVE:
            if (not variable or environ.get(variable)) and find(tool.argv[0]):
                yield tool
    if environ.get("TMUX") and find(_TMUX.argv[0]):
        yield _TMUX
