"""Esc goes one rung down the ladder."""

from __future__ import annotations

from itertools import product

import pytest

from kebab_tui.tui.actions import PLACES, EscapeAction, EscapeState, escape_action


@pytest.mark.parametrize(
    ("standing", "rung"),
    [
        (EscapeState(True, True, False, "lists", "a"), "close_overlay"),
        (EscapeState(False, True, False, "lists", "a"), "stop_search"),
        (EscapeState(False, True, False, "query", ""), "stop_search"),
        (EscapeState(False, False, False, "lists", "a"), "focus_query"),
        (EscapeState(False, False, False, "lists", ""), "focus_query"),
        (EscapeState(False, False, True, "lists", "a"), "focus_query"),
        (EscapeState(False, False, True, "query", "a"), "drop_marks"),
        (EscapeState(False, False, False, "query", "a"), "clear_query"),
        (EscapeState(False, False, False, "query", " "), "clear_query"),
        (EscapeState(False, False, False, "query", ""), "show_how_to_quit"),
    ],
)
def test_the_first_rung_that_there_is(standing: EscapeState, rung: EscapeAction) -> None:
    assert escape_action(standing) == rung


def test_the_query_s_text_goes_only_when_nothing_else_is_left() -> None:
    for overlay, searching, focus in product((True, False), (True, False), PLACES):
        if escape_action(EscapeState(overlay, searching, False, focus, "text")) == "clear_query":
            assert not overlay and not searching and focus == "query"
