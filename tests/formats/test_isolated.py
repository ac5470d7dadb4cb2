"""The isolated reader: whatever a file does to its parser, the caller gets a note or a reason."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kebab_tui.domain.checkpoint import UNLIMITED, Checkpoint, ReadingStopped, TookTooLongError
from kebab_tui.domain.document import ParsedNote
from kebab_tui.domain.errors import UnreadableFileError, UnsuitableFileError
from kebab_tui.formats import isolated, registry
from kebab_tui.formats.registry import FORMATS, Format
from tests.vault import Vault

FOREIGN = Format("foreign", (".foreign",), "tests.formats.foreign", version=1, cpu_seconds=1, isolated=True)
HOSTILE = ("loop", "checked-loop", "bomb", "abort", "segfault", "exit", "defect", "much")


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    yield
    isolated.close()


def parse(text: str, checkpoint: Checkpoint = UNLIMITED) -> ParsedNote:
    return FOREIGN.parse(text.encode(), "폴더/a.foreign", checkpoint)


def refusal(text: str) -> UnreadableFileError:
    with pytest.raises(UnreadableFileError) as caught:
        parse(text)
    return caught.value


def child() -> int:
    """The process id of the running child."""
    process = isolated._readers[FOREIGN.module]._process
    assert process is not None
    return process.pid


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as facts:
            return facts.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until_dead(pid: int) -> None:
    while is_alive(pid):
        time.sleep(0.01)


def test_a_note_is_the_same_as_without_a_child() -> None:
    note = parse("text\n본문")
    assert note == ParsedNote("Foreign", "foreign", "en", ("text\n본문",), note.blocks)
    assert (note.blocks[0].kind, note.blocks[0].first, note.blocks[0].last) == ("prose", 1, 1)


def test_another_function_of_the_parser_gets_its_arguments_and_the_shown_path() -> None:
    path = os.fsdecode("폴더/\xff".encode("latin-1", "replace") + b"\xff")
    found = isolated.read(FOREIGN.module, "twice", list[str], b"ab", path, 5, UNLIMITED, 3)
    assert found == [path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), "ababab"]


def test_one_child_reads_file_after_file() -> None:
    parse("a")
    first = child()
    refusal("encrypted")
    refusal("defect")
    parse("noise")
    assert child() == first


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("loop", "took too long"),
        ("checked-loop", "took too long: more than 1.0 s of CPU time"),
        ("bomb", "needs more than 512 MB of memory"),
        ("abort", "its reader died (SIGABRT)"),
        ("segfault", "its reader died (SIGSEGV)"),
        ("exit", "its reader died (exit code 0)"),
        ("defect", "could not be parsed (KeyError: 'xxx"),
        ("much", "has more than 64 MB of text"),
        ("encrypted", "encrypted"),
    ],
)
def test_a_hostile_file_has_a_reason_and_the_next_file_is_read(text: str, message: str) -> None:
    parse("before")
    assert message in refusal(text).message
    assert len(refusal(text).message) < 300
    assert parse("after").lines == ("after",)


def test_what_the_parser_raises_keeps_its_kind_and_its_hint() -> None:
    error = refusal("encrypted")
    assert isinstance(error, UnsuitableFileError)
    assert error.hint == "decrypt it"
    assert isinstance(refusal("checked-loop"), TookTooLongError)


def test_a_reader_that_hangs_is_ended_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    parse("a")
    pid = child()
    monkeypatch.setattr(isolated, "wall_seconds", lambda _: 0.2)
    assert refusal("hang").message == "took too long: more than 0.2 s"
    assert not is_alive(pid)


def test_a_stop_ends_the_child_within_a_file() -> None:
    parse("a")
    pid = child()
    asked = iter([False, False, True])
    with pytest.raises(ReadingStopped):
        parse("hang", Checkpoint(stopping=lambda: next(asked)))
    assert not is_alive(pid)


def test_a_child_killed_between_two_files_is_replaced() -> None:
    parse("a")
    pid = child()
    os.kill(pid, signal.SIGKILL)
    until_dead(pid)
    assert parse("b").lines == ("b",)
    assert child() != pid


def test_memory_that_earlier_files_took_fails_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A death in a used child is tried again in a new one, a death in a new one is not."""
    started: list[int] = []
    original = isolated._Reader._started

    def counted(self: isolated._Reader) -> subprocess.Popen[bytes]:
        process = original(self)
        if process.pid not in started:
            started.append(process.pid)
        return process

    monkeypatch.setattr(isolated._Reader, "_started", counted)
    parse("a")
    refusal("abort")
    assert len(started) == 2
    refusal("abort")
    assert len(started) == 3


def test_an_idle_child_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated, "IDLE_S", 0.2)
    parse("a")
    until_dead(child_if_any())


def child_if_any() -> int:
    process = isolated._readers[FOREIGN.module]._process
    return process.pid if process is not None else 0


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs /proc")
def test_the_child_has_nothing_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1")
    with open(tmp_path / "lock", "w") as lock:
        os.set_inheritable(lock.fileno(), True)
        lines = parse("world").lines
    known = ("pipe:", "/dev/null", "/proc/", "socket:")
    assert {line for line in lines if line.startswith("variable ")} <= {"variable LC_CTYPE"}  # Python's own
    descriptors = [line.split(" ")[1] for line in lines if line.startswith("descriptor ")]
    assert descriptors
    assert [name for name in descriptors if not name.startswith(known)] == []
    assert "folder /" in lines
    assert "terminal" not in lines
    assert "file" not in lines
    heavy = {"kebab_tui.formats.markdown", "textual", "sqlite3", "onnxruntime", "numpy", "yaml"}
    assert not {line.removeprefix("module ") for line in lines} & heavy


def test_a_module_in_the_working_folder_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kebab_tui").mkdir()
    for name in ("msgspec.py", "struct.py", "kebab_tui/__init__.py", "sitecustomize.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'run')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    parse("a")
    assert not (tmp_path / "run").exists()


_PARENT = """
import sys
from tests.formats import test_isolated as t
t.parse("a")
print(t.child(), flush=True)
t.parse(sys.argv[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere after its file")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_child_ends_with_its_parent(number: int) -> None:
    root = str(Path(__file__).parents[2])
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT, "hang"],
        env={"PYTHONPATH": root},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.send_signal(number)
    until_dead(pid)


def test_without_a_child_no_foreign_file_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert refusal("a").message.startswith("its reader could not be started")


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Vault]:
    monkeypatch.setitem(registry.FORMATS, "foreign", FOREIGN)
    made = Vault(tmp_path)
    yield made
    made.workspace.close()


def test_hostile_files_are_rows_with_reasons_and_the_others_are_indexed(vault: Vault) -> None:
    for name in HOSTILE:
        vault.write(f"{name}.foreign", name)
    for number in range(20):
        vault.write(f"sound{number}.foreign", f"water {number}")
        vault.write(f"note{number}.md", f"water {number}")
    outcomes = vault.outcomes()
    assert {path for path, outcome in outcomes.items() if outcome == "failed"} == {
        f"{name}.foreign" for name in HOSTILE
    }
    assert len(vault.find("water")) == 40
    reasons = vault.rows("SELECT reason FROM documents WHERE state = 'failed'")
    assert all(reason for (reason,) in reasons)


def test_an_isolated_format_is_registered_by_one_line(vault: Vault) -> None:
    assert FORMATS["foreign"] is FOREIGN
    vault.write("a.foreign", "kettle")
    vault.ingest()
    assert vault.find("kettle type:foreign") == ["a.foreign"]
