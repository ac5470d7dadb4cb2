"""What a reader should know of a hit before trusting it, in single words. Pure; prints nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from kebab_tui.domain.embedded import is_hangul
from kebab_tui.domain.hit import SearchHit

Badge = Literal["gone", "stale", "further", "relaxed", "other language", "code", "words", "meaning", "both"]


def badges(hit: SearchHit, korean: bool | None) -> Iterator[Badge]:
    """The weightiest first; how the hit was found last.

    `korean`: whether the question is; None where the languages are not compared.
    """
    if hit.gone:
        yield "gone"
    elif hit.stale:
        yield "stale"
    if hit.relaxed:
        yield "relaxed"
    # Words find their own language only: another one is worth a word where meaning had a say.
    if korean is not None and hit.retrieval.vector_rank is not None and is_hangul(hit.text) != korean:
        yield "other language"
    if hit.kind == "code":
        yield "code"
    if hit.further:
        yield "further"
    elif hit.retrieval.method == "hybrid":  # elsewhere there is only one list to stand in
        yield _found_by(hit)


def _found_by(hit: SearchHit) -> Badge:
    if hit.retrieval.vector_rank is None:
        return "words"
    return "meaning" if hit.retrieval.lexical_rank is None else "both"
