from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.embedding.encoder import Span, group_sentences, sentences


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two? Three!", ["One.", "Two?", "Three!"]),
        ("포트가 겹친다. 다른 포트를 쓴다! 왜?", ["포트가 겹친다.", "다른 포트를 쓴다!", "왜?"]),
        ("東京。大阪！", ["東京。", "大阪！"]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("It is (really.) So be it.", ["It is (really.)", "So be it."]),
        ("Version 3.11 of node.js is out.", ["Version 3.11 of node.js is out."]),
        ("See e.g. the docs, i.e. this page. Done.", ["See e.g. the docs, i.e. this page.", "Done."]),
        ("J. Smith wrote to Dr. Kim. Good.", ["J. Smith wrote to Dr. Kim.", "Good."]),
        ("Wait... what", ["Wait...", "what"]),
        ("a\n\nb", ["a", "b"]),
        ("short line\nanother", ["short line", "another"]),
        ("- one\n- two\n* three\n1. four\n2) five", ["one", "two", "three", "four", "five"]),
        ("# Title\nText here.", ["Title", "Text here."]),
        ("> quoted\n> more", ["quoted", "more"]),
        ("---\n***\n|---|---|", []),
        ("", []),
        (" \n\t\n", []),
        ("😀 🎉", []),
    ],
)
def test_where_sentences_end(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


def test_a_wrapped_line_goes_on() -> None:
    wrapped = "This line is long enough to have been wrapped\nby an editor. And this is the next."
    assert cut(wrapped) == [
        "This line is long enough to have been wrapped\nby an editor.",
        "And this is the next.",
    ]


def test_a_long_line_ends_before_a_list() -> None:
    text = "This line is long enough to have been wrapped\n- but an item follows"
    assert cut(text) == ["This line is long enough to have been wrapped", "but an item follows"]


_texts = st.text(st.sampled_from("ab 가나.?!。\n-#>|1()\"'…\t*") | st.characters(), max_size=300)


@given(_texts)
def test_sentences_are_in_order_trimmed_and_within_the_text(text: str) -> None:
    position = 0
    for start, end in sentences(text):
        assert position <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        position = end


@given(_texts)
def test_every_letter_is_inside_a_sentence(text: str) -> None:
    inside = {i for start, end in sentences(text) for i in range(start, end)}
    assert not [text[i] for i in range(len(text)) if i not in inside and text[i].isalpha()]


@given(st.integers(0, 300), st.integers(1, 70))
def test_groups_contain_every_sentence_and_respect_the_maximum(count: int, most: int) -> None:
    found = [Span(2 * i, 2 * i + 1) for i in range(count)]
    groups = group_sentences(found, most)
    assert len(groups) <= most
    covered = [span for span in found if any(g.start <= span.start < span.end <= g.end for g in groups)]
    assert covered == found


def test_a_long_text_is_cut_in_time_that_grows_with_its_length() -> None:
    text = "No end mark here " * 60_000
    assert len(sentences(text)) == 1
    assert len(sentences("a. " * 100_000)) == 1
    assert len(sentences("go. " * 100_000)) == 100_000
