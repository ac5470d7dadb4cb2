"""Match trees of queries, on a real index."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.tokens import grams
from kebab_tui.search import match_tree
from kebab_tui.search.match import Any, Gram, Match, Word
from kebab_tui.search.match_tree import Expression
from kebab_tui.search.query_language import ParsedQuery, parse
from kebab_tui.storage.sqlite.fts import fts5
from tests.effort import sizes

_NOTES = {
    "conflict": "병합 충돌은 rebase로 푼다",
    "package": "package를 install 하고 Rust로 빌드",
    "backup": "데이터베이스 백업을 매일 한다",
    "backup2": "데이터베이스백업",
    "seoul": "서울특별시의 법은 3월에 바뀐다",
    "cpp": "C++ and node.js installation guide",
    "c": "C 언어와 node config",
    "csharp": "C#은 언어다",
    "goyang": "고양시청에 간다",
    "cat": "고양이를 키운다",
    "organ": "The organization of self-hosted servers, foo_bar",
    "user": "users of git",
    "github": "github github github",
}


def _parse(text: str) -> ParsedQuery:
    return parse(text, datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture(scope="module")
def index() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE f USING fts5("
        "chunk_id UNINDEXED, doc_id UNINDEXED, heading_path, text, title, grams,"
        " tokenize='porter unicode61 remove_diacritics 2')"
    )
    for name, text in _NOTES.items():
        connection.execute("INSERT INTO f VALUES (?, '', '', ?, '', ?)", (name, text, grams(text)))
    yield connection
    connection.close()


def _run(index: sqlite3.Connection, match: Match) -> list[str]:
    sql = "SELECT chunk_id FROM f WHERE f MATCH ? ORDER BY bm25(f), rowid"
    return [name for (name,) in index.execute(sql, (fts5(match),))]


def _found(index: sqlite3.Connection, wanted: Expression | None) -> list[str]:
    assert wanted is not None
    out = {name for match in wanted.excluded for name in _run(index, match)}
    return [name for name in _run(index, wanted.match) if name not in out]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("충돌", {"conflict"}),
        ("충돌을", {"conflict"}),
        ("특별", {"seoul"}),
        ("특별시", {"seoul"}),
        ("법", {"seoul"}),
        ("package", {"package"}),
        ("package를", {"package"}),
        ("Rust", {"package"}),
        ("rust에서", {"package"}),
        ("3월", {"seoul"}),
        ("데이터베이스 백업", {"backup", "backup2"}),
        ("데이터베이스백업", {"backup", "backup2"}),
        ('"데이터베이스 백업"', {"backup"}),
        ('"package를 install"', {"package"}),
        ("C++", {"cpp"}),
        ("c++은", {"cpp"}),
        ("C#", {"csharp"}),
        ("node.js", {"cpp"}),
        ('"node config"', {"c"}),
        ("organizing", {"organ"}),
        ("self-hosted", {"organ"}),
        ("foo_bar", {"organ"}),
        ("inst*", {"package", "cpp"}),
        ("충돌 OR 백업", {"conflict", "backup", "backup2"}),
        ("언어 -C#", {"c"}),
        ("언어 NOT node", {"csharp"}),
        ("(백업 OR 충돌) -매일", {"conflict", "backup2"}),
        ("(언어 -node) OR git", {"csharp", "user"}),
        ("install 백업", set()),
    ],
)
def test_the_strict_question_finds(index: sqlite3.Connection, text: str, names: set[str]) -> None:
    assert set(_found(index, match_tree.strict(_parse(text)))) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("install 백업", {"package", "cpp", "backup", "backup2"}),
        ("how to install the 충돌", {"package", "cpp", "conflict"}),
        ("install 백업 -node", {"package", "backup", "backup2"}),
        ("the of", {"organ", "user"}),
        ('"node config" 충돌', {"c", "conflict"}),
    ],
)
def test_the_relaxed_question_finds(index: sqlite3.Connection, text: str, names: set[str]) -> None:
    assert set(_found(index, match_tree.relaxed(_parse(text)))) == names


def test_a_word_that_only_looks_like_an_inflected_one_still_ranks_first(index: sqlite3.Connection) -> None:
    assert _found(index, match_tree.strict(_parse("고양이"))) == ["cat", "goyang"]


def test_excluding_a_word_excludes_that_word_only(index: sqlite3.Connection) -> None:
    assert _found(index, match_tree.strict(_parse("고양 -고양이"))) == ["goyang"]


@pytest.mark.parametrize("text", ["-git", "", "tag:a", "😀", '-"a b"', "'raw'"])
def test_a_query_without_search_words_has_no_expression(text: str) -> None:
    assert match_tree.strict(_parse(text)) is None
    assert match_tree.relaxed(_parse(text)) is None


def test_the_unfinished_word_is_the_open_one_at_the_end() -> None:
    assert match_tree.unfinished_word(_parse("git Insta")) == "insta"
    assert match_tree.unfinished_word(_parse("node.js")) == "js"
    assert match_tree.unfinished_word(_parse('"git insta')) == "insta"
    assert match_tree.unfinished_word(_parse("한글pack")) == "pack"


@pytest.mark.parametrize(
    "text", ["git insta ", "git i", "git -insta", "충돌", '"git insta"', "C++", "insta*", ""]
)
def test_a_closed_short_or_korean_word_is_not_unfinished(text: str) -> None:
    assert match_tree.unfinished_word(_parse(text)) is None


def test_every_beginning_of_a_word_finds_it_while_it_is_typed(index: sqlite3.Connection) -> None:
    for length in range(2, len("installation")):
        typed = _parse("installation"[:length])
        assert "cpp" in _found(index, match_tree.strict(typed, unfinished=["installation"]))


@pytest.mark.parametrize("text", ["git", "git*"])
def test_a_beginning_counts_once(text: str) -> None:
    wanted = match_tree.strict(_parse(text), unfinished=[])
    assert wanted is not None
    assert [phrase.label for phrase in wanted.phrases] == ["git*"]


@pytest.mark.parametrize(
    ("text", "finished"),
    [("git merge", Word("merge")), ("git ", None), ("git -merge", None), ("a 충돌", Gram("충돌"))],
)
def test_the_open_end_of_a_text_is_its_last_word(text: str, finished: Match | None) -> None:
    assert match_tree.open_end(_parse(text)) == finished


def test_a_first_answer_asks_for_whole_words_only() -> None:
    wanted = match_tree.strict(_parse("use"), instead=["user", "users"])
    assert wanted is not None
    assert [phrase.label for phrase in wanted.phrases] == ["use", "user"]
    assert wanted.match == Any((Word("use"), Word("user")))


def test_a_relaxed_question_can_have_an_unfinished_word_too(index: sqlite3.Connection) -> None:
    wanted = match_tree.relaxed(_parse("충돌 installa"), unfinished=["installation"])
    assert set(_found(index, wanted)) == {"conflict", "package", "cpp"}


def test_a_starred_word_finds_words_with_another_stem(index: sqlite3.Connection) -> None:
    parsed = _parse("organiz*")
    assert match_tree.starred_words(parsed) == ("organiz",)
    assert _found(index, match_tree.strict(parsed)) == []
    assert _found(index, match_tree.strict(parsed, starred={"organiz": ["organization"]})) == ["organ"]


def test_the_same_word_twice_counts_once() -> None:
    assert match_tree.strict(_parse("git git Git ")) == match_tree.strict(_parse("git "))


def test_a_particle_behind_a_latin_word_is_dropped() -> None:
    wanted = match_tree.strict(_parse("Rust로 "))
    assert wanted is not None
    assert wanted.match == Word("rust")


def test_the_parts_of_the_score_add_up(index: sqlite3.Connection) -> None:
    """bm25 is linear in the phrases: each alone gives its share of the whole."""
    wanted = match_tree.strict(_parse("데이터베이스백업을 OR (언어 -node) OR installing OR C++"))
    assert wanted is not None
    for name in _run(index, wanted.match):
        whole = _bm25(index, wanted.match, name)
        shares = [_bm25(index, phrase, name) for phrase in wanted.phrases]
        assert sum(shares) == pytest.approx(whole, abs=1e-9)


def _bm25(index: sqlite3.Connection, match: Match, name: str) -> float:
    sql = "SELECT bm25(f) FROM f WHERE f MATCH ? AND chunk_id = ?"
    rows = index.execute(sql, (fts5(match), name)).fetchall()
    return float(rows[0][0]) if rows else 0.0


def _ask_everything(index: sqlite3.Connection, text: str) -> None:
    parsed = _parse(text)
    typed = [
        match_tree.strict(parsed, unfinished=["installation", 'a"b']),
        match_tree.strict(parsed, instead=["git"]),
    ]
    for wanted in (match_tree.strict(parsed), match_tree.relaxed(parsed), *typed):
        for match in (wanted.match, *wanted.excluded) if wanted else ():
            _run(index, match)
    for phrase in typed[0].phrases if typed[0] else ():
        _run(index, phrase)


_ATOMS = [
    "AND",
    "OR",
    "NOT",
    "(",
    ")",
    '"',
    "*",
    "-",
    " ",
    " ",
    ":",
    "'",
    "tag:",
    "path:",
    "충돌",
    "법",
    "C++",
    "C#",
    "a",
    "foo",
    "Rust로",
    "3월",
    "\0",
    "\ud800",
    "🙂",
    "e\u0301",
    "데이터베이스백업",
    "+",
    "#",
    "^",
    "{",
    "}",
    "NEAR",
    ".",
    "/",
    "\\",
    ",",
    "<",
    "|",
    "~",
    "a" * 70,
    "한a글b",
    "\u1100\u1161",
    "title:",
    "ﬁ",
    "İ",
    "ß",
    "１",
    "\ue02b",
    "grams :",
    "\u3099",
    "𠮷",
    "--",
    "''",
]


@sizes(1_000, 10_000)
def test_odd_queries_by_the_thousand_raise_nothing(index: sqlite3.Connection, size: int) -> None:
    dice = random.Random(5)
    for _ in range(size):
        _ask_everything(index, "".join(dice.choice(_ATOMS) for _ in range(dice.randint(0, 14))))


@given(text=st.text())
def test_no_text_at_all_raises_anything(index: sqlite3.Connection, text: str) -> None:
    _ask_everything(index, text)


@pytest.mark.parametrize(
    "text", ["한a글b" * 2_000, "가" * 8_000, "a.b-" * 2_000, "데이터베이스백업 " * 900, "C++" * 2_000]
)
def test_a_paste_makes_an_expression_of_bounded_size(index: sqlite3.Connection, text: str) -> None:
    wanted = match_tree.strict(_parse(text))
    assert wanted is not None
    assert len(fts5(wanted.match)) < 10_000
    _run(index, wanted.match)


@pytest.mark.parametrize(
    ("text", "asked_for"),
    [
        ("the quokka instance", Word("quokka")),
        ("the instance of a service", Any((Word("instance"), Word("service")))),
        ("to the", Any((Word("to"), Word("the")))),
    ],
)
def test_words_that_tell_little_are_left_aside_as_long_as_others_are_there(
    text: str, asked_for: Match
) -> None:
    loose = match_tree.relaxed(_parse(text), common={"instance", "service", "the"})

    assert loose is not None and loose.match == asked_for
