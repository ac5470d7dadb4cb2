"""How verbs write: data to stdout, narration to stderr, text from outside always made visible.

Nothing here knows a verb. Data for people is given as lines; a line that goes through
`field` cannot break out of its row.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from kebab_tui.domain.text import visible

if TYPE_CHECKING:
    from kebab_tui.wire.encode import Json


_ROW_BREAKERS = str.maketrans({"\n": "␊", "\t": "␉"})


def write(line: str) -> None:
    """One line of data."""
    if sys.stdout is not None:  # None: whoever started us has closed it
        sys.stdout.write(line + "\n")


def write_json(value: Json) -> None:
    """One object on one line."""
    from kebab_tui.wire.encode import dumps

    write(dumps(value))


def say(line: str) -> None:
    """One line for whoever watches; data never goes this way."""
    if sys.stderr is not None:
        sys.stderr.write(line + "\n")


def field(text: str) -> str:
    """Text from outside as one cell of a row: nothing in it ends the cell or moves the cursor."""
    return visible(text).translate(_ROW_BREAKERS)


def plural(count: int, noun: str) -> str:
    """`1 note`, `2 notes`, `1,234 passages`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


# What the other end of a stream can show: colours, width, links. Prints nothing.
#
# Guesses are conservative: whatever is unknown counts as a terminal without the feature.

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


# The few marks that output for people carries, and none where they would not be seen.

_RESET = "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Style:
    """Paints for one stream. Texts must be visible already: this adds the only escapes there are."""

    terminal: Terminal

    def match(self, text: str) -> str:
        return self._painted("1;4", text)

    def dim(self, text: str) -> str:
        return self._painted("2", text)

    def strong(self, text: str) -> str:
        return self._painted("1", text)

    def file_link(self, text: str, path: bytes) -> str:
        """`text`, leading to the file at an absolute path where the terminal follows links."""
        if not self.terminal.links:
            return text
        from urllib.parse import quote

        return hyperlink(text, "file://" + quote(path))

    def _painted(self, codes: str, text: str) -> str:
        return f"\x1b[{codes}m{text}{_RESET}" if self.terminal.colour and text else text


# Rows of cells: aligned columns on a terminal, tabs in a pipe, where the header is left out too.


def table_lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Every line; cells may hold anything and cannot break out of their row."""
    terminal = detect(sys.stdout, os.environ)
    cells = [[field(cell) for cell in row] for row in rows]
    if not terminal.tty:
        yield from ("\t".join(row) for row in cells)
    elif cells:
        style = Style(terminal)
        first, *others = aligned([header, *cells])
        yield style.dim(first)
        yield from others


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> Iterator[str]:
    """Cells as columns, those named in `right` flush right, the last one ragged."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (
            _padding(cell, size) + cell if place in right else cell + _padding(cell, size)
            for place, (cell, size) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(padded).rstrip()


def _padding(cell: str, size: int) -> str:
    return " " * (size - width(cell))


def width(text: str) -> int:
    """Columns on a terminal: wide characters take two, marks none."""
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)
