"""Why one hit stands where it does, as rows for a panel of any width.

The arithmetic in the order in which it was done: both legs and their sum, the second
look and what it moved, the bm25 term by term, the nearest sentence; then the answer's
notices, stages and versions. Every printed sum is that of the printed parts, rounded. Pure:
adds no figure of its own and knows no widget. Whatever a note or a query holds is
cleaned here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from kebab_tui.domain.text import printed
from kebab_tui.tui.explain_fusion import fusion_rows, look_rows, place_rows
from kebab_tui.tui.explain_words import bm25_rows
from kebab_tui.tui.segments import GAP, Role, Row, Segment, Signs, columns, flow, one_line, paragraph
from kebab_tui.tui.text import cut_path
from kebab_tui.tui.what_if import place_change

if TYPE_CHECKING:
    from kebab_tui.domain.hit import SearchHit, SearchResponse
    from kebab_tui.domain.ids import ChunkRow
    from kebab_tui.search.explanation import ExplainedHit, ExplainedResponse, Filtered, SemanticExplanation

DIGITS = 4
_MOST_LINES = 5
"""Of the nearest sentence: a table without full stops is one sentence to the model."""
_KINDS = {"bm25": "bm25 of its words", "cosine": "cosine", "rrf": "fused ranks", "look": "second look"}


def explain_rows(
    explained: ExplainedHit | None,
    among: ExplainedResponse,
    width: int,
    signs: Signs,
    changes: Mapping[ChunkRow, int],
) -> list[Row]:
    """All sections, a blank row between them; without a hit only what concerns the whole answer."""
    sections: list[Iterable[Row]] = []
    if explained is not None:
        sections += [
            _head(explained, changes, width, signs),
            _ranking(explained, among, width, signs),
            _bm25(explained, among.response, width, signs),
            _meaning(explained.semantic, width),
        ]
    response = among.response
    sections += [
        _notices(among, width, signs),
        _filters(among.filtered, width),
        _stages(response),
        _versions(explained, response, width),
    ]
    return _joined(sections)


def _joined(sections: Iterable[Iterable[Row]]) -> list[Row]:
    rows: list[Row] = []
    for section in map(list, sections):
        if rows and section:
            rows.append(())
        rows += section
    return rows


# The hit


def _head(
    explained: ExplainedHit, changes: Mapping[ChunkRow, int], width: int, signs: Signs
) -> Iterator[Row]:
    hit, fused = explained.hit, explained.fused
    rank = f"#{hit.rank}"
    place = cut_path(one_line(str(hit.citation)), max(width - len(rank) - 1, 0), signs.glyphs.ellipsis)
    yield (Segment(f"{rank} ", "heading"), Segment(place, "heading"))
    score, kind = (hit.score, hit.score_kind)
    if fused is not None:
        score, kind = fused.score, "rrf" if fused.look is None else "look"
    if _is_scored(explained):
        yield from flow(
            [(Segment(f"score {score:.{DIGITS}f}", "sum"),), (Segment(_KINDS[kind], "muted"),)], width
        )
    if fused is not None and (change := place_change(hit.row, fused.rank, changes, signs)):
        yield (Segment("what if: place ", "muted"), Segment(change, "number"))
    yield from paragraph(_how_found(explained), width, "muted")
    yield from _warnings(hit, width)


def _is_scored(explained: ExplainedHit) -> bool:
    detail = explained.hit.retrieval
    return detail.lexical_rank is not None or detail.vector_rank is not None


def _how_found(explained: ExplainedHit) -> str:
    detail = explained.hit.retrieval
    by_words, by_meaning = detail.lexical_rank is not None, detail.vector_rank is not None
    if by_words and by_meaning:
        return f"found by words and by meaning, {_weightier(explained)}"
    if by_words or by_meaning:
        return f"found by {'words' if by_words else 'meaning'} alone"
    return "listed by the filters alone: nothing is scored, latest change first"


def _weightier(explained: ExplainedHit) -> str:
    """Which of the two its score owes more to."""
    fused = explained.fused
    if fused is None:
        return ""
    parts = (fused.lexical_part, fused.vector_part)
    if fused.look_lexical is not None and fused.look_vector is not None:
        parts = (fused.look_lexical, fused.look_vector)
    words, meaning = (round(part, DIGITS) for part in parts)
    if words == meaning:
        return "in equal parts"
    return "mostly by words" if words > meaning else "mostly by meaning"


def _warnings(hit: SearchHit, width: int) -> Iterator[Row]:
    if hit.further:
        text = "! further keyword match: its bm25 does not compare with the scores above it"
        yield from paragraph(text, width, "warning")
    if hit.relaxed:
        yield from paragraph("! relaxed: it does not have all the words", width, "warning")
    if hit.gone or hit.stale:
        what = "is gone" if hit.gone else "has changed"
        yield from paragraph(
            f"! its file {what}: these are the figures of the indexed text", width, "warning"
        )


# How it was ranked


def _ranking(explained: ExplainedHit, among: ExplainedResponse, width: int, signs: Signs) -> Iterator[Row]:
    fused, settings = explained.fused, among.fusion
    if fused is None or settings is None:
        yield from _single_leg(explained.hit, width)
        return
    yield from fusion_rows(explained.hit, fused, settings, width, signs)
    strongest = max((one.evidence.strength or 0.0 for one in among.candidates), default=0.0)
    yield from look_rows(fused, settings, strongest, width, signs)
    yield from place_rows(fused, settings, width, signs)


def _single_leg(hit: SearchHit, width: int) -> Iterator[Row]:
    """An answer by words or by meaning alone is one list: nothing was fused."""
    detail = hit.retrieval
    legs: tuple[tuple[Role, int | None, float | None], ...] = (
        ("words", detail.lexical_rank, detail.lexical_score),
        ("meaning", detail.vector_rank, detail.vector_score),
    )
    for name, rank, score in legs:
        if rank is not None and score is not None:
            shown = ((Segment(name, name),), (Segment(f"rank {rank}"),),
                     (Segment(f"score {score:.{DIGITS}f}", "number"),))  # fmt: skip
            yield from flow(shown, width)


# Words


def _bm25(explained: ExplainedHit, response: SearchResponse, width: int, signs: Signs) -> Iterator[Row]:
    lexical = explained.lexical
    if lexical is not None and lexical.bm25:
        yield from bm25_rows(lexical, width, signs)
    elif response.raw:
        yield from paragraph("raw query: ranked by FTS5 itself, which names no terms", width, "muted")


# Meaning


def _meaning(semantic: SemanticExplanation | None, width: int) -> Iterator[Row]:
    if semantic is None:
        return
    yield (Segment("meaning ", "heading"), Segment(f"cosine {semantic.cosine:.{DIGITS}f}", "number"))
    if semantic.sentence:
        yield from paragraph(
            f"nearest sentence, cosine {semantic.sentence_cosine:.{DIGITS}f}:", width, "muted"
        )
        lines = list(paragraph(one_line(semantic.sentence), width, "quote", indent=GAP))
        yield from lines[:_MOST_LINES]
        if len(lines) > _MOST_LINES:
            yield (Segment(" " * GAP + "(goes on)", "muted"),)


# The whole answer


def _notices(among: ExplainedResponse, width: int, signs: Signs) -> Iterator[Row]:
    kept = sum(one.fused is not None and one.fused.kept_place for one in among.hits)
    said = [
        (f"! {one_line(notice.text)}", "warning") if notice.level == "warning"
        else (f"{signs.dot} {one_line(notice.text)}", "plain")
        for notice in among.response.notices
    ]  # fmt: skip
    if kept:
        places = "place was" if kept == 1 else "places were"
        said.append((f"{signs.dot} {kept} {places} kept for the other language.", "plain"))
    if said:
        yield (Segment("notices", "heading"),)
    for text, role in said:
        yield from paragraph(text, width, "warning" if role == "warning" else "plain")


def _filters(filtered: Filtered | None, width: int) -> Iterator[Row]:
    if filtered is not None:
        yield from paragraph(one_line(str(filtered)), width)


def _stages(response: SearchResponse) -> Iterator[Row]:
    if not response.stages:
        return
    times, total = printed([stage.milliseconds for stage in response.stages], 1)
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
