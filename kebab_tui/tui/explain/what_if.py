"""What-if: orders the present candidates again with other fusion settings.

Pure. Steps of each setting, their effect on the ranks, and the rows that show both. Nothing is
retrieved again, so a what-if can move hits but not find new ones.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kebab_tui.domain.ids import ChunkRow
from kebab_tui.tui.widgets.segments import ARROW, DOWN, UP, Row, Segment, flow, moved, paragraph

if TYPE_CHECKING:
    from kebab_tui.search.explanation import ExplainedResponse
    from kebab_tui.search.ranking import FusionSettings

RRF_K_STEPS = (1, 2, 5, 10, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500, 1000)
SHARE_STEPS = tuple(tenths / 10 for tenths in range(11))
WEIGHT_STEPS = (*(tenths / 10 for tenths in range(20)), 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys as shown; the user may have bound others."""

    meaning: str = "{ }"
    rrf_k: str = "[ ]"
    rerank: str = "|"
    reset: str = "="
    pane: str = "tab"


def next_step(steps: Sequence[float], present: float, up: bool) -> float:
    """The next step, also from a value between two steps; stops at the ends."""
    place = bisect_right(steps, present) if up else bisect_left(steps, present) - 1
    return steps[place] if 0 <= place < len(steps) else present


def with_more_meaning(settings: FusionSettings, up: bool) -> FusionSettings:
    """The next step of the share of meaning in the score that orders the list, or of its weight in RRF."""
    if not settings.rerank:
        weight = next_step(WEIGHT_STEPS, settings.vector_weight, up)
        return replace(settings, vector_weight=weight)
    share = next_step(SHARE_STEPS, _share(settings), up)
    return replace(settings, rerank_keyword=round(1 - share, 6))


def _share(settings: FusionSettings) -> float:
    """The share of meaning beside that of words in the rerank score."""
    return round(1 - settings.rerank_keyword, 6)


def places_moved(base: ExplainedResponse, now: ExplainedResponse) -> dict[ChunkRow, int]:
    """How many places each candidate that a what-if moves goes up."""
    before = {one.evidence.row: one.rank for one in base.candidates}
    changes = {one.evidence.row: before[one.evidence.row] - one.rank for one in now.candidates}
    return {row: change for row, change in changes.items() if change}


def strip_rows(
    base: ExplainedResponse, now: ExplainedResponse, changes: Mapping[ChunkRow, int], width: int, keys: Keys
) -> Iterator[Row]:
    """The settings with their present values, and how many hits they move."""
    was, present = base.fusion, now.fusion
    if was is None or present is None:
        return
    pieces: list[Row] = [(Segment("what if", "heading"),)]
    for key, name, before, value in (
        (keys.meaning, *_meaning_words(was, present)),
        (keys.rrf_k, "rrf_k", f"{was.rrf_k}", f"{present.rrf_k}"),
        (keys.rerank, "re-ranking", "on" if was.rerank else "off", "on" if present.rerank else "off"),
    ):
        if before == value:
            pieces.append((Segment(f"{key} {name} {value}", "muted"),))
        else:
            turned = (Segment(f"{key} ", "heading"), Segment(f"{name} {before}{ARROW}"))
            pieces.append((*turned, Segment(value, "number")))
    if was == present:
        yield from flow(pieces, width)
    else:
        yield from flow([*pieces, (Segment(f"{keys.reset} ", "heading"), Segment("reset"))], width)
        moves = [changes[one.hit.row] for one in base.hits if one.hit.row in changes]
        up = sum(move > 0 for move in moves)
        summary = f"none of {len(base.hits)} hits moves"
        if moves:
            summary = f"{len(moves)} of {len(base.hits)} hits move: {up} {UP} {len(moves) - up} {DOWN}"
        yield from paragraph(summary, width, "sum")
    hint = f"{keys.meaning} and {keys.rrf_k} set the order. Press {keys.rerank} for re-ranking."
    if present.rerank:
        hint = (
            f"{keys.meaning} sets the order. Re-ranking is on, so {keys.rrf_k} only affects which"
            f" {present.rerank_depth} are considered. Press {keys.rerank} to turn it off."
        )
    yield from paragraph(hint, width, "muted")


def _meaning_words(was: FusionSettings, present: FusionSettings) -> tuple[str, str, str]:
    """The name of the setting that weighs meaning, and its values before and now."""
    if present.rerank:
        return "meaning", f"{100 * _share(was):.0f} %", f"{100 * _share(present):.0f} %"
    return "meaning weight", f"{was.vector_weight:g}", f"{present.vector_weight:g}"


def place_change(row: ChunkRow, rank: int, changes: Mapping[ChunkRow, int]) -> str:
    """`5→3 ▲2` for a candidate that a what-if moves to `rank`; empty for others."""
    change = changes.get(row, 0)
    return f"{rank + change}{ARROW}{rank} {moved(change)}" if change else ""
