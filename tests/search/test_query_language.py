"""The query language: every text is parsed; a filter without a valid value is the error of its query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.document import Trust
from kebab_tui.domain.errors import UnfinishedFilterError
from kebab_tui.domain.query import FacetFilter, SearchFilters
from kebab_tui.search.filter_keys import FILTER_KEYS
from kebab_tui.search.lexer import Piece, pieces
from kebab_tui.search.query_language import (
    MAX_WORDS,
    And,
    Excluded,
    Leaf,
    Node,
    Or,
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
        case And():
            return ("all", *map(_shape, node.parts))
        case Or():
            return ("any", *map(_shape, node.parts))
        case Excluded():
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
    assert _parse('say "hello wor').terms == And(
        (Leaf("say", "word"), Leaf("hello wor", "phrase", open=True))
    )


def test_only_the_end_of_the_text_is_open() -> None:
    assert _parse("git inst").terms == And((Leaf("git", "word"), Leaf("inst", "word", open=True)))
    assert _parse("git inst ").terms == And((Leaf("git", "word"), Leaf("inst", "word")))
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


@pytest.mark.parametrize("key", FILTER_KEYS)
def test_keys_are_the_same_in_capitals(key: str) -> None:
    value = {
        "lang": "ko",
        "kind": "code",
        "type": "note",
        "trust": "primary",
        "task": "open",
        "has": "links",
    }.get(key, "2026")
    small = _parse(f"git {key}:{value}")
    assert small.filters.active
    for other in (key.upper(), key.title()):
        parsed = _parse(f"git {other}:{value}")
        assert replace(parsed, chips=()) == replace(small, chips=())
        assert [chip.label for chip in parsed.chips] == [f"{other}:{value}"]
        assert _parse(f"-{other}:{value}").filters == _parse(f"-{key}:{value}").filters


def test_a_letter_that_only_folds_to_one_of_a_key_is_text() -> None:
    assert _shape(_parse("ın:work").terms) == "ın:work"


@pytest.mark.parametrize(
    "text", ["tag:", "git tag:", "path: ", 'tag:"', "tag:,", "-tag:", "tag:#", "title: x"]
)
def test_a_filter_without_a_value_is_an_error(text: str) -> None:
    parsed = _parse(text)
    assert parsed.error is not None
    assert parsed.error.hint
    assert not parsed.filters.active


@pytest.mark.parametrize(
    ("text", "expects"), [("git tag:", "a tag"), ("after:", "a date"), ("-path:", "a path")]
)
def test_while_it_is_typed_a_missing_value_is_only_named(text: str, expects: str) -> None:
    parsed = parse(text, _NOW, typing=True)
    assert parsed.error is None
    assert [notice.code for notice in parsed.notices] == ["unfinished_filter"]
    assert expects in parsed.notices[0].text


@pytest.mark.parametrize(
    "text",
    ["after:2", "after:20", "after:2026-", "after:2026-0", "after:2026-01-", "after:7", "after:yest",
     "type:no", "TYPE:NO", "type:note,co", "lang:k", "trust:>=pri", "path:a[b", "-path:a[", "tag:#"],
)  # fmt: skip
def test_a_value_that_can_become_valid_is_unfinished_while_it_is_typed(text: str) -> None:
    assert isinstance(parse(f"git {text}", _NOW, typing=True).error, UnfinishedFilterError)
    for finished in (_parse(f"git {text}"), parse(f"git {text} x", _NOW, typing=True)):
        assert finished.error is not None
        assert finished.error.code == "bad_filter"


@pytest.mark.parametrize(
    "text",
    ["after:lastweek", "after:2026-13", "type:foo", "type:foo,no", 'type:"no"', "-type:", "-lang:k",
     "path:../a"],
)  # fmt: skip
def test_a_value_that_cannot_become_valid_is_an_error_while_it_is_typed(text: str) -> None:
    error = parse(f"git {text}", _NOW, typing=True).error
    assert error is not None
    assert error.code == "bad_filter"


@pytest.mark.parametrize(
    ("text", "named", "hint"),
    [
        ("lang:xx", "ko, en, und", "double quotes"),
        ("type:nte", "markdown, note", "type:note?"),
        ("type:md", "markdown, note", "type:markdown?"),
        ("type:info", "markdown, note", "kind:info?"),
        ("kind:markdown", "info, code", "type:markdown?"),
        ("trust:much", "generated, secondary, primary", "double quotes"),
        ("trust:high", "generated, secondary, primary", "trust:primary?"),
        ("after:soon", "2026-01-31", "double quotes"),
        ("after:lastweek", "2026-01-31", "after:7d?"),
        ("after:yesterdy", "2026-01-31", "after:yesterday?"),
        ("before:2026/3/4", "2026-01-31", "before:2026-3-4?"),
        ("after:2026-13-99", "2026-01-31", "double quotes"),
        ("after:0000", "2026-01-31", "double quotes"),
        ("path:a[b", "never closed", "double quotes"),
        ("-path:a[b", "never closed", "double quotes"),
        (
            "-lang:ko",
            "only tag:, name:, prop:, task:, links:, linkedby:, has: and path:",
            "leave out the minus",
        ),
    ],
)
def test_a_bad_value_is_an_error_with_what_to_do(text: str, named: str, hint: str) -> None:
    parsed = _parse(f"git {text} tag:a")
    assert parsed.error is not None
    assert parsed.error.code == "bad_filter"
    assert text in parsed.error.message and named in parsed.error.message
    assert hint in parsed.error.hint
    assert [chip.label for chip in parsed.chips] == ["tag:a"]


def test_an_error_comes_before_an_unfinished_value() -> None:
    error = parse("type:no lang:xx type:no", _NOW, typing=True).error
    assert error is not None
    assert "type:no" in error.message and error.code == "bad_filter"


@pytest.mark.parametrize(
    ("text", "meant"), [("tga:x", "tag:"), ("pth:x", "path:"), ("file:x", "path:"), ("langs:ko", "lang:")]
)
def test_a_mistyped_key_is_searched_and_named(text: str, meant: str) -> None:
    parsed = _parse(text)
    assert parsed.terms == Leaf(text, "word", open=True)
    assert [notice.code for notice in parsed.notices] == ["unknown_key"]
    assert meant in parsed.notices[0].text
    assert [token.role for token in parsed.tokens] == ["unknown_key", "word"]


@pytest.mark.parametrize("text", ["foo:x", "zotero:a b", 'foo:"a b"', "Foo:bar", "-node:fs", "foo:한글"])
def test_an_unknown_key_without_a_near_one_is_named_with_all_keys(text: str) -> None:
    parsed = _parse(f"{text} git")
    (notice,) = parsed.notices
    assert notice.code == "unknown_key"
    assert all(f"{key}:" in notice.text for key in FILTER_KEYS)
    assert "unknown_key" not in {token.role for token in parsed.tokens}, "it is searched, so it is no mistake"


@pytest.mark.parametrize(
    "text",
    ["note: buy milk", "error: foo", "TODO: x", "TODO:x", "12:30", "http://x.org", "mailto:a@b.c",
     "localhost:8080", "redis:6379", "std::vector", "C:\\x", "README:L12", "a.md:L1-L9", "Makefile:L3",
     "someClass:method", "urn:a:b", "arn:aws:s3", "한글:값", "한글tag:값", '"prop:x"', "'prop:x'",
     "x:y", "foo:", "foo:-1"],
)  # fmt: skip
def test_a_colon_in_ordinary_text_is_not_named(text: str) -> None:
    assert _parse(f"{text} git").notices == ()


def test_an_unknown_key_is_named_once_and_only_while_its_word_is_typed_if_it_is_like_another() -> None:
    assert parse("git prop:x", _NOW, typing=True).notices == ()
    assert len(parse("git tga:x", _NOW, typing=True).notices) == 1
    assert len(parse("tga:x tga:x git", _NOW, typing=True).notices) == 1


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
    assert isinstance(parsed.terms, And)
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
    " ".join(f"{a}{b}{c}ped:x" for a in "abcdefgh" for b in "abcdefgh" for c in "abcdefgh"),
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
