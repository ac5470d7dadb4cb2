"""Explains the rank of one hit as rows for a panel of any width.

Prints why it has its place, in a sentence and compared with the hit above; the what-if; the tree of its
score; then notices, filters, stages and versions of the response. Adds no figure and knows no widget. Text of
notes and queries is cleaned here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

from kebab_tui.domain.hit import SearchResponse
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.text import format_sum
from kebab_tui.tui.explain.what_if import place_change
from kebab_tui.tui.glyphs import own_text
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


def explain_rows(
    explained: ExplainedHit | None,
    among: ExplainedResponse,
    width: int,
    changes: Mapping[ChunkRow, int],
    what_if: Sequence[Row] = (),
) -> list[Row]:
    """All sections with blank rows between them; without a hit only those of the response."""
    response = among.response
    sections = [_notices(among, width), _stages(response), _versions(explained, response, width)]
    if among.filtered is not None:
        sections.insert(1, paragraph(one_line(str(among.filtered)), width))
    if explained is None:
        sections.insert(0, iter(what_if))
    else:
        computation = (*_place(explained, width), *_computation(explained.tree, width))
        sections = [_head(explained, changes, width), iter(what_if), iter(computation), *sections]
    rows: list[Row] = []
    for section in map(list, sections):
        rows += [(), *section] if rows and section else section
    return rows


def _head(explained: ExplainedHit, changes: Mapping[ChunkRow, int], width: int) -> Iterator[Row]:
    hit, fused = explained.hit, explained.fused
    yield from paragraph(one_line(own_text(explained.headline)), width, "heading")
    if explained.above is not None:
        yield from paragraph(one_line(own_text(explained.above.text)), width)
    if fused is not None and (change := place_change(hit.row, fused.rank, changes)):
        yield (Segment("what if: place ", "muted"), Segment(change, "number"))
    warnings = {
        "further keyword match: its bm25 does not compare with the scores above it": hit.further,
        "partial match: not all words match": hit.relaxed,
        "distant: nothing nearer was found": hit.distant,
        "its file is gone: these figures are of the indexed text": hit.gone,
        "its file has changed: these figures are of the indexed text": hit.stale and not hit.gone,
    }
    for text in (text for text, holds in warnings.items() if holds):
        yield from paragraph(f"! {text}", width, "warning")


def _place(explained: ExplainedHit, width: int) -> Iterator[Row]:
    rank = f"#{explained.hit.rank}"
    place = cut_path(one_line(str(explained.hit.citation)), max(width - len(rank) - 1, 0))
    yield (Segment(f"{rank} {place}", "muted"),)


def _computation(tree: Explanation, width: int) -> Iterator[Row]:
    """A row per line of the tree, with a bar per part of a sum; the computation behind or below it."""
    lines = list(tree.lines()) if tree.children else []
    cells: list[list[Segment]] = []
    for line in lines:
        role: Role = "heading" if line.depth == 0 else "plain"
        if line.label in ("words", "meaning") or line.share:
            role = "meaning" if line.label == "meaning" else "words"
        indent = " " * GAP * line.depth
        label = indent + cut_middle(one_line(line.label), min(_LONGEST_LABEL, width // 2) - len(indent))
        cells.append([Segment(label, role), Segment(line.value, "number")])
    space = max(min(width - widest(columns(cells)) - GAP, _BAR), 0)
    for line, cell in zip(lines, cells, strict=True):
        cell.append(Segment(bar(line.share, space), cell[0].role))
    table = columns(cells, right=(1,))
    for line, row in zip(lines, table, strict=True):
        how, used = own_text(one_line(line.how)), widest(table) if line.share else row_width(row)
        if how and cell_len(how) <= width - used - GAP:
            yield (*row, Segment(" " * (used + GAP - row_width(row))), Segment(how, "muted"))
        else:
            yield row
            yield from paragraph(how, width, "muted", indent=GAP * (line.depth + 1))


def _notices(among: ExplainedResponse, width: int) -> Iterator[Row]:
    kept = sum(one.fused is not None and one.fused.kept_place for one in among.hits)
    if kept or among.response.notices:
        yield (Segment("notices", "heading"),)
    for notice in among.response.notices:
        warns, text = notice.level == "warning", one_line(notice.text)
        yield from paragraph(f"{'!' if warns else DOT} {text}", width, "warning" if warns else "plain")
    if kept:
        places = "place was" if kept == 1 else "places were"
        yield from paragraph(f"{DOT} {kept} {places} kept for the other language.", width)


def _stages(response: SearchResponse) -> Iterator[Row]:
    if not response.stages:
        return
    times, total = format_sum([stage.milliseconds for stage in response.stages], 1)
    rows = [[Segment(name, "heading" if name == "stage" else "muted") for name in ("stage", "kept", "ms")]]
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
