"""Where a new note goes: from a typed name to a path inside the source."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from kebab_tui.tui.new_note import MOST_BYTES, NewNote, clean_name, new_note
from tests.tui.hits import HOSTILE


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "notes" / "infra").mkdir(parents=True)
    return tmp_path / "notes"


def made(typed: str, root: Path, folder: str = "") -> NewNote:
    note = new_note(typed, str(root), folder)
    assert note is not None
    return note


@pytest.mark.parametrize(
    ("typed", "path"),
    [
        ("Port conflict", "Port conflict.md"),
        ("  회의 기록  ", "회의 기록.md"),
        ("[[Port conflict|ports]]", "Port conflict.md"),
        ("![[Port conflict#Fix]]", "Port conflict.md"),
        ("infra/kube", "infra/kube.md"),
        ("infra/kube.txt", "infra/kube.txt"),
        ("kube.MD", "kube.MD"),
        ("v1.2", "v1.2.md"),
        ("a: b?", "a b.md"),
        ("👩‍🚀 log", "👩‍🚀 log.md"),
        ("con", "_con.md"),
        ("con.md", "_con.md"),
        ("COM1.txt", "_COM1.txt"),
        (".hidden", "hidden.md"),
        ("-rf", "rf.md"),
        ("--", None),
        ("...", None),
        ("infra/", None),
        ("/", None),
        (" ", None),
        ("\x1b\x07", None),
    ],
)
def test_a_name_becomes_a_path_in_the_source(root: Path, typed: str, path: str | None) -> None:
    note = new_note(typed, str(root))
    assert (note and note.path) == (path and f"{root}/{path}")
    assert note is None or not note.problem


def test_a_bare_name_goes_into_the_folder_of_the_selected_note(root: Path) -> None:
    assert made("kube", root, "infra").path == f"{root}/infra/kube.md"
    assert made("/kube", root, "infra").path == f"{root}/kube.md"
    assert made("infra/kube", root, "infra").path == f"{root}/infra/kube.md"


def test_a_path_on_disk_inside_the_source_is_understood(root: Path) -> None:
    assert made(f"{root}/infra/kube.md", root).path == f"{root}/infra/kube.md"


@pytest.mark.parametrize("typed", ["../kube", "infra/../../kube", "..\\..\\kube", "/../kube", "~/../kube"])
def test_no_path_leads_out_of_the_source(root: Path, typed: str) -> None:
    note = made(typed, root)
    assert os.path.normpath(note.path) == note.path
    assert note.path.startswith(f"{root}/")


@pytest.mark.parametrize(
    "typed",
    [
        HOSTILE,
        *HOSTILE.split(),
        "a\x00b\nc\td",
        "x" * 900,
        "한" * 900,
        "e" + "\u0301" * 900,
        "a/" * 400 + "b",
    ],
)
def test_a_hostile_name_becomes_a_harmless_one(root: Path, typed: str) -> None:
    note = new_note(typed, str(root))
    if note is None:
        return
    for part in os.path.relpath(note.path, root).split("/"):
        assert part == unicodedata.normalize("NFC", part)
        assert part.encode()[: MOST_BYTES + 4] == part.encode()
        assert part[0] not in ".- "
        assert part[-1] not in ". "
        assert not set(part) & set('<>:"\\|?*')
        assert all(unicodedata.category(character) not in ("Cc", "Cs") for character in part)


@pytest.mark.parametrize("name", ["", "a", "한" * 70, "👩‍🚀" * 40, "nul", "a" * 199 + " b", HOSTILE])
def test_cleaning_a_clean_name_changes_nothing(name: str) -> None:
    assert clean_name(clean_name(name)) == clean_name(name)


def test_what_cannot_be_created_is_said(root: Path) -> None:
    assert "no folder new/deep" in made("new/deep/kube", root).problem
    (root / "seen.md").touch()
    assert "exists" in made("seen", root).problem
    (root / "gone.md").symlink_to("/nowhere")
    assert "exists" in made("gone", root).problem
    (root / "out").symlink_to(root.parent)
    assert "link out of the source" in made("out/kube", root).problem
    assert made("kube", root.parent / "missing").problem


def test_the_folder_begins_with_that_of_the_source(root: Path) -> None:
    note = made("infra/kube", root)
    assert (note.name, note.folder) == ("kube.md", "notes/infra")
