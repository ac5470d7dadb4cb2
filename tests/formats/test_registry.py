"""The registry of file types."""

from __future__ import annotations

import pytest

from kebab_tui.formats.registry import FILE_TYPES, file_type_of


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("a.md", "markdown"),
        ("A.MD", "markdown"),
        ("a.Markdown", "markdown"),
        ("a.b.mkd", "markdown"),
        ("a.mdx", "markdown"),
        ("메모.txt", "note"),
        ("a.TEXT", "note"),
    ],
)
def test_a_file_has_the_type_of_its_ending_in_any_case(name: str, type_: str) -> None:
    found = file_type_of(name)
    assert found is not None
    assert found.type == type_


@pytest.mark.parametrize("name", ["README", "a.png", ".md", "md", "", "a.md~", "a.md.bak", "a."])
def test_other_names_have_none(name: str) -> None:
    assert file_type_of(name) is None


def test_no_ending_is_claimed_twice() -> None:
    endings = [extension for kind in FILE_TYPES for extension in kind.extensions]
    assert len(endings) == len(set(endings))
    assert all(extension == extension.lower() and extension.startswith(".") for extension in endings)
