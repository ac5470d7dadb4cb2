"""`kebab source`: adds and removes folders, and changes no file in them."""

from __future__ import annotations

from pathlib import Path

from tests.command_line import Kebab


def test_a_new_source_has_the_given_properties(kebab: Kebab, notes: Path) -> None:
    flags = (
        "--id my-notes --title Mine --description All --include *.md --include *.txt --exclude old/ "
        "--trust secondary --rule Cite. --version-label v2 --weight 2.5"
    )
    added = kebab("source", "add", str(notes), *flags.split(), "--json").json
    assert added == kebab("source", "list", "--json").json["items"][0]
    told = {key: added[key] for key in ("source_id", "title", "description", "include", "exclude", "root")}
    assert told == {
        "source_id": "my-notes",
        "title": "Mine",
        "description": "All",
        "include": ["*.md", "*.txt"],
        "exclude": ["old/"],
        "root": str(notes),
    }
    assert (added["trust"], added["rules"], added["version_label"], added["weight"]) == (
        "secondary",
        ["Cite."],
        "v2",
        2.5,
    )


def test_a_source_is_called_after_its_folder(kebab: Kebab, notes: Path) -> None:
    done = kebab("source", "add", str(notes))
    assert done.out == f"notes\t{notes}\n"
    assert "kebab ingest" in done.err


def test_a_list_in_a_pipe_is_tabs_without_a_header(kebab: Kebab, notes: Path) -> None:
    kebab("ingest", str(notes))
    assert kebab("source", "list").out == f"notes\tindexed\t3\t3\tnotes\t{notes}\n"


def test_a_list_as_text_is_a_paragraph_for_each(kebab: Kebab, notes: Path, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    kebab("source", "add", str(notes), "--title", "My notes")
    kebab("source", "add", str(tmp_path / "second"), "--description", "Others", "--version-label", "v1")
    assert kebab("source", "list", "--format", "txt").out == (
        "1. My notes\n   Source ID: notes\n   Description: No description\n"
        "   Passages: 0 | Notes: 0 | Trust: primary\n   Version: no label\n"
        f"   Folder: {notes}\n\n"
        "2. second\n   Source ID: second\n   Description: Others\n"
        "   Passages: 0 | Notes: 0 | Trust: primary\n   Version: v1\n"
        f"   Folder: {tmp_path}/second\n"
    )


def test_an_empty_list_names_the_next_command(kebab: Kebab) -> None:
    done = kebab("source", "list")
    assert (done.code, done.out) == (0, "")
    assert "kebab ingest FOLDER" in done.err


def test_removing_reports_the_numbers_and_changes_no_file(kebab: Kebab, notes: Path) -> None:
    kebab("ingest", str(notes))
    done = kebab("source", "remove", "notes", "--yes")
    assert done.code == 0
    assert "removed: 3 notes (3 passages); no file" in done.err
    assert len(list(notes.iterdir())) == 3
    assert kebab("source", "list", "--json").json["items"] == []
