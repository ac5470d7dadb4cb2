"""`kebab ingest`: reports, cancellation, messages while it waits."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from kebab_tui.cli.index import report_lines
from kebab_tui.cli.interrupt import Interrupt
from kebab_tui.domain.ids import SourceId
from kebab_tui.formats import markdown
from kebab_tui.formats.markdown import scan_markdown
from kebab_tui.indexing.report import FileOutcome, IngestReport, SourceReport
from kebab_tui.storage.lock import WriterLock
from kebab_tui.workspace import Workspace
from tests.command_line import Kebab


def counts(report: dict[str, Any]) -> dict[str, int]:
    names = ("added", "changed", "moved", "removed", "failed", "skipped", "unchanged")
    return {name: report[name] for name in names if report[name]}


def test_the_report_counts_what_happened_to_each_note(kebab: Kebab, notes: Path) -> None:
    assert counts(kebab("ingest", str(notes), "--json").json) == {"added": 3}
    (notes / "port.md").rename(notes / "ports.md")
    (notes / "rust.md").write_text("# Rust\n\nChanged.\n")
    (notes / "케밥.md").unlink()
    (notes / "binary.md").write_bytes(b"\x00\x01\x02" * 100)
    (notes / "new.md").write_text("new")
    report = kebab("ingest", "--json").json
    assert counts(report) == {"added": 1, "changed": 1, "moved": 1, "removed": 1, "skipped": 1}
    assert {file["path"]: file["outcome"] for file in report["sources"][0]["files"]}["ports.md"] == "moved"


def test_a_line_for_each_source_and_the_sums(kebab: Kebab, notes: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    first, second, sums = kebab("ingest", str(notes), str(other)).lines
    assert first == "notes: 3 added"
    assert second.startswith(f"other: no notes in {other} (files that end in .md, ")
    assert sums.startswith("passages: 3 added, 0 removed, 0 kept · ")


def test_files_of_other_types_are_counted(kebab: Kebab, notes: Path, tmp_path: Path) -> None:
    for name in ("a.doc", "b.DOC", "c.org", "LICENSE", ".hidden.doc", "e.log"):
        (notes / name).write_text("x")
    (notes / ".gitignore").write_text("*.log\n")
    expected = {"count": 4, "types": {"doc": 2, "": 1, "org": 1}}
    report = kebab("ingest", str(notes), "--json").json
    assert report["sources"][0]["other_files"] == expected
    text = "4 other files not read: doc 2, no extension 1, org 1"
    assert kebab("ingest").lines[0] == f"notes: 3 unchanged; {text}"
    assert kebab("index", "--status", "--json").json["other_files"] == expected
    assert f"(0 failed, 0 skipped); {text}" in kebab("index", "--status").out


def test_the_count_of_another_folder_stays_and_that_of_a_removed_one_goes(
    kebab: Kebab, notes: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.docx").write_text("x")
    (notes / "a.doc").write_text("x")
    kebab("ingest", str(notes), str(other))
    (notes / "a.doc").unlink()
    (notes / "c.org").write_text("x")
    kebab("ingest", str(notes))
    assert kebab("index", "--status", "--json").json["other_files"]["types"] == {"docx": 1, "org": 1}
    kebab("source", "remove", "other", "--yes")
    assert kebab("index", "--status", "--json").json["other_files"]["types"] == {"org": 1}


def a_report(failed: int) -> IngestReport:
    files = tuple(FileOutcome(f"{number}.md", "failed", "permission denied") for number in range(failed))
    source = SourceReport(
        SourceId("notes"), "/notes", {"failed": failed}, files, ("private: permission denied",)
    )
    return IngestReport((source,), 0, 0, 0, 1, 0.04)


def test_what_could_not_be_read_is_named_with_its_reason() -> None:
    assert list(report_lines(a_report(failed=2), quiet=False)) == [
        "notes: 2 failed",
        "  not read: private: permission denied",
        "  failed: 0.md: permission denied",
        "  failed: 1.md: permission denied",
        "passages: 0 added, 0 removed, 0 kept · 0.0 s",
    ]


def test_many_failures_are_named_in_part_and_the_rest_pointed_to() -> None:
    lines = list(report_lines(a_report(failed=25), quiet=True))
    assert sum(line.endswith("permission denied") for line in lines) == 1 + 20
    assert lines[-1] == "  failed: 5 more files, see `kebab list --state failed`"


def test_a_folder_that_is_away_is_paused_and_keeps_its_notes(kebab: Kebab, notes: Path) -> None:
    kebab("ingest", str(notes))
    notes.rename(notes.with_name("elsewhere"))
    done = kebab("ingest")
    assert done.code == 0
    assert done.lines[0] == "notes: paused"
    assert "its notes stay in the index" in done.lines[1]
    assert kebab("search", "listeners").code == 0


def test_quiet_is_silent_unless_something_went_wrong(kebab: Kebab, notes: Path) -> None:
    done = kebab("ingest", "--quiet", str(notes))
    assert (done.code, done.out, done.err) == (0, "", "")
    notes.rename(notes.with_name("elsewhere"))
    assert kebab("ingest", "--quiet").lines[0] == "notes: paused"


def test_a_damaged_index_is_set_aside_and_reported(kebab: Kebab, notes: Path) -> None:
    kebab("ingest", str(notes))
    for companion in kebab.data.glob("kebab.sqlite-*"):
        companion.unlink()
    (kebab.data / "kebab.sqlite").write_bytes(b"garbage" * 2000)
    done = kebab("ingest")
    assert done.code == 0
    assert "it was set aside" in done.err
    assert done.lines[0] == "notes: 3 added"


# stopping


class Stopping:
    """Presses ctrl+c when the first file has been worked on."""

    def __init__(self, ingest: Callable[..., Any]) -> None:
        self.ingest = ingest

    def __call__(self, workspace: Workspace, folders: Any, callbacks: Any) -> Any:
        def watch(progress: Any) -> None:
            callbacks.progress(progress)
            if progress.done == 1:
                os.kill(os.getpid(), signal.SIGINT)

        return self.ingest(workspace, folders, replace(callbacks, progress=watch))


def test_ctrl_c_stops_between_two_files_and_loses_nothing(
    kebab: Kebab, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopping = Stopping(Workspace.ingest)
    with monkeypatch.context() as patched:
        patched.setattr(Workspace, "ingest", lambda *given: stopping(*given))
        done = kebab("ingest", str(notes))
    assert done.code == 130
    assert done.lines[0] == "notes: 1 added"
    assert "stopping; press Ctrl+C again" in done.err
    assert "cancelled; finished work is kept" in done.err
    assert kebab("list", "--json").json["total"] == 1
    assert kebab("ingest").lines[0] == "notes: 2 added, 1 unchanged"


def test_sigterm_stops_within_a_file_and_keeps_the_others(
    kebab: Kebab, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "힣.md").write_text("endless\n")

    def read(lines: Any, start: int, checkpoint: Any) -> Any:
        if lines[0] != "endless":
            return scan_markdown(lines, start, checkpoint)
        os.kill(os.getpid(), signal.SIGTERM)
        while True:
            checkpoint()

    with monkeypatch.context() as patched:
        patched.setattr(markdown, "scan_markdown", read)
        done = kebab("ingest", str(notes))
    assert done.code == 130
    assert done.lines[0] == "notes: 3 added"
    assert kebab("ingest").lines[0] == "notes: 1 added, 3 unchanged"


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_the_second_ctrl_c_ends_at_once() -> None:
    with Interrupt() as interrupt:
        interrupt.work_began()
        press()
        assert interrupt.requested()
        with pytest.raises(KeyboardInterrupt):
            press()


def test_before_the_work_begins_one_ctrl_c_is_enough() -> None:
    with Interrupt(), pytest.raises(KeyboardInterrupt):
        press()


def test_afterwards_ctrl_c_is_what_it_was() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupt():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before


# waiting


def test_another_writer_is_named_while_waiting_and_when_it_does_not_end(kebab: Kebab, notes: Path) -> None:
    kebab("ingest", str(notes))
    lock = WriterLock(str(kebab.data / "writer.lock"))
    lock.acquire("a long ingest", 0, lambda _: None)
    try:
        done = kebab("ingest", KEBAB_INDEX_LOCK_TIMEOUT_S="0.1")
        found = kebab("search", "listeners")
    finally:
        lock.release()
    assert done.code == 2
    assert f"waiting for pid {os.getpid()} (a long ingest, since " in done.err
    assert "error: the index is being written by pid" in done.err
    assert found.code == 0


def test_ctrl_c_while_waiting_gives_up_at_once(kebab: Kebab, notes: Path) -> None:
    kebab("ingest", str(notes))
    lock = WriterLock(str(kebab.data / "writer.lock"))
    lock.acquire("a long ingest", 0, lambda _: None)
    try:
        with subprocess.Popen([*kebab.argv, "ingest"], stderr=subprocess.PIPE, env=kebab.environ) as process:
            assert process.stderr is not None
            assert b"waiting for" in process.stderr.readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=120) == 130
    finally:
        lock.release()


def test_a_folder_that_was_never_there_is_not_taken_for_a_drive_alone(kebab: Kebab, tmp_path: Path) -> None:
    done = kebab("ingest", str(tmp_path / "noets"))
    assert done.code == 2
    assert "check the spelling" in done.err


def test_a_known_folder_that_cannot_be_read_is_paused(
    kebab: Kebab, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kebab("ingest", str(notes))
    really = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != str(notes) and really(path, mode))
    monkeypatch.setattr(os, "scandir", refused)
    done = kebab("ingest", str(notes))
    assert done.code == 0
    assert "notes: paused" in done.out


def refused(path: str) -> NoReturn:
    raise PermissionError(path)


def test_damage_that_unchanged_notes_do_not_touch_is_mended_by_the_same_command(
    kebab: Kebab, notes: Path
) -> None:
    assert kebab("ingest", "--wait", str(notes)).code == 0
    overwrite_table(kebab.data / "kebab.sqlite", "embeddings")
    done = kebab("ingest")
    assert done.code == 0
    assert "the index was damaged; it was set aside" in done.err
    assert done.out.splitlines()[-2] == "notes: 3 added"
    assert kebab("doctor").code == 0


def overwrite_table(database: Path, table: str) -> None:
    """Nothing but the first page of one table is nonsense from now on."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        (page,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", [table]).fetchone()
    database.with_name("kebab.seal").unlink()  # it would tell at once
    with database.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)


def test_a_very_large_folder_is_indexed_only_on_request(kebab: Kebab, notes: Path) -> None:
    config = notes.parent / "kebab.toml"
    config.write_text("[index]\nask_notes = 2\n")
    for verb in (("ingest",), ("source", "add")):
        refused = kebab(*verb, str(notes), "--config", str(config))
        assert refused.code == 2
        assert f"3 notes in {notes}, under 1 s" in refused.err and "pass --yes" in refused.err
    assert kebab("source", "list").out == ""
    assert kebab("ingest", str(notes), "--config", str(config), "--yes").code == 0
    assert kebab("ingest", str(notes), "--config", str(config)).code == 0, "it is known now"


def test_the_home_folder_is_indexed_only_on_request(kebab: Kebab) -> None:
    kebab.home.mkdir(exist_ok=True)
    (kebab.home / "a.md").write_text("alpha")
    refused = kebab("ingest", str(kebab.home), HOME=str(kebab.home))
    assert (refused.code, "your home folder" in refused.err) == (2, True)
