"""The list of recent notes, and its file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from kebab_tui.domain.ids import DocId
from kebab_tui.tui.recent_notes import FILE, MOST, RecentNotes

A, B, C, D = (DocId(letter * 32) for letter in "abcd")


def test_the_newest_note_is_first_and_each_is_there_once(tmp_path: Path) -> None:
    recent = RecentNotes(str(tmp_path))
    for note in (A, B, A):
        recent.add([note])
    assert recent.notes == (A, B)


def test_the_notes_outlive_the_session_and_other_windows_are_respected(tmp_path: Path) -> None:
    mine, other = RecentNotes(str(tmp_path)), RecentNotes(str(tmp_path))
    mine.add([A])
    other.add([B])
    mine.add([C])
    assert RecentNotes(str(tmp_path)).notes == (C, B, A)


def test_the_file_is_private_and_bounded(tmp_path: Path) -> None:
    recent = RecentNotes(str(tmp_path))
    recent.add(DocId(f"{number:032x}") for number in range(3 * MOST))
    assert stat.S_IMODE(os.stat(tmp_path / FILE).st_mode) == 0o600
    assert len((tmp_path / FILE).read_text().splitlines()) == MOST == len(recent.notes)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"x" * (1 << 17), b"../../etc/passwd\n[]\n\x1b[2J"])
def test_a_damaged_file_counts_as_empty(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    recent = RecentNotes(str(tmp_path))
    assert recent.notes == ()
    recent.add([A])
    assert RecentNotes(str(tmp_path)).notes == (A,)


def test_a_link_in_its_place_is_neither_read_nor_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text(f"{B}\n")
    data = tmp_path / "data"
    data.mkdir()
    (data / FILE).symlink_to(target)
    recent = RecentNotes(str(data))
    assert recent.notes == ()
    recent.add([A])
    assert target.read_text() == f"{B}\n"


def test_without_a_writable_folder_the_list_lasts_for_the_session(tmp_path: Path) -> None:
    recent = RecentNotes(str(tmp_path / "missing"))
    recent.add([A])
    assert recent.notes == (A,)


def test_the_note_that_one_comes_from_is_not_offered_first(tmp_path: Path) -> None:
    recent = RecentNotes(str(tmp_path))
    for note in (D, C, B, A):
        recent.add([note])
    assert recent.offered(None) == (B, A, C, D)
    assert recent.offered(B) == (C, A, B, D)
    assert RecentNotes(str(tmp_path)).offered(None) == (A, B, C, D), "in a new session it is the last one"
    assert RecentNotes(str(tmp_path)).offered(A) == (B, A, C, D)


def test_the_only_note_is_offered_even_if_one_comes_from_it(tmp_path: Path) -> None:
    recent = RecentNotes(str(tmp_path))
    recent.add([A])
    assert recent.offered(A) == (A,)
