"""Esc in a picker, ctrl+c and ctrl+z: what leaves the screen, and what only seems to."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import pytest
from textual.widgets import Input

from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.commands import INTERRUPT_S
from tests.tui.pty_screen import Start
from tests.tui.screen import WIDE, focus, found, has_keys, kebab, painted, until

pytestmark = pytest.mark.slow

AGAIN = "Press Ctrl+C again to quit"


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What reached the terminal's clipboard: no program is there to take it."""
    texts: list[str] = []
    monkeypatch.setattr(KebabApp, "copy_to_clipboard", lambda _, text: texts.append(text))
    monkeypatch.setenv("PATH", "")
    return texts


# Esc


async def test_esc_in_an_empty_box_aborts_a_pick_and_no_other_esc_does(data: Path) -> None:
    app = kebab(data, query="rust", mode="lexical", pick=True)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await found(pilot)
        await focus(pilot, app.hits)
        await pilot.press("f1", "escape", "escape")
        assert has_keys(app.box) and app.box.value == "rust"
        await pilot.press("escape")
        assert app.box.value == "" and app.is_running and app.history.queries[0] == "rust"
        await pilot.press("escape")
    assert (app.return_value, app.return_code) == ((), 130)


# ctrl+c


async def test_a_second_ctrl_c_quits_only_for_a_moment(data: Path) -> None:
    now = [100.0]
    app = kebab(data, query="rust", mode="lexical", clock=lambda: now[0])
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await found(pilot)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: AGAIN in painted(app))
        now[0] += INTERRUPT_S + 0.1
        await pilot.press("ctrl+c")
        assert app.is_running
        now[0] += INTERRUPT_S - 0.1
        await pilot.press("ctrl+c")
    assert (app.return_value, app.return_code) == ((), 0)


@pytest.mark.parametrize("key", ["f1", "f2", "f12", "alt+w"])
async def test_ctrl_c_works_on_every_screen_above(data: Path, key: str) -> None:
    app = kebab(data, query="rust", mode="lexical", clock=lambda: 100.0)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await found(pilot)
        await pilot.press(key)
        page = app.screen
        await pilot.press("ctrl+c")
        await until(pilot, lambda: AGAIN in painted(app))
        assert app.screen is page and len(app.screen_stack) == 2
        await pilot.press("ctrl+c")
    assert app.return_value == ()


@pytest.mark.parametrize("page", [(), ("f12",)])
async def test_ctrl_c_aborts_a_pick(data: Path, page: tuple[str, ...]) -> None:
    app = kebab(data, query="rust", mode="lexical", pick=True)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await found(pilot)
        await pilot.press(*page, "ctrl+c")
    assert (app.return_value, app.return_code) == ((), 130)


async def test_ctrl_c_copies_the_text_selected_in_the_box(data: Path, copied: list[str]) -> None:
    app = kebab(data, query="rust 소유권", mode="lexical", pick=True)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await found(pilot)
        await pilot.press("shift+left", "shift+left", "shift+left", "ctrl+c")
        assert copied == ["소유권"] and app.is_running
        await until(pilot, lambda: "clipboard): 소유권" in painted(app))
        await pilot.press("end", "ctrl+c")
    assert app.return_code == 130


async def test_ctrl_c_copies_the_text_selected_on_a_page_above(data: Path, copied: list[str]) -> None:
    app = kebab(data, query="rust", mode="lexical")
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await found(pilot)
        await pilot.press("alt+w", *"a path")
        assert isinstance(app.focused, Input)
        app.focused.select_all()
        await pilot.press("ctrl+c")
        assert copied == ["a path"]


async def test_the_pointer_dragged_over_the_lowest_lines_selects_nothing(
    data: Path, copied: list[str]
) -> None:
    app = kebab(data, query="rust", mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        for y in (WIDE[1] - 2, WIDE[1] - 1):
            await pilot.mouse_down(offset=(90, y))
            await pilot.hover(offset=(100, y))
            await pilot.mouse_up(offset=(100, y))
        await pilot.press("ctrl+c")
        await until(pilot, lambda: AGAIN in painted(app))
    assert copied == []


# ctrl+z


@pytest.mark.parametrize(
    ("pick", "reason"), [(True, "--pick cannot be suspended"), (False, "this terminal has no job control")]
)
async def test_where_nothing_can_be_suspended_ctrl_z_says_so(
    data: Path, monkeypatch: pytest.MonkeyPatch, pick: bool, reason: str
) -> None:
    monkeypatch.setattr("kebab_tui.tui.commands.has_job_control", lambda: False)
    app = kebab(data, query="rust", mode="lexical", pick=pick)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await found(pilot)
        await pilot.press("ctrl+z")
        await until(pilot, lambda: f"Ctrl+Z is off: {reason}" in painted(app))
        await pilot.press("f12", "ctrl+z")
        await until(pilot, lambda: f"Ctrl+Z is off: {reason}" in painted(app))


def test_a_screen_that_leads_its_session_has_no_shell_to_go_to(idle: Start, data: Path) -> None:
    screen = idle("--data-dir", data)
    screen.wait_for(" notes ")
    screen.type("\x1a")
    screen.wait_for("Ctrl+Z is off: this terminal has no job control")
    screen.type("\x11")
    screen.end()
    assert screen.is_restored


_WRAPPED = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
"""What `make` and `uv run` are to the shell: the job is them, and the screen is their child."""


class Shell:
    """An interactive shell on a terminal, with the screen as its job."""

    def __init__(self, start: Start, data: Path, *, is_wrapped: bool) -> None:
        idle = "from kebab_tui.tui import app, main; app.KebabApp.index = lambda *_, **__: None; main()"
        options = ["--data-dir", str(data), "--mode", "lexical", "--query", "rust"]
        wrapper = [sys.executable, "-c", _WRAPPED] if is_wrapped else []
        words = [*wrapper, sys.executable, "-c", idle, *options]
        environ = {f"A{number}": word for number, word in enumerate(words)}
        bash = ("bash", "--norc", "--noprofile", "--noediting", "-i")
        self.terminal = start(program=bash, environ={"PS1": "sh> ", **environ})
        self.terminal.wait_for("sh> ")
        self.command = " ".join(f'"${name}"' for name in environ)

    def run(self, line: str, until: str) -> str:
        """Type a line, and wait for the text; what was painted since."""
        place = len(self.terminal.sent)
        self.terminal.type(f"{line}\n")
        self.terminal.wait_for_after(place, until)
        return self.terminal.sent[place:].decode("utf-8", "replace")

    @property
    def modes(self) -> str:
        """The modes of the terminal as the shell sees them."""
        shown = self.run("stty -a; echo mo''des", "modes\r\n")
        return shown.partition("speed")[2].partition("modes")[0]


@pytest.fixture(params=[False, True], ids=["direct", "wrapped"])
def shell(start: Start, data: Path, request: pytest.FixtureRequest) -> Shell:
    return Shell(start, data, is_wrapped=request.param)


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="needs bash")
def test_ctrl_z_gives_the_terminal_to_the_shell_and_fg_brings_everything_back(shell: Shell) -> None:
    terminal = shell.terminal
    before = shell.modes
    assert " icanon" in before and " echo " in before
    shell.run(shell.command, "error-handling.md")
    terminal.type(" errors")
    terminal.wait_for("rust errors")
    for _ in range(2):  # a second time, too
        place = len(terminal.sent)
        terminal.type("\x1a")
        terminal.wait_for_after(place, "Stopped")
        assert b"\x1b[?1049l" in terminal.sent[place:], "the first screen is back"
        assert shell.modes == before
        assert "Stopped" in shell.run("jobs; echo do''ne", "done\r\n")
        shell.run("bg; sleep 0.2; echo do''ne", "done\r\n")  # a screen in the background stops again
        place = len(terminal.sent)
        assert "\x1b[?1049h" in shell.run("fg", "rust errors")
        terminal.wait_for_after(place, "error-handling.md")
    place = len(terminal.sent)
    terminal.type("\x7f\x7f")
    terminal.type("s")
    terminal.type("\x11")
    terminal.wait_for_after(place, "sh> ")
    assert shell.modes == before
    terminal.type("exit\n")
    terminal.end()


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="needs bash")
def test_a_suspended_screen_ends_with_its_shell(start: Start, data: Path) -> None:
    shell = Shell(start, data, is_wrapped=False)
    shell.run(shell.command, "error-handling.md")
    place = len(shell.terminal.sent)
    shell.terminal.type("\x1a")
    shell.terminal.wait_for_after(place, "Stopped")
    job = int(re.findall(r"\d+", shell.run("jobs -p; echo do''ne", "done\r\n"))[-1])
    assert _is_running(job)
    shell.terminal.hang_up()
    shell.terminal.end()
    end = time.monotonic() + 120
    while _is_running(job):
        assert time.monotonic() < end, "the screen outlived its shell"
        time.sleep(0.05)


def _is_running(process: int) -> bool:
    """Not so once it has ended, though its new parent may not have asked how."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
