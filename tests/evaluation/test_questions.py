"""The language of a query, by its script."""

from __future__ import annotations

import pytest

from kebab_tui.evaluation.golden import QueryLanguage, query_language


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("포트 충돌", "ko"),
        ("cgroup v2에 대하여", "ko"),
        ("CustomResourceDefinition conversion webhook 을", "mixed"),
        ("port conflict", "en"),
        ("2024", "en"),
        ("", "en"),
        ("日本", "en"),
    ],
)
def test_a_query_is_korean_by_a_fair_share_of_hangul(text: str, lang: QueryLanguage) -> None:
    assert query_language(text) == lang
