"""The stemmer against SQLite's own."""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.tokens import stem
from tests.effort import sizes

_NOTES = Path(__file__).parents[2] / "fixtures" / "notes"
_ENDINGS = """
    ational tional enci anci izer logi bli alli entli eli ousli ization ation ator alism iveness fulness
    ousness aliti iviti biliti ical ness icate iciti ful ative alize al ance ence er ic able ible ant ement
    ment ent ion ou ism ate iti ous ive ize ed ing eed s es sses ies y ll e ss ly ying
""".split()  # noqa: SIM905 -- sixty endings read better as one text


def _sqlite_stems(words: Iterable[str]) -> dict[str, str]:
    given_words = [word for word in dict.fromkeys(words) if word]
    with sqlite3.connect(":memory:") as connection:
        connection.execute(
            "CREATE VIRTUAL TABLE t USING fts5(x, tokenize='porter unicode61 remove_diacritics 0')"
        )
        connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, 'instance')")
        connection.executemany("INSERT INTO t(rowid, x) VALUES (?, ?)", enumerate(given_words))
        return {given_words[row]: term for term, row in connection.execute("SELECT term, doc FROM v")}


def _made_up(count: int, letters: str) -> list[str]:
    dice = random.Random(7)
    return [
        "".join(dice.choice(letters) for _ in range(dice.randint(0, 6)))
        + "".join(dice.choice(_ENDINGS) for _ in range(dice.randint(1, 3)))
        for _ in range(count)
    ]


def _differences(words: Iterable[str]) -> dict[str, tuple[str, str]]:
    expected = _sqlite_stems(words)
    return {word: (stem(word), term) for word, term in expected.items() if stem(word) != term}


def test_every_word_of_the_sample_notes_has_sqlites_stem() -> None:
    text = "\n".join(path.read_text("utf-8", "replace") for path in _NOTES.rglob("*.md"))
    words = set(re.findall(r"[a-z0-9]+", text.lower()))
    assert len(words) > 200
    assert _differences(words) == {}


@sizes(4_000, 40_000)
def test_made_up_words_by_the_thousand_have_sqlites_stem(size: int) -> None:
    assert _differences(_made_up(size, "aeiouybstlwxzngdh")) == {}


def test_letters_outside_ascii_count_byte_by_byte() -> None:
    assert _differences(_made_up(5_000, "aetl각ñ글é")) == {}


@given(st.lists(st.from_regex(r"[a-z0-9]{1,70}", fullmatch=True), min_size=1, max_size=20))
def test_any_ascii_word_has_sqlites_stem(words: list[str]) -> None:
    assert _differences(words) == {}


def test_very_short_and_very_long_words_are_left_alone() -> None:
    assert stem("as") == "as"
    assert stem("a" * 58 + "running") == "a" * 58 + "running"
    assert stem("a" * 57 + "running") == "a" * 57 + "run"
