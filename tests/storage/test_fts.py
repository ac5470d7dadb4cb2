"""The text that FTS5 gets for a match tree, compared with FTS5 itself."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.search.match import All, Any, Gram, Match, Not, Phrase, Prefix, Raw, Word, parse_raw
from kebab_tui.storage.sqlite.fts import fts5

WORDS = ("red", "green", "blue", "Blues", "충돌", "x_y", "NEAR", "near", "and")


@pytest.fixture(scope="module")
def index() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE f USING fts5(heading_path, text, title, grams, tokenize='porter unicode61')"
    )
    dice = random.Random(2)
    for _ in range(300):
        fields = (" ".join(dice.choices(WORDS, k=dice.randint(0, 5))) for _ in range(4))
        connection.execute("INSERT INTO f VALUES (?, ?, ?, ?)", tuple(fields))
    yield connection
    connection.close()


def answer(index: sqlite3.Connection, text: str) -> list[tuple[int, float]] | str:
    """The rows with their scores, or the message of the error."""
    try:
        return index.execute(
            "SELECT rowid, bm25(f) FROM f WHERE f MATCH ? ORDER BY rowid", (text,)
        ).fetchall()
    except sqlite3.OperationalError as error:
        return str(error)


@pytest.mark.parametrize(
    ("match", "text"),
    [
        (Word("red"), '"red"'),
        (Phrase("red green"), '"red green"'),
        (Prefix("red gr"), '"red gr" *'),
        (Gram("충돌 돌은"), 'grams : "충돌 돌은"'),
        (Gram("법", prefix=True), 'grams : "법" *'),
        (Word('a"b', ("title", "te xt")), '{"title" "te xt"} : "a""b"'),
        (Any((Word("a"), All((Word("b"), Word("c"))))), '"a" OR "b" AND "c"'),
        (All((Word("a"), Any((Word("b"), Word("c"))))), '"a" AND ("b" OR "c")'),
        (Not(Not(Word("a"), Word("b")), Not(Word("c"), Word("d"))), '"a" NOT "b" NOT ("c" NOT "d")'),
        (Not(All((Word("a"), Word("b"))), Raw("^c", "^")), '("a" AND "b") NOT (^c)'),
    ],
)
def test_a_tree_is_written_with_the_parentheses_it_needs(match: Match, text: str) -> None:
    assert fts5(match) == text


TERMS = st.sampled_from(
    [*WORDS, *(f"{word}*" for word in WORDS), '"red green"', '"green blue" *', '"a ""b"""', '""', '"!"']
)
COLUMNS = st.sampled_from(["text", "title", "TITLE", '"text"', "{text title}", "{grams heading_path text}"])


def phrases(terms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Adjacent terms, some of them in given columns."""
    some = terms | st.tuples(COLUMNS, terms).map(" : ".join)
    return st.lists(some, min_size=1, max_size=3).map(" ".join)


def groups(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    joined = st.tuples(parts, st.sampled_from(["AND", "OR", "NOT"]), parts).map(" ".join)
    group = joined.map(lambda text: f"({text})")
    return joined | group | st.tuples(COLUMNS, group).map(":".join)


SIMPLE = st.recursive(phrases(TERMS), groups, max_leaves=8)
SPECIAL = st.sampled_from(
    ["NEAR(red green)", 'NEAR("red" blue*, 3)', "^red", "text : ^red", "red + green", "- text : red"]
)
ANYTHING = st.lists(
    st.sampled_from([*WORDS, *'"(){}:+-*^,.!', "AND", "OR", "NOT", "NEAR(", "text:", " "]), max_size=9
).map(" ".join)


@given(SIMPLE)
def test_a_raw_query_finds_and_scores_the_same_as_a_tree(index: sqlite3.Connection, text: str) -> None:
    assert isinstance(answer(index, text), list)
    match = parse_raw(text)
    assert answer(index, fts5(match)) == answer(index, text)
    nested = any(f"{column}:(" in text for column in ("text", "title", "TITLE", '"text"', "title}", "text}"))
    assert nested or not isinstance(match, Raw)


@given(st.recursive(phrases(TERMS | SPECIAL), groups, max_leaves=8))
def test_operators_without_a_tree_are_left_to_fts5(index: sqlite3.Connection, text: str) -> None:
    assert answer(index, fts5(parse_raw(text))) == answer(index, text)


@given(ANYTHING | st.text())
def test_an_invalid_raw_query_gets_the_same_error(index: sqlite3.Connection, text: str) -> None:
    clean = text.replace("\0", " ").encode("utf-8", "ignore").decode()
    assert answer(index, fts5(parse_raw(clean))) == answer(index, clean)


@pytest.mark.parametrize("depth", [3, 15, 40, 400])
@pytest.mark.parametrize("group", ["({})", "(red AND {} OR blue)", "(red NOT {})"])
def test_a_deep_raw_query_is_answered_as_by_fts5(index: sqlite3.Connection, depth: int, group: str) -> None:
    text = "green"
    for _ in range(depth):
        text = group.format(text)
    assert answer(index, fts5(parse_raw(text))) == answer(index, text)


@pytest.mark.parametrize("operator", [" ", " AND ", " OR ", " NOT "])
@pytest.mark.parametrize("length", [10, 100, 1_200])
def test_a_long_raw_query_is_answered_as_by_fts5(
    index: sqlite3.Connection, length: int, operator: str
) -> None:
    text = operator.join(["green", *["red"] * length])
    assert answer(index, fts5(parse_raw(text))) == answer(index, text)
