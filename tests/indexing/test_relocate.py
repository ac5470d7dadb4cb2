"""Where a passage stands after its note was edited."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.citation import Located, SourceSpan
from kebab_tui.indexing import relocate
from tests.effort import cpu_seconds, sizes

CAP = 4000
locate = partial(relocate.locate, cap=CAP)
locate_within = partial(relocate.locate_within, cap=CAP)

NOTE = [
    "# 포트 충돌",
    "",
    "두 프로그램이 같은 포트를 잡으면 뒤에 온 쪽이 죽는다.",
    "",
    "## 해결 방법",
    "",
    "누가 그 포트를 잡고 있는지 찾는다.",
    "그 프로그램을 멈추거나 다른 포트를 준다.",
    "다시 시작한다.",
    "",
    "## Elsewhere",
    "",
    "The listener waits on another address.",
]

SPAN = SourceSpan(5, 9)
TEXT = "\n".join(NOTE[4:9])


def edited(*changes: tuple[int, int, list[str]]) -> list[str]:
    """The note with lines `first..last` (1-based) put in place of others, from the end on."""
    lines = list(NOTE)
    for first, last, new in changes:
        lines[first - 1 : last] = new
    return lines


def test_an_untouched_passage_is_the_same() -> None:
    assert locate(TEXT, SPAN, NOTE) == Located(SPAN, "same")


def test_an_edit_below_leaves_it_the_same() -> None:
    assert locate(TEXT, SPAN, edited((11, 13, []))).state == "same"


@pytest.mark.parametrize(("lines", "shift"), [(["new"] * 7 + NOTE, 7), (NOTE[2:], -2)])
def test_an_edit_above_moves_it(lines: list[str], shift: int) -> None:
    assert locate(TEXT, SPAN, lines) == Located(SourceSpan(5 + shift, 9 + shift), "moved", shift)


def test_of_several_copies_the_nearest_is_meant() -> None:
    lines = ["x", "copy", "y", "y", "y", "y", "copy", "y", "copy"]
    assert locate("copy", SourceSpan(6, 6), lines) == Located(SourceSpan(7, 7), "moved", 1)
    assert locate("copy", SourceSpan(4, 4), lines) == Located(SourceSpan(2, 2), "moved", -2)


def test_a_line_that_only_contains_the_text_is_not_it() -> None:
    assert locate("copy", SourceSpan(1, 1), ["a copy of it", "copy"]).span == SourceSpan(2, 2)


def test_an_edited_line_leaves_a_changed_passage_with_all_its_lines() -> None:
    for line in (6, 7, 8, 9):
        changed = edited((line, line, ["완전히 다른 말이 여기 있다."]))
        assert locate(TEXT, SPAN, changed) == Located(SPAN, "changed"), line


def test_lines_put_in_between_belong_to_it() -> None:
    assert locate(TEXT, SPAN, edited((8, 7, ["one", "two"]))) == Located(SourceSpan(5, 11), "changed")


def test_it_is_found_edited_and_moved() -> None:
    lines = ["above"] * 30 + edited((9, 9, ["다시 켠다."]))
    assert locate(TEXT, SPAN, lines) == Located(SourceSpan(35, 39), "changed", 30)


def test_a_paragraph_of_one_line_is_found_by_its_words() -> None:
    text = "The quick brown fox jumps over the lazy dog near the river bank."
    rewritten = "A quick brown fox jumped over one lazy dog near the river."
    lines = ["Something else entirely.", "", "The river was wide.", "", rewritten]
    assert locate(text, SourceSpan(1, 1), lines) == Located(SourceSpan(5, 5), "changed", 4)


def test_where_nothing_resembles_it_the_old_lines_are_told_as_far_as_they_go() -> None:
    assert locate(TEXT, SPAN, ["nothing"] * 7) == Located(SourceSpan(5, 7), "changed")
    assert locate(TEXT, SPAN, ["nothing"]) == Located(SourceSpan(1, 1), "changed", -4)
    assert locate(TEXT, SPAN, []) == Located(SourceSpan(1, 1), "changed", -4)


def test_marks_without_a_letter_resemble_nothing() -> None:
    assert locate("---", SourceSpan(3, 3), ["===", "***", "+++"]).state == "changed"


# lines within a passage


@pytest.mark.parametrize("line", [5, 7, 9])
def test_a_line_goes_where_its_passage_goes(line: int) -> None:
    part = SourceSpan(line, line)
    assert locate_within(part, TEXT, SPAN, NOTE) == Located(part, "same")
    moved = locate_within(part, TEXT, SPAN, ["new", *NOTE])
    assert moved == Located(SourceSpan(line + 1, line + 1), "moved", 1)


def test_a_line_is_found_within_what_became_of_its_passage() -> None:
    lines = edited((6, 6, ["", "", ""]), (5, 5, ["## Lösung"]))
    assert locate_within(SourceSpan(8, 8), TEXT, SPAN, lines) == Located(SourceSpan(10, 10), "moved", 2)


def test_of_a_changed_line_the_present_one_is_told() -> None:
    lines = edited((8, 8, ["그 프로그램을 바로 멈추거나 다른 포트를 준다!"]))
    assert locate_within(SourceSpan(8, 8), TEXT, SPAN, lines) == Located(SourceSpan(8, 8), "changed")


# any text


LINES = st.lists(
    st.sampled_from(["a b", "b c", "", "}", "가나 다라", "long enough line of words"]), max_size=30
)


@pytest.mark.parametrize("above", [0, 3])
def test_a_part_of_a_line_longer_than_a_passage_is_the_same_wherever_that_line_stands(above: int) -> None:
    line = " ".join(f"sentence {number}." for number in range(700))
    lines = ["# Essay", "", *["new"] * above, line]
    for part in (line[:4000], line[4000:8000], line[8000:]):
        found = locate(part, SourceSpan(3, 3), lines)
        assert (found.state, found.shift) == ("moved" if above else "same", above)
        assert found.span == SourceSpan(3 + above, 3 + above)
    assert locate("something else " * 200, SourceSpan(3, 3), lines).state == "changed"


def test_a_line_that_was_put_into_a_longer_one_has_changed() -> None:
    assert locate("a copy", SourceSpan(1, 1), ["a copy of it"]).state == "changed"


@given(LINES, LINES, st.data())
def test_what_is_told_is_always_within_the_file_and_true(
    before: list[str], after: list[str], data: st.DataObject
) -> None:
    before = before or ["x"]
    first = data.draw(st.integers(1, len(before)))
    last = data.draw(st.integers(first, len(before)))
    span, text = SourceSpan(first, last), "\n".join(before[first - 1 : last])
    found = locate(text, span, after)
    assert found.span.last <= max(1, len(after))
    assert found.shift == found.span.first - first
    present = "\n".join(after[found.span.first - 1 : found.span.last])
    assert (found.state in ("same", "moved")) == (f"\n{text}\n" in "\n".join(["", *after, ""]))
    if found.state != "changed":
        assert present == text
        assert (found.state == "same") == (found.shift == 0)


@given(LINES, LINES, st.data())
def test_a_part_stays_within_the_file(before: list[str], after: list[str], data: st.DataObject) -> None:
    before = before or ["x"]
    first = data.draw(st.integers(1, len(before)))
    last = data.draw(st.integers(first, len(before)))
    part = SourceSpan(first, data.draw(st.integers(first, last)))
    found = locate_within(part, "\n".join(before), SourceSpan(1, len(before)), after)
    assert found.span.last <= max(1, len(after))
    if found.state != "changed":
        assert after[found.span.first - 1 : found.span.last] == before[part.first - 1 : part.last]


@sizes(200_000, 4_000_000)
@pytest.mark.parametrize(
    "made",
    [
        lambda size: ["a"] * size + ["b"],
        lambda size: ["word " * 400] * (size // 1_000),
        lambda size: ["x" * size * 2],
        lambda size: ["그 프로그램을 멈추거나 다른 포트를"] * (size // 20),
    ],
    ids=["one letter", "long lines", "one line", "the same line"],
)
def test_the_largest_note_is_searched_in_bounded_time(made: Callable[[int], list[str]], size: int) -> None:
    lines = made(size)
    text = "\n".join(["a"] * 1_999 + ["c"])
    span = SourceSpan(1_000, 2_999)
    seconds = cpu_seconds(lambda: (locate(text, span, lines), locate(TEXT, SPAN, lines)))
    assert seconds < size / 100_000, "a step that is not linear takes minutes"
