"""Which badges a hit carries, and in which order."""

from __future__ import annotations

from typing import Any

import pytest

from kebab_tui.domain.hit import RetrievalDetail, badges
from tests.tui.hits import hit

WORDS = RetrievalDetail("hybrid", lexical_rank=1)
MEANING = RetrievalDetail("hybrid", vector_rank=1)
KOREAN = {"text": "러스트 작업공간", "snippet": "러스트"}


@pytest.mark.parametrize(
    ("facts", "korean", "expected"),
    [
        ({}, None, ["both"]),
        ({"retrieval": WORDS}, None, ["words"]),
        ({"retrieval": MEANING}, None, ["meaning"]),
        ({"retrieval": RetrievalDetail("lexical", lexical_rank=1)}, False, []),
        (KOREAN, False, ["other language", "both"]),
        (KOREAN, True, ["both"]),
        (KOREAN, None, ["both"]),
        ({**KOREAN, "retrieval": WORDS}, False, ["words"]),
        ({"stale": True, "gone": True}, None, ["gone", "both"]),
        ({"score_kind": "name"}, None, ["name"]),
        ({"retrieval": RetrievalDetail("hybrid")}, None, ["name"]),
        ({"distant": True, "retrieval": MEANING}, None, ["distant", "meaning"]),
        (
            {**KOREAN, "stale": True, "relaxed": True, "kind": "code", "retrieval": MEANING},
            False,
            ["stale", "relaxed", "other language", "code", "meaning"],
        ),
    ],
)
def test_badges_tell_the_weightiest_first_and_how_the_hit_was_found_last(
    facts: dict[str, Any], korean: bool | None, expected: list[str]
) -> None:
    facts = dict(facts)
    facts["snippet"] = facts.pop("text", "A Rust workspace")
    assert list(badges(hit(**facts), korean)) == expected
