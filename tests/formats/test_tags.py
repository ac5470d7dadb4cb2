"""Tags in prose, and words that only look like tags."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.document import ParsedNote
from kebab_tui.domain.facets import TAG, Facet, values_of
from kebab_tui.formats import note
from kebab_tui.formats.markdown import parse
from kebab_tui.formats.note import distinct
from tests.effort import cpu_seconds, sizes


def inline_tags(lines: Sequence[str]) -> tuple[str, ...]:
    found = distinct(TAG, note.inline_tags(lines, range(1, len(lines) + 1)))
    return tuple(facet.value for facet in found.values())


@pytest.mark.parametrize(
    ("line", "tags"),
    [
        ("about #rust and #메모리", ("rust", "메모리")),
        ("#start of a line", ("start",)),
        ("- #item, #next; #third.", ("item", "next", "third")),
        ("#a,#b,#c", ("a", "b", "c")),
        ("#a/b/c and #a/ and #/b", ("a/b/c", "a", "b")),
        ("#kebab-case #snake_case #v2 #2026-plans", ("kebab-case", "snake_case", "v2", "2026-plans")),
        ("(#inside) and (#both)", ("inside", "both")),
        ("**#bold** >#quoted |#cell|", ("bold", "quoted", "cell")),
        ("## Heading with #tag ##", ("tag",)),
        ("한국어#아님 그리고 #태그입니다.", ("태그입니다",)),
        ("#cafe #bead #facedfeed", ("cafe", "bead", "facedfeed")),
    ],
)
def test_a_tag_is_found(line: str, tags: tuple[str, ...]) -> None:
    assert inline_tags([line]) == tags


@pytest.mark.parametrize(
    "line",
    [
        "# Heading",
        "###### deep",
        "issue #123 and PR (#45)",
        "C# and F#, a#b, &#39; &#x27;",
        "#fff #A1B2C3 #abcdef12 #123",
        "`#code` and ``a ` #code``",
        "``` without an end, `a #code`",
        "see https://example.org/page #123 or https://example.org/x#frag",
        "https://example.org/?q=(#frag) ftp://host/#x",
        "[link](#anchor) ![image](#frag) [two words](#a-b)",
        "[[#Heading]] [[Note#Heading|#label]]",
        '<a href="#top" id=x #y>up</a>',
        "[ref]: #target",
        "#!/bin/sh",
        "#",
        "# #",
        "#-- #__ #//",
        "\\#escaped",
    ],
)
def test_words_that_only_look_like_a_tag(line: str) -> None:
    assert inline_tags([line]) == ()


def test_a_tag_is_kept_once_as_it_first_occurs() -> None:
    assert inline_tags(["#Rust #async", "#rust #ASYNC #tokio"]) == ("Rust", "async", "tokio")


def test_tags_are_composed() -> None:
    decomposed = unicodedata.normalize("NFD", "#한글 #é")
    assert inline_tags([decomposed]) == ("한글", "é")


def test_groups_are_joined_in_order() -> None:
    groups = ([Facet("tag", value) for value in values] for values in ("Ba", "Ac"))
    assert [facet.value for facet in distinct(TAG, *groups).values()] == ["B", "a", "c"]


def test_a_tag_has_the_line_of_its_first_occurrence() -> None:
    found = distinct(TAG, note.inline_tags(["plain", "#a #b", "#A #c"], [4, 8, 9]))
    assert [(facet.value, facet.line) for facet in found.values()] == [("a", 8), ("b", 8), ("c", 9)]


def test_a_note_has_at_most_a_thousand_tags_and_says_that_it_has_more() -> None:
    def read(count: int) -> ParsedNote:
        return parse("\n".join(f"#tag{number}" for number in range(count)).encode(), "a.md")

    assert len(values_of(read(1_000).facets, "tag")) == 1_000
    assert read(1_000).flags == ()
    assert len(values_of(read(10_000).facets, "tag")) == 1_000
    assert read(10_000).flags == ("values_left_out",)


def test_a_tag_as_long_as_a_sentence_is_none() -> None:
    assert inline_tags(["#" + "x" * 101, "#" + "y" * 100]) == ("y" * 100,)


@sizes(100_000, 500_000)
@pytest.mark.parametrize(
    "piece", ["`", "``` ", "](", "<", "[", "#", "#a", "`` ` ", "(#", "x://", " #", "[a]", "*#"]
)
def test_no_line_can_make_the_search_for_tags_hang(piece: str, size: int) -> None:
    lines = [piece * size + "#x", *[piece * 5_000 + "#"] * 20]
    assert cpu_seconds(lambda: inline_tags(lines)) < 5


@given(st.text())
def test_any_line_has_tags_that_are_tags(line: str) -> None:
    for tag in inline_tags([line]):
        assert 0 < len(tag) <= 100
        assert unicodedata.is_normalized("NFC", tag)
        assert any(character.isalpha() for character in tag)
        assert not any(character.isspace() or character == "#" for character in tag)
