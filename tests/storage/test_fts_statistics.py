"""The statistics computed from FTS5 add up to its own bm25."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kebab_tui.domain.change import RemoveNote
from kebab_tui.domain.query import SearchFilters
from kebab_tui.search.explanation import explain_lexical
from kebab_tui.search.match import Any, Word, any_of
from kebab_tui.search.ports import Among, FieldCounts, FieldWeights
from kebab_tui.search.words import grams_phrase, words_phrase
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.statistics import varints
from kebab_tui.storage.sqlite.writer import StoreWriter
from tests.notes import a_note, a_source

WORDS = ("port", "ports", "conflict", "the", "install", "installed", "rust", "충돌은", "충돌", "포트", "x")
TEXT = st.lists(st.sampled_from(WORDS), min_size=0, max_size=25).map(" ".join)
NOTE = st.tuples(TEXT, TEXT, st.lists(TEXT, min_size=1, max_size=4))
WEIGHT = st.sampled_from([0.0, 0.5, 1.0, 2.0, 4.0, 37.5])
PHRASES = (
    words_phrase("port"),
    words_phrase("port conflict"),
    words_phrase("inst", prefix=True),
    words_phrase("the"),
    grams_phrase(("충돌",)),
    grams_phrase(("트",)),
    words_phrase("nowhere"),
)


@contextmanager
def indexed(
    notes: list[tuple[str, str, list[str]]], weights: FieldWeights
) -> Iterator[tuple[StoreWriter, StoreReader]]:
    with tempfile.TemporaryDirectory() as root:
        folder = DataFolder(root)
        writer, reader = StoreWriter(folder, bulk_chunks=6), StoreReader(folder, weights)
        writer.save_sources([a_source()])
        writer.apply(
            [
                a_note(f"{n}.md", *texts, title=title, heading=head)
                for n, (title, head, texts) in enumerate(notes)
            ]
        )
        yield writer, reader
        reader.close()
        writer.close()


@settings(max_examples=40, deadline=None)
@given(
    notes=st.lists(NOTE, min_size=1, max_size=8),
    weights=st.builds(FieldWeights, WEIGHT, WEIGHT, WEIGHT, WEIGHT),
    phrases=st.lists(st.sampled_from(PHRASES), min_size=1, max_size=4, unique=True),
    gone=st.booleans(),
)
def test_the_parts_of_a_score_add_up_to_the_score(
    notes: list[tuple[str, str, list[str]]], weights: FieldWeights, phrases: list[object], gone: bool
) -> None:
    chosen = [phrase for phrase in PHRASES if phrase in phrases]
    with indexed(notes, weights) as (writer, reader):
        if gone and len(notes) > 1:
            writer.apply([RemoveNote(a_note("0.md").document.doc_id)])
        with reader.snapshot() as snapshot:
            scored = snapshot.rank(Among(match=any_of(tuple(chosen))), 1000)
            tables = explain_lexical(snapshot, chosen, [one.row for one in scored], weights)
            for one in scored:
                assert -tables[one.row].value == pytest.approx(one.bm25, abs=1e-6)


def test_occurrences_are_counted_field_by_field() -> None:
    note = ("port", "The Ports", ["port port conflict 충돌은", "nothing here", "port"])
    with indexed([note], FieldWeights()) as (_, reader), reader.snapshot() as snapshot:
        rows = [one.row for one in snapshot.rank(Among(match=Any((Word("port"), Word("nothing")))), 10)]
        by_text = {found.chunk.text: row for row, found in snapshot.hydrate(rows).items()}
        counts = snapshot.occurrences(Word("port"), rows)
        first = by_text["port port conflict 충돌은"]
        assert counts[first] == FieldCounts(heading=1, text=2, title=1, grams=0)
        assert counts[by_text["nothing here"]] == FieldCounts(1, 0, 1, 0)
        grams = snapshot.occurrences(grams_phrase(("충돌",)), rows)
        assert grams == {first: FieldCounts(0, 0, 0, 1)}


def test_lengths_and_their_mean_follow_the_present_chunks() -> None:
    with indexed([("", "", ["a b c"]), ("", "", ["a b c d e"])], FieldWeights()) as (writer, reader):
        with reader.snapshot() as snapshot:
            rows = [one.row for one in snapshot.rank(Among(match=Word("a")), 10)]
            assert sorted(snapshot.lengths(rows).values()) == [3, 5]
            assert (snapshot.collection().chunks, snapshot.collection().average_length) == (2, 4.0)
        writer.apply([RemoveNote(a_note("0.md").document.doc_id)])
        with reader.snapshot() as snapshot:
            assert (snapshot.collection().chunks, snapshot.collection().average_length) == (1, 5.0)
        writer.apply([RemoveNote(a_note("1.md").document.doc_id)])
        with reader.snapshot() as snapshot:
            assert (snapshot.collection().chunks, snapshot.collection().average_length) == (0, 0.0)


def test_a_word_in_every_chunk_still_counts() -> None:
    notes = [("", "", [f"port {n}"]) for n in range(5)]
    with indexed(notes, FieldWeights()) as (_, reader), reader.snapshot() as snapshot:
        rows = [one.row for one in snapshot.rank(Among(match=Word("port")), 10)]
        assert {counts.text for counts in snapshot.occurrences(Word("port"), rows).values()} == {1}


def varint(number: int) -> bytes:
    """SQLite's own definition, written the other way round."""
    if number >= 1 << 56:
        head = bytes((number >> 8 >> 7 * (7 - i) & 0x7F) | 0x80 for i in range(8))
        return head + bytes([number & 0xFF])
    digits = [number & 0x7F]
    while number := number >> 7:
        digits.append(number & 0x7F | 0x80)
    return bytes(reversed(digits))


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 300), max_size=20))
def test_varints_of_any_length_are_decoded(numbers: list[int]) -> None:
    assert varints(b"".join(map(varint, numbers))) == numbers


def test_a_filter_does_not_change_the_figures() -> None:
    notes = [("", "", ["port a"]), ("", "", ["port b", "b"])]
    with indexed(notes, FieldWeights()) as (_, reader), reader.snapshot() as snapshot:
        everywhere = {one.row: one.bm25 for one in snapshot.rank(Among(match=Word("port")), 10)}
        narrowed = snapshot.rank(Among(SearchFilters(paths=("1.md",)), match=Word("port")), 10)
        assert [(one.row, one.bm25) for one in narrowed] == [
            (one.row, everywhere[one.row]) for one in narrowed
        ]
        assert len(narrowed) == 1
