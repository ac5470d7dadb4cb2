"""The bm25 of a hit as rows: what each term of the query adds, and why so much.

Pure. A table where there is room for its eight columns, otherwise each term over
several rows with the fields that hold it. The printed sum is that of the printed parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kebab_tui.domain.text import printed
from kebab_tui.tui.segments import GAP, Row, Segment, Signs, bar, columns, flow, one_line, widest
from kebab_tui.tui.text import cut_middle

if TYPE_CHECKING:
    from kebab_tui.search.explanation import LexicalExplanation

_DIGITS = 4
_BAR = 12
_LONGEST_TERM = 24


def bm25_rows(lexical: LexicalExplanation, width: int, signs: Signs) -> Iterator[Row]:
    adds, total = printed([term.contribution for term in lexical.terms], _DIGITS)
    yield (Segment("bm25, term by term", "heading"),)
    table = _table(lexical, adds, total, signs)
    if widest(table) > width:
        yield from _stacked(lexical, adds, total, width, signs)
    else:
        yield from _with_bars(table, _shares(lexical), width, signs)
    score = f"as a score {lexical.score:.{_DIGITS}f} = {total}/(1+{total})"
    length = f"{lexical.length} tokens, {lexical.average_length:.1f} on average"
    facts = (f"bm25 -{total}", score, length, f"{lexical.chunks:,} passages")
    yield from flow([(Segment(fact, "muted"),) for fact in facts], width)


def _table(lexical: LexicalExplanation, adds: Sequence[str], total: str, signs: Signs) -> list[Row]:
    weights = lexical.weights
    factors = (weights.title, weights.heading, weights.text, weights.grams)
    header = ("term", "title", "heading", "text", "grams", "df", "idf", "adds")
    rows = [
        [Segment(name, "muted") for name in header],
        [Segment(text, "muted") for text in
         (f"{signs.times} weight", *(f"{factor:g}" for factor in factors), "", "", "")],
    ]  # fmt: skip
    for term, add in zip(lexical.terms, adds, strict=True):
        counts = term.counts
        numbers = (counts.title, counts.heading, counts.text, counts.grams, term.frequency)
        label = Segment(cut_middle(one_line(term.label), _LONGEST_TERM, signs.glyphs.ellipsis), "words")
        idf = Segment(f"{term.idf:.{_DIGITS}f}")
        rows.append([label, *(Segment(str(number)) for number in numbers), idf, Segment(add, "number")])
    rows.append([Segment("sum", "sum"), *(Segment("") for _ in range(6)), Segment(total, "sum")])
    return columns(rows, right=range(1, len(header)))


def _shares(lexical: LexicalExplanation) -> list[float | None]:
    """What each row of the table is of the sum; its header, weights and sum have no bar."""
    whole = sum(term.contribution for term in lexical.terms)
    return [None, None, *(term.contribution / whole for term in lexical.terms), None]


def _with_bars(
    table: Sequence[Row], shares: Sequence[float | None], width: int, signs: Signs
) -> Iterator[Row]:
    """Bars behind the last column, where there is room for one that says something."""
    room = min(width - widest(table) - GAP, _BAR)
    for row, share in zip(table, shares, strict=True):
        drawn = bar(share, room, signs) if share is not None and room >= _BAR // 3 else ""
        yield (*row, Segment(" " * GAP + drawn, "words")) if drawn else row


def _stacked(
    lexical: LexicalExplanation, adds: Sequence[str], total: str, width: int, signs: Signs
) -> Iterator[Row]:
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
            f"{count} in {name} {signs.times}{getattr(lexical.weights, name):g}"
            for name, count in fields
            if count
        ]
        label = cut_middle(one_line(term.label), max(width - len(add) - GAP - 5, 4), signs.glyphs.ellipsis)
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
