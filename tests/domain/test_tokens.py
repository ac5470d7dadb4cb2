"""Words as the index sees them, against the index itself."""

from __future__ import annotations

import random
import sqlite3
import unicodedata
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.tokens import folded_tokens, plain_words, stem
from tests.effort import sizes

_NOTES = Path(__file__).parents[2] / "fixtures" / "notes"


def _sqlite_tokens(texts: list[str]) -> list[list[str]]:
    with sqlite3.connect(":memory:") as connection:
        connection.execute(
            "CREATE VIRTUAL TABLE t USING fts5(x, tokenize='porter unicode61 remove_diacritics 2')"
        )
        connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, 'instance')")
        connection.executemany("INSERT INTO t(rowid, x) VALUES (?, ?)", enumerate(texts))
        found: list[list[str]] = [[] for _ in texts]
        for row, term in connection.execute("SELECT doc, term FROM v ORDER BY doc, offset"):
            found[row].append(term)
        return found


def _ours(text: str) -> list[str]:
    """The terms that the index should hold."""
    return [stem(word) for word in plain_words(text)]


def test_the_sample_notes_give_exactly_the_terms_of_the_index() -> None:
    texts = [path.read_text("utf-8", "replace") for path in sorted(_NOTES.rglob("*.md"))]
    assert len(texts) > 5
    assert [_ours(text) for text in texts] == _sqlite_tokens(texts)


@given(st.text(st.characters(max_codepoint=0x7F)))
def test_any_ascii_text_gives_exactly_the_terms_of_the_index(text: str) -> None:
    assert [_ours(text)] == _sqlite_tokens([text])


@sizes(10_000, 100_000)
def test_nearly_every_character_is_read_as_the_index_reads_it(size: int) -> None:
    characters = [chr(code) for code in range(1, 0x110000, 0x110000 // size) if not 0xD800 <= code <= 0xDFFF]
    texts = [" ".join(f"q{c}q" for c in characters[at : at + 64]) for at in range(0, len(characters), 64)]
    wrong = sum(
        len(set(mine) ^ set(theirs))
        for mine, theirs in zip(map(_ours, texts), _sqlite_tokens(texts), strict=True)
    )
    assert wrong <= 2 * 0.001 * len(characters)  # each counts twice: once as ours, once as theirs


@sizes(10_000, 50_000)
def test_characters_that_notes_hold_are_read_without_exception(size: int) -> None:
    common = [
        *range(0x20, 0x530), *range(0x1100, 0x1200), *range(0x1E00, 0x2066), *range(0x2070, 0x2700),
        *range(0x3000, 0x3300), *range(0x3400, 0xA000), *range(0xAC00, 0xD7A4), *range(0xE000, 0xFB00),
        *range(0xFF00, 0xFFF0), *range(0x1F000, 0x1FC00),
    ]  # fmt: skip
    later_in_unicode = {0x1E0, 0x1E1, 0x37F, 0x528, 0x52A, 0x52C, 0x52E}
    texts = [f"q{chr(code)}q" for code in common[:: len(common) // size] if code not in later_in_unicode]
    different = [
        text for text, theirs in zip(texts, _sqlite_tokens(texts), strict=True) if _ours(text) != theirs
    ]
    assert different == []


def test_mixed_texts_agree_with_the_index() -> None:
    dice = random.Random(11)
    atoms = """
        café e\u0301te\u0301 충돌은 package를 ÇA ß İs Ⅳ ½ 🙂 🧪 \ue02b 日本 ﬁne _ - \u200b \u0301 running
        1st ÅNGSTRÖM σς Ａｂ
    """.split()  # noqa: SIM905 -- a list of them quoted is unreadable
    atoms += [" ", "\0"]
    texts = ["".join(dice.choice(atoms) for _ in range(8)) for _ in range(3_000)]
    assert [_ours(text) for text in texts] == _sqlite_tokens(texts)


def test_offsets_name_the_word_in_the_given_text() -> None:
    text = "Der Café\u0301 in 서울은 RUNNING"
    assert [text[start:end] for start, end, _ in folded_tokens(text)] == [
        "Der", "Café\u0301", "in", "서울은", "RUNNING",
    ]  # fmt: skip
    assert _ours(text) == ["der", "cafe", "in", "서울은", "run"]


@given(st.text())
def test_offsets_lie_in_order_inside_the_text(text: str) -> None:
    at = 0
    for start, end, term in folded_tokens(text):
        assert at <= start < end <= len(text)
        assert term
        at = end


def test_plain_words_are_folded_but_keep_their_endings() -> None:
    assert plain_words("Organizing the CAFÉS") == ["organizing", "the", "cafes"]
    assert plain_words(unicodedata.normalize("NFD", "CAFÉS")) == ["cafes"]


def test_a_lone_surrogate_ends_a_word() -> None:
    assert plain_words("a\ud800b") == ["a", "b"]
