"""What only a real terminal shows: the bytes that are sent, and what comes in besides keys."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Callbacks, Workspace
from tests.tui.pty_screen import PtyScreen, Start

pytestmark = pytest.mark.slow

QUIT = "\x11"


def leave(screen: PtyScreen) -> None:
    screen.type(QUIT)
    screen.end()
    assert screen.is_restored and screen.process.returncode == 0
    assert "Traceback" not in screen.text


# What comes in


def test_hangul_from_an_input_method_may_arrive_in_pieces(idle: Start, data: Path) -> None:
    screen = idle("--data-dir", data)
    screen.wait_for(" notes ")
    word = "김치찌개".encode()
    for piece in (word[:4], word[4:5], word[5:]):
        screen.send(piece)
    screen.wait_for("김치찌개.md")
    leave(screen)


def test_a_pasted_megabyte_with_newlines_is_one_line_and_asks_nothing_of_the_terminal(
    idle: Start, data: Path
) -> None:
    screen = idle("--data-dir", data)
    screen.wait_for(" notes ")
    screen.send(b"\x1b[200~" + b"ownership of\nvalues\r\n\x07" * 50_000 + b"\x1b[201~")
    screen.wait_for("The query is too long")
    assert "\x07" not in screen.text
    screen.type("\x1b")
    leave(screen)


def test_a_query_of_5000_characters_is_answered(idle: Start, data: Path) -> None:
    screen = idle("--data-dir", data, "--query", "ownership " * 500)
    screen.wait_for("ownership.md")
    leave(screen)


def test_a_storm_of_sizes_leaves_a_whole_screen(idle: Start, data: Path) -> None:
    screen = idle("--data-dir", data, "--query", "ownership")
    screen.wait_for("ownership.md")
    for number in range(60):
        screen.resize(5 + number * 37 % 300, 2 + number * 17 % 90)
    screen.resize(100, 30)
    before = len(screen.sent)
    screen.type(" rust")
    screen.wait_for_after(before, "rust")
    leave(screen)


def test_ctrl_c_quits_at_the_second_time(idle: Start, data: Path) -> None:
    screen = idle("--data-dir", data)
    screen.wait_for(" notes ")
    screen.type("\x03")
    screen.wait_for("Press Ctrl+C again to quit")
    screen.type("\x03")
    screen.end()
    assert screen.is_restored and screen.process.returncode == 0


@pytest.mark.parametrize("quiet_s", [0, 2])
def test_a_terminal_that_goes_away_takes_the_screen_with_it(idle: Start, data: Path, quiet_s: float) -> None:
    """Whether the screen is painting, and hears of it by writing, or stands still."""
    screen = idle("--data-dir", data, "--query", "rust")
    screen.wait_for("error-handling.md")
    time.sleep(quiet_s)
    screen.hang_up()
    screen.end()
    assert screen.process.returncode is not None


_BY_ANOTHER = """
import signal, subprocess, sys
signal.signal(signal.SIGHUP, lambda *_: None)
screen = [sys.executable, "-c", "from kebab_tui.tui import main; main()", *sys.argv[1:]]
sys.exit(subprocess.call(screen) % 256)
"""
"""What `make`, `sudo` and scripts are: they lead the session, and wait."""


def test_a_screen_that_does_not_lead_its_session_hears_of_it_too(start: Start, data: Path) -> None:
    program = (sys.executable, "-c", _BY_ANOTHER)
    screen = start("--data-dir", data, "--query", "rust", "--mode", "lexical", program=program)
    screen.wait_for("error-handling.md")
    screen.hang_up()
    screen.end()
    assert screen.process.returncode == 128 + signal.SIGHUP


# What goes out

EVIL = "PWNED"
SEQUENCES = (
    f"\x1b]0;{EVIL}\x07",
    f"\x1b]52;c;{EVIL}\x07",
    f"\x1bP{EVIL}\x1b\\",
    f"\x1b_{EVIL}\x1b\\",
    "\x1b[3;1337r",
    "\x1b[1337n",
    f"\x9d0;{EVIL}\x9c",
    "\x9b1337n",
    f"\u202e{EVIL}\u202c",
    f"\u2066{EVIL}\u2069",
    f"e{chr(0x301) * 200}",
    "\u200b\ufeff\u2028\x00\x08\x7f\x0e",
    "[/nope][bold red][@click=app.quit]",
)
FORBIDDEN = {
    "an OSC, DCS, APC or PM that holds their words": re.compile(rb"\x1b[\]P_^X][^\x07\x1b]*PWNED"),
    "their CSI": re.compile(rb"\x1b\[[0-9;?]*1337"),
    "C1 controls": re.compile(rb"\xc2[\x80-\x9f]"),
    "bidirectional controls": re.compile(rb"\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]"),
    "zero-width spaces and breaks": re.compile(rb"\xe2\x80[\x8b\xa8\xa9]|\xef\xbb\xbf"),
    "C0 controls and DEL": re.compile(rb"[\x00\x08\x7f]"),
    "a run of combining marks": re.compile(rb"(\xcc\x81){30}"),
}


@pytest.fixture
def hostile(tmp_path: Path) -> str:
    """A vault whose texts, headings, tags, names and folders would all like to be obeyed."""
    notes = tmp_path / "notes"
    for number, sequence in enumerate(SEQUENCES):
        name = sequence.replace("/", "_").replace("\x00", "")[:60].encode("utf-8", "surrogateescape")
        folder = os.path.join(os.fsencode(notes), b"d" + name)
        os.makedirs(folder, exist_ok=True)
        title = sequence.replace("\x00", "").replace('"', "")
        quoted = json.dumps(title)  # YAML reads the escapes of JSON
        text = f"---\ntitle: {title!r}\naliases: [{quoted}]\ntags: [{number}x, 'a{number}b', {quoted}]\n---\n"
        text += f"# needle {sequence}\n\n## {sequence}\n\nneedle {sequence} needle [[{sequence}]]\n"
        text += f"\n> [!tip] =={sequence}== %%{sequence}%% ![[{sequence}]] [{sequence}](<{sequence}>)\n\n"
        text += f"- [ ] &#27;]0;{EVIL}&#7; &#x9b;1337n\n\n| {sequence} | b |\n|-|-|\n| c | {sequence} |\n"
        text += f"\n```{sequence}\n{sequence}\n```\n\n# more {sequence}\n\nneedle {sequence * 200}\n"
        with open(os.path.join(folder, b"n%d" % number + name + b".md"), "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
    workspace = Workspace(Settings(), str(tmp_path / "data"))
    workspace.ingest([str(notes)], Callbacks())
    workspace.close()
    return str(tmp_path / "data")


def assert_nothing_is_obeyed(screen: PtyScreen) -> None:
    # Copying is the one time that OSC 52 is ours to send, and it is encoded.
    sent = re.sub(rb"\x1b\]52;c;[A-Za-z0-9+/=]*\x07", b"", screen.sent)
    for name, pattern in FORBIDDEN.items():
        found = pattern.search(sent)
        assert found is None, f"{name}: {sent[max(0, found.start() - 80) : found.end() + 20]!r}"
    assert EVIL in screen.text, "their words are shown"


def test_nothing_of_a_hostile_vault_is_obeyed_by_the_terminal(idle: Start, hostile: str) -> None:
    screen = idle("--data-dir", hostile, "--query", "needle", "--explain", size=(160, 45))
    screen.wait_for("12 notes")  # one holds a NUL, and so is no text
    for _ in SEQUENCES:
        screen.type("\x1b[B")  # down, with its preview and its explanation
    screen.type("\x19")  # copy: what is said of it holds the path
    screen.wait_for("clipboard")
    screen.type("\x1bm")  # rendered
    for _ in SEQUENCES:
        screen.type("\x1b[A")
    screen.type(f" tag:no{EVIL}")
    screen.wait_for("No hits")
    leave(screen)
    assert_nothing_is_obeyed(screen)


def test_hostile_names_are_text_in_the_switcher(idle: Start, hostile: str) -> None:
    screen = idle("--data-dir", hostile, size=(160, 45))
    screen.wait_for(" notes ")
    screen.type("\x07")  # ctrl+g
    screen.wait_for("Recently changed")
    for _ in SEQUENCES:
        screen.type("\x1b[B")  # down, with its preview
    screen.type(f"d{EVIL}")
    screen.wait_for("New note")
    for sequence in SEQUENCES:
        screen.send(b"\x1b[200~" + sequence.replace("\x1b", "").encode() + b"\x1b[201~")
    screen.type("\x1b")
    leave(screen)
    assert_nothing_is_obeyed(screen)


def test_hostile_values_are_text_in_lists_chips_and_pages(idle: Start, hostile: str) -> None:
    screen = idle("--data-dir", hostile, "--query", "needle", size=(100, 40))
    screen.wait_for("passages")
    for key in ("tag", "path", "in", "title"):
        before = len(screen.sent)
        screen.type(f" {key}:")
        screen.wait_for_after(before, f"{key}:")
        screen.type("\x0e" * len(SEQUENCES))  # ctrl+n: down in the list
        screen.type("\t")  # accept: a chip
        screen.type("\x1b\x15")  # close the list, then an empty line
        screen.type("needle")
    for keys, shown in (("\x15", "recently changed"), ("needle", "passages"), ("\x1be", "less")):
        before = len(screen.sent)
        screen.type(keys)  # at last, the passages of the first note
        screen.wait_for_after(before, shown)
    for _ in SEQUENCES:
        screen.type("\x1b[B\x1bn")  # the next match in each
    screen.type("\x1bz")  # without wrapping
    screen.type("\x1bOQ")  # the palette, over the hits
    screen.wait_for("commands")
    screen.type("theme\x1b[B\x1b[B\x1b")
    screen.type("\x1bw")  # why not
    screen.wait_for("why")
    screen.type("n\x1b[B\r\x1b\x1b")
    screen.type("\x1b[24~")  # health
    screen.wait_for("files")
    screen.type("\x1b")
    leave(screen)
    assert_nothing_is_obeyed(screen)


def test_an_error_about_a_hostile_name_is_as_harmless(start: Start, tmp_path: Path) -> None:
    around = tmp_path / f"no\x1b]0;{EVIL}\x07\u202ewhere"
    notes, data = around / "notes", tmp_path / "data"
    notes.mkdir(parents=True)
    (notes / "a.md").write_text("a note")
    with closing(Workspace(Settings(), str(data))) as workspace:
        workspace.ingest([str(notes)], Callbacks())
    behind = start(str(around), "--data-dir", str(data))
    behind.wait_for("in: ")
    leave(behind)
    before = start(f"{around}/nothing", "--data-dir", str(data))
    before.end()
    before.wait_for_end_text("folder not found")
    for screen in (behind, before):
        for name, pattern in FORBIDDEN.items():
            assert not pattern.search(screen.sent), name
