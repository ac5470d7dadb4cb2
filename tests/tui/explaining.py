"""Explained responses for tests: from the real engine, or built from chosen figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kebab_tui.domain.query import SearchQuery
from kebab_tui.search.explanation import ExplainedHit, ExplainedResponse, with_fusion
from kebab_tui.search.ranking import Evidence, FusionSettings, fuse
from kebab_tui.tui.explain.breakdown import explain_rows
from kebab_tui.tui.widgets.segments import Row, row_text
from kebab_tui.workspace import Workspace


def explained(workspace: Workspace, text: str, **query: object) -> ExplainedResponse:
    return workspace.explain(SearchQuery(text, **query))  # type: ignore[arg-type]


def rows_of(hit: ExplainedHit | None, among: ExplainedResponse, width: int = 100) -> list[Row]:
    return explain_rows(hit, among, width, {})


def lines_of(hit: ExplainedHit | None, among: ExplainedResponse, width: int = 100) -> list[str]:
    return [row_text(row) for row in rows_of(hit, among, width)]


def section(lines: Sequence[str], title: str) -> list[str]:
    """From the row that begins with `title` to the next blank one."""
    start = next(place for place, line in enumerate(lines) if line.startswith(title))
    end = next((place for place in range(start, len(lines)) if not lines[place]), len(lines))
    return list(lines[start:end])


def flat(lines: Sequence[str]) -> str:
    """As one line: narrow panels put the parts of a row on several."""
    return re.sub(r"\s+", " ", " ".join(lines))


def with_evidence(
    among: ExplainedResponse, evidence: Sequence[Evidence], settings: FusionSettings
) -> tuple[ExplainedHit, ExplainedResponse]:
    """The first hit of an answer as if this were the evidence, its own being the first."""
    hit = among.hits[0]
    mine = evidence[0]._replace(row=hit.hit.row)
    detail = replace(
        hit.hit.retrieval,
        lexical_rank=mine.lexical_rank,
        vector_rank=mine.vector_rank,
        vector_score=mine.cosine,
    )
    only = replace(among, hits=(replace(hit, hit=replace(hit.hit, retrieval=detail)),))
    changed = with_fusion(only, fuse([mine, *evidence[1:]], settings), settings)
    return changed.hits[0], changed
