"""The header of the preview: the place and state of the passage."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kebab_tui.domain.citation import Located, SourceSpan
from kebab_tui.tui.preview.painting import CHANGED, header, state_of
from tests.tui.preview_hits import hit

ROOT = Path("/notes")
SPAN = SourceSpan(12, 14)


def row(width: int, state: str = "", path: str = "baking/bread.md") -> str:
    return "".join(text for text, _ in header(hit(ROOT, path, SPAN), state, width))


@pytest.mark.parametrize(
    ("located", "stale", "said"),
    [
        (None, False, ""),
        (None, True, CHANGED),
        (Located(SPAN, "same"), True, ""),
        (Located(SPAN, "moved", 7), True, "moved +7"),
        (Located(SPAN, "moved", -3), True, "moved -3"),
        (Located(SPAN, "changed"), True, CHANGED),
        (Located(SPAN, "gone"), True, "passage gone"),
    ],
)
def test_the_state_of_a_passage_is_shown(located: Located | None, stale: bool, said: str) -> None:
    assert state_of(hit(ROOT, stale=stale), located) == said


@pytest.mark.parametrize(
    ("shift", "said"), [(1, "moved +1 page"), (-1, "moved -1 page"), (12, "moved +12 pages")]
)
def test_pages_are_counted_where_there_are_any(shift: int, said: str) -> None:
    located = Located(SourceSpan(1, 2, page=20), "moved", shift)
    assert state_of(hit(ROOT, "a.pdf", SourceSpan(1, 2, page=20 - shift)), located) == said


def test_the_citation_of_a_page_is_the_present_one() -> None:
    paged = hit(ROOT, "books/paper.pdf", SourceSpan(3, 9, page=4))
    parts = header(paged, "page 5 of 9", 60, Located(SourceSpan(1, 7, page=5), "moved", 1))
    assert parts[0] == ("books/paper.pdf#p=5", "path")
    assert header(paged, "page 4 of 9", 60)[0] == ("books/paper.pdf#p=4", "path")


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (70, "baking/bread.md · Bread › Crust · moved +7"),
        (42, "baking/bread.md · Bread › Crust · moved +7"),
        (39, "…king/bread.md · Bread › Cr… · moved +7"),
        (30, "baking/bread.md · moved +7"),
        (20, "bread.md · moved +7"),
    ],
)
def test_path_and_title_are_cut_before_the_state(width: int, shown: str) -> None:
    assert row(width, "moved +7") == shown


def test_a_long_path_leaves_half_of_the_row_to_the_title() -> None:
    assert (
        row(40, path="a/very/long/path/of/folders/to/bread.md") == "…/of/folders/to/bread.md · Bread › Crust"
    )


@pytest.mark.parametrize("state", ["moved +7", "no permission", "gone", CHANGED])
@pytest.mark.parametrize("width", [16, 20, 30, 50, 120])
def test_the_state_is_there_at_every_width(state: str, width: int) -> None:
    assert row(width, state).split(" · ")[-1] in (state, "changed")


def test_a_hostile_path_is_sanitised() -> None:
    assert "\x1b" not in row(80, path="\x1b]0;x\x07.md")


@given(
    path=st.text("ab/한🙂.", min_size=1, max_size=90),
    width=st.integers(1, 100),
    state=st.sampled_from(["", CHANGED]),
)
def test_the_header_fits_into_the_pane(path: str, width: int, state: str) -> None:
    parts = header(replace(hit(ROOT, path), title=path[::-1]), state, width)

    assert cell_len("".join(text for text, _ in parts)) <= width
