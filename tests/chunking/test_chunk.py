from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.chunking.chunker import chunk
from kebab_tui.chunking.sections import ChunkLimits
from kebab_tui.domain.document import CHUNKER_VERSION, ParsedNote, Passage
from kebab_tui.formats.markdown import scan_markdown
from kebab_tui.formats.plain_text import scan_plain

LIMITS = ChunkLimits()
SENTENCE = "The oven wants an hour and the dough wants a night. "
LONG = SENTENCE * 8
CODE = "\n".join(f"x{n} = {n}" for n in range(20))


def note(text: str, start: int = 0) -> ParsedNote:
    lines = tuple(text.split("\n"))
    return ParsedNote("", "markdown", "und", lines, scan_markdown(lines, start))


def passages(text: str, limits: ChunkLimits = LIMITS) -> tuple[Passage, ...]:
    return chunk(note(text), limits)


def outline(text: str) -> list[tuple[str, str]]:
    return [(passage.heading_path, passage.span.lines) for passage in passages(text)]


# Sections


def test_a_section_is_a_passage_with_its_heading_line() -> None:
    text = f"# Bread\n\n{LONG}\n\n## Rye\n\n{LONG}\n"
    assert outline(text) == [("Bread", "L1-L3"), ("Bread > Rye", "L5-L7")]
    assert passages(text)[1].text == f"## Rye\n\n{LONG}"


def test_text_before_the_first_heading_has_no_path() -> None:
    assert outline(f"short\n\n# Bread\n\n{LONG}") == [("", "L1"), ("Bread", "L3-L5")]


def test_a_heading_of_the_same_level_ends_the_path_of_the_one_before() -> None:
    text = f"# A\n{LONG}\n### B\n{LONG}\n## C\n{LONG}\n# D\n{LONG}"
    assert [path for path, _ in outline(text)] == ["A", "A > B", "A > C", "D"]


def test_a_heading_without_text_goes_with_its_first_sub_section() -> None:
    assert outline(f"# A\n\n## B\n\n{LONG}\n") == [("A > B", "L1-L5")]


def test_a_label_names_headings_without_text_beside_the_section() -> None:
    assert outline(f"# A\n## B\n# C\n{LONG}\n") == [("A · C", "L1-L4")]
    fence = "```\n" + CODE + "\n```"
    assert outline(f"# A\n# B\n{LONG}\n\n{fence}\n\n{LONG}") == [
        ("A · B", "L1-L3"),
        ("B", "L5-L26"),
        ("B", "L28"),
    ]


def test_headings_at_the_end_go_with_the_last_passage() -> None:
    assert outline(f"# A\n{LONG}\n## B\n\n### C\n") == [("A · B", "L1-L5")]
    assert outline(f"# A\n{LONG}\n# B\n\n## C\n") == [("A · B", "L1-L5")]
    assert outline("before\n\n# A\n") == [("", "L1-L3")]


def test_headings_at_the_end_are_a_passage_when_the_last_one_is_full() -> None:
    fence = "```\n" + "x" * 3980 + "\n```"
    assert outline(f"{fence}\n\n# End of it all\n## Rest")[-1] == ("End of it all > Rest", "L5-L6")


def test_a_note_of_headings_only_is_one_passage() -> None:
    assert outline("# A\n\n## B\n## C\n") == [("A > B · C", "L1-L4")]


def test_a_heading_of_nothing_but_marks_adds_nothing_to_the_path() -> None:
    assert outline(f"# A\n\n##\n{LONG}") == [("A", "L1-L4")]


def test_a_note_of_nothing_has_no_passages() -> None:
    assert passages("") == passages("\n \n") == ()


def test_the_lines_before_the_body_are_not_cited() -> None:
    parsed = note(f"---\ntitle: x\n---\n\n# A\n{LONG}", start=3)
    assert [passage.span.lines for passage in chunk(parsed)] == ["L5-L6"]


# Small sections


def test_small_siblings_share_a_passage_and_keep_their_names() -> None:
    text = f"# Trip\n{LONG}\n## Food\nrice\n## Hotels\nnone\n"
    assert outline(text) == [("Trip", "L1-L2"), ("Trip > Food · Hotels", "L3-L6")]


def test_a_small_section_shares_with_its_small_children_under_all_their_names() -> None:
    assert outline("# Trip\nsoon\n## Food\nrice\n### Soup\nyes\n") == [("Trip · Food", "L1-L6")]
    text = f"# Git\n{LONG}\n## Install\nthus\n### Check\nso\n### Remove\nno\n"
    assert outline(text) == [("Git", "L1-L2"), ("Git > Install · Check · Remove", "L3-L8")]


def test_a_small_section_never_shares_with_one_outside_of_its_parent() -> None:
    text = f"# A\n{LONG}\n## B\nsmall\n# C\nsmall\n"
    assert [path for path, _ in outline(text)] == ["A", "A > B", "C"]


def test_a_section_of_some_size_stands_alone() -> None:
    medium = SENTENCE * 6
    assert [path for path, _ in outline(f"# A\n{medium}\n# B\n{medium}\n# C\nsmall")] == ["A", "B", "C"]


def test_twelve_tiny_sections_become_few_passages_with_clear_labels() -> None:
    text = "# Glossary\n\n" + "\n\n".join(f"## Term {n}\n\n{SENTENCE}\n{SENTENCE}" for n in range(12))
    found = passages(text)
    assert 2 <= len(found) <= 4
    for n in range(12):
        assert any(
            f"Term {n}" in passage.heading_path and f"## Term {n}\n" in passage.text for passage in found
        )


def test_a_long_list_of_names_is_cut_short() -> None:
    text = "\n".join(f"# A rather long name of a section, number {n}\nx" for n in range(12))
    assert all(len(path) < 230 for path, _ in outline(text))
    assert outline(text)[0][0].endswith(" · …")


# Large sections


def test_a_large_section_is_cut_between_paragraphs_near_the_target() -> None:
    text = "# A\n\n" + "\n\n".join(f"{n} {LONG}" for n in range(30))
    found = passages(text)
    assert {passage.heading_path for passage in found} == {"A"}
    assert all(300 <= len(passage.text) <= 1800 for passage in found)
    assert 800 <= sum(len(passage.text) for passage in found) / len(found) <= 1500


def test_a_list_that_is_too_long_is_cut_where_items_begin() -> None:
    text = "\n".join(f"- item {n}\n  {SENTENCE}" for n in range(60))
    found = passages(text)
    assert len(found) > 2
    assert all(passage.text.startswith("- item") for passage in found)


def test_a_long_fence_between_prose_is_a_separate_code_passage() -> None:
    text = f"# A\n{LONG}\n\n```\n{CODE}\n```\n\n{LONG}\n"
    assert [(passage.kind, passage.span.lines) for passage in passages(text)] == [
        ("info", "L1-L2"),
        ("code", "L4-L25"),
        ("info", "L27"),
    ]


def test_a_long_fence_is_joined_with_a_few_words_beside_it() -> None:
    text = f"# A\n\nFor example:\n\n```\n{CODE}\n```\n\nThat is all.\n"
    assert [(passage.kind, passage.span.lines) for passage in passages(text)] == [("code", "L1-L28")]


def test_a_short_fence_stays_with_its_prose() -> None:
    assert [passage.kind for passage in passages("# A\n" + "words\n" * 9 + "```\nx\n```\n")] == ["info"]


def test_a_passage_is_code_when_most_of_its_lines_are() -> None:
    assert [passage.kind for passage in passages("words\n" * 3 + "```\nx\n```")] == ["info"]
    assert [passage.kind for passage in passages("words\n" * 2 + "```\nx\n```")] == ["code"]
    assert [passage.kind for passage in passages("words\n" * 2 + "```\n\n \n```")] == ["info"]
    assert [passage.kind for passage in passages("words\n\n\n\n```\n```")] == ["code"]


def test_a_fence_above_the_cap_is_cut_at_lines() -> None:
    text = "# A\n```\n" + "\n".join(f"line {n} {SENTENCE}" for n in range(200)) + "\n```"
    found = passages(text)
    assert len(found) > 5
    assert {passage.kind for passage in found} == {"code"}
    assert found[0].text.startswith("# A\n```\nline 0")


def test_a_table_stays_whole_up_to_the_cap() -> None:
    table = "| a | b |\n|---|---|\n" + "\n".join(f"| {n} | {SENTENCE} |" for n in range(50))
    assert len(table) > 2 * LIMITS.whole
    assert [passage.text for passage in passages(f"{LONG}\n\n{table}\n\n{LONG}")][1] == table


def test_a_giant_line_becomes_parts_that_cite_the_same_line() -> None:
    line = SENTENCE * 1000
    found = passages(f"# A\n\n{line}\n\nend")
    parts = [passage for passage in found if passage.span.lines == "L3"]
    assert "".join(part.text for part in parts) == line
    assert all(len(part.text) <= LIMITS.cap and part.text.endswith(" ") for part in parts)
    assert [passage.text for passage in found if passage not in parts] == ["# A", "end"]


def test_a_giant_line_without_spaces_is_cut_all_the_same() -> None:
    found = passages("가" * 10_000_000)
    assert len(found) == 2500
    assert {passage.span.lines for passage in found} == {"L1"}


def test_comments_are_text_a_reader_may_look_for() -> None:
    assert "hidden thought" in passages("# A\n<!-- hidden thought -->\n")[0].text


def test_plain_paragraphs_are_joined_as_well() -> None:
    lines = tuple("\n\n".join(LONG for _ in range(10)).split("\n"))
    found = chunk(ParsedNote("", "note", "und", lines, scan_plain(lines)))
    assert 3 <= len(found) <= 6
    assert {passage.heading_path for passage in found} == {""}


# Edits


def big_note(sections: int, seed: int, words: tuple[int, int]) -> list[str]:
    dice = random.Random(seed)
    parts = []
    for n in range(sections):
        level = "##" if n % 6 else "#"
        text = "\n\n".join(
            " ".join(f"word{dice.randrange(5000)}" for _ in range(dice.randint(*words)))
            for _ in range(dice.randint(1, 4))
        )
        parts.append(f"{level} Section {n}\n\n{text}\n")
    return parts


@pytest.mark.parametrize("edited", [0, 7, 31, 59])
@pytest.mark.parametrize("words", [(3, 10), (5, 60), (60, 200)], ids=["tiny", "mixed", "large"])
def test_an_edit_leaves_the_passages_of_other_sections_alone(edited: int, words: tuple[int, int]) -> None:
    parts = big_note(60, 3, words)
    before = {(passage.heading_path, passage.text) for passage in passages("\n".join(parts))}
    parts[edited] += f"\nA new paragraph. {SENTENCE}\n"
    after = {(passage.heading_path, passage.text) for passage in passages("\n".join(parts))}
    changed = len(before - after)
    assert changed <= max(3, len(before) // 10)
    assert any("A new paragraph" in text for _, text in after)


def test_an_edit_in_a_note_without_headings_moves_only_the_cuts_near_it() -> None:
    dice = random.Random(5)
    paragraphs = [
        " ".join(f"w{dice.randrange(999)}" for _ in range(dice.randint(20, 90))) for _ in range(200)
    ]
    before = {passage.text for passage in passages("\n\n".join(paragraphs))}
    paragraphs.insert(20, SENTENCE)
    after = {passage.text for passage in passages("\n\n".join(paragraphs))}
    assert len(before & after) >= 0.9 * len(before)


# Any note

BITS = st.sampled_from(
    [
        *(
            "# A",
            "## B",
            "### C",
            "##",
            "text",
            SENTENCE,
            LONG,
            "- item",
            "- " + SENTENCE,
            "",
            "",
            "",
            " ",
            "```",
        ),
        *(
            "~~~",
            "    code",
            "<!--",
            "-->",
            "| a | b |",
            "|---|---|",
            "| 1 | 2 |",
            "x" * 500,
            "y " * 3000,
            "제목\n===",
        ),
        *(
            "\u3000",
            "\ud800",
            "```\n" + CODE + "\n```",
            "```\n" + "z\n" * 300 + "```",
            "\n".join([SENTENCE] * 90),
        ),
    ]
)


@given(
    st.lists(BITS, max_size=40),
    st.sampled_from([LIMITS, ChunkLimits(40, 120, 20, 2), ChunkLimits(1, 1, 1, 0)]),
)
def test_passages_cite_every_non_blank_line_once_and_in_order(bits: list[str], limits: ChunkLimits) -> None:
    parsed = note("\n".join(bits))
    cited: list[int] = []
    for passage in chunk(parsed, limits):
        lines = parsed.lines[passage.span.first - 1 : passage.span.last]
        assert len(passage.text) <= limits.cap
        assert passage.text.strip()
        if passage.text == "\n".join(lines):
            cited.extend(at for at, line in enumerate(lines, passage.span.first) if line.strip())
        else:
            assert passage.span.first == passage.span.last
            assert len(lines[0]) > limits.cap
            assert passage.text in lines[0]
            if cited[-1:] != [passage.span.first]:
                cited.append(passage.span.first)
    assert cited == [at for at, line in enumerate(parsed.lines, 1) if line.strip()]
    assert chunk(parsed, limits) == chunk(note("\n".join(bits)), limits)


@given(
    st.lists(BITS, max_size=40),
    st.sampled_from([LIMITS, ChunkLimits(40, 120, 20, 2), ChunkLimits(1, 1, 1, 0)]),
)
def test_the_label_of_a_passage_covers_every_line_of_it(bits: list[str], limits: ChunkLimits) -> None:
    parsed = note("\n".join(bits))
    trails = list(trails_by_line(parsed))
    for passage in chunk(parsed, limits):
        for at in range(passage.span.first, passage.span.last + 1):
            assert covers(passage.heading_path, trails[at]), (passage.heading_path, at, trails[at])


def trails_by_line(parsed: ParsedNote) -> Iterator[tuple[str, ...]]:
    """The headings above each line, from line 0 on, including its own."""
    headings = {block.first: block for block in parsed.blocks if block.level}
    above: list[tuple[int, str]] = []
    for at in range(len(parsed.lines) + 1):
        if at in headings:
            above = [one for one in above if one[0] < headings[at].level]
            above.append((headings[at].level, headings[at].text))
        yield tuple(text for _, text in above if text)


def covers(label: str, trail: tuple[str, ...]) -> bool:
    *shared, last = label.split(" > ")
    names = last.split(" · ")
    if trail == tuple([*shared, names[0]][: len(trail)]):
        return True  # a heading above the first text
    below = trail[len(shared) : len(shared) + 1]
    return list(trail[: len(shared)]) == shared and (names[-1] in ("", "…") or bool({*below} & {*names}))


@pytest.mark.parametrize(("target", "cap", "small"), [(0, 10, 0), (10, 5, 1), (10, 20, 11)])
def test_limits_that_contradict_each_other_are_refused(target: int, cap: int, small: int) -> None:
    with pytest.raises(ValueError, match="small <= target <= cap"):
        ChunkLimits(target, cap, small)


def test_the_version_names_the_rules() -> None:
    assert CHUNKER_VERSION == "2"
