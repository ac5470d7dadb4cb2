"""The scope of a search that starts in a folder."""

from __future__ import annotations

import pytest

from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.scope import SourcePart, source_around, sources_below

ROOTS = [(SourceId(name), root) for name, root in (("all", "/n"), ("inner", "/n/a"), ("노트", "/노트"))]


@pytest.mark.parametrize(
    ("folder", "part"),
    [
        ("/n", SourcePart(SourceId("all"))),
        ("/n/", SourcePart(SourceId("all"))),
        ("/n/ab", SourcePart(SourceId("all"), "ab")),
        ("/n/a", SourcePart(SourceId("inner"))),
        ("/n/a/b c/", SourcePart(SourceId("inner"), "b c")),
        ("/노트/설계/둘", SourcePart(SourceId("노트"), "설계/둘")),
        ("/notes", None),
        ("/", None),
    ],
)
def test_a_folder_belongs_to_the_innermost_source(folder: str, part: SourcePart | None) -> None:
    assert source_around(folder, ROOTS) == part


def test_the_root_of_the_file_system_may_be_a_source() -> None:
    assert source_around("/etc", [(SourceId("root"), "/")]) == SourcePart(SourceId("root"), "etc")


def test_a_folder_without_a_source_around_it_may_contain_some() -> None:
    assert sources_below("/", ROOTS) == tuple(SourcePart(source) for source, _ in ROOTS)
    assert sources_below("/elsewhere", ROOTS) == ()
