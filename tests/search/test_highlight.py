"""Highlights mark what the index matched, at offsets of the text as given."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.search import match_tree
from kebab_tui.search.match import Term
from kebab_tui.search.query_language import parse
from kebab_tui.search.snippet import highlight


def _phrases(text: str) -> tuple[Term, ...]:
    wanted = match_tree.strict(parse(text, datetime(2026, 1, 1, tzinfo=UTC)))
    return wanted.phrases if wanted else ()


def _marked(query: str, text: str) -> list[str]:
    return [text[start:end] for start, end in highlight(text, _phrases(query))]


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("git", "Git, git and github", ["Git", "git"]),
        ("organizing", "the organization organizes organs", ["organization", "organizes", "organs"]),
        ("inst*", "install an instance", ["install", "instance"]),
        ("cafe", "le Café", ["Café"]),
        ("충돌", "충돌은 또 재충돌이다", ["충돌", "충돌"]),
        ("충돌을", "충돌은", ["충돌"]),
        ("법", "법은 방법", ["법", "법"]),
        ("package", "package를 설치", ["package"]),
        ("3월", "3월에, 13월", ["3월"]),
        ("데이터베이스백업", "데이터베이스 백업을 한다", ["데이터베이스 백업"]),
        ("C++", "C++은 C가 아니다. c++17", ["C++", "c++"]),
        ("C#", "C#은 page#part", ["C#"]),
        ('"git install"', "git install, install git", ["git install"]),
        ('"git install"', "git and install", []),
        ("node.js", "node.js node js x", ["node.js", "node js"]),
        ('"데이터베이스 백업"', "데이터베이스 백업을, 백업 데이터베이스", ["데이터베이스 백업"]),
        ("git -svn", "git svn", ["git"]),
        ("user name", "getUserName of user_name", ["User", "Name", "user", "name"]),
        ('"user name"', "getUserName of user_name", ["UserName", "user_name"]),
        ("userName", "getUserName, userName, username", ["UserName", "userName", "username"]),
        ("server*", "HTTPServerErrors", ["Server"]),
        ('"name set"', "userName setName", []),
        ("java", "JavaScript", []),
        ("a b", "", []),
    ],
)
def test_a_query_marks(query: str, text: str, marked: list[str]) -> None:
    assert _marked(query, text) == marked


def test_offsets_refer_to_decomposed_text_as_given() -> None:
    text = unicodedata.normalize("NFD", "é 서울특별시 충돌은 끝")
    marked = _marked("특별 충돌", text)
    assert [unicodedata.normalize("NFC", part) for part in marked] == ["특별", "충돌"]


def test_overlapping_matches_are_marked_once() -> None:
    assert highlight("충돌은", _phrases("충돌은")) == ((0, 3),)


_QUERIES = st.sampled_from(["git", "inst*", "충돌을", "법", "C++ C#", '"a b"', "3월 데이터베이스백업"])


@given(
    _QUERIES,
    st.one_of(
        st.text(),
        st.lists(st.sampled_from(["git ", "충돌", "법", "a b ", "C++", "\u0301", "ᄎ", "ᅮ", "ᆼ", "é"])).map(
            "".join
        ),
    ),
)
def test_highlights_lie_in_order_and_do_not_overlap(query: str, text: str) -> None:
    at = 0
    for start, end in highlight(text, _phrases(query)):
        assert at <= start < end <= len(text)
        at = end
