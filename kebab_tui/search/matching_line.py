"""The line of a passage that matches a query best: where an editor begins, and what a pipe shows of a hit."""

from __future__ import annotations

from typing import NamedTuple

from kebab_tui.domain.citation import TextPosition
from kebab_tui.domain.hit import SearchHit
from kebab_tui.search.snippet import after_heading, best_match, searched_terms


class MatchingLine(NamedTuple):
    position: TextPosition
    text: str


def matching_line(hit: SearchHit, text: str, first: int, query: str) -> MatchingLine:
    """The best line of `text`, the passage of a hit, which begins at the line `first`.

    A passage found by meaning only begins below its heading; one without the words, found by a name or a
    title, at its top.
    """
    at = 0
    if hit.score_kind != "name":
        if hit.retrieval.lexical_rank is not None or hit.retrieval.vector_rank is None:
            at = best_match(text, searched_terms(query)) or 0
        elif hit.type != "code":
            at = after_heading(text)
    start = text.rfind("\n", 0, at) + 1
    line = text[start:].partition("\n")[0]
    return MatchingLine(TextPosition(first + text.count("\n", 0, at), at - start + 1), line)
