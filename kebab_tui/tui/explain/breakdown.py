"""Explains the rank of one hit as rows for a panel of any width.

Shows the arithmetic in its order: both legs and their sum, the rerank, the bm25 per term,
the nearest sentence; then notices, stages and versions of the response. Each printed sum
is the sum of the printed parts, rounded. Adds no figure and knows no widget. Text of notes
and queries is cleaned here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kebab_tui.domain.hit import SearchHit, SearchResponse
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.text import format_sum, share_digits
from kebab_tui.tui.explain.what_if import place_change
from kebab_tui.tui.widgets.segments import (
    ARROW,
    DOT,
    GAP,
    TIMES,
    Role,
    Row,
    Segment,
    bar,
    columns,
    cut_middle,
    cut_path,
    flow,
    moved,
    one_line,
    paragraph,
    widest,
)

if TYPE_CHECKING:
    from kebab_tui.search.explanation import (
        ExplainedHit,
        ExplainedResponse,
        LexicalExplanation,
        SemanticExplanation,
    )
    from kebab_tui.search.ranking import Fused, FusionSettings


_DIGITS = 4
_BAR = 12
_LONGEST_TERM = 24
_MOST_LINES = 5
"""Of the nearest sentence: for the model, a table without full stops is one sentence."""
_KINDS = {"bm25": "bm25 of its words", "cosine": "cosine", "rrf": "fused ranks", "look": "rerank"}


def explain_rows(
    explained: ExplainedHit | None,
    among: ExplainedResponse,
    width: int,
    changes: Mapping[ChunkRow, int],
) -> list[Row]:
    """All sections with blank rows between them; without a hit only those of the response."""
    sections: list[Iterable[Row]] = []
    if explained is not None:
        words: Iterable[Row] = ()
        if explained.lexical is not None and explained.lexical.bm25:
            words = _bm25_rows(explained.lexical, width)
        elif among.response.raw:
            words = paragraph("raw query: ranked by FTS5 itself, which names no terms", width, "muted")
        sections += [
            _head(explained, changes, width),
            _ranking(explained, among, width),
            words,
            _meaning(explained.semantic, width),
        ]
    response = among.response
    sections += [
        _notices(among, width),
        () if among.filtered is None else paragraph(one_line(str(among.filtered)), width),
        _stages(response),
        _versions(explained, response, width),
    ]
    rows: list[Row] = []
    for section in map(list, sections):
        if rows and section:
            rows.append(())
        rows += section
    return rows


def _head(explained: ExplainedHit, changes: Mapping[ChunkRow, int], width: int) -> Iterator[Row]:
    hit, fused = explained.hit, explained.fused
    rank = f"#{hit.rank}"
    place = cut_path(one_line(str(hit.citation)), max(width - len(rank) - 1, 0))
    yield (Segment(f"{rank} ", "heading"), Segment(place, "heading"))
    score, kind = (hit.score, hit.score_kind)
    if fused is not None:
        score, kind = fused.score, "rrf" if fused.rerank_score is None else "look"
    detail = hit.retrieval
    by_words, by_meaning = detail.lexical_rank is not None, detail.vector_rank is not None
    found = "listed by the filters alone: no scores, most recently changed first"
    if by_words and by_meaning:
        found = f"found by words and by meaning, {_weightier(explained)}"
    elif by_words or by_meaning:
        found = f"found by {'words' if by_words else 'meaning'} alone"
    if by_words or by_meaning:
        yield from flow(
            [(Segment(f"score {score:.{_DIGITS}f}", "sum"),), (Segment(_KINDS[kind], "muted"),)], width
        )
    if fused is not None and (change := place_change(hit.row, fused.rank, changes)):
        yield (Segment("what if: place ", "muted"), Segment(change, "number"))
    yield from paragraph(found, width, "muted")
    if hit.further:
        text = "! further keyword match: its bm25 does not compare with the scores above it"
        yield from paragraph(text, width, "warning")
    if hit.relaxed:
        yield from paragraph("! partial match: not all words match", width, "warning")
    if hit.gone or hit.stale:
        what = "is gone" if hit.gone else "has changed"
        yield from paragraph(f"! its file {what}: these figures are of the indexed text", width, "warning")


def _weightier(explained: ExplainedHit) -> str:
    """Which leg contributes more to the score."""
    fused = explained.fused
    if fused is None:
        return ""
    parts = (fused.lexical_part, fused.vector_part)
    if fused.rerank_keyword is not None and fused.rerank_semantic is not None:
        parts = (fused.rerank_keyword, fused.rerank_semantic)
    words, meaning = (round(part, _DIGITS) for part in parts)
    if words == meaning:
        return "in equal parts"
    return "mostly by words" if words > meaning else "mostly by meaning"


def _ranking(explained: ExplainedHit, among: ExplainedResponse, width: int) -> Iterator[Row]:
    fused, settings = explained.fused, among.fusion
    if fused is None or settings is None:
        # A response by words or by meaning alone is one list, without fusion.
        detail = explained.hit.retrieval
        legs: tuple[tuple[Role, int | None, float | None], ...] = (
            ("words", detail.lexical_rank, detail.lexical_score),
            ("meaning", detail.vector_rank, detail.vector_score),
        )
        for name, rank, score in legs:
            if rank is not None and score is not None:
                shown = ((Segment(name, name),), (Segment(f"rank {rank}"),),
                         (Segment(f"score {score:.{_DIGITS}f}", "number"),))  # fmt: skip
                yield from flow(shown, width)
        return
    yield from _fusion_rows(explained.hit, fused, settings, width)
    strongest = max((one.evidence.strength or 0.0 for one in among.candidates), default=0.0)
    yield from _rerank_rows(fused, settings, strongest, width)
    yield from _place_rows(fused, settings, width)


def _meaning(semantic: SemanticExplanation | None, width: int) -> Iterator[Row]:
    if semantic is None:
        return
    yield (Segment("meaning ", "heading"), Segment(f"cosine {semantic.cosine:.{_DIGITS}f}", "number"))
    if semantic.sentence:
        yield from paragraph(
            f"nearest sentence, cosine {semantic.sentence_cosine:.{_DIGITS}f}:", width, "muted"
        )
        lines = list(paragraph(one_line(semantic.sentence), width, "quote", indent=GAP))
        yield from lines[:_MOST_LINES]
        if len(lines) > _MOST_LINES:
            yield (Segment(" " * GAP + "(goes on)", "muted"),)


def _notices(among: ExplainedResponse, width: int) -> Iterator[Row]:
    kept = sum(one.fused is not None and one.fused.kept_place for one in among.hits)
    notices = [
        (f"! {one_line(notice.text)}", "warning") if notice.level == "warning"
        else (f"{DOT} {one_line(notice.text)}", "plain")
        for notice in among.response.notices
    ]  # fmt: skip
    if kept:
        places = "place was" if kept == 1 else "places were"
        notices.append((f"{DOT} {kept} {places} kept for the other language.", "plain"))
    if notices:
        yield (Segment("notices", "heading"),)
    for text, role in notices:
        yield from paragraph(text, width, "warning" if role == "warning" else "plain")


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


@dataclass(frozen=True, slots=True)
class _LegRow:
    """One row of the table; `share` is of the sum, `cells` are between name and part."""

    name: str
    role: Role
    cells: tuple[str, ...]
    part: str
    share: float


def _fusion_rows(hit: SearchHit, fused: Fused, settings: FusionSettings, width: int) -> Iterator[Row]:
    parts = (fused.lexical_part, fused.vector_part)
    best = (settings.lexical_weight + settings.vector_weight) / (settings.rrf_k + 1)
    digits = share_digits(best, _DIGITS)
    shown, raw = format_sum(parts, digits)
    detail, evidence = hit.retrieval, fused.evidence
    legs = [
        _leg("words", evidence.lexical_rank, detail.lexical_score, settings.lexical_weight,
             settings.rrf_k, shown[0], _share(parts, 0)),
        _leg("meaning", evidence.vector_rank, detail.vector_score, settings.vector_weight,
             settings.rrf_k, shown[1], _share(parts, 1)),
    ]  # fmt: skip
    yield from _fusion_table("ranks", ("rank", "score", "weight", "fraction"), legs, raw, width)
    if evidence.other_script:
        yield from paragraph("its rank by meaning counts only notes in the other language", width, "muted")
    of = f"({settings.lexical_weight:g}+{settings.vector_weight:g})/({settings.rrf_k}+1)"
    pieces = (
        (Segment("fused "), Segment(f"{fused.fusion_score:.{_DIGITS}f}", "sum")),
        (Segment(f"= {raw} of at most {best:.{digits}f}"),),
        (Segment(f"= {of}", "muted"),),
    )
    yield from flow(pieces, width, gap=1)


def _leg(
    name: Role, rank: int | None, score: float | None, weight: float, rrf_k: int, part: str, share: float
) -> _LegRow:
    scored = "-" if score is None else f"{score:.{_DIGITS}f}"
    if rank is None:
        return _LegRow(name, name, ("-", scored, f"{weight:g}", "not in its list"), part, share)
    return _LegRow(
        name, name, (str(rank), scored, f"{weight:g}", f"{weight:g}/({rrf_k}+{rank})"), part, share
    )


def _share(parts: Sequence[float], place: int) -> float:
    whole = sum(parts)
    return parts[place] / whole if whole else 0.0


def _fusion_table(
    title: str, names: Sequence[str], legs: Sequence[_LegRow], total: str, width: int
) -> Iterator[Row]:
    """A row per leg and their sum; if that is too wide, each leg takes several rows."""
    header = [
        Segment(title, "heading"),
        *(Segment(name, "muted") for name in names),
        Segment("share", "muted"),
    ]
    body = [
        [Segment(leg.name, leg.role), *map(Segment, leg.cells), Segment(leg.part, "number")] for leg in legs
    ]
    last = [Segment("sum", "sum"), *(Segment("") for _ in names), Segment(total, "sum")]
    table = columns([header, *body, last], right=range(1, len(header)))
    if widest(table) > width:
        yield from _stacked_fusion(title, names, legs, total, width)
        return
    yield table[0]
    for row, leg in zip(table[1:-1], legs, strict=True):
        drawn = _bar_beside(table, leg.share, width)
        yield (*row, Segment(" " * GAP), Segment(drawn, leg.role)) if drawn else row
    yield table[-1]


def _stacked_fusion(
    title: str, names: Sequence[str], legs: Sequence[_LegRow], total: str, width: int
) -> Iterator[Row]:
    yield (Segment(title, "heading"),)
    for leg in legs:
        named = [
            (Segment(f"{name} ".lstrip(), "muted"), Segment(cell))
            for name, cell in zip(names, leg.cells, strict=True)
        ]
        pieces: list[Row] = [
            (Segment(leg.name, leg.role),),
            *named,
            (Segment("share ", "muted"), Segment(leg.part, "number")),
        ]
        if drawn := bar(leg.share, min(_BAR, width - GAP)):
            pieces.append((Segment(drawn, leg.role),))
        yield from flow(pieces, width)
    yield (Segment("sum ", "sum"), Segment(total, "sum"))


def _rerank_rows(fused: Fused, settings: FusionSettings, strongest: float, width: int) -> Iterator[Row]:
    """The score that orders the best hits, and its two parts."""
    if fused.rerank_keyword is None or fused.rerank_semantic is None:
        return
    parts = (fused.rerank_keyword, fused.rerank_semantic)
    shown, total = format_sum(parts, _DIGITS)
    words, meaning = _rerank_parts(fused, settings, strongest)
    legs = [
        _LegRow("words", "words", (words,), shown[0], _share(parts, 0)),
        _LegRow("meaning", "meaning", (meaning,), shown[1], _share(parts, 1)),
    ]
    yield ()
    yield from _fusion_table("rerank", ("",), legs, total, width)
    if fused.assumed_cosine is not None:
        note = "not embedded yet: its cosine is assumed from its words"
        yield from paragraph(note, width, "muted")


def _rerank_parts(fused: Fused, settings: FusionSettings, strongest: float) -> tuple[str, str]:
    evidence = fused.evidence
    near = max(evidence.cosine or fused.assumed_cosine or 0.0, 0.0)
    cosine = f"{'cosine' if fused.assumed_cosine is None else 'assumed'} {near:.{_DIGITS}f}"
    if evidence.other_script and near and not fused.rerank_keyword:
        factor = (fused.rerank_semantic or 0.0) / near
        return "in another language", f"{factor:.3g} {TIMES} {cosine}"
    share = settings.rerank_keyword
    words = "none of the words"
    if evidence.strength is not None and strongest > 0:
        own = f"{evidence.strength:.{_DIGITS}f}"
        words = f"{share:g} {TIMES} bm25 {own}/{strongest:.{_DIGITS}f}"
    return words, f"{1 - share:g} {TIMES} {cosine}"


def _place_rows(fused: Fused, settings: FusionSettings, width: int) -> Iterator[Row]:
    """From the place by fusion to the place in the list, step by step."""
    steps = [_step("place by fusion", fused.fusion_rank)]
    if fused.rerank_rank is not None:
        change = moved(fused.fusion_rank - fused.rerank_rank)
        steps.append(_step(f"{ARROW} rerank", fused.rerank_rank, change))
    if (fused.rerank_rank is not None and fused.rank != fused.rerank_rank) or fused.kept_place:
        before = fused.rerank_rank or fused.fusion_rank
        steps.append(_step(f"{ARROW} with kept places", fused.rank, moved(before - fused.rank)))
    yield from flow(steps, width)
    if fused.rerank_score is not None and fused.rerank_rank is None:
        text = f"below the best {settings.rerank_depth} of the fusion: place {fused.rank} by this score"
        yield from paragraph(text, width, "muted")
    if fused.kept_place:
        yield from paragraph(f"place {fused.rank} was kept for the other language", width, "muted")


def _step(name: str, place: int, change: str = "") -> Row:
    shown = f"{place} {change}".rstrip()
    return Segment(f"{name} ", "muted"), Segment(shown, "number")


def _bm25_rows(lexical: LexicalExplanation, width: int) -> Iterator[Row]:
    adds, total = format_sum([term.contribution for term in lexical.terms], _DIGITS)
    yield (Segment("bm25, term by term", "heading"),)
    table = _words_table(lexical, adds, total)
    if widest(table) > width:
        yield from _stacked_words(lexical, adds, total, width)
    else:
        # Bars behind the terms, if there is enough space; the header, the weights and the sum have none.
        whole = sum(term.contribution for term in lexical.terms)
        shares = [0.0, 0.0, *(term.contribution / whole for term in lexical.terms), 0.0]
        for row, share in zip(table, shares, strict=True):
            drawn = _bar_beside(table, share, width)
            yield (*row, Segment(" " * GAP + drawn, "words")) if drawn else row
    score = f"as a score {lexical.score:.{_DIGITS}f} = {total}/(1+{total})"
    length = f"{lexical.length} tokens, {lexical.average_length:.1f} on average"
    facts = (f"bm25 -{total}", score, length, f"{lexical.chunks:,} passages")
    yield from flow([(Segment(fact, "muted"),) for fact in facts], width)


def _bar_beside(table: Sequence[Row], share: float, width: int) -> str:
    space = min(width - widest(table) - GAP, _BAR)
    return bar(share, space) if space >= _BAR // 3 else ""


def _words_table(lexical: LexicalExplanation, adds: Sequence[str], total: str) -> list[Row]:
    weights = lexical.weights
    factors = (weights.title, weights.heading, weights.text, weights.grams)
    header = ("term", "title", "heading", "text", "grams", "df", "idf", "adds")
    rows = [
        [Segment(name, "muted") for name in header],
        [Segment(text, "muted") for text in
         (f"{TIMES} weight", *(f"{factor:g}" for factor in factors), "", "", "")],
    ]  # fmt: skip
    for term, add in zip(lexical.terms, adds, strict=True):
        counts = term.counts
        numbers = (counts.title, counts.heading, counts.text, counts.grams, term.frequency)
        label = Segment(cut_middle(one_line(term.label), _LONGEST_TERM), "words")
        idf = Segment(f"{term.idf:.{_DIGITS}f}")
        rows.append([label, *(Segment(str(number)) for number in numbers), idf, Segment(add, "number")])
    rows.append([Segment("sum", "sum"), *(Segment("") for _ in range(6)), Segment(total, "sum")])
    return columns(rows, right=range(1, len(header)))


def _stacked_words(lexical: LexicalExplanation, adds: Sequence[str], total: str, width: int) -> Iterator[Row]:
    """The same on several rows per term, with the names of the fields that contain it."""
    for term, add in zip(lexical.terms, adds, strict=True):
        counts = term.counts
        fields = (
            ("title", counts.title),
            ("heading", counts.heading),
            ("text", counts.text),
            ("grams", counts.grams),
        )
        counted = [
            f"{count} in {name} {TIMES}{getattr(lexical.weights, name):g}" for name, count in fields if count
        ]
        label = cut_middle(one_line(term.label), max(width - len(add) - GAP - 5, 4))
        pieces = (
            (Segment(label, "words"),),
            (Segment("adds "), Segment(add, "number")),
            *(
                (Segment(text, "muted"),)
                for text in (*counted, f"df {term.frequency}", f"idf {term.idf:.{_DIGITS}f}")
            ),
        )
        yield from flow(pieces, width)
    yield (Segment("sum ", "sum"), Segment(total, "sum"))
