"""Where the expectations of a golden file stand in the index, and which hits reach them.

A hit counts when its cited lines overlap the lines of what is expected: of the note, of
the section with its subsections, of the lines that are named. Sections are known by the
headings of the index's own passages, so merged neighbours count for each of their names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from kebab_tui.domain.document import HEADING_SEPARATOR, Chunk
from kebab_tui.domain.hit import SearchHit
from kebab_tui.evaluation.golden import Expectation, GoldenQuery
from kebab_tui.evaluation.input_files import nearest, refusal
from kebab_tui.evaluation.questions import Question

_MERGED = " · "
_CUT = "…"

Lines = tuple[int, int]
ChunksOf = Callable[[str], Sequence[Chunk]]
"""The passages of a note, by its path."""


@dataclass(frozen=True, slots=True)
class Place:
    """`item` names it in a ranking; without `spans` any line of the note will do."""

    item: str
    note: str
    grade: int
    spans: tuple[Lines, ...] | None

    def holds(self, hit: SearchHit) -> bool:
        if hit.path != self.note:
            return False
        cited = hit.citation.span
        return self.spans is None or any(
            first <= cited.last and cited.first <= last for first, last in self.spans
        )


@dataclass(frozen=True, slots=True)
class PlacedQuery:
    """A golden query whose expectations have been found."""

    query: GoldenQuery
    places: tuple[Place, ...]

    @property
    def question(self) -> Question:
        relevant = {place.item: place.grade for place in self.places}
        return Question(self.query.id, self.query.text, self.query.lang, relevant, self.query.probe)

    def ranking(self, hits: Sequence[SearchHit]) -> list[str]:
        """Each hit under the name of the best place it reaches first, or under its citation."""
        left = sorted(self.places, key=lambda place: -place.grade)
        ranked = []
        for hit in hits:
            place = next((place for place in left if place.holds(hit)), None)
            if place is not None:
                left.remove(place)
            ranked.append(place.item if place else str(hit.citation))
        return ranked


def placed(
    file: str, queries: Sequence[GoldenQuery], notes: Collection[str], chunks_of: ChunksOf
) -> list[PlacedQuery]:
    """Find every expectation in the index; what is not there is refused with its line in `file`."""
    return [
        PlacedQuery(query, tuple(_place(file, expected, notes, chunks_of) for expected in query.expect))
        for query in queries
    ]


def _place(file: str, expected: Expectation, notes: Collection[str], chunks_of: ChunksOf) -> Place:
    if expected.note not in notes:
        hint = nearest(expected.note, notes) or "paths are relative to the folder that was indexed"
        raise refusal(file, expected.line, f"note: {expected.note} is not in the index", hint)
    spans = None
    if expected.heading:
        spans = _section(file, expected, chunks_of(expected.note))
    elif expected.lines:
        spans = _lines(file, expected, chunks_of(expected.note), expected.lines)
    return Place(str(expected), expected.note, expected.relevance, spans)


def _section(file: str, expected: Expectation, chunks: Sequence[Chunk]) -> tuple[Lines, ...]:
    spans = tuple((c.span.first, c.span.last) for c in chunks if _is_below(c, expected.heading))
    if not spans:
        known = dict.fromkeys(trail for chunk in chunks for trail in _trails(chunk))
        hint = nearest(expected.heading, known) or f"its headings: {', '.join(known) or 'none'}"
        raise refusal(file, expected.line, f"heading: {expected.note} has no {expected.heading!r}", hint)
    return spans


def _lines(file: str, expected: Expectation, chunks: Sequence[Chunk], lines: Lines) -> tuple[Lines, ...]:
    if not any(c.span.first <= lines[1] and lines[0] <= c.span.last for c in chunks):
        last = max((chunk.span.last for chunk in chunks), default=0)
        what = f"lines: no passage of {expected.note} stands at {lines[0]}-{lines[1]}"
        raise refusal(file, expected.line, what, f"its last line of text is {last}")
    return (lines,)


def _is_below(chunk: Chunk, heading: str) -> bool:
    """Whether a passage belongs to a section, by itself or merged with neighbours."""
    below = heading + HEADING_SEPARATOR
    if any(trail == heading or trail.startswith(below) for trail in _trails(chunk)):
        return True
    # A long list of merged names is cut short; the passage itself still holds the headings.
    parent, _, name = heading.rpartition(HEADING_SEPARATOR)
    return chunk.heading_path.endswith(_CUT) and chunk.heading_path.startswith(parent) and name in chunk.text


def _trails(chunk: Chunk) -> Iterator[str]:
    """The headings of a passage; of a merged one, those of each of its sections as well."""
    yield chunk.heading_path
    parent, separator, label = chunk.heading_path.rpartition(HEADING_SEPARATOR)
    first, *names = label.split(_MERGED)
    if names:
        yield from (parent + separator + name for name in (first, *names))
        # The first may be the parent of the others: its own text was merged with them.
        yield from (parent + separator + first + HEADING_SEPARATOR + name for name in names)
