"""The text that a model embeds, the name of its vector, and Hangul."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.text import embedded_hash, embedded_text, is_korean


@pytest.mark.parametrize(
    ("title", "heading_path", "read"),
    [
        ("Ports", "Conflicts > TCP", "Ports > Conflicts > TCP\ntext"),
        ("Ports", "Ports > TCP", "Ports > TCP\ntext"),
        ("Ports", "Ports", "Ports\ntext"),
        ("Ports", "", "Ports\ntext"),
        ("", "Conflicts", "Conflicts\ntext"),
        ("", "", "\ntext"),
        ("C", "C++ > Templates", "C > C++ > Templates\ntext"),
        ("Port", "Portability", "Port > Portability\ntext"),
        ("A > B", "A > B > C", "A > B > C\ntext"),
    ],
)
def test_a_model_reads_title_headings_and_text(title: str, heading_path: str, read: str) -> None:
    assert embedded_text(title, heading_path, "text") == read


@given(st.text(st.characters(exclude_characters="\n")), st.text(), st.text())
def test_a_vector_is_named_by_the_embedded_text_alone(title: str, heading: str, text: str) -> None:
    name = embedded_hash(title, heading, text)
    assert len(name) == 16
    assert name == embedded_hash(title, heading, text)
    assert name != embedded_hash(title, heading, text + "x")
    assert embedded_hash(title, "", text) == embedded_hash("", title, text)
    assert name == embedded_hash(f"{title}\nanother name", heading, text)


def test_half_a_character_has_a_name_too() -> None:
    assert embedded_hash("\ud800", "", "") != embedded_hash("\ud801", "", "")


@pytest.mark.parametrize(
    ("text", "korean"),
    [
        ("충돌", True),
        ("port conflict", False),
        ("docker compose로 서버를 띄운다", True),
        ("kubernetes troubleshooting 법", False),
        ("ㅊㄷ", True),
        ("日本語", False),
        ("café", False),
        ("🙂", False),
        ("", False),
        ("3월 1일", True),
    ],
)
def test_a_text_is_korean_by_its_share_of_hangul(text: str, korean: bool) -> None:
    assert is_korean(text) is korean


@given(st.text(st.sampled_from("충돌은법 port123.é")))
def test_how_syllables_are_spelled_does_not_matter(text: str) -> None:
    assert is_korean(unicodedata.normalize("NFD", text)) == is_korean(unicodedata.normalize("NFC", text))
