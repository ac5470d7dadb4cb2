"""Explains the rank of one hit as rows for a panel of any width.

Prints the tree of its score, then notices, filters, stages and versions of the response. Adds no figure
and knows no widget. Text of notes and queries is cleaned here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from rich.cells import cell_len

from kebab_tui.domain.hit import SearchResponse
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.text import format_sum
from kebab_tui.tui.explain.what_if import place_change
from kebab_tui.tui.widgets.segments import (
    DOT,
    GAP,
    Role,
    Row,
    Segment,
    bar,
    columns,
    cut_middle,
    cut_path,
    flow,
    one_line,
    paragraph,
    row_width,
    widest,
)

if TYPE_CHECKING:
    from kebab_tui.search.explanation import ExplainedHit, ExplainedResponse, Explanation

_BAR = 12
_LONGEST_LABEL = 24
_MOST_LINES = 5
"""Of the nearest sentence: for the model, a table without full stops is one sentence."""


def explain_rows(
    explained: ExplainedHit | None,
    among: ExplainedResponse,
    width: int,
    changes: Mapping[ChunkRow, int],
) -> list[Row]:
    """All sections with blank rows between them; without a hit only those of the response."""
    sections: list[Iterable[Row]] = []
    if explained is not None:
        sections += [_head(explained, changes, width), _computation(explained.tree, width)]
    sections += [
        _notices(among, width),
        () if among.filtered is None else paragraph(one_line(str(among.filtered)), width),
        _stages(among.response),
        _versions(explained, among.response, width),
    ]
    rows: list[Row] = []
    for section in map(list, sections):
        if rows and section:
            rows.append(())
        rows += section
    return rows


def _head(explained: ExplainedHit, changes: Mapping[ChunkRow, int], width: int) -> Iterator[Row]:
    hit, fused, detail = explained.hit, explained.fused, explained.hit.retrieval
    rank = f"#{hit.rank}"
    place = cut_path(one_line(str(hit.citation)), max(width - len(rank) - 1, 0))
    yield (Segment(f"{rank} ", "heading"), Segment(place, "heading"))
    if fused is not None and (change := place_change(hit.row, fused.rank, changes)):
        yield (Segment("what if: place ", "muted"), Segment(change, "number"))
    found = "listed by the filters alone: no scores, most recently changed first"
    if detail.lexical_rank is not None and detail.vector_rank is not None:
        score = explained.tree.children[0]
        parts = (score if score.label == "rerank" else score.at("rrf_raw")).children
        words, meaning = (round(part.value, 4) for part in parts)
        weightier = "mostly by words" if words > meaning else "mostly by meaning"
        found = f"found by words and by meaning, {'in equal parts' if words == meaning else weightier}"
    elif detail.lexical_rank is not None:
        found = f"found by words alone, rank {detail.lexical_rank} of its list"
    elif detail.vector_rank is not None:
        found = f"found by meaning alone, rank {detail.vector_rank} of its list"
    yield from paragraph(found, width, "muted")
    warnings = {
        "further keyword match: its bm25 does not compare with the scores above it": hit.further,
        "partial match: not all words match": hit.relaxed,
        "its file is gone: these figures are of the indexed text": hit.gone,
        "its file has changed: these figures are of the indexed text": hit.stale and not hit.gone,
    }
    for text in (text for text, holds in warnings.items() if holds):
        yield from paragraph(f"! {text}", width, "warning")


def _computation(tree: Explanation, width: int) -> Iterator[Row]:
    """A row per line of the tree, with a bar per part of a sum; the computation behind or below it."""
    lines = list(tree.lines()) if tree.children else []
    cells: list[list[Segment]] = []
    for line in lines:
        role: Role = "heading" if line.depth == 0 else "plain"
        if line.label in ("words", "meaning") or line.share:
            role = "meaning" if line.label == "meaning" else "words"
        longest = min(_LONGEST_LABEL, width // 2) - GAP * line.depth
        label = " " * GAP * line.depth + cut_middle(one_line(line.label), longest)
        cells.append([Segment(label, role), Segment(line.value, "number")])
    space = min(width - widest(columns(cells)) - GAP, _BAR)
    for line, cell in zip(lines, cells, strict=True):
        cell.append(Segment(bar(line.share, space) if space > 0 else "", cell[0].role))
    table = columns(cells, right=(1,))
    for line, row in zip(lines, table, strict=True):
        how, used = one_line(line.how), widest(table) if line.share else row_width(row)
        if how and cell_len(how) <= width - used - GAP:
            yield (*row, Segment(" " * (used + GAP - row_width(row))), Segment(how, "muted"))
            continue
        yield row
        below = list(paragraph(how, width, "muted", indent=GAP * (line.depth + 1)))
        yield from below[:_MOST_LINES]
        if len(below) > _MOST_LINES:
            yield (Segment(" " * GAP + "(goes on)", "muted"),)


def _notices(among: ExplainedResponse, width: int) -> Iterator[Row]:
    notices: list[tuple[str, Role]] = [
        (f"! {one_line(notice.text)}", "warning") if notice.level == "warning"
        else (f"{DOT} {one_line(notice.text)}", "plain")
        for notice in among.response.notices
    ]  # fmt: skip
    if kept := sum(one.fused is not None and one.fused.kept_place for one in among.hits):
        places = "place was" if kept == 1 else "places were"
        notices.append((f"{DOT} {kept} {places} kept for the other language.", "plain"))
    if notices:
        yield (Segment("notices", "heading"),)
    for text, role in notices:
        yield from paragraph(text, width, role)


def _stages(response: SearchResponse) -> Iterator[Row]:
    if not response.stages:
        return
    times, total = format_sum([stage.milliseconds for stage in response.stages], 1)
    rows = [[Segment(name, "heading" if name == "stage" else "muted") for name in ("stage", "left", "ms")]]
    for stage, milliseconds in zip(response.stages, times, strict=True):
        left = "" if stage.kept is None else f"{stage.kept:,}"
        rows.append([Segment(stage.name), Segment(left), Segment(milliseconds)])
    rows.append([Segment("sum", "sum"), Segment(""), Segment(total, "sum")])
    yield from columns(rows, right=(1, 2))


def _versions(explained: ExplainedHit | None, response: SearchResponse, width: int) -> Iterator[Row]:
    facts = [f"mode {response.mode}", f"index {one_line(response.index_version)}"]
    if explained is not None:
        facts.append(f"chunker {one_line(explained.hit.chunker_version)}")
    facts.append(f"revision {response.corpus_revision}")
    yield from flow([(Segment(fact, "muted"),) for fact in facts], width)
