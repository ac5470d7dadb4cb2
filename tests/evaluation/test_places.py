"""When a hit counts as found: its lines overlap what was expected, however passages were merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from kebab_tui.domain.citation import SourceSpan
from kebab_tui.domain.document import Chunk
from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.ids import ChunkId, ChunkRow, DocId
from kebab_tui.evaluation.golden import Expectation, GoldenQuery, PlacedQuery, placed
from tests.evaluation.answers import a_hit


def chunk(heading_path: str, first: int, last: int, text: str = "") -> Chunk:
    span = SourceSpan(first, last)
    return Chunk(ChunkRow(first), ChunkId("c"), DocId("d"), 0, "info", heading_path, text, span)


NOTE = (
    chunk("Trip", 1, 4),
    chunk("Trip > Food · Hotels", 5, 20),
    chunk("Trip > Sights > Palace", 21, 30),
    chunk("Trip > Sights > Tower · Market · …", 31, 60, "### Tower\n### Market\n### Bridge of Birds"),
    chunk("Trip > Home", 61, 70),
)


def find(*expect: Expectation, chunks: Sequence[Chunk] = NOTE) -> PlacedQuery:
    query = GoldenQuery("q", "words", "en", "", expect)
    (found,) = placed("golden.yaml", [query], ["trip.md", "food.md"], lambda _: chunks)
    return found


def ranks(found: PlacedQuery, *hits: tuple[str, int, int]) -> list[bool]:
    ranked = found.ranking([a_hit(path, first, last) for path, first, last in hits])
    return [item in found.question.relevant for item in ranked]


def test_any_line_of_a_note_will_do_when_nothing_more_is_named() -> None:
    found = find(Expectation("trip.md", 1))
    assert ranks(found, ("food.md", 1, 4), ("trip.md", 61, 70)) == [False, True]


@pytest.mark.parametrize(
    ("heading", "spans"),
    [
        ("Trip > Hotels", ((5, 20),)),
        ("Trip > Food", ((5, 20),)),
        ("Trip > Sights", ((21, 30), (31, 60))),
        ("Trip > Sights > Market", ((31, 60),)),
        ("Trip > Sights > Bridge of Birds", ((31, 60),)),
        ("Trip > Home", ((61, 70),)),
        ("Trip", tuple((c.span.first, c.span.last) for c in NOTE)),
    ],
)
def test_a_section_is_its_own_text_and_its_subsections(
    heading: str, spans: tuple[tuple[int, int], ...]
) -> None:
    (place,) = find(Expectation("trip.md", 1, heading=heading)).targets
    assert place.spans == tuple(SourceSpan(*span) for span in spans)


def test_lines_are_reached_by_any_overlap() -> None:
    found = find(Expectation("trip.md", 1, lines=(18, 22)))
    assert ranks(found, ("trip.md", 1, 17)) == [False]
    assert ranks(found, ("trip.md", 5, 18)) == [True]
    assert ranks(found, ("trip.md", 22, 22)) == [True]
    assert ranks(found, ("trip.md", 23, 40)) == [False]


def test_one_expectation_counts_once_and_the_better_one_first() -> None:
    found = find(Expectation("trip.md", 1), Expectation("trip.md", 2, heading="Trip > Home", relevance=3))
    ranked = found.ranking([a_hit("trip.md", 61, 70), a_hit("trip.md", 62, 63), a_hit("trip.md", 1, 2)])
    assert ranked == ["trip.md > Trip > Home", "trip.md", "trip.md:L1-L2"]
    assert found.question.relevant == {"trip.md": 1, "trip.md > Trip > Home": 3}


@pytest.mark.parametrize(
    ("expected", "what", "hint"),
    [
        (Expectation("trips.md", 12), "trips.md is not in the index", "did you mean trip.md?"),
        (Expectation("zzz", 12), "zzz is not in the index", "relative to the folder"),
        (
            Expectation("trip.md", 12, heading="Trip > Hotel"),
            "no 'Trip > Hotel'",
            "did you mean Trip > Hotels?",
        ),
        (Expectation("trip.md", 12, heading="Nowhere"), "no 'Nowhere'", "Trip > Sights > Palace"),
        (Expectation("trip.md", 12, lines=(99, 120)), "no passage at 99-120", "last line of text is 70"),
    ],
)
def test_what_is_not_there_is_refused_with_its_line(expected: Expectation, what: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        find(expected)
    assert refused.value.message.startswith("golden.yaml:12: ")
    assert what in refused.value.message
    assert hint in refused.value.hint


def test_a_heading_that_only_begins_alike_is_another_section() -> None:
    chunks = (chunk("Trip > Home", 1, 2), replace(chunk("Trip > Homework", 3, 4)))
    (place,) = find(Expectation("trip.md", 1, heading="Trip > Home"), chunks=chunks).targets
    assert place.spans == (SourceSpan(1, 2),)
