"""Rendered Markdown: the marked passage, sanitised text, cancelling."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style

from kebab_tui.tui.preview.rendered import Rendered, RenderStyles, rendered

LOOK = RenderStyles(40, "▌", True, {"text": Style(), "cited": Style(), "mark": Style()})


def shown(lines: Sequence[str], first: int = 1, last: int = 0) -> Rendered:
    made = rendered(lines, first, last, LOOK, lambda: False)
    assert made is not None
    return made


def text(made: Rendered) -> list[str]:
    return [strip.text.rstrip() for strip in made.strips]


def test_the_passage_is_marked_row_by_row() -> None:
    made = shown(["Before.", "", "- *cited* one", "- cited two", "", "After."], 3, 4)

    marked = [strip.text for strip in made.strips if strip.text.startswith("▌")]
    assert [row.strip("▌ ") for row in marked if row.strip("▌ ")] == ["• cited one", "• cited two"]
    assert [made.strips[row] for row in made.cited] == [
        strip for strip in made.strips if strip.text[0] == "▌"
    ]


def test_a_passage_inside_a_fence_leaves_the_note_whole_and_unmarked() -> None:
    made = shown(["```", "code one", "code two", "```", "", "*After*."], 2, 3)

    assert not made.cited
    assert "  After." in text(made)


def test_front_matter_is_no_heading() -> None:
    assert any(
        "title: Bread" in row for row in text(shown(["---", "title: Bread", "---", "", "Text."], 5, 5))
    )


def test_a_link_is_shown_and_never_made() -> None:
    made = shown(["See [here](file:///etc/passwd)."])

    assert any("file:///etc/passwd" in row for row in text(made))
    assert not any(segment.style and segment.style.link for strip in made.strips for segment in strip)


def test_what_entities_and_escapes_make_is_cleaned() -> None:
    rows = "".join(text(shown(["a &#x202e; b \x1b[2J \x9b0m", "", "    \x1b]52;c;x\x07"])))

    assert not {"\u202e", "\x1b", "\x9b", "\x07"} & set(rows)


def test_every_row_is_as_wide_as_the_pane() -> None:
    made = shown(["# 제목", "", "| 가 | b |", "|---|---|", "| 🙂 | " + "긴 " * 40 + "|", "", "> text"], 3, 5)

    assert {strip.cell_length for strip in made.strips} == {40}


def test_a_fence_is_never_cut_into_sections() -> None:
    made = shown(["```", *["# code"] * 250, "```", "# Heading"])

    assert sum("# code" in row for row in text(made)) == 250


def test_rendering_a_long_note_can_be_cancelled() -> None:
    waiting = iter([False, True])

    assert rendered(["# a", *["text"] * 150] * 4, 1, 0, LOOK, lambda: next(waiting)) is None
