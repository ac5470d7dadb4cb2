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
    RULES,
    HitStyle,
    Line,
    MatchKind,
    Role,
    hit_lines,
    more_cells,
    places,
    rule_line,
    share,
    shown_score,
    shown_title,
    warnings,
)
from tests.tui.hits import HOSTILE, hit

_WORDS = RetrievalDetail("hybrid", lexical_rank=3)
_MEANING = RetrievalDetail("hybrid", vector_rank=2)


def _texts(found: SearchHit, look: HitStyle) -> tuple[str, str]:
    first, second = hit_lines(found, look)
    return "".join(text for text, _ in first), "".join(text for text, _ in second)


def _of(line: Line, role: Role) -> list[str]:
    return [text for text, piece_role in line if piece_role == role]


def test_the_first_line_holds_title_headings_folder_and_bar() -> None:
    first, _ = _texts(hit(), HitStyle(51, share=12))
    assert first == "  Workspace › Setup".ljust(41) + "rust/  █▌ "


def test_a_wide_pane_shows_the_citation_and_the_score() -> None:
    first, _ = _texts(hit(), HitStyle(100, share=FULL))
    assert first == "   Workspace › Setup".ljust(66) + "notes/rust/kb.md:L12-L34  ███ 0.82"
    assert _texts(hit(path="paper.pdf", span=SourceSpan(1, 1, page=23)), HitStyle(100))[0].endswith("#p=23")


def test_the_second_line_is_the_passage() -> None:
    _, second = _texts(hit(), HitStyle(51))
    assert second == "  A Rust workspace keeps several crates together   "


@pytest.mark.parametrize("width", [40, 44, 51, 60, 89, 90, 120])
def test_nothing_takes_a_cell_from_a_title_that_fits(width: int) -> None:
    look = HitStyle(width, share=3, place="infra/", folded=3, located=Located(SourceSpan(19, 41), "moved", 7))
    for cells in range(1, width - 3):
        first, _ = _texts(hit(title="x" * cells, relaxed=True), look)
        assert first[2:].strip().startswith("x" * cells)
    assert _texts(hit(title="x" * 300), look)[0].rstrip().endswith("x…")


def test_the_names_of_code_are_no_markup() -> None:
    code = hit(path="a/__init__.py", title="__init__.py", type="code", heading_path="Kettle > __init__")
    first, _ = _texts(code, HitStyle(90))
    assert first.split()[:4] == ["__init__.py", "›", "Kettle", "›"]
    assert "› __init__ " in first


def test_a_long_title_goes_on_before_the_passage() -> None:
    first, second = hit_lines(
        hit(title="A very long title of a note that somebody wrote one day"), HitStyle(51)
    )
    assert _of(first, "title") == ["A very long title of a note that somebody wrote"]
    assert _of(second, "title") == ["one day"]
    assert "".join(text for text, _ in second).startswith("  one day  A Rust workspace")


def test_what_must_be_seen_moves_below_a_long_title() -> None:
    found = hit(title="x" * 45, relaxed=True, snippet="word " * 40)
    first, second = _texts(found, HitStyle(51, place="infra/"))
    assert first.rstrip() == "  " + "x" * 45
    assert second.endswith("…  partial match  infra/")


def test_headings_are_cut_before_the_folder_is_dropped_unless_little_is_left_of_them() -> None:
    found = hit(title="A title", heading_path="One long heading > Another long heading")
    assert _texts(found, HitStyle(51))[0] == "  A title › One long heading › Another long…  rust/"
    assert "rust/" not in _texts(hit(title="x" * 30, heading_path="Some long heading"), HitStyle(51))[0]


def test_a_title_equal_to_the_first_heading_is_shown_once() -> None:
    assert _texts(hit(), HitStyle(80))[0].count("Workspace") == 1
    assert "Workspace › Other › Setup" in _texts(hit(heading_path="Other > Setup"), HitStyle(100))[0]
    assert (
        "Workspace › Members · Setup"
        in _texts(hit(heading_path="Workspace · Members · Setup"), HitStyle(100))[0]
    )


@pytest.mark.parametrize("title", ["", "index", "README", "_index", "Untitled"])
def test_the_name_replaces_a_title_that_says_nothing(title: str) -> None:
    assert shown_title(hit(title=title, name="flex-wrap")) == "flex-wrap"


def test_the_markup_of_titles_and_headings_is_not_shown() -> None:
    found = hit(title="The `min` **property**", heading_path="Use `min()`")
    assert "The min property › Use min() " in _texts(found, HitStyle(80))[0]


def test_the_folder_is_not_shown_beside_a_title_that_is_the_same() -> None:
    assert "rust" not in _texts(hit(title="Rust"), HitStyle(60))[0]


def test_further_passages_are_indented_with_heading_and_lines() -> None:
    first, second = _texts(hit(), HitStyle(51, is_further=True))
    assert first == "    Setup".ljust(44) + "L12-L34"
    assert second.startswith("    A Rust workspace")
    assert _texts(hit(heading_path=""), HitStyle(51, is_further=True))[0].startswith("    Workspace ")


def test_the_end_of_the_second_line_counts_the_folded_passages() -> None:
    found = hit(snippet="word " * 40)
    assert _texts(found, HitStyle(51, folded=2))[1].endswith("… +2")
    assert _texts(found, HitStyle(51, folded=2, unfolded=True))[1].endswith("… less")
    assert (more_cells(HitStyle(51)), more_cells(HitStyle(51, folded=2))) == (0, 3)


@pytest.mark.parametrize(
    ("facts", "look", "expected"),
    [
        ({}, {}, []),
        ({"retrieval": _WORDS}, {}, []),
        ({"kind": "code", "snippet": "러스트 작업공간"}, {}, []),
        ({"retrieval": _MEANING}, {}, ["by meaning only"]),
        ({"retrieval": _MEANING}, {"below": MatchKind.MEANING}, []),
        ({"retrieval": RetrievalDetail("vector", vector_rank=1)}, {}, []),
        ({"retrieval": _MEANING, "distant": True}, {}, ["weak match", "by meaning only"]),
        ({"relaxed": True}, {}, ["partial match"]),
        ({"relaxed": True}, {"below": MatchKind.PARTIAL}, []),
        ({"relaxed": True}, {"below": MatchKind.FURTHER}, []),
        ({"stale": True}, {}, ["changed"]),
        ({"stale": True, "gone": True}, {}, ["gone"]),
        ({"stale": True}, {"located": Located(SourceSpan(19, 41), "moved", 7)}, ["moved"]),
        ({"stale": True}, {"located": Located(SourceSpan(12, 34), "changed")}, ["changed"]),
        ({"stale": True}, {"located": Located(SourceSpan(12, 34), "gone")}, ["gone"]),
        ({"stale": True}, {"located": Located(SourceSpan(12, 34), "same")}, []),
    ],
)
def test_badges_only_warn_and_do_not_repeat_the_rule_above(
    facts: dict[str, Any], look: dict[str, Any], expected: list[str]
) -> None:
    assert warnings(hit(**facts), HitStyle(80, **look)) == expected


def test_the_weightiest_badge_is_the_last_to_go() -> None:
    found = hit(title="x" * 80, relaxed=True, stale=True, snippet="x" * 200)
    assert _texts(found, HitStyle(80))[1].endswith("…  changed  partial match")
    assert _texts(found, HitStyle(44))[1].endswith("…  changed  ")
    assert "changed" not in _texts(found, HitStyle(16))[1]


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        ({"score_kind": "name"}, MatchKind.NAMED),
        ({}, MatchKind.FULL),
        ({"retrieval": RetrievalDetail("vector", vector_rank=1)}, MatchKind.FULL),
        ({"relaxed": True}, MatchKind.PARTIAL),
        ({"retrieval": _MEANING}, MatchKind.MEANING),
        ({"further": True, "relaxed": True}, MatchKind.FURTHER),
    ],
)
def test_a_rule_names_the_kind_of_match(facts: dict[str, Any], kind: MatchKind) -> None:
    assert MatchKind.of(hit(**facts)) is kind
    shown = "".join(text for text, _ in rule_line(kind, 40))
    assert shown.strip("─ ") == RULES[kind]
    assert cell_len(shown) == 40


def test_notes_with_one_title_are_told_apart_by_their_folders_or_names() -> None:
    paths = ["css/a/index.md", "html/a/index.md", "html/b/x.md", "notes/one.md", "notes/two.md", "top.md"]
    found = places(hit(number, path) for number, path in enumerate(paths))
    assert list(found.values()) == ["css/a/", "html/a/", "b/", "one.md", "two.md", "top.md"]


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


@pytest.mark.parametrize("width", [30, 51, 80])
def test_a_passage_cut_on_both_sides_fills_its_line_and_begins_with_a_word(width: int) -> None:
    words = "alpha beta gamma delta epsilon " * 6
    found = hit(snippet=f"{words}needle {words}", highlights=((len(words), len(words) + 6),))
    _, second = _texts(found, HitStyle(width))
    assert second.strip(" …").split()[0] in words.split()
    assert cell_len(second.strip()) >= 0.9 * width - 3
    sentence = hit(snippet=f"{words}. The needle {words}", highlights=((len(words) + 6, len(words) + 12),))
    assert _texts(sentence, HitStyle(width))[1].strip().startswith("…The needle")


def test_the_cursor_and_a_mark_are_glyphs_in_the_gutter() -> None:
    first, second = _texts(hit(), HitStyle(60, cursor=True, marked=True))
    assert first.startswith("▌✓ Workspace")
    assert second.startswith("▌  A Rust")
    assert _texts(hit(), HitStyle(60))[0].startswith("   Workspace")
    assert _texts(hit(), HitStyle(30, cursor=True, marked=True))[0].startswith("▌✓")


def test_a_change_of_rank_precedes_the_bar() -> None:
    assert _texts(hit(), HitStyle(72, change=3, share=FULL))[0].endswith("  ▲3  ███")
    assert _texts(hit(), HitStyle(72, change=-12))[0].endswith("  ▼12")


@pytest.mark.parametrize(
    ("score", "least", "most", "steps"),
    [(0.8, 0.4, 0.8, FULL), (0.6, 0.4, 0.8, FULL // 2), (0.4, 0.4, 0.8, 1), (0.1, 0.4, 0.8, 1)],
)
def test_a_bar_is_scaled_to_the_page(score: float, least: float, most: float, steps: int) -> None:
    assert share(score, least, most) == steps


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
    share=st.one_of(st.none(), st.integers(1, FULL)),
    cursor=st.booleans(),
    marked=st.booleans(),
    below=st.sampled_from(MatchKind),
    place=st.sampled_from(["", "설계/👍🏽/", "a\x1b.md"]),
    folded=st.integers(0, 120),
    unfolded=st.booleans(),
    is_further=st.booleans(),
    located=st.sampled_from([None, Located(SourceSpan(19, 41), "moved", 7)]),
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
    found = hit(path=evil, title=evil, heading_path=evil, snippet=evil, highlights=((0, 8),))
    for line in hit_lines(found, look):
        shown = "".join(piece for piece, _ in line)
        assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs") or c in "\u202e\u2066\u200b"]
