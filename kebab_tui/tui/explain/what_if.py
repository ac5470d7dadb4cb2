"""What-if: orders the present candidates again with other fusion settings.

Pure. Steps of each setting, their effect on the ranks, and the rows that show both. The
caller passes the scoring function; nothing is retrieved again, so a what-if can move hits
but not find new ones.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kebab_tui.domain.ids import ChunkRow
from kebab_tui.tui.widgets.segments import ARROW, DOWN, UP, Row, Segment, flow, moved, paragraph

if TYPE_CHECKING:
    from kebab_tui.search.explanation import ExplainedResponse
    from kebab_tui.search.ranking import Fused, FusionSettings


Rescore = Callable[[Sequence["Fused"], "FusionSettings"], list["Fused"]]

RRF_K_STEPS = (1, 2, 5, 10, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500, 1000)
WEIGHT_STEPS = (*(tenths / 10 for tenths in range(20)), 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0)


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The fusion settings that the screen can change."""

    rrf_k: int
    vector_weight: float
    rerank: bool

    @classmethod
    def of(cls, settings: FusionSettings) -> WhatIf:
        return cls(settings.rrf_k, settings.vector_weight, settings.rerank)

    def step_rrf_k(self, up: bool) -> WhatIf:
        return replace(self, rrf_k=int(_next(RRF_K_STEPS, self.rrf_k, up)))

    def step_vector_weight(self, up: bool) -> WhatIf:
        return replace(self, vector_weight=_next(WEIGHT_STEPS, self.vector_weight, up))

    def toggle_rerank(self) -> WhatIf:
        return replace(self, rerank=not self.rerank)

    def settings(self, base: FusionSettings) -> FusionSettings:
        return replace(base, rrf_k=self.rrf_k, vector_weight=self.vector_weight, rerank=self.rerank)


def _next(steps: Sequence[float], present: float, up: bool) -> float:
    """The next step, also from a value between two steps; stops at the ends."""
    if up:
        place = bisect_right(steps, present)
        return steps[place] if place < len(steps) else present
    place = bisect_left(steps, present)
    return steps[place - 1] if place else present


@dataclass(frozen=True, slots=True)
class WhatIfResult:
    """The response under the what-if, and how many places each candidate moves up."""

    answer: ExplainedResponse
    changes: Mapping[ChunkRow, int]


def outcome(what_if: WhatIf, base: ExplainedResponse, rescore: Rescore) -> WhatIfResult | None:
    """None for a response without fusion."""
    if base.fusion is None:
        return None
    settings = what_if.settings(base.fusion)
    same = settings == base.fusion
    candidates = base.candidates if same else tuple(rescore(base.candidates, settings))
    fused = {one.evidence.row: one for one in candidates}
    hits = tuple(replace(one, fused=fused.get(one.hit.row)) for one in base.hits)
    before = {one.evidence.row: one.rank for one in base.candidates}
    return WhatIfResult(
        base if same else replace(base, hits=hits, candidates=candidates, fusion=settings),
        {row: before[row] - one.rank for row, one in fused.items() if one.rank != before[row]},
    )


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys as shown; the user may have bound others."""

    rrf_k: str = "[ ]"
    vector_weight: str = "{ }"
    rerank: str = "|"
    reset: str = "="


def strip_rows(base: ExplainedResponse, now: WhatIfResult, width: int, keys: Keys) -> Iterator[Row]:
    """The settings with their present values, and how many hits they move."""
    if base.fusion is None or now.answer.fusion is None:
        return
    was, present = WhatIf.of(base.fusion), WhatIf.of(now.answer.fusion)
    settings_shown = (
        _setting(keys.rrf_k, "rrf_k", str(was.rrf_k), str(present.rrf_k)),
        _setting(keys.vector_weight, "meaning weight", f"{was.vector_weight:g}",
              f"{present.vector_weight:g}"),
        _setting(keys.rerank, "rerank", _switch(was.rerank),
              _switch(present.rerank)),
    )  # fmt: skip
    reset = ((Segment(f"{keys.reset} ", "heading"), Segment("reset")),) if was != present else ()
    yield from flow(((Segment("what if", "heading"),), *settings_shown, *reset), width)
    if was != present:
        yield from _effect(base, now, width, keys)


def _setting(key: str, name: str, was: str, present: str) -> Row:
    if was == present:
        return Segment(f"{key} ", "muted"), Segment(f"{name} {present}", "muted")
    return Segment(f"{key} ", "heading"), Segment(f"{name} {was}{ARROW}"), Segment(present, "number")


def _switch(on: bool) -> str:
    return "on" if on else "off"


def _effect(base: ExplainedResponse, now: WhatIfResult, width: int, keys: Keys) -> Iterator[Row]:
    changes = [now.changes.get(one.hit.row, 0) for one in base.hits]
    up, down = sum(change > 0 for change in changes), sum(change < 0 for change in changes)
    if up or down:
        ways = f"{up} {UP} {down} {DOWN}"
        summary = f"{up + down} of {len(changes)} hits move: {ways}"
    else:
        summary = f"none of {len(changes)} hits moves"
    yield from paragraph(summary, width, "sum")
    settings = now.answer.fusion
    if settings is not None and settings.rerank and not now.changes:
        hint = (
            f"the rerank orders the best {settings.rerank_depth}: rrf_k and weight only choose them"
            f" ({keys.rerank} turns it off)"
        )
        yield from paragraph(hint, width, "muted")


def place_change(row: ChunkRow, rank: int, changes: Mapping[ChunkRow, int]) -> str:
    """`5→3 ▲2` for a candidate that a what-if moves to `rank`; empty for others."""
    change = changes.get(row, 0)
    return f"{rank + change}{ARROW}{rank} {moved(change)}" if change else ""
