"""Only words are learned from: markup, accelerators and placeholders go, and unlikely pairs with them."""

from __future__ import annotations

import pytest

from models.build.cleaning import clean, is_pair


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("파일(&F)", "파일"),
        ("저장(_S)...", "저장..."),
        ("&Open File", "Open File"),
        ("_Save as", "Save as"),
        ("Save _as…", "Save as…"),
        ("snake_case_name_of_some_length", "snake_case_name_of_some_length"),
        ("<b>굵게</b> 쓰기", "굵게 쓰기"),
        ("&lt;em&gt;word&lt;/em&gt;", "word"),
        ("%(count)d files in %s", "files in"),
        ("%1$s에서 %2$s(으)로", "에서 로"),
        ("Delete {name}?", "Delete ?"),
        ("Hello {{ user }} and ${other}", "Hello and"),
        ("%PRODUCTNAME 도움말", "도움말"),
        ("100% sure", "100% sure"),
        ("파일을(를) 열 수 없음", "파일을 열 수 없음"),
        ("사용자이(가) 없음", "사용자이 없음"),
        ("first line\\nsecond\tline", "first line second line"),
        ("\u1112\u1161\u11ab", "한"),
    ],
)
def test_what_is_not_a_word_goes(raw: str, cleaned: str) -> None:
    assert clean(raw) == cleaned


@pytest.mark.parametrize(
    ("english", "korean"),
    [
        ("File", "파일"),
        ("Could not open the port", "포트를 열 수 없습니다"),
        ("Run several containers with Docker", "Docker로 컨테이너 여러 개 실행하기"),
    ],
)
def test_translations_are_pairs(english: str, korean: str) -> None:
    assert is_pair(english, korean)


@pytest.mark.parametrize(
    ("english", "korean"),
    [
        ("OK", "확인"),
        ("Port", "포"),
        ("파일 File", "파일"),
        ("Visual Studio Code", "Visual Studio Code 앱"),
        ("A", "아주 긴 설명이 붙은 문장입니다"),
        ("A sentence that goes on and on without an end in sight, and then on", "짧음"),
        ("long " * 200, "길다 " * 100),
    ],
    ids=[
        "too few letters",
        "one syllable",
        "Hangul in the English",
        "mostly Latin",
        "no words",
        "too short",
        "too long",
    ],
)
def test_unlikely_pairs_are_refused(english: str, korean: str) -> None:
    assert not is_pair(english, korean)
