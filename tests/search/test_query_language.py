"""The query language; no typed text is an error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.document import Trust
from kebab_tui.domain.query import FacetFilter, SearchFilters
from kebab_tui.search.lexer import Piece, pieces
from kebab_tui.search.query_language import (
    MAX_WORDS,
    All,
    Any,
    Leaf,
    Node,
    Not,
    ParsedQuery,
    merge,
    parse,
    remove_chip,
)
from tests.effort import cpu_seconds

_NOW = datetime(2026, 11, 18, 12, 30, tzinfo=UTC)


def _parse(text: str) -> ParsedQuery:
    return parse(text, _NOW)


def _shape(node: Node | None) -> object:
    """The tree as nested tuples and strings."""
    match node:
        case Leaf():
            marks = {"word": "{}", "phrase": '"{}"', "prefix": "{}*"}
            return marks[node.kind].format(node.text)
        case All():
            return ("all", *map(_shape, node.parts))
        case Any():
            return ("any", *map(_shape, node.parts))
        case Not():
            return ("not", _shape(node.part))
    return None


def _ns(year: int, month: int = 1, day: int = 1, hour: int = 0, minute: int = 0) -> int:
    return int(datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp()) * 10**9


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("git", "git"),
        ("install git", ("all", "install", "git")),
        ('"install git" now', ("all", '"install git"', "now")),
        ("inst* git", ("all", "inst*", "git")),
        ("git -svn", ("all", "git", ("not", "svn"))),
        ('git -"sub version"', ("all", "git", ("not", '"sub version"'))),
        ("-svn", ("not", "svn")),
        ("a OR b", ("any", "a", "b")),
        ("a AND b", ("all", "a", "b")),
        ("a NOT b", ("all", "a", ("not", "b"))),
        ("a AND NOT b", ("all", "a", ("not", "b"))),
        ("a b OR c d", ("any", ("all", "a", "b"), ("all", "c", "d"))),
        ("a (b OR c)", ("all", "a", ("any", "b", "c"))),
        ("a -(b c)", ("all", "a", ("not", ("all", "b", "c")))),
        ("((a))", "a"),
        ("print(x)", ("all", "print", "x")),
    ],
)
def test_a_query_has_this_meaning(text: str, shape: object) -> None:
    assert _shape(_parse(text).terms) == shape


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("NOT NULL", ("all", "NOT", "NULL")),
        ("AND x", ("all", "AND", "x")),
        ("a OR OR b", ("any", ("all", "a", "OR"), "b")),
        ("and or not", ("all", "and", "or", "not")),
        ("(a b", ("all", "a", "b")),
        (") a (", "a"),
        ("()", None),
        ("(" * 50 + "a" + ")" * 50, "a"),
    ],
)
def test_operators_and_parentheses_out_of_place_are_words_and_spaces(text: str, shape: object) -> None:
    assert _shape(_parse(text).terms) == shape


@pytest.mark.parametrize("text", ["rust OR", "rust AND ", "rust NOT"])
def test_an_operator_still_waiting_for_its_other_side_says_nothing(text: str) -> None:
    assert _shape(_parse(text).terms) == "rust"


@pytest.mark.parametrize(
    "text",
    ["C++", "node.js", "--explain", "self-hosted", "it's", "x?", "foo_bar", "git/install", "a.b.c", "C:\\x",
     "std::vector", "http://x.org/y", "12:30"],
)  # fmt: skip
def test_code_and_punctuation_are_one_ordinary_word(text: str) -> None:
    assert _parse(text).terms == Leaf(text, "word", open=True)
    assert _parse(text).notices == ()


@pytest.mark.parametrize(
    "text", ["", "   ", "\t\n", "?!", "-", "--", "😀", '""', "*", "''", "' '", "tag:", "\0"]
)
def test_a_query_without_search_words_is_only_filters(text: str) -> None:
    assert _parse(text).is_only_filters


@pytest.mark.parametrize(
    ("text", "begun"),
    [("tag:", True), ("tag: lang:k", True), ('"', True), ('tag: "', True)]
    + [(text, False) for text in ("", " ", "?!", "-", '""', "tag:a b", "foo:", "'", '"a', "after:7d b")],
)
def test_a_query_that_is_only_begun_searches_nothing_yet(text: str, begun: bool) -> None:
    assert _parse(text).is_only_begun == begun


def test_an_open_quote_is_a_phrase_to_the_end() -> None:
    assert _parse('say "hello wor').terms == All(
        (Leaf("say", "word"), Leaf("hello wor", "phrase", open=True))
    )


def test_only_the_end_of_the_text_is_open() -> None:
    assert _parse("git inst").terms == All((Leaf("git", "word"), Leaf("inst", "word", open=True)))
    assert _parse("git inst ").terms == All((Leaf("git", "word"), Leaf("inst", "word")))
    assert _parse('"git inst"').terms == Leaf("git inst", "phrase")


def test_single_quotes_around_everything_are_fts5s_own_syntax() -> None:
    parsed = _parse(" 'foo OR bar*' ")
    assert parsed.raw == "foo OR bar*"
    assert parsed.terms is None
    assert not parsed.is_only_filters
    assert [token.role for token in parsed.tokens] == ["raw"]


@pytest.mark.parametrize(
    ("text", "filters"),
    [
        ("tag:a,b", SearchFilters((FacetFilter("tag", "any", ("a", "b")),))),
        ("tag:a tag:b", SearchFilters((FacetFilter("tag", "all", ("a", "b")),))),
        ("tag:#a", SearchFilters((FacetFilter("tag", "all", ("a",)),))),
        ('tag:"a b",c', SearchFilters((FacetFilter("tag", "any", ("a b", "c")),))),
        ("-tag:x", SearchFilters((FacetFilter("tag", "none", ("x",)),))),
        ("path:notes/**", SearchFilters(paths=("notes/**",))),
        ("-path:old/**", SearchFilters(paths_none=("old/**",))),
        ("type:code,note", SearchFilters(types=("code", "note"))),
        ("TYPE:Code", SearchFilters(types=("code",))),
        ("kind:code", SearchFilters(kinds=("code",))),
        ("lang:ko", SearchFilters(langs=("ko",))),
        ("trust:secondary", SearchFilters(trust_min=Trust.SECONDARY)),
        ("trust:>=secondary", SearchFilters(trust_min=Trust.SECONDARY)),
        ("after:2026-01", SearchFilters(after_ns=_ns(2026))),
        ("before:2026-03-04", SearchFilters(before_ns=_ns(2026, 3, 4))),
        ("after:2025", SearchFilters(after_ns=_ns(2025))),
        ("after:7d", SearchFilters(after_ns=_ns(2026, 11, 11, 12, 30))),
        ("after:2w", SearchFilters(after_ns=_ns(2026, 11, 4, 12, 30))),
        ("after:today", SearchFilters(after_ns=_ns(2026, 11, 18))),
        ("before:yesterday", SearchFilters(before_ns=_ns(2026, 11, 17))),
        ("title:setup", SearchFilters(titles=("setup",))),
        ('heading:"first steps"', SearchFilters(headings=("first steps",))),
        ("after:2026 after:2025", SearchFilters(after_ns=_ns(2026))),
    ],
)
def test_a_filter_is_read(text: str, filters: SearchFilters) -> None:
    parsed = _parse(text)
    assert parsed.filters == filters
    assert parsed.terms is None
    assert parsed.notices == ()


def test_a_source_is_named_by_in() -> None:
    assert _parse("in:work").filters.sources == ("work",)


def test_filters_stand_anywhere_among_the_words() -> None:
    parsed = _parse("git tag:a install OR lang:ko undo")
    assert _shape(parsed.terms) == ("any", ("all", "git", "install"), "undo")
    assert parsed.filters == SearchFilters((FacetFilter("tag", "all", ("a",)),), langs=("ko",))


@pytest.mark.parametrize("text", ["tag:", "git tag:", "path: ", 'tag:"', "tag:,", "-tag:"])
def test_a_half_typed_filter_is_ignored(text: str) -> None:
    parsed = _parse(text)
    assert not parsed.filters.active
    assert parsed.notices == ()


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("lang:xx", "ko, en, und"),
        ("type:info", "kind:info"),
        ("kind:markdown", "type:markdown"),
        ("trust:much", "generated, secondary, primary"),
        ("after:soon", "2026-01-31"),
        ("after:2026-13", "2026-01-31"),
        ("after:0000", "2026-01-31"),
        ("path:a[b", "never closed"),
        ("-lang:ko", "only tag: and path:"),
    ],
)
def test_a_bad_value_is_left_out_and_named(text: str, hint: str) -> None:
    parsed = _parse(f"git {text}")
    assert not parsed.filters.active
    assert [notice.code for notice in parsed.notices] == ["bad_filter"]
    assert hint in parsed.notices[0].text
    assert _shape(parsed.terms) == "git"


@pytest.mark.parametrize(
    ("text", "meant"), [("tga:x", "tag:"), ("pth:x", "path:"), ("file:x", "path:"), ("langs:ko", "lang:")]
)
def test_a_mistyped_key_is_searched_and_named(text: str, meant: str) -> None:
    parsed = _parse(text)
    assert parsed.terms == Leaf(text, "word", open=True)
    assert [notice.code for notice in parsed.notices] == ["unknown_key"]
    assert meant in parsed.notices[0].text
    assert [token.role for token in parsed.tokens] == ["unknown_key", "word"]


def test_two_lists_of_tags_become_one_and_are_named() -> None:
    parsed = _parse("tag:a,b tag:c,d")
    assert parsed.filters.facets == (FacetFilter("tag", "any", ("a", "b", "c", "d")),)
    assert [notice.code for notice in parsed.notices] == ["tags_joined"]


def test_every_token_has_its_role() -> None:
    text = '-tag:a foo "b c" ba* -no (x OR y) AND'
    found = [(text[token.start : token.end], token.role) for token in _parse(text).tokens]
    assert found == [
        ("-tag:", "filter_key"), ("a", "filter_value"), ("foo", "word"), ('"b c"', "phrase"),
        ("ba*", "prefix"), ("-no", "negation"), ("(", "operator"), ("x", "word"), ("OR", "operator"),
        ("y", "word"), (")", "operator"), ("AND", "operator"),
    ]  # fmt: skip


def test_a_chip_can_be_taken_out_of_the_text() -> None:
    text = 'git tag:"a b" install  lang:xx -path:old'
    parsed = _parse(text)
    assert [chip.label for chip in parsed.chips] == ['tag:"a b"', "-path:old"]
    assert remove_chip(text, parsed.chips[0]) == "git install  lang:xx -path:old"
    assert remove_chip(text, parsed.chips[1]) == 'git tag:"a b" install  lang:xx'


def test_filters_of_flags_and_of_the_text_add_up() -> None:
    a, both, without = (
        FacetFilter("tag", "all", ("a",)),
        FacetFilter("tag", "all", ("a", "b")),
        FacetFilter("tag", "none", ("x",)),
    )
    flags = SearchFilters((a,), types=("code",), trust_min=Trust.SECONDARY, after_ns=5, before_ns=9)
    typed = SearchFilters((without, both), types=("note",), trust_min=Trust.PRIMARY, after_ns=3, before_ns=8)
    assert merge(flags, typed) == SearchFilters(
        (both, without), types=("code", "note"), trust_min=Trust.PRIMARY, after_ns=5, before_ns=8
    )
    assert merge(flags, SearchFilters()) == flags == merge(SearchFilters(), flags)


def test_a_long_query_is_cut_and_says_so() -> None:
    parsed = _parse(" ".join(f"w{i}" for i in range(10_000)))
    assert isinstance(parsed.terms, All)
    assert len(parsed.terms.parts) == MAX_WORDS
    assert {notice.code for notice in parsed.notices} == {"query_cut"}


def test_thirty_two_words_are_not_cut() -> None:
    assert _parse(" ".join(f"w{i}" for i in range(MAX_WORDS))).notices == ()


_HOSTILE = [
    "a" * 100_000,
    '"' * 100_000,
    "(" * 100_000,
    "()" * 50_000,
    "a " * 50_000,
    "tag:a " * 17_000,
    "-" * 100_000,
    "한a" * 50_000,
    "a." * 50_000,
    "a OR " * 20_000,
    "tag:" * 25_000,
    'tag:"' * 20_000,
    " " * 100_000 + "x",
    "NOT " * 25_000,
    "\ud800" * 100_000,
    "path:" + "*" * 99_000,
    "x:" * 50_000,
]


@pytest.mark.parametrize("text", _HOSTILE, ids=range(len(_HOSTILE)))
def test_hostile_text_is_parsed_within_a_frame_or_two(text: str) -> None:
    assert cpu_seconds(lambda: _parse(text)) < 0.5


def test_a_pasted_megabyte_is_fine() -> None:
    assert cpu_seconds(lambda: _parse("lorem ipsum " * 90_000)) < 2


_ATOMS = st.sampled_from(
    [
        "AND",
        "OR",
        "NOT",
        "(",
        ")",
        '"',
        "*",
        "-",
        " ",
        ":",
        "'",
        "tag:",
        "path:",
        "after:",
        "충돌",
        "C++",
        "a",
        "\0",
        "\ud800",
        "🙂",
        "e\u0301",
        ",",
        "[",
        "\\",
    ]
)


@given(st.one_of(st.text(), st.lists(_ATOMS, max_size=20).map("".join)))
def test_any_text_parses_and_its_tokens_lie_in_order(text: str) -> None:
    parsed = _parse(text)
    at = 0
    for token in parsed.tokens:
        assert at <= token.start < token.end <= len(text)
        at = token.end
    for chip in parsed.chips:
        assert chip.label == text[chip.start : chip.end].replace("\0", " ").replace("\ud800", " ")


def test_one_text_is_read_once_however_often_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A letter is parsed by the query box, by two searches and for the highlights."""
    read: list[str] = []

    def counted(text: str) -> Iterator[Piece]:
        read.append(text)
        return pieces(text)

    monkeypatch.setattr("kebab_tui.search.query_language.pieces", counted)
    text = "after:1d some text that no other test parses"
    first, later = (parse(text, _NOW + timedelta(hours=n)) for n in (0, 3))
    assert read == [text]
    assert replace(later, filters=first.filters) == first
    assert (later.filters.after_ns or 0) - (first.filters.after_ns or 0) == 3 * 3600 * 10**9
