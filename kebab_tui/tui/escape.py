"""What esc does: one rung of a ladder at a time, and never a loss of more than the query's text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kebab_tui.tui.actions import Place

Rung = Literal["close_overlay", "stop_search", "focus_query", "drop_marks", "clear_query", "say_how_to_quit"]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the user is when esc is pressed."""

    overlay: bool
    searching: bool
    """A search has been running long enough to be seen."""
    marks: bool
    """Hits are marked, of this query or of one before."""
    focus: Place
    query: str


def escape(standing: Standing) -> Rung:
    """The first rung that there is."""
    if standing.overlay:
        return "close_overlay"
    if standing.searching:
        return "stop_search"
    if standing.focus != "query":
        return "focus_query"
    if standing.marks:
        return "drop_marks"
    if standing.query:
        return "clear_query"
    return "say_how_to_quit"
