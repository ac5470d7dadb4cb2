"""What is copied, and the ways it takes to the clipboard.

A native tool where the clipboard is on this machine; then tmux, which hands it to its
own terminal; then the terminal by OSC 52, which acknowledges nothing. What the toast
says always holds the text itself, so that a clipboard that did not get it costs nothing.
Whatever is copied is visible text: where it is pasted, nothing in it is a key or a command.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kebab_tui.domain.citation import Citation
from kebab_tui.domain.text import visible
from kebab_tui.tui.widgets.segments import clean

if TYPE_CHECKING:
    from kebab_tui.domain.citation import Located
    from kebab_tui.domain.hit import SearchHit

Find = Callable[[str], str | None]
Write = Callable[[str], None]
"""Hands text to the terminal as OSC 52: `App.copy_to_clipboard`."""

_REMOTE = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")
_PATIENCE_S = 1.0
_SHOWN = 160


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that reads the clipboard's new text from its standard input."""

    argv: tuple[str, ...]
    where: str
    encoding: str = "utf-8"


_NATIVE: tuple[tuple[str, Tool], ...] = (
    ("", Tool(("pbcopy",), "clipboard")),
    ("WAYLAND_DISPLAY", Tool(("wl-copy",), "clipboard")),
    ("DISPLAY", Tool(("xclip", "-selection", "clipboard"), "clipboard")),
    ("DISPLAY", Tool(("xsel", "--clipboard", "--input"), "clipboard")),
    ("", Tool(("clip.exe",), "clipboard", "utf-16")),
)
"""The variable without which a tool has nowhere to copy to, and the tool."""
_TMUX = Tool(("tmux", "load-buffer", "-w", "-"), "tmux and the clipboard behind it")


@dataclass(frozen=True, slots=True)
class Copied:
    """`message` is what the toast says: visible text that holds what was copied, or its beginning."""

    sure: bool
    """False where the terminal was told and did not answer, as none does."""
    message: str


def citation_text(hit: SearchHit, located: Located | None = None) -> str:
    """`path:L12-L34`, with the lines where the passage stands by now, on one line whatever the path holds."""
    span = located.span if located else hit.citation.span
    return clean(str(Citation(hit.path, span)))


def quotation_text(hit: SearchHit, located: Located | None = None) -> str:
    """The citation, and below it the passage as it was indexed."""
    return f"{citation_text(hit, located)}\n{hit.text}"


Placed = Sequence[tuple["SearchHit", "Located | None"]]
"""Hits, each with where its passage stands now."""


def citations_text(hits: Placed) -> str:
    """One citation a line."""
    return "\n".join(citation_text(hit, located) for hit, located in hits)


def quotations_text(hits: Placed) -> str:
    """Citations with their passages, an empty line between."""
    return "\n\n".join(quotation_text(hit, located) for hit, located in hits)


def copy(text: str, write: Write, environ: Mapping[str, str], find: Find = shutil.which) -> Copied:
    """Put text, made visible, on the clipboard by the first way that works."""
    text = visible(text)
    for tool in tools(environ, find):
        if _accepts(tool, text):
            return Copied(True, f"copied to {tool.where}: {_shown(text)}")
    write(text)
    return Copied(False, f"sent to the terminal's clipboard: {_shown(text)}")


def tools(environ: Mapping[str, str], find: Find) -> Iterator[Tool]:
    """The programs worth trying here, best first."""
    if not any(environ.get(name) for name in _REMOTE):
        for variable, tool in _NATIVE:
            if (not variable or environ.get(variable)) and find(tool.argv[0]):
                yield tool
    if environ.get("TMUX") and find(_TMUX.argv[0]):
        yield _TMUX


def _accepts(tool: Tool, text: str) -> bool:
    """Run a tool. Nothing is read from it: some stay behind to serve the clipboard, and keep streams open."""
    try:
        done = subprocess.run(
            tool.argv,
            input=text.encode(tool.encoding),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def _shown(text: str) -> str:
    line = text[: _SHOWN + 1].replace("\n", "␊").replace("\t", " ")
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
