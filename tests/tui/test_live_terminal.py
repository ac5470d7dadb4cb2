"""A saved note on a real terminal, by a real editor; and that leaving leaves no process behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kebab_tui.indexing.status import read_live
from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Callbacks, Workspace
from tests.tui.pty_screen import PtyScreen
from tests.vault import index_in

pytestmark = pytest.mark.slow

QUIT = "\x11"
_PATIENCE_S = 120.0
Start = Callable[[], PtyScreen]

EDITS = {
    "vim": ["vim", "-u", "NONE", "-i", "NONE", "-es", "-c", "%s/sleeps/burrows/", "-c", "wq"],
    "sed": ["sed", "-i", "s/sleeps/burrows/"],
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Notes and their index."""
    notes = tmp_path / "notes"
    notes.mkdir()
    for name in ("one", "two"):
        (notes / f"{name}.md").write_text(f"# {name}\n\nThe quokka of note {name} sleeps.\n")
    workspace = Workspace(Settings(), str(tmp_path / "data"))
    workspace.ingest([str(notes)], Callbacks())
    workspace.close()
    return tmp_path


@pytest.fixture
def start(place: Path) -> Iterator[Start]:
    """Begin a screen on the index; gives it once it is live."""
    started: list[PtyScreen] = []

    def begin() -> PtyScreen:
        argv = ("--data-dir", str(place / "data"), "--query", "quokka", "--mode", "lexical")
        started.append(screen := PtyScreen(*argv, home=place))
        screen.wait_for("live")
        return screen

    yield begin
    for screen in started:
        screen.close()


def indexer_of(place: Path) -> int:
    live = read_live(index_in(str(place / "data")))
    assert live is not None
    return live.pid


def wait(seen: Callable[[], object]) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not seen():
        assert time.monotonic() < end
        time.sleep(0.02)  # another process ends when it does


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    # One whose parent was killed may wait for a parent that takes note of its end.
    return not stat.exists() or stat.read_text().rpartition(") ")[2][0] != "Z"


@pytest.mark.parametrize("editor", [pytest.param("vim", marks=pytest.mark.program), "sed"])
def test_what_an_editor_saves_is_painted(start: Start, place: Path, editor: str) -> None:
    if shutil.which(EDITS[editor][0]) is None:
        pytest.skip(f"{editor} is not installed")
    screen = start()
    before = len(screen.sent)
    subprocess.run(
        [*EDITS[editor], str(place / "notes" / "two.md")], check=True, stdin=subprocess.DEVNULL, timeout=30
    )
    screen.wait_for_after(before, "of note two burrows.")
    screen.wait_for_after(before, "1 changed")
    screen.type(QUIT)
    screen.end()
    assert screen.is_restored


def test_quitting_ends_the_indexing_process(start: Start, place: Path) -> None:
    screen = start()
    indexer = indexer_of(place)
    screen.type(QUIT)
    screen.end()
    wait(lambda: not is_alive(indexer))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_screen_ends_the_indexing_process(
    start: Start, place: Path, number: signal.Signals
) -> None:
    screen = start()
    indexer = indexer_of(place)
    screen.process.send_signal(number)
    screen.process.wait(_PATIENCE_S)
    wait(lambda: not is_alive(indexer))


def test_a_second_screen_shows_saved_notes_and_survives_the_first(start: Start, place: Path) -> None:
    first = start()
    second = start()
    second.wait_for("indexed by pid")
    note = place / "notes" / "two.md"
    marks = [len(screen.sent) for screen in (first, second)]
    note.write_text("# two\n\nThe quokka of note two swims.\n")
    for screen, mark in zip((first, second), marks, strict=True):
        screen.wait_for_after(mark, "note two swims.")
    writer = indexer_of(place)
    first.process.kill()
    wait(lambda: (live := read_live(index_in(str(place / "data")))) is not None and live.pid != writer)
    mark = len(second.sent)
    note.write_text("# two\n\nThe quokka of note two flies.\n")
    second.wait_for_after(mark, "note two flies.")
