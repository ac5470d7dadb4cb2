"""Writes data to stdout and messages to stderr; colours, links and tables for terminals.

Knows no verb. Text from files passes `field`, so that it cannot break out of its row. Terminal features are
guessed conservatively: an unknown terminal has none.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.text import one_line

if TYPE_CHECKING:
    from kebab_tui.domain.citation import Citation
    from kebab_tui.wire.encode import Json

DEFAULT_WIDTH = 80
LINKS_VARIABLE = "KEBAB_HYPERLINKS"

_LINKING_PROGRAMS = {"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio", "WarpTerminal"}
_LINKING_TERMS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour", "rio")
_FIRST_LINKING_VTE = 5000
_FIRST_LINKING_TMUX = (3, 4)
"""It keeps links, and shows them where the outer terminal can."""
_MULTIPLEXERS = ("screen", "tmux")
"""They inherit the variables of the outer terminal, but not its features."""


def write(line: str) -> None:
    """Write one line of data to stdout."""
    if sys.stdout is not None:  # None: closed by the parent process
        sys.stdout.write(line + "\n")


def write_null(text: str) -> None:
    """Write data that ends with a null character instead of a newline."""
    if sys.stdout is not None:
        sys.stdout.write(text + "\0")


def write_json(value: Json) -> None:
    """Write one object on one line."""
    from kebab_tui.wire.encode import dumps

    write(dumps(value))


def notify(line: str) -> None:
    """Write one line to stderr; never data."""
    if sys.stderr is not None:
        sys.stderr.write(line + "\n")


def confirmed(question: str, *, yes: bool) -> bool:
    """Ask on stderr for a yes, unless `--yes` was given."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError(f"{question}: cannot ask for confirmation (not a terminal)", "pass --yes")
    import click  # only here: `main` handles Ctrl+C before click is loaded

    return click.confirm(f"{question}. Continue?", err=True)


def field(text: str) -> str:
    """Sanitised text for one cell of a row: on one line, without control characters."""
    return one_line(text)


def working_folder() -> str:
    """Empty if it was removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def shown_path(location: str) -> str:
    """An absolute path as commands take it: relative if it is below the working folder."""
    here = working_folder()
    path = location.removeprefix(here.rstrip("/") + "/") if here else location
    return f"./{path}" if path.startswith("-") else path


def page_label(citation: Citation) -> str:
    """How the document labels the cited page; empty for lines, and where it is the number."""
    return f" (page {field(citation.label)})" if citation.label else ""


def plural(count: int, noun: str) -> str:
    """`1 note`, `2 notes`, `1,234 passages`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


@dataclass(frozen=True, slots=True)
class Terminal:
    """The features of an output stream."""

    tty: bool
    colour: bool
    links: bool
    width: int
    line_links: bool = False
    """Whether a link may name a line, as `#12`; some terminals open no such address."""


def detect(stream: TextIO | None, environ: Mapping[str, str]) -> Terminal:
    """Describe a stream; a closed one counts as a file."""
    tty = stream is not None and not stream.closed and stream.isatty()
    term = environ.get("TERM", "")
    if environ.get("NO_COLOR"):
        colour = False
    elif environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        colour = True
    else:
        colour = tty and term != "dumb" and environ.get("CLICOLOR") != "0"
    wish, vte = environ.get(LINKS_VARIABLE, ""), environ.get("VTE_VERSION", "")
    if wish in ("always", "never"):
        links = wish == "always"
    elif not tty or not term or term == "dumb":
        links = False
    elif term.startswith(_MULTIPLEXERS) or "TMUX" in environ:
        version = re.match(r"(\d+)\.(\d+)", environ.get("TERM_PROGRAM_VERSION", ""))
        links = (
            environ.get("TERM_PROGRAM") == "tmux"
            and version is not None
            and (int(version[1]), int(version[2])) >= _FIRST_LINKING_TMUX
        )
    else:
        links = (
            environ.get("TERM_PROGRAM") in _LINKING_PROGRAMS
            or term.startswith(_LINKING_TERMS)
            or (vte.isdecimal() and int(vte) >= _FIRST_LINKING_VTE)
        )
    width, line_links = _width(stream if tty else None, environ), links and term == "xterm-kitty"
    return Terminal(tty=tty, colour=colour, links=links, width=width, line_links=line_links)


def _width(stream: TextIO | None, environ: Mapping[str, str]) -> int:
    """COLUMNS, else the terminal's size, as in a shell; never 0."""
    columns = environ.get("COLUMNS", "")
    if columns.isdecimal() and 0 < int(columns) < 10_000:
        return int(columns)
    try:
        return (os.get_terminal_size(stream.fileno()).columns if stream else 0) or DEFAULT_WIDTH
    except (OSError, ValueError):
        return DEFAULT_WIDTH


@dataclass(frozen=True, slots=True)
class Style:
    """Colours, those of ripgrep, and links for one stream.

    Expects sanitised text and adds the only escape sequences.
    """

    terminal: Terminal

    def match(self, text: str) -> str:
        return self._painted("1;31", text)

    def path(self, text: str) -> str:
        return self._painted("35", text)

    def line(self, text: str) -> str:
        return self._painted("32", text)

    def matches(self, text: str, highlights: Sequence[tuple[int, int]]) -> str:
        """The text with its matches painted."""
        at, painted = 0, []
        for start, end in highlights:
            painted += [text[at:start], self.match(text[start:end])]
            at = end
        return "".join([*painted, text[at:]])

    def citation(self, citation: Citation) -> str:
        path = field(citation.path)
        return self.path(path) + self.line(field(str(citation)).removeprefix(path))

    def dim(self, text: str) -> str:
        return self._painted("2", text)

    def strong(self, text: str) -> str:
        return self._painted("1", text)

    def file_link(self, text: str, path: bytes, line: int = 0) -> str:
        """`text` as a link to the file at an absolute path, if the terminal supports links."""
        if not self.terminal.links:
            return text
        from urllib.parse import quote

        # With its name, a terminal does not open a file of another machine.
        host = os.uname().nodename if hasattr(os, "uname") else ""
        fragment = f"#{line}" if line and self.terminal.line_links else ""
        return hyperlink(text, f"file://{quote(host)}{quote(path)}{fragment}")

    def _painted(self, codes: str, text: str) -> str:
        return f"\x1b[{codes}m{text}\x1b[0m" if self.terminal.colour and text else text


def hyperlink(text: str, uri: str) -> str:
    """Sanitised `text` as an OSC 8 link; escapes the address."""
    if not (uri.isascii() and uri.isprintable() and " " not in uri):
        data = uri.encode("utf-8", "surrogateescape")
        uri = "".join(chr(byte) if 0x20 < byte < 0x7F else f"%{byte:02X}" for byte in data)
    return f"\x1b]8;;{uri}\x1b\\{text}\x1b]8;;\x1b\\"


def table_lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Aligned columns with a header on a terminal; in a pipe, cells between tabs without a header."""
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
    """Cells in columns; the columns in `right` are right-aligned."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = []
        for column, (cell, size) in enumerate(zip(row, widths, strict=True)):
            space = " " * (size - width(cell))
            padded.append(space + cell if column in right else cell + space)
        yield "  ".join(padded).rstrip()


def rows_of(text: str, columns: int, taken: int) -> Iterator[tuple[int, int]]:
    """Ranges of a text that fit a row of a terminal, cut before words. `taken`: columns before the text."""
    start = used = 0
    for word in re.finditer(r"\S+\s*", text):
        if used and taken + used + width(word[0].rstrip()) > columns:
            yield start, word.start()
            start, used = word.start(), 0
        used += width(word[0])
    yield start, len(text)


def width(text: str) -> int:
    """Columns on a terminal: two for a wide character, none for a combining mark."""
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)
