"""A folder's short name, and how folders stand to each other."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.indexing.session import relation, source_id_for
from tests.notes import a_source


@pytest.mark.parametrize(
    ("root", "name"),
    [
        ("/home/me/My Notes", "my-notes"),
        ("/home/me/노트", "노트"),
        (unicodedata.normalize("NFD", "/home/me/노트"), "노트"),
        ("/srv/notes.git/", "notes.git"),
        ("/", "notes"),
        ("/x/---", "notes"),
        ("/x/a:b,c d", "a-b-c-d"),
        ("/x/caf\udce9", "caf"),
    ],
)
def test_a_source_is_called_after_its_folder(root: str, name: str) -> None:
    assert source_id_for(root, ()) == name


def test_a_taken_name_gets_a_number() -> None:
    assert source_id_for("/a/notes", {"notes", "notes-2"}) == "notes-3"


@given(st.text(max_size=20))
def test_any_folder_gets_a_name_that_can_follow_in(name: str) -> None:
    made = source_id_for("/x/" + name, ())
    assert made
    assert not any(character.isspace() or character in ",:\"'" for character in made)
    made.encode()


def test_folders_are_compared_by_where_they_really_are(tmp_path: Path) -> None:
    (tmp_path / "real" / "sub").mkdir(parents=True)
    os.symlink(tmp_path / "real", tmp_path / "link")
    source = a_source(str(tmp_path / "real"))
    found = {
        place: (related := relation(str(tmp_path / place), [source])) and related[0]
        for place in ("real", "link", "link/sub", "real/sub/", ".", "real2", "link/../elsewhere")
    }
    assert found == {
        "real": "same", "link": "same", "link/sub": "inside", "real/sub/": "inside", ".": "around",
        "real2": None, "link/../elsewhere": None,
    }  # fmt: skip
