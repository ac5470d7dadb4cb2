"""Names of notes: of files and folders, and their keys."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.names import distinct_names, name_key, name_of, typed_name_key


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("infra/port-conflict.md", "port-conflict"),
        ("v1.2.md", "v1.2"),
        (".md", ".md"),
        ("Makefile", "Makefile"),
        ("css/flex/index.md", "flex"),
        ("css/flex/_index.md", "flex"),
        ("여행/README.md", "여행"),
        ("index.md", "notes"),
        ("readme.txt", "notes"),
    ],
)
def test_a_note_is_called_after_its_file_or_its_folder(path: str, name: str) -> None:
    assert name_of(path, "/home/me/notes/") == name


def test_an_index_without_any_folder_keeps_its_stem() -> None:
    assert name_of("README.md") == "README"


@pytest.mark.parametrize(
    "typed",
    [
        "port conflict", "Port-Conflict", "port_conflict.md", "infra/port-conflict.md", "infra/Port Conflict",
        "[[port-conflict]]", "![[infra/port-conflict#Ports|ports]]", " port  conflict ",
        "infra/port-conflict/index.md",
    ],
)  # fmt: skip
def test_folders_extension_case_and_separators_of_a_typed_name_do_not_matter(typed: str) -> None:
    assert typed_name_key(typed) == name_key("port-conflict") == "port conflict"


def test_normalisation_does_not_matter() -> None:
    assert typed_name_key(unicodedata.normalize("NFD", "한글 메모.md")) == name_key("한글-메모")


@given(st.text())
def test_a_key_is_its_own_key(text: str) -> None:
    assert name_key(name_key(text)) == name_key(text)
    typed_name_key(text)


def test_equal_names_are_listed_once_and_a_flood_of_names_is_cut() -> None:
    assert distinct_names(["Port conflict", "port-conflict", "ports", "포트"]) == "Port conflict\nports\n포트"
    assert distinct_names(["a" * 600, "b" * 600, "c"]) == "a" * 600
    assert distinct_names([]) == ""
