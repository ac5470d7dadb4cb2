"""The ranking of common words by their lists equals that of all passages, digit for digit."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from kebab_tui.domain.change import RemoveNote, SaveNote
from kebab_tui.domain.query import SearchFilters
from kebab_tui.search.match import All, Any, Match, Phrase, Prefix, Word
from kebab_tui.search.ports import Among, FieldWeights, Scored
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite import top_lists
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.snapshot import StoreSnapshot
from kebab_tui.storage.sqlite.writer import StoreWriter
from tests.notes import a_note

COMMON, SIZE = 100, 40
THE = Among(match=Word("the"))
DICE = random.Random(5)


@pytest.fixture(autouse=True)
def small_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(top_lists, "COMMON", COMMON)
    monkeypatch.setattr(top_lists, "SIZE", SIZE)


def notes(count: int, first: int = 0, longest: int = 60) -> Iterator[SaveNote]:
    """Skewed: most passages have the word, few often; many are equal."""
    for n in range(first, first + count):
        words = DICE.choices(
            ("the", "a", f"w{n % 50}", "port"), (0.2 + n % 3, 2, 3, 1), k=DICE.randint(3, longest)
        )
        title = "the the note" if n % 17 == 0 else f"note {n % 5}"
        note = a_note(f"n{n}.md", " ".join([*words, "the", *["often"] * (n % 5 // 3 * n % 7)]), title=title)
        yield replace(note, document=replace(note.document, lang="ko" if n % 4 == 0 else "en"))


def rankings(reader: StoreReader, among: Among, limit: int) -> tuple[list[Scored], list[Scored] | None]:
    """The ranking of everything, and that of the lists if they reach so far."""
    with reader.snapshot() as snapshot:
        where, values = snapshot._where(among)
        full, _ = snapshot._ranked(f"{snapshot._scores} WHERE {where}", values, limit)
        return full, snapshot._listed(among, limit)


@pytest.fixture
def listed(writer: StoreWriter, reader: StoreReader) -> StoreReader:
    writer.apply(tuple(notes(15)))
    writer.apply(tuple(notes(300, 15)))  # more than `bulk_chunks`: the log begins again
    writer.merge_full_text()
    return reader


def test_the_list_is_the_beginning_of_the_ranking(listed: StoreReader) -> None:
    for limit in (1, 10, SIZE - 8):
        full, short = rankings(listed, THE, limit)
        assert short == full
    full, short = rankings(listed, THE, 2 * SIZE)
    assert short is None, "the list does not reach so far"
    with listed.snapshot() as snapshot:
        assert snapshot.rank(THE, 2 * SIZE) == full
        assert snapshot.rank(THE, 10) == full[:10]


def test_a_filter_uses_the_list_as_far_as_it_reaches(listed: StoreReader) -> None:
    for filters in (
        SearchFilters(langs=("en",)),
        SearchFilters(paths=("n1*",)),
        SearchFilters(langs=("ko",)),
    ):
        full, short = rankings(listed, replace(THE, filters=filters), 5)
        assert short in (full, None)
    full, short = rankings(listed, replace(THE, filters=SearchFilters(langs=("en",))), 5)
    assert short == full


def test_changes_are_ranked_with_the_list(writer: StoreWriter, listed: StoreReader) -> None:
    """Much longer and much shorter passages change the average length: never a wrong order, only no order."""
    used = 0
    for step, longest in enumerate((20, 400, 3, 5, 900, 10)):
        changed = list(notes(10, 400 + 10 * step, longest)) + list(notes(3, 20 * step, longest))
        writer.apply([*changed, RemoveNote(next(notes(1, 200 + step)).document.doc_id)])
        for limit in (1, 7, 20):
            full, short = rankings(listed, THE, limit)
            assert short in (full, None)
            used += short is not None
    assert used >= 9


@pytest.mark.parametrize(
    "match",
    [
        Any((Word("the"), Word("port"))),
        Any((Word("port"), Word("a"), Word("the"))),
        Any((Word("w7"), Word("the"))),
        Any((Word("the"), Prefix("w1"), Phrase("a port"))),
        All((Word("the"), Word("port"))),
        All((Word("a"), Word("the"), Word("often"))),
        Any((Word("often"), Word("port"))),
    ],
)
def test_several_words_are_ranked_by_their_lists(
    writer: StoreWriter, listed: StoreReader, match: Match
) -> None:
    used = 0
    for step, longest in enumerate((60, 20, 400, 3)):
        for among in (
            Among(match=match),
            Among(SearchFilters(langs=("en",)), match=match),
            Among(match=match, without=(Word("w3"),)),
        ):
            for limit in (1, 5, 20):
                full, short = rankings(listed, among, limit)
                assert short in (full, None)
                used += short is not None
                with listed.snapshot() as snapshot:
                    top = [one.row for one in full[:2]]
                    assert snapshot.rank(among, limit) == full
                    rest = snapshot.rank(among, limit, leaving_out=top)
                    assert rest[: limit - 2] == full[2:]
        writer.apply(list(notes(5, 500 + 10 * step, longest)))
    assert used >= 9


def test_words_of_one_stem_have_one_list(writer: StoreWriter, reader: StoreReader) -> None:
    texts = ("port ports", "ports", "the port")
    writer.apply(tuple(a_note(f"p{n}.md", texts[n % 3] + " x" * (n % 11)) for n in range(3 * COMMON)))
    writer.merge_full_text()
    with reader.snapshot() as snapshot:
        stems = [stem for (stem,) in snapshot._connection.execute("SELECT word FROM top_lists")]
    assert {"port", "the"} <= set(stems)
    assert "ports" not in stems
    for match in (Word("port"), Word("Ports"), Any((Word("port"), Word("ports")))):
        full, short = rankings(reader, Among(match=match), 5)
        assert short == full


def test_a_list_is_used_only_while_the_log_and_the_weights_are_those_it_was_made_with(
    writer: StoreWriter, listed: StoreReader, folder: DataFolder
) -> None:
    other = StoreReader(folder, FieldWeights(title=9.0))
    assert rankings(other, THE, 5)[1] is None
    other.close()
    writer.apply(tuple(notes(30, 700)))  # in bulk
    assert rankings(listed, THE, 5)[1] is None
    writer.merge_full_text()
    full, short = rankings(listed, THE, 5)
    assert short == full
    writer.rebuild_full_text()
    assert rankings(listed, THE, 5)[1] is None


def test_only_single_plain_common_words_have_a_list(
    writer: StoreWriter, listed: StoreReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def has_list(snapshot: StoreSnapshot, word: Word) -> bool:
        found = top_lists.candidates(
            snapshot._connection, word, FieldWeights(), snapshot.collection(), snapshot.frequency
        )
        return found is not None

    with listed.snapshot() as snapshot:
        assert has_list(snapshot, Word("The"))
        assert not has_list(snapshot, Word("w7"))
        assert not has_list(snapshot, Word("thé"))
        assert not has_list(snapshot, Word("the", ("title",)))
        monkeypatch.setattr(top_lists, "COMMON", 10_000)
        assert not has_list(snapshot, Word("the"))


def test_a_saved_note_does_not_wait_for_the_lists(writer: StoreWriter, listed: StoreReader) -> None:
    writer.rebuild_full_text()
    writer.merge_full_text(lambda: True)
    assert rankings(listed, THE, 5)[1] is None
    writer.merge_full_text()
    assert rankings(listed, THE, 5)[1] is not None


def test_new_passages_are_found_among_many_new_vectors(writer: StoreWriter, listed: StoreReader) -> None:
    with listed.snapshot() as snapshot:
        revision = snapshot.revision
        hashes = [row[0] for row in snapshot._connection.execute("SELECT embed_hash FROM chunks LIMIT 50")]
    for part in (hashes[:20], hashes[20:]):
        writer.save_vectors("model", [(text_hash, b"12") for text_hash in part])
        writer.apply(tuple(notes(2, 800 + len(part))))
    with listed.snapshot() as snapshot:
        added = "SELECT DISTINCT chunk FROM changes WHERE revision > ? AND op = 'add'"
        expected = [row for (row,) in snapshot._connection.execute(added, (revision,))]
        assert sorted(top_lists._new_since(snapshot._connection, revision)) == sorted(expected) != []
    full, short = rankings(listed, THE, 5)
    assert short == full
