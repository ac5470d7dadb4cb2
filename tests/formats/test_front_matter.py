"""Front matter: parsed if possible, never an error, never lost text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.document import Trust
from kebab_tui.domain.facets import Facet, values_of
from kebab_tui.formats.note import FrontMatter, read_front_matter
from tests.effort import cpu_seconds


def read(text: str) -> FrontMatter:
    return read_front_matter(text.split("\n"))


def head(*lines: str) -> FrontMatter:
    return read("\n".join(("---", *lines, "---", "body")))


def without_properties(front: FrontMatter) -> FrontMatter:
    return replace(front, properties=())


def test_every_fact_of_a_note_is_read() -> None:
    front = head(
        "title: 소유권 이해하기",
        "tags: [rust, 메모리]",
        "aliases:",
        "  - 오너십",
        "  - Ownership",
        "trust: secondary",
        "lang: ko-KR",
        "type: note",
        "date: 2026-01-25",
    )
    assert without_properties(front) == FrontMatter(
        length=11,
        title="소유권 이해하기",
        title_line=2,
        facets=(
            Facet("tag", "rust", 3),
            Facet("tag", "메모리", 3),
            Facet("alias", "오너십", 5),
            Facet("alias", "Ownership", 6),
            Facet("date", "2026-01-25", 10),
        ),
        trust=Trust.SECONDARY,
        lang="ko",
        type="note",
        dated="2026-01-25",
        dated_by="date",
    )


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("---\ntitle: x\n---\nbody", 3),
        ("---\ntitle: x\n...\nbody", 3),
        ("--- \ntitle: x\n---  \n", 3),
        ("---\n---\nbody", 2),
        ("---\n\ntitle: x\n---", 0),
        ("---\n# a comment\n---", 3),
        ("---\ntitle: x\nno end", 0),
        ("---", 0),
        ("", 0),
        ("\n---\ntitle: x\n---", 0),
        (" ---\ntitle: x\n---", 0),
        ("----\ntitle: x\n----", 0),
        ("text\n---\ntitle: x\n---", 0),
        ("---\ntitle: x\n ---\n---", 4),
    ],
)
def test_the_block_begins_in_the_first_line_and_has_an_end(text: str, length: int) -> None:
    assert read(text).length == length


def test_a_note_that_begins_with_a_rule_has_no_front_matter() -> None:
    front = read("---\n\n# Title\n\nSome prose: with [brackets\n\n---\n")
    assert front == FrontMatter()


@pytest.mark.parametrize(
    ("line", "tags"),
    [
        ("tags: [a, b]", ("a", "b")),
        ("tags: a, b", ("a", "b")),
        ("tags: a b", ("a", "b")),
        ("tags: '#a #b'", ("a", "b")),
        ("tags: machine learning, b", ("machine learning", "b")),
        ("tags: [machine learning, '#b', ' c ']", ("machine learning", "b", "c")),
        ("tag: alone", ("alone",)),
        ("Tags: [A, a, Á]", ("A", "Á")),
        ("tags: [2026, 1.10, no, 2026-01-01]", ("2026", "1.10", "no", "2026-01-01")),
        ("tags: [a/b, a/b/]", ("a/b",)),
        ("tags:", ()),
        ("tags: null", ()),
        ("tags: [~, '', null, a]", ("a",)),
        ("tags: {a: 1}", ()),
        ("tags: [[a], {b: c}, d]", ("d",)),
        ("tags: 42", ("42",)),
    ],
)
def test_tags_come_in_every_spelling(line: str, tags: tuple[str, ...]) -> None:
    assert values_of(head(line).facets, "tag") == tags


@pytest.mark.parametrize(
    ("line", "aliases"),
    [
        ("aliases: [Start here, Index]", ("Start here", "Index")),
        ("aliases: One, Two", ("One", "Two")),
        ("alias: One", ("One",)),
        ("aliases: {a: b}", ()),
        ("aliases: [[a], 3]", ("3",)),
    ],
)
def test_aliases_come_as_a_list_or_a_line(line: str, aliases: tuple[str, ...]) -> None:
    assert values_of(head(line).facets, "alias") == aliases


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("title: 1.10", "1.10"),
        ("title: 2026-02-31", "2026-02-31"),
        ("title: no", "no"),
        ("title: " + "9" * 5000, "9" * 5000),
        ("title: >\n  folded\n  lines", "folded lines"),
        ('title: "a\\tb\\x1bc\\0d"', "a b c d"),
        ("title: [a]", ""),
        ("title: null", ""),
        ("TITLE: Loud", "Loud"),
        ("title: !!python/object/apply:os.system [id]", ""),
        ("title: !!int text", "text"),
    ],
)
def test_a_title_is_taken_as_it_is_written(line: str, title: str) -> None:
    front = head(line)
    assert (front.title, front.bad) == (title, False)


@pytest.mark.parametrize(
    "line", ["trust: highest", "lang: fr", "type: novel", "trust: [primary]", "trust: 3"]
)
def test_an_unknown_value_is_ignored(line: str) -> None:
    assert without_properties(head(line)) == FrontMatter(length=3)


def test_trust_may_be_called_trust_level() -> None:
    assert head("trust_level: Generated").trust is Trust.GENERATED


@pytest.mark.parametrize(
    "lines", [("[a, b",), ("- a", "- b"), ("just words",), ("a: b: c",), ("a: *nobody",), ("\x01: x",)]
)
def test_yaml_that_is_not_a_mapping_is_flagged(lines: tuple[str, ...]) -> None:
    front = head(*lines)
    assert (front.bad, front.length) == (True, len(lines) + 2)


def test_the_plain_lines_of_bad_yaml_are_still_read() -> None:
    front = head("title: Rust: a love story", "tags: [a, b]", "other: [open", "trust: secondary")
    assert front.bad
    assert (front.title, front.trust) == ("Rust: a love story", Trust.SECONDARY)
    assert without_properties(front).facets == (Facet("tag", "a", 3), Facet("tag", "b", 3))


BOMB = "\n".join(
    [
        "a0: &a0 [x, x]",
        *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)),
        "tags: *a29",
    ]
)
MERGES = "\n".join(
    ["a0: &a0 {x: 1}", *(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 30))]
)


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        MERGES,
        "a: " + "[" * 100_000,
        "a: " + "[" * 30_000 + "]" * 30_000,
        "a: " + "{a: " * 15_000,
        "a:\n  " + "- " * 30_000 + "x",
        "a:\n  " + "? " * 30_000 + "x",
        "\n".join(" " * depth + "k:" for depth in range(340)),
        "a:\n" + "\n".join(" " * (800 * step + 1) + "- " * 400 for step in range(12)),
        "a: &a [*a]\ntags: *a",
        "a: x\n" * 250_000,
        "k: " + "v" * 1_000_000,
        "? [a, b]\n: c",
    ],
    ids=lambda text: text[:12].strip(),
)
def test_no_yaml_can_hang_or_fail_a_note(text: str) -> None:
    assert cpu_seconds(lambda: head(text)) < 5
    assert head(text).length == text.count("\n") + 3


YAML_BITS = st.text(alphabet="a:b -#[]{}&*!|>'\"%@`,?~\n\t\\xu0d<=.가\x85\u2028\x00", max_size=120)


@given(YAML_BITS)
def test_no_head_ever_raises_and_its_length_is_within_the_note(text: str) -> None:
    lines = ["---", *text.split("\n"), "---", "body"]
    front = read_front_matter(lines)
    assert 0 <= front.length <= len(lines)
    assert front.length == 0 or lines[front.length - 1].rstrip() in ("---", "...")
    for name in (front.title, *(facet.value for facet in front.facets)):
        name.encode()
        assert name.isprintable() or not name.isascii()


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"))))
def test_any_lines_have_some_head_or_none(lines: list[str]) -> None:
    assert read_front_matter(lines).length <= len(lines)
