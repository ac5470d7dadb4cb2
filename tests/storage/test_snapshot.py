"""A snapshot is consistent: ranking, paging, counting and hydrating agree."""

from __future__ import annotations

import re
import threading
from dataclasses import replace

import pytest

from kebab_tui.domain.change import RemoveNote
from kebab_tui.domain.errors import RawQueryError
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.query import SearchFilters
from kebab_tui.search.match import Any, Word, parse_raw, terms
from kebab_tui.search.ports import Among, FieldWeights, FoundChunk, Scored
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.snapshot import StoreSnapshot
from kebab_tui.storage.sqlite.writer import StoreWriter
from tests.notes import a_note

EVERYTHING = SearchFilters()
ALPHA, SAME = Among(match=Word("alpha")), Among(match=Word("same"))


def fill(writer: StoreWriter, notes: int = 12) -> None:
    for n in range(notes):
        writer.apply([a_note(f"{n}.md", "alpha " * (n % 5 + 1) + f"word{n}", "beta", title="", heading="")])


def test_pages_of_a_ranking_do_not_overlap(writer: StoreWriter, reader: StoreReader) -> None:
    fill(writer)
    with reader.snapshot() as snapshot:
        whole = snapshot.rank(ALPHA, 100)
        assert [one.bm25 for one in whole] == sorted(one.bm25 for one in whole)
        for size in (1, 5, 12):
            assert snapshot.rank(ALPHA, size) == whole[:size]
        rest = snapshot.rank(ALPHA, 100, leaving_out=[one.row for one in whole[:5]])
        assert rest == whole[5:]
        assert snapshot.count(ALPHA) == len(whole) == snapshot.frequency(Word("alpha"))


@pytest.mark.parametrize("looked_at", [500, 3])
def test_equal_scores_stand_in_the_order_of_their_chunk_ids(
    writer: StoreWriter, reader: StoreReader, monkeypatch: pytest.MonkeyPatch, looked_at: int
) -> None:
    monkeypatch.setattr("kebab_tui.storage.sqlite.snapshot._TIES", looked_at)
    texts = [*["same words"] * 12, "same", "same same words and more"]
    writer.apply([a_note("a.md", *texts, title="", heading="")])
    with reader.snapshot() as snapshot:
        whole = snapshot.rank(SAME, 20)
        ids = snapshot.chunk_ids([one.row for one in whole])
        assert whole == sorted(whole, key=lambda one: (one.bm25, ids[one.row]))
        for limit in range(1, 15):
            assert snapshot.rank(SAME, limit) == whole[:limit]
        assert [snapshot.better(SAME, one) for one in whole] == list(range(14))


def test_chunks_down_to_a_score_can_be_counted(writer: StoreWriter, reader: StoreReader) -> None:
    fill(writer)
    with reader.snapshot() as snapshot:
        whole = snapshot.rank(ALPHA, 100)
        for one in whole:
            expected = sum(other.bm25 <= one.bm25 for other in whole)
            assert snapshot.count(ALPHA, worst=one.bm25) == expected
        left_out = [one.row for one in whole[:5]]
        assert snapshot.count(ALPHA, leaving_out=left_out) == len(whole) - 5


def test_a_ranking_is_made_once_for_each_revision(writer: StoreWriter, reader: StoreReader) -> None:
    fill(writer)
    statements: list[str] = []

    def found() -> int:
        statements.clear()
        with reader.snapshot() as snapshot:
            snapshot._connection.set_trace_callback(statements.append)
            ranked = snapshot.rank(ALPHA, 1_000)
            assert snapshot.count(ALPHA) == len(ranked)
            snapshot._connection.set_trace_callback(None)
        return len(ranked)

    def asked() -> bool:
        return any("MATCH" in one for one in statements)

    assert found() == 12 and asked()
    assert found() == 12 and not asked()
    writer.apply([a_note("late.md", "alpha late")])
    assert found() == 13 and asked()


def test_how_common_a_word_is_is_counted_once_for_each_revision(
    writer: StoreWriter, reader: StoreReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kebab_tui.storage.sqlite.snapshot._COMMONPLACE_CHUNKS", 12)
    fill(writer)
    statements: list[str] = []

    def common() -> set[str]:
        statements.clear()
        with reader.snapshot() as snapshot:
            snapshot._connection.set_trace_callback(statements.append)
            found = snapshot.too_frequent(["alpha", "word3"])
            snapshot._connection.set_trace_callback(None)
        return found

    def counted() -> bool:
        return any("MATCH" in one for one in statements)

    assert common() == set() and not counted()
    writer.apply([a_note("late.md", "alpha late")])
    assert common() == {"alpha"} and counted()
    assert common() == {"alpha"} and not counted()
    writer.apply([a_note("late.md", "late")])
    assert common() == set() and counted()


def test_rows_are_never_looked_up_in_the_full_text_one_by_one(
    writer: StoreWriter, reader: StoreReader
) -> None:
    """FTS5 would start one search for each row. SQLite writes such a plan with a `=` before the match."""
    fill(writer)
    statements: list[str] = []
    narrow = SearchFilters(titles=("a",))
    with reader.snapshot() as snapshot:
        connection = snapshot._connection
        connection.set_trace_callback(statements.append)
        scored, rows = Any((Word("alpha"), Word("beta"))), [ChunkRow(1)]
        among = Among(narrow, "other", Word("alpha"), (Word("word3"),))
        ranked = snapshot.rank(among, 5, scored=scored, leaving_out=rows)
        snapshot.rank(among, 5, scored=scored, newest=4)
        snapshot.count(among, scored=scored, leaving_out=rows)
        snapshot.count(among, scored=scored, worst=-0.1)
        snapshot.better(replace(among, filters=EVERYTHING), Scored(rows[0], -0.1), scored=scored)
        snapshot.which([ChunkRow(n) for n in range(10)], among)
        connection.set_trace_callback(None)
        plans = [
            row[3]
            for statement in statements
            if statement.startswith("SELECT")  # not those that FTS5 itself runs
            for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")
        ]
    searches = [plan for plan in plans if "VIRTUAL TABLE INDEX" in plan and "chunks_fts" in plan]
    assert ranked is not None
    assert len(searches) >= 6
    assert not [plan for plan in searches if "INDEX 0:=" in plan]


def test_the_newest_matches_alone_can_be_scored(writer: StoreWriter, reader: StoreReader) -> None:
    fill(writer)
    with reader.snapshot() as snapshot:
        whole = snapshot.rank(ALPHA, 100)
        latest = sorted((one.row for one in whole), reverse=True)[:4]
        quick = snapshot.rank(ALPHA, 3, newest=4)
        assert quick == [one for one in whole if one.row in latest][:3]


def test_words_are_common_by_the_passages_that_have_them_now(
    writer: StoreWriter, reader: StoreReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by how often one note with them was saved."""
    monkeypatch.setattr("kebab_tui.storage.sqlite.snapshot._COMMONPLACE_CHUNKS", 4)
    fill(writer, notes=5)
    for turn in range(9):
        writer.apply([a_note("often-saved.md", f"rare version{turn}")])
    with reader.snapshot() as snapshot:
        assert snapshot.too_frequent(["alpha", "rare", "nowhere"]) == {"alpha"}


def test_an_excluded_word_leaves_its_chunks_out(writer: StoreWriter, reader: StoreReader) -> None:
    fill(writer)
    with reader.snapshot() as snapshot:
        kept_ones = replace(ALPHA, without=(Word("word3"), Word("word5")))
        kept = snapshot.rank(kept_ones, 100)
        texts = {found.chunk.text for found in snapshot.hydrate([one.row for one in kept]).values()}
        assert len(texts) == 10
        assert not any("word3" in text or "word5" in text for text in texts)
        assert snapshot.count(kept_ones) == 10


AMONG = [
    Among(filters, script, match, without)
    for filters in (EVERYTHING, SearchFilters(titles=("1",)), SearchFilters(titles=("nowhere",)))
    for script in (None, "hangul", "other")
    for match in (None, Word("alpha"), Any((Word("beta"), Word("충돌"))))
    for without in ((), (Word("beta"),), (Word("beta"), Word("word3")))
]


@pytest.mark.parametrize("among", AMONG, ids=range(len(AMONG)))
def test_chunks_are_listed_counted_and_looked_up_alike(
    writer: StoreWriter, reader: StoreReader, among: Among
) -> None:
    texts = ["alpha", "alpha beta", "beta 충돌을 word3", "충돌 alpha 포트", "포트 word3", "other"]
    for n in range(4):
        writer.apply([a_note(f"{n}.md", *texts, title=f"Note {n}", heading="")])
    with reader.snapshot() as snapshot:
        everything = list(snapshot.rows(Among()))
        chunks = snapshot.hydrate(everything)
        expected = set()
        for row in everything:
            title, words = chunks[row].document.title, chunks[row].chunk.text.split()
            is_korean = any("가" <= word[0] <= "힣" for word in words)
            if (
                all(part in title for part in among.filters.titles)
                and among.script in (None, "hangul" if is_korean else "other")
                and (among.match is None or any(term.text in words for term in terms(among.match)))
                and not any(term.text in words for match in among.without for term in terms(match))
            ):
                expected.add(row)
        assert len(everything) == 24
        assert set(reader.rows(among)) == expected == snapshot.which(everything, among)
        assert len(snapshot.rows(among)) == len(expected) == snapshot.count(among)
        assert snapshot.which([ChunkRow(10**9), *everything[:5]], among) == expected & set(everything[:5])
        assert snapshot.rows(among) is snapshot.rows(among), "so that a mask made of it is used again"


def test_weights_decide_which_field_counts(writer: StoreWriter, folder: DataFolder) -> None:
    writer.apply(
        [
            a_note("title.md", "text", title="needle", heading=""),
            a_note("text.md", "needle", title="", heading=""),
        ]
    )
    for weights, first in ((FieldWeights(title=9.0), "title.md"), (FieldWeights(title=0.1), "text.md")):
        reader = StoreReader(folder, weights)
        with reader.snapshot() as snapshot:
            best = snapshot.rank(Among(match=Word("needle")), 1)[0].row
            assert snapshot.hydrate([best])[best].document.path == first
        reader.close()


@pytest.mark.parametrize("match", ['"unbalanced', "AND", "nocolumn : x", "a NEAR(", "*", "", "alpha ^ ^"])
def test_an_invalid_fts5_query_is_a_user_error(writer: StoreWriter, reader: StoreReader, match: str) -> None:
    fill(writer, 1)
    with reader.snapshot() as snapshot:
        for ask in (
            lambda: snapshot.rank(Among(match=parse_raw(match)), 5),
            lambda: snapshot.count(Among(match=parse_raw(match))),
        ):
            try:
                assert not ask()
            except RawQueryError as error:
                assert error.hint  # noqa: PT017 - FTS5 takes some of these as finding nothing
    with reader.snapshot() as snapshot:
        assert snapshot.count(ALPHA) == 1, "the connection is as good as before"


def test_a_snapshot_is_consistent(writer: StoreWriter, reader: StoreReader) -> None:
    note = a_note("a.md", "alpha", "alpha beta")
    writer.apply([note])
    with reader.snapshot() as snapshot:
        rows = [one.row for one in snapshot.rank(ALPHA, 10)]
        revision = snapshot.revision
        writer.apply([RemoveNote(note.document.doc_id), a_note("b.md", "gamma")])
        assert snapshot.revision == revision
        assert set(snapshot.hydrate(rows)) == set(rows)
        with reader.snapshot() as inner:
            assert inner.revision == revision, "a question within a question"
    with reader.snapshot() as snapshot:
        assert snapshot.revision == revision + 1
        assert snapshot.hydrate(rows) == {}


def test_every_thread_has_a_separate_connection(writer: StoreWriter, reader: StoreReader) -> None:
    fill(writer)
    counts: list[int] = []

    def ask() -> None:
        for _ in range(20):
            with reader.snapshot() as snapshot:
                counts.append(snapshot.count(ALPHA))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [12] * 80


def test_a_closed_reader_opens_again_when_asked(writer: StoreWriter, reader: StoreReader) -> None:
    fill(writer, 1)
    for _ in range(2):
        with reader.snapshot() as snapshot:
            assert snapshot.count(ALPHA) == 1
        reader.close()


def test_browsing_lists_notes_by_their_latest_change(writer: StoreWriter, reader: StoreReader) -> None:
    writer.apply([a_note(f"{n}.md", "one", "two", mtime_ns=when) for n, when in enumerate((5, 9, 1, 9))])
    with reader.snapshot() as snapshot:
        rows, total = snapshot.browse(EVERYTHING, 10, 0)
        paths = [snapshot.hydrate([row])[row].document.path for row in rows]
        assert (paths, total) == (["1.md", "3.md", "0.md", "2.md"], 4)
        assert snapshot.browse(EVERYTHING, 2, 1) == (rows[1:3], 4)
        assert snapshot.browse(EVERYTHING, 2, 9) == ([], 4)


def test_a_note_is_found_by_path_with_its_chunks_in_order(writer: StoreWriter, reader: StoreReader) -> None:
    note = a_note("ops/a.md", "one", "two", "three")
    writer.apply([note])
    with reader.snapshot() as snapshot:
        rows = snapshot.chunk_rows(note.document.doc_id)
        assert [snapshot.hydrate(rows)[row].chunk.text for row in rows] == ["one", "two", "three"]
        assert snapshot.passes(rows, SearchFilters(paths=("ops/**",)))
        assert not snapshot.passes(rows, SearchFilters(paths=("dev/**",)))
        assert not snapshot.passes([ChunkRow(10**9)], EVERYTHING)


def test_the_chunks_of_a_few_notes_are_listed_with_their_notes(
    writer: StoreWriter, reader: StoreReader
) -> None:
    fill(writer, notes=3)
    with reader.snapshot() as snapshot:
        first, second, _ = (found.document.doc_id for found in _hydrated(snapshot))
        wanted = {row: doc for doc in (first, second) for row in snapshot.chunk_rows(doc)}
        assert snapshot.chunks_of([first, second]) == wanted
        assert len(wanted) == 4


def test_the_chunks_of_one_note_are_ranked_as_among_all(writer: StoreWriter, reader: StoreReader) -> None:
    fill(writer)
    with reader.snapshot() as snapshot:
        for one, found in zip(snapshot.rank(ALPHA, 100), _hydrated(snapshot), strict=True):
            own = SearchFilters(doc_ids=(found.document.doc_id,))
            assert snapshot.rank(replace(ALPHA, filters=own), 5) == [one]


def _hydrated(snapshot: StoreSnapshot) -> list[FoundChunk]:
    """What has the word alpha, best first."""
    rows = [one.row for one in snapshot.rank(ALPHA, 100)]
    found = snapshot.hydrate(rows)
    return [found[row] for row in rows]


def test_the_version_of_an_answer_changes_with_what_made_the_notes(
    writer: StoreWriter, reader: StoreReader
) -> None:
    versions = []
    for made_by in ("parser/1", "parser/2"):
        writer.set_made_by(made_by)
        with reader.snapshot() as snapshot:
            versions.append(snapshot.lexical_version)
    assert versions[0] != versions[1]
    assert all(re.fullmatch(r"fts\d+-[0-9a-f]{8}", version) for version in versions)
