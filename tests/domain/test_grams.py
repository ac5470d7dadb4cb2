"""The tokens of the grams column, and how a word matches them."""

from __future__ import annotations

import sqlite3
import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kebab_tui.domain.tokens import gram_phrase, grams, identifiers, marked_token, plain_words
from tests.effort import cpu_seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("충돌은", "충돌 돌은 은"),
        ("법", "법"),
        ("package를", "package 를"),
        ("Rust로 쓴다", "Rust 로 쓴다 다"),
        ("한국어C타입x", "한국 국어 어 C 타입 입 x"),
        ("2026년에", "2026 년에 에"),
        ("東京タワー", "東京 京タ タワ ワー ー"),
        ("café — naïve", ""),
        ("plain words, nothing else", ""),
        ("# Heading\n## Another\npage#part", ""),
        ("", ""),
    ],
)
def test_a_text_becomes_pairs_of_syllables_and_words_of_the_other_script(text: str, expected: str) -> None:
    assert grams(text) == expected


@pytest.mark.parametrize("text", ["C++", "c++17", "(C++)", "한글 C++은 빠르다", "objective-C++"])
def test_names_with_marks_keep_them(text: str) -> None:
    assert marked_token("C++") in grams(text).split()


def test_a_sharp_counts_only_at_the_end_of_a_name() -> None:
    assert marked_token("C#") in grams("C#은 언어다").split()
    assert marked_token("f#") in grams("F# and C#").split()
    assert grams("see page#part and a#b") == ""


def test_decomposed_text_gives_the_same_grams() -> None:
    text = "서울특별시에서 package를"
    assert grams(unicodedata.normalize("NFD", text)) == grams(text)


def test_a_word_matches_as_the_phrase_of_its_pairs() -> None:
    assert gram_phrase("충돌") == ("충돌",)
    assert gram_phrase("특별시") == ("특별", "별시")
    assert gram_phrase("법") == ("법",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserName", "get User Name"),
        ("HTTPServerError", "HTTP Server Error"),
        ("parseJSON2Html", "parse JSON2 Html"),
        ("sha256Sum 2FAToken OAuth2Client", "sha256 Sum 2FA Token OAuth2 Client"),
        ("a.getUser() and b.getUser()", "get User"),
        ("MAX_userName_1", "user Name"),
        ("이름getUser이름을", "이름 름 getUser 이름 름을 을 get User"),
    ],
)
def test_an_identifier_in_camel_case_has_its_parts_once(text: str, expected: str) -> None:
    assert grams(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "ordinary words, Capitalised Words",
        "ALLCAPS PDFs URLs IDs",
        "iPhone getX PlanB",
        "JavaScript GitHub",
        "dQw4w9WgXcQ",
        "getNamé MyÄnderName",
        "aVeryLong" * 10,
        "snake_case and foo_bar",
    ],
)
def test_other_words_have_no_parts(text: str) -> None:
    assert grams(text) == ""


@given(st.text("aBcD1_é가 ", max_size=90))
def test_the_parts_of_an_identifier_are_the_identifier(text: str) -> None:
    for at, parts in identifiers(text):
        word = "".join(parts)
        assert text.startswith(word, at)
        assert len(parts) > 1
        assert word.lower() in plain_words(word)
        assert [plain_words(part) for part in parts] == [[part.lower()] for part in parts]


@given(st.lists(st.from_regex("[A-Z][a-z]{1,8}", fullmatch=True), min_size=2, max_size=6))
def test_words_joined_in_camel_case_are_found_again(words: list[str]) -> None:
    assume("".join(words).lower() not in {"javascript", "github"})
    assert list(identifiers(f"({''.join(words)})")) == [(1, tuple(words))]


_HANGUL = st.text(st.characters(min_codepoint=0xAC00, max_codepoint=0xAC20), min_size=1, max_size=6)


@given(st.lists(_HANGUL, min_size=1, max_size=5), _HANGUL)
def test_a_word_is_found_exactly_where_its_syllables_stand_in_a_row(words: list[str], wanted: str) -> None:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE VIRTUAL TABLE t USING fts5(g, tokenize='porter unicode61')")
        connection.execute("INSERT INTO t VALUES (?)", (grams(" ".join(words)),))
        match = f'"{" ".join(gram_phrase(wanted))}"' + ("*" if len(wanted) == 1 else "")
        found = connection.execute("SELECT count(*) FROM t WHERE t MATCH ?", (match,)).fetchone()[0]
    assert bool(found) == any(wanted in word for word in words)


@pytest.mark.parametrize(
    "text",
    ["a" * 200_000 + "é", "가a" * 100_000, "a+" * 100_000, "++" * 100_000, "a#" * 100_000]
    + [unit * 200_000 for unit in ("aB", "Ab", "A", "ABCd", "getUser ", "1A", "AAAbb", "aBé")],
)
def test_hostile_text_takes_time_in_proportion(text: str) -> None:
    assert cpu_seconds(lambda: grams(text)) < 3
