"""The arithmetic of a fused hit as rows: the legs, their sum, the second look, its place.

Pure, and only about hits of a hybrid answer. Shares of a fusion are hundredths or less,
so they are printed with as many digits as the fused score needs to follow from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kebab_tui.domain.text import digits_of_shares, printed
from kebab_tui.tui.segments import (
    GAP,
    Role,
    Row,
    Segment,
    Signs,
    bar,
    columns,
    flow,
    moved,
    paragraph,
    widest,
)

if TYPE_CHECKING:
    from kebab_tui.domain.hit import SearchHit
    from kebab_tui.search.ranking import Fused, FusionSettings

_DIGITS = 4
_BAR = 12


@dataclass(frozen=True, slots=True)
class _Leg:
    """One row of the table; `share` is of the sum below, `cells` stand between name and part."""

    name: str
    role: Role
    cells: tuple[str, ...]
    part: str
    share: float


def fusion_rows(
    hit: SearchHit, fused: Fused, settings: FusionSettings, width: int, signs: Signs
) -> Iterator[Row]:
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
    yield from _table("ranks", ("rank", "score", "weight", "fraction"), legs, raw, width, signs)
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
) -> _Leg:
    scored = "-" if score is None else f"{score:.{_DIGITS}f}"
    if rank is None:
        return _Leg(name, name, ("-", scored, f"{weight:g}", "not in its list"), part, share)
    return _Leg(name, name, (str(rank), scored, f"{weight:g}", f"{weight:g}/({rrf_k}+{rank})"), part, share)


def _share(parts: Sequence[float], place: int) -> float:
    whole = sum(parts)
    return parts[place] / whole if whole else 0.0


def _table(
    title: str, names: Sequence[str], legs: Sequence[_Leg], total: str, width: int, signs: Signs
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
        yield from _stacked(title, names, legs, total, width, signs)
        return
    room = min(width - widest(table) - GAP, _BAR)
    yield table[0]
    for row, leg in zip(table[1:-1], legs, strict=True):
        drawn = bar(leg.share, room, signs) if room >= _BAR // 3 else ""
        yield (*row, Segment(" " * GAP), Segment(drawn, leg.role)) if drawn else row
    yield table[-1]


def _stacked(
    title: str, names: Sequence[str], legs: Sequence[_Leg], total: str, width: int, signs: Signs
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
        if drawn := bar(leg.share, min(_BAR, width - GAP), signs):
            pieces.append((Segment(drawn, leg.role),))
        yield from flow(pieces, width)
    yield (Segment("sum ", "sum"), Segment(total, "sum"))


def look_rows(
    fused: Fused, settings: FusionSettings, strongest: float, width: int, signs: Signs
) -> Iterator[Row]:
    """The one number that orders the best, and where its two parts come from."""
    if fused.look_lexical is None or fused.look_vector is None:
        return
    parts = (fused.look_lexical, fused.look_vector)
    shown, total = printed(parts, _DIGITS)
    words, meaning = _look_sources(fused, settings, strongest, signs)
    legs = [
        _Leg("words", "words", (words,), shown[0], _share(parts, 0)),
        _Leg("meaning", "meaning", (meaning,), shown[1], _share(parts, 1)),
    ]
    yield ()
    yield from _table("second look", ("",), legs, total, width, signs)
    if fused.assumed_cosine is not None:
        note = "no model has read it yet: its cosine is assumed from its words"
        yield from paragraph(note, width, "muted")


def _look_sources(fused: Fused, settings: FusionSettings, strongest: float, signs: Signs) -> tuple[str, str]:
    evidence = fused.evidence
    near = max(evidence.cosine or fused.assumed_cosine or 0.0, 0.0)
    cosine = f"{'cosine' if fused.assumed_cosine is None else 'assumed'} {near:.{_DIGITS}f}"
    if evidence.other_script and near and not fused.look_lexical:
        factor = (fused.look_vector or 0.0) / near
        return "in another language", f"{factor:.3g} {signs.times} {cosine}"
    share = settings.look_lexical
    words = "none of the words"
    if evidence.strength is not None and strongest > 0:
        own = f"{evidence.strength:.{_DIGITS}f}"
        words = f"{share:g} {signs.times} bm25 {own}/{strongest:.{_DIGITS}f}"
    return words, f"{1 - share:g} {signs.times} {cosine}"


def place_rows(fused: Fused, settings: FusionSettings, width: int, signs: Signs) -> Iterator[Row]:
    """From the fused place to the one in the list, step by step."""
    steps = [_step("place by fusion", fused.fusion_rank)]
    if fused.look_rank is not None:
        change = moved(fused.fusion_rank - fused.look_rank, signs)
        steps.append(_step(f"{signs.arrow} second look", fused.look_rank, change))
    if (fused.look_rank is not None and fused.rank != fused.look_rank) or fused.kept_place:
        before = fused.look_rank or fused.fusion_rank
        steps.append(_step(f"{signs.arrow} with kept places", fused.rank, moved(before - fused.rank, signs)))
    yield from flow(steps, width)
    if fused.look is not None and fused.look_rank is None:
        text = f"below the best {settings.look_depth} of the fusion: place {fused.rank} by this score"
        yield from paragraph(text, width, "muted")
    if fused.kept_place:
        yield from paragraph(f"place {fused.rank} was kept for the other language", width, "muted")


def _step(name: str, place: int, change: str = "") -> Row:
    shown = f"{place} {change}".rstrip()
    return Segment(f"{name} ", "muted"), Segment(shown, "number")
