"""`kebab watch`: a line for each change, another process beside it, an end without loss."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import IO

import pytest

from tests.command_line import Kebab
from tests.wire.test_schemas import check

pytestmark = pytest.mark.slow

WAIT_S = 120


class Watching:
    """A `kebab watch` of its own; its lines can be waited for."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._out: Queue[str] = Queue()
        self._err: Queue[str] = Queue()
        for stream, queue in ((process.stdout, self._out), (process.stderr, self._err)):
            assert stream is not None
            threading.Thread(target=_pass_on, args=(stream, queue), daemon=True).start()

    def line(self) -> str:
        return self._out.get(timeout=WAIT_S)

    def note(self, beginning: str) -> str:
        """The next note on stderr that begins like this."""
        heard: list[str] = []
        while not (line := self._err.get(timeout=WAIT_S)).startswith(beginning):
            assert line != "", f"it ended without: {beginning}; it said {heard}"
            heard.append(line)
        return line

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(WAIT_S)


def _pass_on(stream: IO[str], queue: Queue[str]) -> None:
    for line in stream:
        queue.put(line.rstrip("\n"))
    queue.put("")


@contextmanager
def watching(kebab: Kebab, *argv: str) -> Iterator[Watching]:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*kebab.argv, "watch", *argv], stdout=pipe, stderr=pipe, text=True, env=kebab.environ
    ) as process:
        try:
            yield Watching(process)
        finally:
            process.kill()


def test_every_change_is_a_line(kebab: Kebab, notes: Path) -> None:
    with watching(kebab, str(notes)) as watch:
        assert watch.note("watching notes (").endswith(": 1 folder")
        first = sorted(watch.line().split("  ", 1)[1] for _ in range(3))
        assert [line.split()[:2] for line in first] == [
            ["added", "port.md"],
            ["added", "rust.md"],
            ["added", "케밥.md"],
        ]
        with open(notes / "port.md", "a") as handle:
            handle.write("\nA third one listens.\n")
        assert re.fullmatch(r"\d\d:\d\d:\d\d  changed  port\.md  \+1 -1 =0  \d+ ms", watch.line())
        (notes / "port.md").rename(notes / "ports.md")
        assert "  moved    ports.md (from port.md)  +0 -0 =1" in watch.line()
        (notes / "ports.md").unlink()
        assert watch.line().endswith("  removed  ports.md  +0 -1 =0")
        assert watch.end() == 0
        assert "3 added, 1 changed, 1 moved, 1 removed" in watch.note("watched for ")


def test_every_change_is_an_object_that_its_schema_knows(kebab: Kebab, notes: Path) -> None:
    kebab("ingest", str(notes))
    with watching(kebab, "--json") as watch:
        watch.note("watching notes")
        (notes / "new").write_text("# Port\n\nchanged\n")
        (notes / "new").replace(notes / "port.md")  # written in place it is empty for a moment
        event = json.loads(watch.line())
        check(event, "watch_event.v1")
        assert (event["outcome"], event["path"], event["source_id"]) == ("changed", "port.md", "notes")
        assert event["chunks"] == {"added": 1, "removed": 1, "kept": 0}
        assert 0 <= event["latency_ms"] < 10_000
        (notes / "port.md").unlink()
        event = json.loads(watch.line())
        check(event, "watch_event.v1")
        assert (event["outcome"], event["latency_ms"]) == ("removed", None)
        assert watch.end(signal.SIGINT) == 0


def test_other_verbs_write_at_once_meanwhile(kebab: Kebab, notes: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with watching(kebab, str(notes)) as watch:
        watch.note("watching notes")
        assert kebab("source", "add", str(other)).code == 0
        watch.note("watching other")
        (other / "o.md").write_text("omega")
        while "o.md" not in watch.line():
            pass
        assert "o.md" in kebab("search", "omega").out
        for verb in (("ingest",), ("index", "--rebuild-fts"), ("source", "remove", "other", "--yes")):
            assert kebab(*verb).code == 0
        assert watch.end() == 0


def test_a_second_one_follows_and_takes_over(kebab: Kebab, notes: Path) -> None:
    with watching(kebab, str(notes)) as first:
        first.note("watching notes")
        with watching(kebab) as second:
            _takes_over(notes, first, second)


def _takes_over(notes: Path, first: Watching, second: Watching) -> None:
    assert f"following pid {first.process.pid} (kebab watch" in second.note("following")
    first.process.kill()
    second.note("watching notes")
    (notes / "port.md").write_text("# Port\n\nby the second\n")
    while "port.md" not in second.line():
        pass
    assert second.end() == 0


def test_a_folder_that_goes_and_comes_is_reported(kebab: Kebab, notes: Path) -> None:
    with watching(kebab, str(notes)) as watch:
        watch.note("watching notes")
        notes.rename(notes.with_name("away"))
        assert str(notes) in watch.note("paused notes (")
        notes.with_name("away").rename(notes)
        watch.note("watching notes (")
        assert watch.end() == 0


def test_other_files_are_counted_at_the_start_and_after_a_rescan(kebab: Kebab, notes: Path) -> None:
    (notes / "a.doc").write_text("x")
    with watching(kebab, str(notes)) as watch:
        assert watch.note("1 other").strip() == "1 other file not read: doc 1"
        (notes / "b.org").write_text("x")
        kebab("ingest")
        assert watch.note("2 other").strip() == "2 other files not read: doc 1, org 1"
        assert watch.end() == 0


def test_only_what_goes_wrong_with_quiet(kebab: Kebab, notes: Path) -> None:
    with watching(kebab, str(notes), "--quiet") as watch:
        for _ in range(3):
            watch.line()
        assert watch.end() == 0
        assert watch.note("") == ""


def test_a_reader_that_goes_away_ends_it(kebab: Kebab, notes: Path) -> None:
    argv = [*kebab.argv, "watch", str(notes)]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=kebab.environ
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        (notes / "port.md").write_text("# Port\n\nsaid to nobody\n")
        assert process.wait(WAIT_S) == 141
    assert not os.path.exists(kebab.data / "live.json")


@pytest.mark.parametrize("folder", ["", "no such folder"])
def test_a_folder_that_is_none_is_an_error(kebab: Kebab, tmp_path: Path, folder: str) -> None:
    done = kebab("watch", folder and str(tmp_path / folder))
    assert done.code == 2
    assert "error: " in done.err


def test_nothing_to_watch_says_what_to_do(kebab: Kebab) -> None:
    done = kebab("watch")
    assert done.code == 2
    assert "kebab watch FOLDER" in done.err


ENDLESS = """
import sys, time
from kebab_tui.cli import main
from kebab_tui.formats import markdown as markdown_note
scan = markdown_note.scan_markdown
def read(lines, start, checkpoint):
    if lines[0] != "endless":
        return scan(lines, start, checkpoint)
    print("reading", file=sys.stderr, flush=True)
    while True:
        checkpoint()
        time.sleep(0.01)
markdown_note.scan_markdown = read
sys.exit(main())
"""


def test_sigterm_ends_it_also_while_a_file_is_read_without_end(kebab: Kebab, notes: Path) -> None:
    (notes / "힣.md").write_text("endless\n")
    pipe = subprocess.PIPE
    argv = [sys.executable, "-c", ENDLESS, *kebab.argv[3:], "watch", str(notes)]
    with subprocess.Popen(argv, stdout=pipe, stderr=pipe, text=True, env=kebab.environ) as process:
        try:
            watch = Watching(process)
            watch.note("reading")
            assert watch.end() == 0
        finally:
            process.kill()
    assert kebab("list", "--json").json["total"] == 3
    assert kebab("ingest").lines[0] == "notes: 1 added, 3 unchanged"
