"""A citation has two spellings, and both can be parsed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.citation import Citation, SourceSpan, parse_citation

PATHS = st.text(min_size=1) | st.sampled_from(
    ["a.md", "a:b#c.md", "메모/포트 충돌.md", "a:12", "x#L1", "a\nb"]
)
LINES = st.integers(1, 999_999_999)


def test_lines_and_pages_are_written() -> None:
    assert str(Citation("a.md", SourceSpan(12, 34))) == "a.md:L12-L34"
    assert str(Citation("a.md", SourceSpan(12, 12))) == "a.md:L12"
    assert Citation("a.md", SourceSpan(12, 34)).uri == "a.md#L12-L34"
    assert str(Citation("a.pdf", SourceSpan(1, 1, page=23))) == "a.pdf#p=23"
    assert Citation("a.pdf", SourceSpan(1, 1, page=23)).uri == "a.pdf#p=23"


@given(PATHS, LINES, LINES)
def test_both_spellings_of_lines_are_read_back(path: str, one: int, other: int) -> None:
    citation = Citation(path, SourceSpan(min(one, other), max(one, other)))
    assert parse_citation(str(citation)) == citation
    assert parse_citation(citation.uri) == citation


@given(PATHS, LINES)
def test_a_page_is_read_back(path: str, page: int) -> None:
    citation = Citation(path, SourceSpan(1, 1, page=page))
    assert parse_citation(str(citation)) == citation


@pytest.mark.parametrize(("text", "span"), [("a.md:7", (7, 7)), ("a.md:7-9", (7, 9)), ("a.md#7", (7, 7))])
def test_the_letter_may_be_left_out(text: str, span: tuple[int, int]) -> None:
    assert parse_citation(text) == Citation("a.md", SourceSpan(*span))


@pytest.mark.parametrize(
    "text", ["a.md", "", ":L1", "a.md:L0", "a.md:L9-L3", "a.md:Lx", "a.md:L1-", "a.md#p=0"]
)
def test_a_text_without_a_span_is_no_citation(text: str) -> None:
    assert parse_citation(text) is None


@given(st.text())
def test_reading_never_raises(text: str) -> None:
    parse_citation(text)


@pytest.mark.parametrize(("first", "last"), [(0, 1), (2, 1), (-3, -1)])
def test_lines_begin_at_1_and_do_not_run_backwards(first: int, last: int) -> None:
    with pytest.raises(ValueError, match="not a span"):
        SourceSpan(first, last)
