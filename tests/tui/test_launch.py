"""From the command line to the terminal and back, on pseudo-terminals."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from textual._xterm_parser import XTermParser
from textual.events import Key, Paste

from kebab_tui.indexing.status import read_live
from kebab_tui.settings.settings import Settings
from kebab_tui.tui.launch import _run, print_picked, read_alt_keys_at_once, read_pastes_whole
from kebab_tui.workspace import Callbacks, Workspace
from tests.tui.pty_screen import SCREEN, Start
from tests.vault import index_in

pytestmark = pytest.mark.slow

# Where no screen can be shown


def test_a_dumb_terminal_gets_a_message_and_the_way_out(start: Start) -> None:
    screen = start(environ={"TERM": "dumb"})
    screen.end()
    assert screen.process.returncode == 2
    screen.wait_for_end_text("kebab search WORDS")
    assert b"\x1b" not in screen.sent


def test_without_a_terminal_the_error_names_the_alternative(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "xterm"}
    done = subprocess.run(
        SCREEN, env=environ, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert "kebab search WORDS" in done.stderr.decode() and not done.stdout


@pytest.mark.parametrize(
    ("argv", "message", "hint"),
    [
        (["--them", "x", "--qurey", "x"], "No such option '--qurey'.", "did you mean --query?"),
        (["--lang"], "No such option '--lang'.", "see `kebab-tui --help`"),
        (["--mode", "fuzzy"], "Invalid value for '--mode': 'fuzzy' is not one of 'lexical',", "--help"),
        (["--query"], "Option '--query' requires an argument.", "--help"),
        (["--\x1b]2;OWNED\x07\x9b.md"], "No such option '--␛]2;OWNED␇\ufffd.md'.", "--help"),
    ],
)
def test_a_wrong_command_line_is_reported_as_by_kebab(
    argv: list[str], message: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(argv) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"error: {message}")
    assert second.startswith("  hint: ") and hint in second


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        ('explain = ["f3"]', ("explain", "preview", "F3")),
        ('explian = ["f9"]', ("explian", "explain")),
        ('explain = ["hyper+x"]', ("explain", "hyper+x")),
    ],
)
def test_a_bad_key_map_is_refused_with_the_names(
    start: Start, tmp_path: Path, keys: str, names: tuple[str, ...]
) -> None:
    config = tmp_path / "kebab.toml"
    config.write_text(f"[keys]\n{keys}\n")
    screen = start("--config", str(config), "--data-dir", str(tmp_path / "data"))
    screen.end()
    assert screen.process.returncode == 2
    for name in names:
        screen.wait_for_end_text(name)
    assert "Traceback" not in screen.text
    assert b"\x1b[?1049h" not in screen.sent


def test_an_unknown_theme_is_refused(start: Start, data: Path) -> None:
    screen = start("--theme", "no-such", "--data-dir", data)
    screen.end()
    assert screen.process.returncode == 2
    screen.wait_for_end_text("no-such")
    assert "Traceback" not in screen.text


def test_an_index_without_a_backend_is_refused(start: Start, data: Path) -> None:
    screen = start("--index", "nowhere://notes", "--data-dir", data)
    screen.end()
    assert screen.process.returncode == 2
    screen.wait_for_end_text("nowhere://")
    screen.wait_for_end_text("FOLDER")
    assert "Traceback" not in screen.text


def test_an_empty_name_is_no_folder(start: Start, tmp_path: Path) -> None:
    screen = start("", "--data-dir", str(tmp_path / "data"))
    screen.end()
    assert screen.process.returncode == 2
    screen.wait_for_end_text("empty name")


@pytest.mark.parametrize("name", ["gone", "a file"])
def test_a_folder_that_is_none_is_refused_before_the_screen_opens(
    start: Start, tmp_path: Path, name: str
) -> None:
    (tmp_path / "a file").touch()
    screen = start(str(tmp_path / name), "--data-dir", str(tmp_path / "data"))
    screen.end()
    assert screen.process.returncode == 2
    screen.wait_for_end_text("folder")
    screen.wait_for_end_text("hint")
    assert b"\x1b[?1049h" not in screen.sent
    assert not (tmp_path / "data").exists()


def test_a_data_folder_that_cannot_be_made_is_refused_before_the_screen_opens(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "a file").touch()
    screen = start("--data-dir", str(tmp_path / "a file" / "data"))
    screen.end()
    assert screen.process.returncode == 2
    screen.wait_for_end_text("--data-dir")
    assert b"\x1b[?1049h" not in screen.sent


def test_a_folder_that_is_none_within_one_that_is_known_is_refused_too(start: Start, data: Path) -> None:
    with closing(Workspace(Settings(), str(data))) as workspace:
        root = workspace.sources()[0].root
    screen = start(f"{root}/misspelled", "--data-dir", data)
    screen.end()
    assert screen.process.returncode == 2
    screen.wait_for_end_text("folder not found")


def test_a_damaged_index_keeps_no_screen_from_opening_that_names_an_absent_folder(
    start: Start, tmp_path: Path
) -> None:
    notes, data = tmp_path / "notes", tmp_path / "data"
    notes.mkdir()
    (notes / "a.md").write_text("# Lighthouse\n\nkept on a drive\n")
    with closing(Workspace(Settings(), str(data))) as workspace:
        workspace.ingest([str(notes)], Callbacks())
    notes.rename(tmp_path / "elsewhere")
    (data / "kebab.sqlite").write_bytes(b"no database" * 1000)
    screen = start(str(notes), "--data-dir", str(data))
    screen.wait_for("commands")
    screen.type("\x11")
    screen.end()
    assert screen.process.returncode == 0


def test_a_source_that_is_gone_for_now_can_be_searched(start: Start, tmp_path: Path) -> None:
    notes, data = tmp_path / "notes", tmp_path / "data"
    notes.mkdir()
    (notes / "a.md").write_text("# Lighthouse\n\nkept on a drive\n")
    with closing(Workspace(Settings(), str(data))) as workspace:
        workspace.ingest([str(notes)], Callbacks())
    notes.rename(tmp_path / "elsewhere")
    screen = start(str(notes), "--data-dir", str(data), "--query", "lighthouse", "--mode", "lexical")
    screen.wait_for("a.md")
    screen.type("\x11")
    screen.end()
    assert screen.process.returncode == 0


# The screen


def test_it_paints_searches_and_gives_the_terminal_back(start: Start, data: Path) -> None:
    screen = start("--data-dir", data)
    screen.wait_for("query")
    screen.type("ownership")
    screen.wait_for("ownership.md")
    screen.type("\x11")
    screen.end()
    assert screen.process.returncode == 0
    assert screen.is_restored


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_gives_the_terminal_back(idle: Start, data: Path, number: signal.Signals) -> None:
    screen = idle("--data-dir", data, "--query", "rust")
    screen.wait_for("error-handling.md")
    screen.process.send_signal(number)
    screen.end()
    assert screen.is_restored
    assert screen.process.returncode == 128 + number


def test_one_ctrl_c_does_not_end_it(idle: Start, data: Path) -> None:
    screen = idle("--data-dir", data)
    screen.wait_for(" notes ")
    screen.type("\x03ownership")
    screen.wait_for("ownership.md")
    screen.type("\x11")
    screen.end()
    assert screen.is_restored


def test_it_does_not_wait_for_the_indexing_to_end(start: Start, tmp_path: Path) -> None:
    notes, data = tmp_path / "notes", tmp_path / "data"
    notes.mkdir()
    for number in range(200):
        (notes / f"{number}.md").write_text(f"# Note {number}\n\n" + "some words here\n\n" * 60)
    screen = start(str(notes), "--data-dir", str(data))
    screen.wait_for("semantic ")
    live = read_live(index_in(str(data)))
    assert live is not None
    os.kill(live.pid, signal.SIGSTOP)  # it cannot end
    screen.type("\x11")
    screen.end()
    os.kill(live.pid, signal.SIGCONT)
    assert screen.is_restored


def test_a_folder_is_indexed_behind_the_screen_and_found(start: Start, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "skewer.md").write_text("# Skewers\n\nturn them often\n")
    screen = start(str(notes), "--data-dir", str(tmp_path / "data"), "--query", "skewers")
    screen.wait_for("skewer.md")
    screen.type("\x11")
    screen.end()
    assert screen.is_restored


def test_stderr_of_libraries_goes_to_the_log(start: Start, data: Path) -> None:
    noisy = (
        "import os; from kebab_tui.tui import app, launch, main\n"
        "mount = app.KebabApp.on_mount\n"
        "def loud(self): os.write(2, b'NOISE of a library'); mount(self)\n"
        "app.KebabApp.on_mount, app.KebabApp.index = loud, lambda *_, **__: None\n"
        "main()"
    )
    screen = start("--data-dir", data, "--mode", "lexical", program=(sys.executable, "-c", noisy))
    screen.wait_for(" notes ")
    screen.type("\x11")
    screen.end()
    assert b"NOISE" not in screen.sent
    assert "NOISE of a library" in Path(data, "screen.log").read_text()


def test_pick_prints_the_citation_to_a_pipe(idle: Start, data: Path, embedded_place: Path) -> None:
    reading, writing = os.pipe()
    screen = idle("--data-dir", data, "--query", "ownership", "--pick", stdout=writing)
    os.close(writing)
    screen.wait_for("ownership.md")
    screen.type("\r")
    screen.end()
    with os.fdopen(reading) as pipe:
        picked = pipe.read()
    assert screen.process.returncode == 0 and screen.is_restored
    line, path = picked.splitlines()
    assert path == str(embedded_place / "notes/rust/ownership.md") and int(line.removeprefix("+")) > 0


PICKED = ("+1", "/n/a\nb.md", "/n/\udcff.md")


@pytest.mark.parametrize(
    ("print0", "printed"),
    [(False, b"+1\n/n/a\nb.md\n/n/\xff.md\n"), (True, b"+1\0/n/a\nb.md\0/n/\xff.md\0")],
)
def test_a_pick_is_printed_as_raw_bytes(
    capfdbinary: pytest.CaptureFixture[bytes], print0: bool, printed: bytes
) -> None:
    print_picked(PICKED, print0=print0)
    assert capfdbinary.readouterr().out == printed


def test_on_a_terminal_a_pick_is_sanitized(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = pty.openpty()
    with os.fdopen(master, "rb", 0) as terminal, os.fdopen(slave, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        print_picked(("t\x1b]2;OWNED\x07\n\x9b.md", "\udc9b.md"), print0=True)
        assert terminal.read(1000).decode() == "t␛]2;OWNED␇␊\ufffd.md\r\n\ufffd.md\r\n"


def test_a_picker_in_a_pipe_is_as_large_as_its_terminal(idle: Start, data: Path) -> None:
    reading, writing = os.pipe()
    screen = idle("--data-dir", data, "--query", "ownership", "--pick", stdout=writing, size=(101, 30))
    os.close(writing)
    screen.wait_for("ownership.md")
    edges = re.findall("╭─ query ─+ keyword ─╮", screen.text)
    assert edges and {len(edge) for edge in edges} == {101}
    screen.type("\x11")
    screen.end()
    os.close(reading)


def test_half_a_character_does_not_end_the_screen(idle: Start, data: Path) -> None:
    screen = idle("--data-dir", data)
    screen.wait_for(" notes ")
    screen.send(b"\xec\x95 ownership")
    screen.wait_for("ownership.md")
    screen.send(b"\x11")
    screen.end()
    assert screen.process.returncode == 0 and screen.is_restored


@pytest.mark.parametrize("keys", ["\x03", "\x1b"])
def test_an_aborted_pick_prints_nothing_and_is_exit_130(idle: Start, data: Path, keys: str) -> None:
    reading, writing = os.pipe()
    screen = idle("--data-dir", data, "--pick", stdout=writing)
    os.close(writing)
    screen.wait_for(" notes ")
    screen.type(keys)
    screen.end()
    with os.fdopen(reading) as pipe:
        assert pipe.read() == ""
    assert screen.process.returncode == 130 and screen.is_restored


def test_nothing_picked_is_exit_1(idle: Start, data: Path) -> None:
    screen = idle("--data-dir", data, "--pick")
    screen.wait_for(" notes ")
    screen.type("\x11")
    screen.end()
    assert screen.process.returncode == 1


AS_ANYBODY = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-all")
"""Root writes everywhere, unless it is without this privilege."""


@pytest.mark.program
@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root writes everywhere")
def test_a_data_folder_that_cannot_be_written_can_be_searched(start: Start, data: Path) -> None:
    for folder, _, files in os.walk(data):
        for name in files:
            os.chmod(os.path.join(folder, name), 0o400)
        os.chmod(folder, 0o500)
    program = (*AS_ANYBODY, *SCREEN) if os.geteuid() == 0 else SCREEN
    screen = start("--data-dir", data, "--query", "ownership", "--mode", "lexical", program=program)
    screen.wait_for("ownership.md")
    screen.wait_for("read-only")
    screen.type("\x11")
    screen.end()
    assert screen.is_restored


@pytest.mark.parametrize("size", [(20, 5), (400, 120)])
def test_it_paints_in_a_terminal_of_any_size(idle: Start, data: Path, size: tuple[int, int]) -> None:
    screen = idle("--data-dir", data, "--query", "ownership", size=size)
    screen.wait_for("ership")
    screen.type("\x11")
    screen.end()
    assert screen.is_restored


def test_without_colours_nothing_is_coloured(idle: Start, data: Path) -> None:
    screen = idle("--data-dir", data, "--query", "ownership", environ={"NO_COLOR": "1"})
    screen.wait_for("ownership.md")
    screen.type("\x11")
    screen.end()
    colours = {part for part in _parameters(screen.sent) if part[:2] in ((38, 2), (48, 2))}
    assert all(colour[2] == colour[3] == colour[4] for colour in colours), "only greys"


def _parameters(sent: bytes) -> Iterator[tuple[int, ...]]:
    import re

    for found in re.finditer(rb"\x1b\[([0-9;]+)m", sent):
        numbers = [int(part or 0) for part in found[1].split(b";")]
        for place, number in enumerate(numbers):
            if number in (38, 48) and numbers[place + 1 : place + 2] == [2]:
                yield tuple(numbers[place : place + 5])


def test_keys_with_alt_that_arrive_together_are_not_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(XTermParser, "_sequence_to_key_events", XTermParser._sequence_to_key_events)
    read_alt_keys_at_once()
    read = XTermParser().feed("\x1bn\x1bn\x1bm\x1b[B\x1bOPx")
    assert [event.key for event in read if isinstance(event, Key)] == [
        "alt+n", "alt+n", "alt+m", "down", "f1", "x"
    ]  # fmt: skip


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_pasted_text_presses_no_key(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(XTermParser, "feed", XTermParser.feed)
    read_pastes_whole()
    parser, typed = XTermParser(), "a\x1b[200~b \x1b\r\x1b[31mc\x1b\x1b[201~d\x1b[Be"
    pieces = [typed[at : at + size] for at in range(0, len(typed), size)]
    read = [message for piece in pieces for message in parser.feed(piece)]
    keys = [one.text if isinstance(one, Paste) else one.key for one in read if isinstance(one, Key | Paste)]
    assert keys == ["a", "b \r[31mc", "d", "down", "e"]
