"""Raw queries as match trees; tests/storage/test_fts.py compares them with FTS5."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.search.match import (
    All,
    Any,
    Gram,
    Match,
    Not,
    Phrase,
    Prefix,
    Raw,
    Word,
    parse_raw,
    terms,
)

A, B, C = Word("a"), Word("b"), Word("c")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("a", A),
        ("a b", All((A, B))),
        ('"a b"', Phrase("a b")),
        ('"say ""a"""', Phrase('say "a"')),
        ("a_b", Phrase("a_b")),
        ("a*", Prefix("a")),
        ('"a b" *', Prefix("a b")),
        ("a OR b AND c", Any((A, All((B, C))))),
        ("(a OR b) AND c", All((Any((A, B)), C))),
        ("a NOT b AND c", All((Not(A, B), C))),
        ("a b NOT c", Not(All((A, B)), C)),
        ("a NOT b NOT c", Not(Not(A, B), C)),
        ("title : a b", All((Word("a", ("title",)), B))),
        ("{title text}: a", Word("a", ("title", "text"))),
        ("title:(a NOT b*)", Not(Word("a", ("title",)), Prefix("b", ("title",)))),
        ("and or", All((Word("and"), Word("or")))),
        ('a "!" b', All((A, B))),
        ('a AND "!"', All((A, Phrase("!")))),
    ],
)
def test_a_raw_query_becomes_a_tree(text: str, match: Match) -> None:
    assert parse_raw(text) == match


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        ("NEAR(a b, 3) OR c", "NEAR"),
        ("c AND ^a", "^"),
        ("title : ^a", "^"),
        ("a + b", "+"),
        ("a* + b", "+"),
        ("-title : a", "-"),
        ("title : (text : a)", ":"),
        ("(" * 20 + "a" + ")" * 20, "("),
        (" NOT ".join("abcdefghijklmnopqrst"), "NOT"),
    ],
)
def test_an_operator_without_a_tree_is_named(text: str, operator: str) -> None:
    assert parse_raw(text) == Raw(text, operator)


@pytest.mark.parametrize(
    "text", ["", "AND", "a AND", '"a', "(a", "a)", "(a) b", "near(a b)", "*", "a.b", "{} : a", "a : ", "a, b"]
)
def test_an_invalid_raw_query_stays_text(text: str) -> None:
    assert parse_raw(text) == Raw(text, "")


@given(st.text() | st.text(alphabet='ab"(){}:+-*^ ', max_size=30))
def test_no_raw_query_raises(text: str) -> None:
    parse_raw(text)


def test_the_terms_of_a_tree_are_those_it_wants() -> None:
    gram = Gram("충돌", parts=("충돌",))
    assert terms(All((A, Not(Any((B, gram)), C), A))) == (A, B, gram, A)
    assert terms(Raw("^a", "^")) == ()


def test_labels_show_a_term_as_it_was_typed() -> None:
    shown = (A, Phrase("a b"), Prefix("a b"), Gram("고양 양이", parts=("고양이",)))
    assert [term.label for term in shown] == ["a", "a b", "a b*", "고양이"]
