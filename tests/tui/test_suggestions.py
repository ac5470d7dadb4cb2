"""What each part of a query costs: the shorter queries, and which of them to offer first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.tui.suggestions import MOST_SUGGESTIONS, Suggestion, ordered, shorter
from kebab_tui.workspace import Workspace


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("rust tag:a", {"tag:a": "rust", "rust": "tag:a"}),
        ("rust  cargo", {"rust": "cargo", "cargo": "rust"}),
        ('"two words" x', {'"two words"': "x", "x": '"two words"'}),
        ("rust -old", {"rust": "-old", "-old": "rust"}),
        ("한국어 path:요리/**", {"path:요리/**": "한국어", "한국어": "path:요리/**"}),
        ("rust", {}),
        ("", {}),
        ("'raw AND'", {}),
    ],
)
def test_the_query_without_each_of_its_parts(text: str, without: dict[str, str]) -> None:
    assert {cost.part: cost.text for cost in shorter(text, Workspace.parse(text))} == without


@given(st.text('ab "-:*()tagpath, 설', max_size=60))
def test_shorter_queries_are_shorter_and_few(text: str) -> None:
    made = shorter(text, Workspace.parse(text))
    assert len(made) <= MOST_SUGGESTIONS
    assert all(0 < len(cost.text) <= len(text) for cost in made)


def test_corrections_come_before_filters_and_words_and_useless_ones_are_omitted() -> None:
    word, small, large, corrected, useless = (
        Suggestion("without word", "a", "x", 90),
        Suggestion("without filter", "tag:a", "x", 2),
        Suggestion("without filter", "lang:ko", "x", 7),
        Suggestion("instead", "rust", "x", 1),
        Suggestion("instead", "b", "x", 0),
    )
    assert ordered([word, small, useless, large, corrected]) == (corrected, large, small, word)
