"""Detection of terminal features."""

from __future__ import annotations

import io
import os
import pty
from collections.abc import Iterator

import pytest

from kebab_tui.cli.output import DEFAULT_WIDTH, detect, hyperlink


@pytest.fixture
def tty() -> Iterator[io.TextIOWrapper]:
    master, slave = pty.openpty()
    with open(slave, "w") as stream:
        yield stream
    os.close(master)


@pytest.mark.parametrize(
    ("environ", "colour"),
    [
        ({"TERM": "xterm"}, True),
        ({}, True),
        ({"TERM": "dumb"}, False),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, True),
        ({"CLICOLOR": "0"}, False),
        ({"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, False),
    ],
)
def test_colours_on_a_terminal(tty: io.TextIOWrapper, environ: dict[str, str], colour: bool) -> None:
    assert detect(tty, environ).colour is colour


def test_a_pipe_is_flat_unless_colour_is_forced() -> None:
    assert detect(io.StringIO(), {"TERM": "xterm"}) == detect(None, {})
    assert not detect(io.StringIO(), {"TERM": "xterm"}).colour
    assert detect(io.StringIO(), {"CLICOLOR_FORCE": "1"}).colour
    assert not detect(io.StringIO(), {"CLICOLOR_FORCE": "0"}).colour


@pytest.mark.parametrize(
    ("environ", "links"),
    [
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-256color", "VTE_VERSION": "6800"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "4602"}, False),
        ({"TERM": "xterm-256color", "VTE_VERSION": "new"}, False),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, False),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "tmux-256color", "VTE_VERSION": "6800"}, False),
        ({"TERM": "screen", "TERM_PROGRAM": "iTerm.app"}, False),
        ({"TERM": "tmux-256color", "TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.3a"}, False),
        ({"TERM": "tmux-256color", "TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.4"}, True),
        ({"TERM": "xterm-256color", "TMUX": "/tmp/tmux", "VTE_VERSION": "6800"}, False),
        ({"TERM": "dumb", "VTE_VERSION": "6800"}, False),
        ({"TERM": "screen", "KEBAB_HYPERLINKS": "always"}, True),
        ({"TERM": "xterm-kitty", "KEBAB_HYPERLINKS": "never"}, False),
    ],
)
def test_links_only_where_they_are_known_to_work(
    tty: io.TextIOWrapper, environ: dict[str, str], links: bool
) -> None:
    assert detect(tty, environ).links is links


def test_no_links_into_a_pipe_unless_always() -> None:
    assert not detect(io.StringIO(), {"TERM": "xterm-kitty"}).links
    assert detect(io.StringIO(), {"KEBAB_HYPERLINKS": "always"}).links


def test_the_width_is_columns_then_the_terminals_then_80(tty: io.TextIOWrapper) -> None:
    import fcntl
    import struct
    import termios

    assert detect(tty, {}).width == DEFAULT_WIDTH
    fcntl.ioctl(tty.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 24, 132, 0, 0))
    assert detect(tty, {}).width == 132
    assert detect(tty, {"COLUMNS": "40"}).width == 40
    assert detect(tty, {"COLUMNS": "wide"}).width == 132
    assert detect(tty, {"COLUMNS": "0"}).width == 132


def test_a_closed_stream_is_no_terminal() -> None:
    closed = io.StringIO()
    closed.close()
    assert not detect(closed, {"TERM": "xterm"}).tty


def test_a_link_wraps_its_text() -> None:
    assert hyperlink("note", "file:///n/a.md") == "\x1b]8;;file:///n/a.md\x1b\\note\x1b]8;;\x1b\\"


def test_nothing_in_an_address_can_end_the_link_early() -> None:
    link = hyperlink("x", "file:///a b\x1b\\\x07/충\udcff%20")
    address = link.removeprefix("\x1b]8;;").partition("\x1b\\")[0]
    assert address == "file:///a%20b%1B\\%07/%EC%B6%A9%FF%20"
