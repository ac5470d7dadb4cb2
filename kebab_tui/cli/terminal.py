"""What the other end of a stream can show: colours, width, links. Prints nothing.

Guesses are conservative: whatever is unknown counts as a terminal without the feature.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

DEFAULT_WIDTH = 80
LINKS_VARIABLE = "KEBAB_HYPERLINKS"

_LINKING_PROGRAMS = {"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio", "WarpTerminal"}
_LINKING_TERMS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour", "rio")
_FIRST_LINKING_VTE = 5000
_MULTIPLEXERS = ("screen", "tmux")
"""They inherit the variables of the terminal around them, but not its abilities."""


@dataclass(frozen=True, slots=True)
class Terminal:
    tty: bool
    colour: bool
    links: bool
    width: int


def detect(stream: TextIO | None, environ: Mapping[str, str]) -> Terminal:
    """Describe what `stream` leads to; a closed stream is a file that nobody reads."""
    tty = stream is not None and not stream.closed and stream.isatty()
    return Terminal(
        tty=tty,
        colour=_colour(environ, tty=tty),
        links=_links(environ, tty=tty),
        width=_width(stream if tty else None, environ),
    )


def hyperlink(text: str, uri: str) -> str:
    """`text` as an OSC 8 link. The text must be visible already; the address is made so here."""
    return f"\x1b]8;;{_printable(uri)}\x1b\\{text}\x1b]8;;\x1b\\"


def _printable(uri: str) -> str:
    if uri.isascii() and uri.isprintable() and " " not in uri:
        return uri
    data = uri.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if 0x20 < byte < 0x7F else f"%{byte:02X}" for byte in data)


def _colour(environ: Mapping[str, str], *, tty: bool) -> bool:
    if environ.get("NO_COLOR"):
        return False
    if environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return tty and environ.get("TERM") != "dumb" and environ.get("CLICOLOR") != "0"


def _links(environ: Mapping[str, str], *, tty: bool) -> bool:
    wish = environ.get(LINKS_VARIABLE, "")
    if wish in ("always", "never"):
        return wish == "always"
    return tty and _linking_terminal(environ)


def _linking_terminal(environ: Mapping[str, str]) -> bool:
    term = environ.get("TERM", "")
    if not term or term == "dumb" or term.startswith(_MULTIPLEXERS):
        return False
    vte = environ.get("VTE_VERSION", "")
    return (
        environ.get("TERM_PROGRAM") in _LINKING_PROGRAMS
        or term.startswith(_LINKING_TERMS)
        or (vte.isdecimal() and int(vte) >= _FIRST_LINKING_VTE)
    )


def _width(stream: TextIO | None, environ: Mapping[str, str]) -> int:
    """COLUMNS before the terminal's own word, as in every shell; never 0."""
    columns = environ.get("COLUMNS", "")
    if columns.isdecimal() and 0 < int(columns) < 10_000:
        return int(columns)
    try:
        return (os.get_terminal_size(stream.fileno()).columns if stream else 0) or DEFAULT_WIDTH
    except (OSError, ValueError):
        return DEFAULT_WIDTH
