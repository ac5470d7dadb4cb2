"""The screen in ASCII, on a real terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.pty_screen import Start
from tests.vault import Vault

F1, F3, F6, F12 = "\x1bOP", "\x1bOR", "\x1b[17~", "\x1b[24~"
ALT_M, CTRL_G, TAB, QUIT = "\x1bm", "\x07", "\t", "\x11"

WHOLE = {"KEBAB_SEARCH_SNIPPET_CHARS": "4000"}
"""The engine marks what it cuts off."""

pytestmark = pytest.mark.slow


@pytest.fixture
def ascii_data(tmp_path: Path) -> Path:
    """An index of notes in ASCII, of which one is longer than the preview."""
    vault = Vault(tmp_path)
    lines = "".join(f"## Part {number}\n\n{'Ownership of values. ' * 40}\n\n" for number in range(40))
    vault.write("rust/ownership.md", f"---\ntags: [rust]\n---\n# Ownership\n\n{lines}")
    vault.write("docker.md", "# Docker\n\n- [ ] an image\n\n" + "an image of a container " * 30)
    vault.ingest()
    vault.workspace.close()
    return vault.data


@pytest.mark.parametrize("size", [(120, 36), (60, 15)])
def test_all_that_the_screen_draws_is_ascii(start: Start, ascii_data: Path, size: tuple[int, int]) -> None:
    argv = ("--ascii", "--data-dir", ascii_data, "--mode", "lexical", "--no-watch", "--explain")
    screen = start(*argv, "--query", "ownership tag:rust", size=size, environ=WHOLE)
    screen.wait_for("First: the query")
    for key in (F3, F3, F6):
        before = len(screen.sent)
        screen.type(key)
        screen.wait_for_after(before, "Ownership")
    pages = (
        (ALT_M, "Ownership"),
        (F12, "searchable"),
        (F12, "Ownership"),
        (F1, "What a query"),
        (F1, "Ownership"),
    )
    for key, shown in (*pages, (CTRL_G, "docker")):
        before = len(screen.sent)
        screen.type(key)
        screen.wait_for_after(before, shown)
    screen.type(TAB * 3 + QUIT)
    screen.end()
    assert not {character for character in screen.text if ord(character) > 126}


def test_the_configuration_asks_for_ascii_too(start: Start, ascii_data: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[screen]\nascii = true\n")
    screen = start("--config", config, "--data-dir", ascii_data, "--no-watch", "--query", "docker")
    screen.wait_for("Docker")
    screen.type(QUIT)
    screen.end()
    assert screen.text.isascii()
