"""Esc goes one rung down the ladder."""

from __future__ import annotations

from itertools import product

import pytest

from kebab_tui.tui.actions import PLACES
from kebab_tui.tui.escape import Rung, Standing, escape


@pytest.mark.parametrize(
    ("standing", "rung"),
    [
        (Standing(True, True, False, "lists", "a"), "close_overlay"),
        (Standing(False, True, False, "lists", "a"), "stop_search"),
        (Standing(False, True, False, "query", ""), "stop_search"),
        (Standing(False, False, False, "lists", "a"), "focus_query"),
        (Standing(False, False, False, "lists", ""), "focus_query"),
        (Standing(False, False, True, "lists", "a"), "focus_query"),
        (Standing(False, False, True, "query", "a"), "drop_marks"),
        (Standing(False, False, False, "query", "a"), "clear_query"),
        (Standing(False, False, False, "query", " "), "clear_query"),
        (Standing(False, False, False, "query", ""), "say_how_to_quit"),
    ],
)
def test_the_first_rung_that_there_is(standing: Standing, rung: Rung) -> None:
    assert escape(standing) == rung


def test_the_query_s_text_goes_only_when_nothing_else_is_left() -> None:
    for overlay, searching, focus in product((True, False), (True, False), PLACES):
        if escape(Standing(overlay, searching, False, focus, "text")) == "clear_query":
            assert not overlay and not searching and focus == "query"
