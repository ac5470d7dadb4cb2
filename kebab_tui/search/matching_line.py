"""The line of a passage that matches a query best: where an editor begins, and what a pipe shows of a hit."""

from __future__ import annotations

from typing import NamedTuple

from kebab_tui.domain.citation import TextPosition
from kebab_tui.domain.hit import SearchHit
from kebab_tui.search.snippet import after_heading, best_match, highlight_phrases


class MatchingLine(NamedTuple):
    position: TextPosition
    text: str


def matching_line(hit: SearchHit, text: str, first: int, query: str) -> MatchingLine:
    """The best line of `text`, the passage of a hit, which begins at the line `first`.

    A passage found by meaning only begins below its heading; a note found by its name, at its top.
    """
    at: int | None = None
    if hit.score_kind == "name":
        at = 0
    elif hit.retrieval.lexical_rank is None and hit.retrieval.vector_rank is not None:
        at = 0 if hit.type == "code" else after_heading(text)
    else:
        at = best_match(text, highlight_phrases(query))
        if at is None and hit.highlights:  # a raw query
            start, end = hit.highlights[0]
            at = text.find(hit.snippet[start:end])
    at = max(at or 0, 0)
    start = text.rfind("\n", 0, at) + 1
    line = text[start:].partition("\n")[0]
    return MatchingLine(TextPosition(first + text.count("\n", 0, at), at - start + 1), line)
