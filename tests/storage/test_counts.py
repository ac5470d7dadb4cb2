"""Counts put together from known ones, and rows looked up in other ways, are those of a plain search."""

from __future__ import annotations

import random

import pytest

from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.query import SearchFilters
from kebab_tui.search.match import All, Any, Match, Not, Phrase, Prefix, Word, implies
from kebab_tui.search.ports import Among
from kebab_tui.storage.sqlite import snapshot as snapshots
from kebab_tui.storage.sqlite.fts import fts5
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.snapshot import StoreSnapshot
from kebab_tui.storage.sqlite.writer import StoreWriter
from tests.notes import a_note

WORDS = ["the", "of", "port", "gate", "key", "lock", "none"]
DICE = random.Random(8)


@pytest.fixture
def filled(writer: StoreWriter, reader: StoreReader) -> StoreReader:
    texts = (" ".join(DICE.choices(WORDS[:-1], (9, 6, 4, 3, 2, 1), k=DICE.randint(1, 6))) for _ in range(200))
    writer.apply(tuple(a_note(f"{'ab'[n % 2]}/n{n}.md", text, title="x") for n, text in enumerate(texts)))
    return reader


def a_match() -> Match:
    terms = tuple(DICE.choice((Word, Word, Word, Prefix))(word) for word in DICE.sample(WORDS, 3))
    few = terms[: DICE.randint(2, 3)]
    return DICE.choice(
        (
            terms[0],
            Any(few),
            All(few),
            Any((terms[0], All(terms[1:]))),
            Phrase("the of"),
            Not(Any(terms), All(few)),
        )
    )


def plain(snapshot: StoreSnapshot, among: Among) -> set[int]:
    def matching(match: Match) -> set[int]:
        found = snapshot._connection.execute(
            "SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?", (fts5(match),)
        )
        return {row for (row,) in found}

    assert among.match is not None
    found = matching(among.match).difference(*map(matching, among.without))
    return found & set(snapshot.rows(Among(among.filters))) if among.filters.active else found


@pytest.mark.parametrize(("search", "marked"), [(250, 10_000), (0, 0), (10**9, -1)])
def test_counts_and_rows_are_those_of_a_plain_search(
    filled: StoreReader, monkeypatch: pytest.MonkeyPatch, search: int, marked: int
) -> None:
    monkeypatch.setattr(snapshots, "_SEARCH", search)
    monkeypatch.setattr(snapshots, "_MARKED", marked)
    for _ in range(300):
        match = a_match()
        without = (DICE.choice((a_match(), match)),) if DICE.random() < 0.4 else ()
        filters = DICE.choice((SearchFilters(), SearchFilters(), SearchFilters(paths=("a/",))))
        with filled.snapshot() as snapshot:
            everything = sorted(snapshot.rows(Among()))
            for part in DICE.sample([match, Word("the"), Word("of"), All((Word("the"), Word("of")))], 2):
                snapshot.count(Among(filters, None, part))
            among = Among(filters, None, match, without)
            expected = plain(snapshot, among)
            some = [ChunkRow(row) for row in DICE.sample(everything, DICE.choice((0, 3, 40)))]
            if DICE.random() < 0.5:
                snapshot.rank(among, DICE.choice((3, 300)))
            assert snapshot.count(among) == len(expected)
            assert snapshot.which(some, among) == expected.intersection(some)
            assert snapshot.count(among, leaving_out=some) == len(expected.difference(some))


def test_what_matches_one_match_matches_another_if_their_form_says_so() -> None:
    one, other = Word("a"), Word("b")
    assert implies(one, one)
    assert implies(All((one, other)), Any((one, other)))
    assert implies(All((one, other)), other)
    assert implies(one, Any((other, one)))
    assert not implies(Any((one, other)), one)
    assert not implies(one, All((one, other)))
    assert not implies(one, other)
