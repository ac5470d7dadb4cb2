"""Korean by a share of Hangul, English otherwise, undetermined without letters."""

from __future__ import annotations

import pytest

from kebab_tui.formats.note import language_of
from tests.effort import cpu_seconds


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("러스트의 모든 값에는 주인이 있다.", "ko"),
        ("tokio runtime 에서 task 를 spawn 하면 executor 가 poll 한다", "ko"),
        ("An English note that quotes one word, 소유권, and goes on in English for a while.", "en"),
        ("An English note", "en"),
        ("café crème", "en"),
        ("Привет, мир", "und"),
        ("日本語のテキスト", "und"),
        ("2026-01-01 !!! 42", "und"),
        ("", "und"),
        ("— … ·", "und"),
        ("ㅋㅋㅋ", "ko"),
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", "ko"),
    ],
)
def test_a_text_has_the_language_of_its_letters(text: str, language: str) -> None:
    assert language_of([text]) == language


def test_a_long_text_is_judged_by_a_sample() -> None:
    korean, english = ["한글 문장입니다. "] * 1_000_000, ["x" * 5_000_000]
    assert cpu_seconds(lambda: (language_of(korean), language_of(english))) < 0.5
    assert (language_of(korean), language_of(english)) == ("ko", "en")
