"""Runs for tests, made without a search."""

from __future__ import annotations

from collections.abc import Mapping

from kebab_tui.domain.query import SearchMode
from kebab_tui.evaluation.golden import query_language
from kebab_tui.evaluation.measure import EvalRun, ModeRun, QueryResult, QuestionSet, measured

Ranks = Mapping[str, int | None]
"""Query -> the place of its one relevant item; None if it was not found."""


def an_answer(query: str, place: int | None, probe: str = "") -> QueryResult:
    ranked = [f"other{number}" for number in range(1, 20)]
    if place is not None:
        ranked.insert(place - 1, "right")
    return QueryResult(
        id=f"id-{query}",
        query=query,
        lang=query_language(query),
        probe=probe,
        ranked=tuple(ranked),
        metrics=measured(ranked, {"right": 1}, 100),
    )


def a_run(digest: str = "d1", **modes: Ranks) -> EvalRun:
    runs: dict[SearchMode, ModeRun] = {}
    for mode, ranks in modes.items():
        answers = tuple(an_answer(query, place) for query, place in ranks.items())
        runs[mode] = ModeRun(index_version=f"{mode}-1", answers=answers)  # type: ignore[index]  # keywords are plain strings
    asked = QuestionSet(kind="beir", name="made", split="test", digest=digest, queries=2, documents=9)
    return EvalRun(version="1", set=asked, depth=100, settings={"search": {"rrf_k": 60}}, modes=runs)
