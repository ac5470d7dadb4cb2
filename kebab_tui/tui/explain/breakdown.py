"""Why one hit stands where it does, as rows for a panel of any width.

The arithmetic in the order in which it was done: both legs and their sum, the second
look and what it moved, the bm25 term by term, the nearest sentence; then the answer's
notices, stages and versions. Every printed sum is that of the printed parts, rounded. Pure:
adds no figure of its own and knows no widget. Whatever a note or a query holds is
cleaned here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kebab_tui.domain.text import digits_of_shares, printed
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
    from kebab_tui.domain.hit import SearchHit, SearchResponse
    from kebab_tui.domain.ids import ChunkRow
    from kebab_tui.search.explanation import (
        ExplainedHit,
        ExplainedResponse,
        Filtered,
        LexicalExplanation,
        SemanticExplanation,
    )
    from kebab_tui.search.ranking import Fused, FusionSettings


# The arithmetic of a fused hit as rows: the legs, their sum, the second look, its place.
#
# Pure, and only about hits of a hybrid answer. Shares of a fusion are hundredths or less,
# so they are printed with as many digits as the fused score needs to follow from them.

_DIGITS = 4
_BAR = 12


@dataclass(frozen=True, slots=True)
class _LegRow:
    """One row of the table; `share` is of the sum below, `cells` stand between name and part."""

    name: str
    role: Role
    cells: tuple[str, ...]
    part: str
    share: float


def fusion_rows(hit: SearchHit, fused: Fused, settings: FusionSettings, width: int) -> Iterator[Row]:
    parts = (fused.lexical_part, fused.vector_part)
    best = (settings.lexical_weight + settings.vector_weight) / (settings.rrf_k + 1)
    digits = digits_of_shares(best, _DIGITS)
    shown, raw = printed(parts, digits)
    detail, evidence = hit.retrieval, fused.evidence
    legs = [
        _leg("words", evidence.lexical_rank, detail.lexical_score, settings.lexical_weight,
             settings.rrf_k, shown[0], _share(parts, 0)),
        _leg("meaning", evidence.vector_rank, detail.vector_score, settings.vector_weight,
             settings.rrf_k, shown[1], _share(parts, 1)),
    ]  # fmt: skip
    yield from _fusion_table("ranks", ("rank", "score", "weight", "fraction"), legs, raw, width)
    if evidence.other_script:
        yield from paragraph(
            "its rank by meaning is the one among notes in the other language", width, "muted"
        )
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
    """A row for each leg and their sum; where that is too wide, each leg flows over several rows."""
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
    room = min(width - widest(table) - GAP, _BAR)
    yield table[0]
    for row, leg in zip(table[1:-1], legs, strict=True):
        drawn = bar(leg.share, room) if room >= _BAR // 3 else ""
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


def look_rows(fused: Fused, settings: FusionSettings, strongest: float, width: int) -> Iterator[Row]:
    """The one number that orders the best, and where its two parts come from."""
    if fused.rerank_keyword is None or fused.rerank_semantic is None:
        return
    parts = (fused.rerank_keyword, fused.rerank_semantic)
    shown, total = printed(parts, _DIGITS)
    words, meaning = _look_sources(fused, settings, strongest)
    legs = [
        _LegRow("words", "words", (words,), shown[0], _share(parts, 0)),
        _LegRow("meaning", "meaning", (meaning,), shown[1], _share(parts, 1)),
    ]
    yield ()
    yield from _fusion_table("second look", ("",), legs, total, width)
    if fused.assumed_cosine is not None:
        note = "no model has read it yet: its cosine is assumed from its words"
        yield from paragraph(note, width, "muted")


def _look_sources(fused: Fused, settings: FusionSettings, strongest: float) -> tuple[str, str]:
    evidence = fused.evidence
    near = max(evidence.cosine or fused.assumed_cosine or 0.0, 0.0)
    cosine = f"{'cosine' if fused.assumed_cosine is None else 'assumed'} {near:.{_DIGITS}f}"
    if evidence.other_script and near and not fused.look_lexical:
        factor = (fused.look_vector or 0.0) / near
        return "in another language", f"{factor:.3g} {TIMES} {cosine}"
    share = settings.look_lexical
    words = "none of the words"
    if evidence.strength is not None and strongest > 0:
        own = f"{evidence.strength:.{_DIGITS}f}"
        words = f"{share:g} {TIMES} bm25 {own}/{strongest:.{_DIGITS}f}"
    return words, f"{1 - share:g} {TIMES} {cosine}"


def place_rows(fused: Fused, settings: FusionSettings, width: int) -> Iterator[Row]:
    """From the fused place to the one in the list, step by step."""
    steps = [_step("place by fusion", fused.fusion_rank)]
    if fused.look_rank is not None:
        change = moved(fused.fusion_rank - fused.look_rank)
        steps.append(_step(f"{ARROW} second look", fused.look_rank, change))
    if (fused.look_rank is not None and fused.rank != fused.look_rank) or fused.kept_place:
        before = fused.look_rank or fused.fusion_rank
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


# The bm25 of a hit as rows: what each term of the query adds, and why so much.
#
# Pure. A table where there is room for its eight columns, otherwise each term over
# several rows with the fields that hold it. The printed sum is that of the printed parts.

_LONGEST_TERM = 24


def bm25_rows(lexical: LexicalExplanation, width: int) -> Iterator[Row]:
    adds, total = printed([term.contribution for term in lexical.terms], _DIGITS)
    yield (Segment("bm25, term by term", "heading"),)
    table = _words_table(lexical, adds, total)
    if widest(table) > width:
        yield from _stacked_words(lexical, adds, total, width)
    else:
        yield from _with_bars(table, _shares(lexical), width)
    score = f"as a score {lexical.score:.{_DIGITS}f} = {total}/(1+{total})"
    length = f"{lexical.length} tokens, {lexical.average_length:.1f} on average"
    facts = (f"bm25 -{total}", score, length, f"{lexical.chunks:,} passages")
    yield from flow([(Segment(fact, "muted"),) for fact in facts], width)


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


def _shares(lexical: LexicalExplanation) -> list[float | None]:
    """What each row of the table is of the sum; its header, weights and sum have no bar."""
    whole = sum(term.contribution for term in lexical.terms)
    return [None, None, *(term.contribution / whole for term in lexical.terms), None]


def _with_bars(table: Sequence[Row], shares: Sequence[float | None], width: int) -> Iterator[Row]:
    """Bars behind the last column, where there is room for one that says something."""
    room = min(width - widest(table) - GAP, _BAR)
    for row, share in zip(table, shares, strict=True):
        drawn = bar(share, room) if share is not None and room >= _BAR // 3 else ""
        yield (*row, Segment(" " * GAP + drawn, "words")) if drawn else row


def _stacked_words(lexical: LexicalExplanation, adds: Sequence[str], total: str, width: int) -> Iterator[Row]:
    """The same where the table is too wide: the fields that hold the term, by name."""
    for term, add in zip(lexical.terms, adds, strict=True):
        counts = term.counts
        fields = (
            ("title", counts.title),
            ("heading", counts.heading),
            ("text", counts.text),
            ("grams", counts.grams),
        )
        held = [
            f"{count} in {name} {TIMES}{getattr(lexical.weights, name):g}" for name, count in fields if count
        ]
        label = cut_middle(one_line(term.label), max(width - len(add) - GAP - 5, 4))
        pieces = (
            (Segment(label, "words"),),
            (Segment("adds "), Segment(add, "number")),
            *(
                (Segment(text, "muted"),)
                for text in (*held, f"df {term.frequency}", f"idf {term.idf:.{_DIGITS}f}")
            ),
        )
        yield from flow(pieces, width)
    yield (Segment("sum ", "sum"), Segment(total, "sum"))


DIGITS = 4
_MOST_LINES = 5
"""Of the nearest sentence: a table without full stops is one sentence to the model."""
_KINDS = {"bm25": "bm25 of its words", "cosine": "cosine", "rrf": "fused ranks", "look": "second look"}


def explain_rows(
    explained: ExplainedHit | None,
    among: ExplainedResponse,
    width: int,
    changes: Mapping[ChunkRow, int],
) -> list[Row]:
    """All sections, a blank row between them; without a hit only what concerns the whole answer."""
    sections: list[Iterable[Row]] = []
    if explained is not None:
        sections += [
            _head(explained, changes, width),
            _ranking(explained, among, width),
            _bm25(explained, among.response, width),
            _meaning(explained.semantic, width),
        ]
    response = among.response
    sections += [
        _notices(among, width),
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


def _head(explained: ExplainedHit, changes: Mapping[ChunkRow, int], width: int) -> Iterator[Row]:
    hit, fused = explained.hit, explained.fused
    rank = f"#{hit.rank}"
    place = cut_path(one_line(str(hit.citation)), max(width - len(rank) - 1, 0))
    yield (Segment(f"{rank} ", "heading"), Segment(place, "heading"))
    score, kind = (hit.score, hit.score_kind)
    if fused is not None:
        score, kind = fused.score, "rrf" if fused.rerank_score is None else "look"
    if _is_scored(explained):
        yield from flow(
            [(Segment(f"score {score:.{DIGITS}f}", "sum"),), (Segment(_KINDS[kind], "muted"),)], width
        )
    if fused is not None and (change := place_change(hit.row, fused.rank, changes)):
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
    if fused.rerank_keyword is not None and fused.rerank_semantic is not None:
        parts = (fused.rerank_keyword, fused.rerank_semantic)
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


def _ranking(explained: ExplainedHit, among: ExplainedResponse, width: int) -> Iterator[Row]:
    fused, settings = explained.fused, among.fusion
    if fused is None or settings is None:
        yield from _single_leg(explained.hit, width)
        return
    yield from fusion_rows(explained.hit, fused, settings, width)
    strongest = max((one.evidence.strength or 0.0 for one in among.candidates), default=0.0)
    yield from look_rows(fused, settings, strongest, width)
    yield from place_rows(fused, settings, width)


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


def _bm25(explained: ExplainedHit, response: SearchResponse, width: int) -> Iterator[Row]:
    lexical = explained.lexical
    if lexical is not None and lexical.bm25:
        yield from bm25_rows(lexical, width)
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


def _notices(among: ExplainedResponse, width: int) -> Iterator[Row]:
    kept = sum(one.fused is not None and one.fused.kept_place for one in among.hits)
    said = [
        (f"! {one_line(notice.text)}", "warning") if notice.level == "warning"
        else (f"{DOT} {one_line(notice.text)}", "plain")
        for notice in among.response.notices
    ]  # fmt: skip
    if kept:
        places = "place was" if kept == 1 else "places were"
        said.append((f"{DOT} {kept} {places} kept for the other language.", "plain"))
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
