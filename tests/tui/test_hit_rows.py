"""The two lines of a hit: their parts, what is dropped in narrow panes, their exact width."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kebab_tui.domain.citation import Located, SourceSpan
from kebab_tui.domain.hit import RetrievalDetail, SearchHit
from kebab_tui.tui.hit_diff import Novelty
from kebab_tui.tui.widgets.hit_rows import (
    FULL,
    HitStyle,
    Line,
    Role,
    badges,
    bar,
    hit_lines,
    share,
    shown_score,
)
from tests.tui.hits import HOSTILE, hit

_WORDS = RetrievalDetail("hybrid", lexical_rank=3)
_MEANING = RetrievalDetail("hybrid", vector_rank=2)
_ALONE = RetrievalDetail("lexical", lexical_rank=1)


def _texts(found: SearchHit, look: HitStyle) -> tuple[str, str]:
    first, second = hit_lines(found, look)
    return "".join(text for text, _ in first), "".join(text for text, _ in second)


def _of(line: Line, role: Role) -> list[str]:
    return [text for text, piece_role in line if piece_role == role]


def _words(found: SearchHit, **look: Any) -> list[str]:
    return [text for text, _ in badges(found, HitStyle(80, **look))]


def test_the_first_line_holds_citation_title_headings_bar_and_score() -> None:
    first, _ = _texts(hit(), HitStyle(72))
    assert first == "   notes/rust/kb.md:L12-L34  Workspace › Setup".ljust(61) + " █████ 0.82"


def test_a_further_match_has_a_badge_but_no_score() -> None:
    found = hit(further=True, score=0.97, retrieval=_WORDS)
    first, second = _texts(found, HitStyle(72))
    assert "0.97" not in first and "█" not in first
    assert second.endswith("  further")


def test_a_hit_by_its_name_has_a_badge_but_no_score() -> None:
    first, second = _texts(hit(score_kind="name", score=1.0), HitStyle(72))
    assert "1.00" not in first and "█" not in first
    assert second.endswith("  name")


def test_the_second_line_holds_the_passage_and_the_badges() -> None:
    _, second = _texts(hit(), HitStyle(72))
    assert second == "   A Rust workspace keeps several crates together                   both"


def test_a_single_line_and_a_page_are_cited_as_such() -> None:
    assert "kb.md:L7 " in _texts(hit(span=SourceSpan(7, 7)), HitStyle(72))[0]
    assert "paper.pdf#p=23 " in _texts(hit(path="paper.pdf", span=SourceSpan(1, 1, page=23)), HitStyle(72))[0]


@pytest.mark.parametrize("width", [44, 50, 60, 72, 100])
def test_the_name_and_the_lines_survive_a_long_path(width: int) -> None:
    first, _ = _texts(hit(path="a/very/long/" * 9 + "design.md", span=SourceSpan(120, 134)), HitStyle(width))
    assert "…/design.md:L120-L134" in first


def test_the_lines_survive_a_name_longer_than_the_row() -> None:
    first, _ = _texts(hit(path="n" * 200 + ".md"), HitStyle(40))
    assert "….md:L12-L34" in first.replace("n", "")


def test_a_title_equal_to_the_first_heading_is_shown_once() -> None:
    assert _texts(hit(), HitStyle(80))[0].count("Workspace") == 1
    assert "Workspace › Other › Setup" in _texts(hit(heading_path="Other > Setup"), HitStyle(100))[0]


@pytest.mark.parametrize(
    ("facts", "look", "expected"),
    [
        ({}, {}, ["both"]),
        ({"retrieval": _WORDS}, {}, ["words"]),
        ({"retrieval": _MEANING}, {}, ["meaning"]),
        ({"retrieval": _ALONE}, {}, []),
        ({"kind": "code"}, {}, ["code", "both"]),
        ({"relaxed": True}, {}, ["relaxed", "both"]),
        ({"stale": True}, {}, ["stale", "both"]),
        ({"stale": True, "gone": True}, {}, ["gone", "both"]),
        ({"stale": True}, {"located": Located(SourceSpan(19, 41), "moved", 7)}, ["moved +7", "both"]),
        ({"stale": True}, {"located": Located(SourceSpan(9, 31), "moved", -3)}, ["moved -3", "both"]),
        ({"stale": True}, {"located": Located(SourceSpan(12, 34), "changed")}, ["changed", "both"]),
        ({"stale": True}, {"located": Located(SourceSpan(12, 34), "gone")}, ["gone", "both"]),
        ({"stale": True}, {"located": Located(SourceSpan(12, 34), "same")}, ["both"]),
        ({"snippet": "러스트 작업공간"}, {"korean": False}, ["other language", "both"]),
        ({"snippet": "러스트 작업공간"}, {"korean": True}, ["both"]),
        ({"snippet": "러스트 작업공간", "retrieval": _WORDS}, {"korean": False}, ["words"]),
    ],
)
def test_badges_warn_about_a_hit(facts: dict[str, Any], look: dict[str, Any], expected: list[str]) -> None:
    assert _words(hit(**facts), **look) == expected


def test_a_path_in_two_folders_shows_its_folder() -> None:
    assert _words(hit(), source="old-notes") == ["in old-notes", "both"]
    assert _words(hit(stale=True), source="old-notes") == ["stale", "in old-notes", "both"]
    assert _texts(hit(snippet="x" * 200), HitStyle(60, source="old-notes"))[1].endswith(
        "  both · in old-notes"
    )
    assert _texts(hit(snippet="x" * 200), HitStyle(60, source="한글이름"))[1].endswith("  both · in 한글이름")


def test_the_weightiest_badge_is_the_last_to_go() -> None:
    found = hit(kind="code", relaxed=True, stale=True, snippet="x" * 200)
    assert _texts(found, HitStyle(80))[1].endswith("  both · code · relaxed · stale")
    assert _texts(found, HitStyle(40))[1].endswith("  relaxed · stale")
    assert _texts(found, HitStyle(20))[1].endswith("  stale")


def test_matches_have_a_role_of_their_own() -> None:
    _, second = hit_lines(hit(highlights=((2, 6), (7, 16))), HitStyle(72))
    assert _of(second, "match") == ["Rust", "workspace"]


def test_the_passage_is_moved_so_that_the_first_match_is_seen() -> None:
    found = hit(snippet="lorem ipsum " * 15 + "needle" + " dolor sit" * 5, highlights=((180, 186),))
    for width in (20, 30, 40, 72, 120):
        _, second = hit_lines(found, HitStyle(width))
        assert _of(second, "match") == ["needle"]
        assert _of(second, "text")[0] == "…"


def test_a_match_longer_than_the_row_is_shown_from_its_start() -> None:
    _, second = hit_lines(hit(snippet="a " + "n" * 90 + "z", highlights=((2, 93),)), HitStyle(30))
    assert _of(second, "match")[0].startswith("nnn")


def test_a_match_never_takes_a_character_apart() -> None:
    found = hit(snippet="x e\u0301 y", highlights=((2, 3),))
    _, second = hit_lines(found, HitStyle(60))
    assert _of(second, "match") == ["e\u0301"]


def test_the_cursor_and_a_mark_are_glyphs_in_the_gutter() -> None:
    first, second = _texts(hit(), HitStyle(60, cursor=True, marked=True))
    assert first.startswith("▌✓ notes/")
    assert second.startswith("▌  A Rust")
    assert _texts(hit(), HitStyle(60))[0].startswith("   notes/")
    assert _texts(hit(), HitStyle(30, cursor=True, marked=True))[0].startswith("▌✓")


def test_a_change_of_rank_precedes_the_bar() -> None:
    assert " ▲3 █" in _texts(hit(), HitStyle(72, change=3))[0]
    assert " ▼12 █" in _texts(hit(), HitStyle(72, change=-12))[0]


@pytest.mark.parametrize(
    ("score", "best", "parts"),
    [
        (0.8, 0.8, FULL),
        (0.4, 0.8, FULL // 2),
        (0.0001, 0.8, 1),
        (0.0, 0.8, 0),
        (0.5, 0.0, 0),
        (2.0, 1.0, FULL),
    ],
)
def test_a_score_is_measured_against_the_best_one(score: float, best: float, parts: int) -> None:
    assert share(score, best) == parts


@pytest.mark.parametrize(
    ("parts", "drawn"), [(FULL, "█████"), (FULL // 2, "██▌  "), (1, "▏    "), (0, "     ")]
)
def test_a_bar_grows_by_eighths_of_a_cell(parts: int, drawn: str) -> None:
    assert bar(parts, 5) == drawn


@pytest.mark.parametrize(
    ("score", "shown"), [(0.82, "0.82"), (1.0, "1.00"), (0.001, "<.01"), (0.0, "0.00"), (0.0051, "0.01")]
)
def test_a_small_score_is_not_shown_as_nothing(score: float, shown: str) -> None:
    assert shown_score(score) == shown


@pytest.mark.parametrize(("fresh", "sign"), [(None, " "), ("new", "+"), ("changed", "~")])
@pytest.mark.parametrize("width", [20, 39, 40, 120])
def test_a_fresh_hit_has_a_sign_under_the_mark(width: int, fresh: Novelty | None, sign: str) -> None:
    look = HitStyle(width, cursor=True, marked=True, fresh=fresh)
    first, second = ("".join(text for text, _ in line) for line in hit_lines(hit(), look))
    assert first.startswith("▌✓")
    assert second.startswith(f"▌{sign}")


_ODD = st.text(
    alphabet=st.sampled_from("ab 설계👍🏽👩\u200d\ufe0f❤e\u0301ᄀ\u1161\x1b\u202e[/]\n\t/"), max_size=80
)
_LOOKS = st.builds(
    HitStyle,
    width=st.integers(0, 130),
    share=st.integers(0, FULL),
    cursor=st.booleans(),
    marked=st.booleans(),
    korean=st.sampled_from([None, True, False]),
    change=st.integers(-200, 200),
    fresh=st.sampled_from([None, "new", "changed"]),
)


@given(_ODD, _ODD, st.lists(st.integers(0, 90), max_size=6), _LOOKS)
def test_every_line_is_exactly_as_wide_as_asked(
    path: str, text: str, places: list[int], look: HitStyle
) -> None:
    places.sort()
    highlights = tuple(zip(places[::2], places[1::2], strict=False))
    found = hit(path=path, title=text, heading_path=path, snippet=text, highlights=highlights, stale=True)
    for line in hit_lines(found, look):
        assert cell_len("".join(piece for piece, _ in line)) == look.width
        assert sum(cell_len(piece) for piece, _ in line) == look.width


@given(st.text(), _LOOKS)
def test_nothing_of_a_note_reaches_a_line_unseen(text: str, look: HitStyle) -> None:
    evil = HOSTILE + text
    found = hit(path=evil, title=evil, heading_path=evil, snippet=evil, highlights=((0, 9),))
    for line in hit_lines(found, look):
        shown = "".join(piece for piece, _ in line)
        assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs") or c in "\u202e\u2066\u200b"]
