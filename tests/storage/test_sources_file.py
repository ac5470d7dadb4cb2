"""The copy of the list of folders: an invalid entry is skipped alone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kebab_tui.storage.sqlite import recovery
from kebab_tui.workspace import Callbacks
from tests.notes import a_source
from tests.vault import Vault


def entry(number: int, **changed: Any) -> dict[str, Any]:
    return {"source_id": f"s{number}", "title": f"S {number}", "root": f"/notes/{number}"} | changed


def listed(path: Path, *entries: object) -> tuple[list[str], str]:
    path.write_text(json.dumps(entries))
    sources, wrong = recovery.examine_sources(str(path))
    assert recovery.read_sources(str(path)) == sources
    return [source.source_id for source in sources], wrong


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sources.json"


def test_what_is_written_is_read(path: Path) -> None:
    recovery.write_sources(str(path), [a_source()])
    assert recovery.examine_sources(str(path)) == ([a_source()], "")


def test_a_missing_file_is_no_error(path: Path) -> None:
    assert recovery.examine_sources(str(path)) == ([], "")


def test_an_entry_of_an_older_or_newer_version_is_a_folder(path: Path) -> None:
    assert listed(path, entry(1), entry(2, colour="red", state="lost", chunks="many")) == (["s1", "s2"], "")


@pytest.mark.parametrize(
    "bad",
    [
        None,
        7,
        [],
        {},
        entry(9, root=1),
        entry(9, root="notes"),
        entry(9, root="/a\0b"),
        entry(9, root="/a\ud800"),
        entry(9, source_id=""),
        entry(9, stars=-1),
        entry(9, stars=2**63),
        entry(9, source_id="\udfff"),
        entry(9, title=["x"]),
        entry(9, include="*.md"),
        entry(9, exclude=[1]),
        entry(9, trust=77),
        entry(9, weight=float("nan")),
        entry(9, weight="heavy"),
        entry(1),
        entry(9, root="/notes/1"),
    ],
)
def test_an_invalid_entry_is_skipped_alone(path: Path, bad: object) -> None:
    assert listed(path, entry(1), bad, entry(2)) == (["s1", "s2"], "has an invalid entry (2)")


def test_only_the_first_invalid_entries_are_named(path: Path) -> None:
    assert listed(path, *range(7))[1] == "has invalid entries (1, 2, 3, 4, 5 and 2 more)"


def test_a_folder_whose_name_is_not_utf_8_is_kept(path: Path) -> None:
    assert listed(path, entry(1, root=os.fsdecode(b"/caf\xe9"))) == (["s1"], "")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [("[" * 200_000, "is not valid JSON"), ("{}", "is not a list of folders"), ("\0", "is not valid JSON")],
)
def test_a_file_that_is_no_list_is_reported(path: Path, text: str, wrong: str) -> None:
    path.write_text(text)
    assert recovery.examine_sources(str(path)) == ([], wrong)


def test_a_pipe_in_its_place_does_not_block(path: Path) -> None:
    os.mkfifo(path)
    assert recovery.examine_sources(str(path)) == ([], "cannot be read: not a regular file")


def test_after_a_lost_database_valid_entries_are_restored_and_the_others_reported(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    vault.write("a.md", "alpha")
    vault.ingest()
    vault.workspace.close()
    for name in ("kebab.sqlite", "kebab.seal"):
        (vault.data / name).unlink()
    path = vault.data / "sources.json"
    bad = json.dumps([*json.loads(path.read_text()), entry(9, root="/a\0b")])
    path.write_text(bad)
    told: list[str] = []
    vault.workspace.ingest([], Callbacks(notice=told.append))
    assert vault.find("alpha") == ["a.md"]
    (aside,) = vault.data.glob("sources.json.unusable-*")
    assert aside.read_text() == bad, "what was dropped is not lost"
    wrong = f"{path} has an invalid entry (2)"
    assert told == [f"{wrong}; it was renamed to {aside}; see `kebab source list`"]
    vault.workspace.ingest([], Callbacks(notice=told.append))
    assert len(told) == 1
    vault.workspace.close()


def test_doctor_warns_of_a_bad_entry_and_the_next_writer_replaces_it(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    vault.write("a.md", "alpha")
    vault.ingest()
    path = vault.data / "sources.json"
    path.write_text(json.dumps([*json.loads(path.read_text()), 7]))
    (finding,) = (found for found in vault.workspace.doctor() if found.check == "folders")
    assert finding.level == "warning"
    assert "has an invalid entry (2)" in finding.detail
    vault.ingest()
    assert recovery.examine_sources(str(path))[1] == ""
    vault.workspace.close()
