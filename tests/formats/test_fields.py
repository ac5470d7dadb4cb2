"""Tasks, properties and dates of a note, from front matter and from prose."""

from __future__ import annotations

import pytest

from kebab_tui.domain.facets import daily_name, values_of
from kebab_tui.formats.markdown import parse


def stated(text: str, kind: str) -> list[tuple[str, int | None, str | None]]:
    facets = parse(text.encode(), "a.md").facets
    return [(facet.value, facet.line, facet.extra) for facet in facets if facet.kind == kind]


def properties(text: str) -> tuple[str, ...]:
    return values_of(parse(text.encode(), "a.md").facets, "prop")


def test_tasks_have_a_state_a_text_and_a_line() -> None:
    text = """- [ ] call Kim
* [x] buy milk
1. [X] numbered
   - [-] cancelled
> - [/] begun
- [>] later
- TODO water the plants
  - DONE old
- [ ](not-a-task.md)
[ ] no item
- [ ]
- a [ ] b
- `- [ ] code`
"""
    assert stated(text, "task") == [
        ("open", 1, "call Kim"),
        ("done", 2, "buy milk"),
        ("done", 3, "numbered"),
        ("done", 4, "cancelled"),
        ("open", 5, "begun"),
        ("open", 6, "later"),
        ("open", 7, "water the plants"),
        ("done", 8, "old"),
    ]
    assert stated("```\n- [ ] code\n```\n", "task") == []


def test_every_key_of_front_matter_is_a_property_of_each_type() -> None:
    text = """---
Status: done
rating: 4.5
done: true
empty:
none: null
list: [a, 2, [b, c]]
when: 2026-02-31
long: |
  two
  lines
author:
  name: Kim
  address: {city: Busan, zip: 012}
people: ["[[Kim]]", "[[Lee|L]], [[Park#x]]"]
"odd = key": x
한글: 값
private: true
base: &a [x, y]
copy: *a
? [complex]
: key
---
"""
    bad = properties(text)
    assert "status=done" in bad, "a key that is a list makes the YAML invalid; plain lines are still read"
    good = properties(text.replace("? [complex]\n: key\n", ""))
    assert good == (
        "status=done", "rating=4.5", "done=true", "empty=", "none=", "list=a", "list=2", "list=b", "list=c",
        "when=2026-02-31", "long=two lines", "author.name=Kim", "author.address.city=Busan",
        "author.address.zip=012", "people=Kim", "people=Lee", "people=Park", "odd key=x", "한글=값",
        "private=true", "base=x", "base=y", "copy=x", "copy=y",
    )  # fmt: skip


def test_inline_properties_are_read_from_lines_items_and_brackets() -> None:
    text = """status:: open
- rating:: 5
**Bold Key**:: x
note:: met [[Kim]], who left
I met [who:: Kim] and (place:: Busan (old town)) there
tags:: [[geo]], rock
alias:: First, Second
up:: [[Home]], [[Work|W]]
std::vector and a::b, Foo::Bar
`code:: x`
nothing::
the ratio is 3:: 4
"""
    assert stated(text, "prop") == [
        ("status=open", 1, None),
        ("rating=5", 2, None),
        ("bold key=x", 3, None),
        ("note=met [[Kim]], who left", 4, None),
        ("who=Kim", 5, None),
        ("place=Busan (old town)", 5, None),
        ("tags=geo", 6, None),
        ("tags=rock", 6, None),
        ("alias=First, Second", 7, None),
        ("up=Home", 8, None),
        ("up=Work", 8, None),
        ("nothing=", 11, None),
        ("the ratio is 3=4", 12, None),
    ]
    facets = parse(text.encode(), "a.md").facets
    assert values_of(facets, "tag") == ("geo", "rock")
    assert values_of(facets, "alias") == ("First", "Second")


def test_a_key_nested_by_aliases_is_not_expanded_without_end() -> None:
    bomb = "a: &a [x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9)
    )
    note = parse(f"---\n{bomb}---\n".encode(), "a.md")
    assert "values_left_out" in note.flags
    note = parse(("---\n" + "".join(f"key{n}: {n}\n" for n in range(600)) + "---\n").encode(), "a.md")
    assert len(values_of(note.facets, "prop")) == 512
    assert "values_left_out" in note.flags


@pytest.mark.parametrize(
    ("front", "dated"),
    [
        ("updated: 2026-03-08\ndate: 2026-01-01\ncreated: 2025-01-01", ("2026-03-08", "updated")),
        ("created: 2025-01-01\ndate: 2026-1-2T10:00:00+09:00", ("2026-01-02", "date")),
        ("updated: yesterday\ndate: 2026-02-31\ncreated: 2024/02/29", ("2024-02-29", "created")),
        ("date: 0000-01-01", ("", "")),
        ("date: [2026-01-01]", ("", "")),
        ("title: x", ("", "")),
    ],
)
def test_the_date_of_a_note_is_the_first_valid_one(front: str, dated: tuple[str, str]) -> None:
    note = parse(f"---\n{front}\n---\n".encode(), "a.md")
    assert (note.dated, note.dated_by) == dated


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("2026-11-02", "2026-11-02"),
        ("2026_01_01", "2026-01-01"),
        ("2026.01.01 New year", "2026-01-01"),
        ("2026-11-02-meeting", "2026-11-02"),
        ("20261102", "2026-11-02"),
        ("202611021530", ""),
        ("20261102 notes", ""),
        ("2026-13-02", ""),
        ("2026-02-30", ""),
        ("2026-1-2", ""),
        ("v2026-01-02", ""),
        ("2026-01_02", ""),
    ],
)
def test_a_daily_note_is_dated_by_its_name(name: str, day: str) -> None:
    assert daily_name(name) == day
