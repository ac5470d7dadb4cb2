"""A statement that nobody waits for any more ends; the next one runs to its end."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kebab_tui.domain.interruption import Superseded, interruptible, is_superseded, uninterruptible
from kebab_tui.search.match import Word
from kebab_tui.search.ports import Among
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.writer import StoreWriter
from tests.notes import a_note

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
LONG = ENDLESS.replace("FROM n)", "FROM n WHERE x < 1000000)")
_PATIENCE_S = 60.0


def run(reader: StoreReader, statement: str) -> int:
    with reader.catalogue() as catalogue:
        return catalogue._number(statement)


def test_a_running_statement_ends_and_the_next_one_does_not(writer: StoreWriter, reader: StoreReader) -> None:
    writer.apply([a_note("a.md", "some words")])
    begun, newer = threading.Event(), threading.Event()

    def superseded() -> bool:
        begun.set()  # asked by the statement, so it runs
        return newer.is_set()

    def work() -> tuple[bool, int, int]:
        with pytest.raises(Superseded), interruptible(superseded):
            run(reader, ENDLESS)
        is_closed = not reader._connection().in_transaction
        # The event is still set: it is the answer to another question.
        with interruptible(lambda: False):
            long = run(reader, LONG)
        with reader.snapshot() as snapshot:
            return is_closed, long, snapshot.count(Among(match=Word("words")))

    with ThreadPoolExecutor(1) as threads:
        result = threads.submit(work)
        assert begun.wait(_PATIENCE_S)
        newer.set()
        assert result.result(_PATIENCE_S) == (True, 1_000_000, 1)


def test_an_answer_that_was_ended_is_not_remembered(writer: StoreWriter, reader: StoreReader) -> None:
    writer.apply([a_note("a.md", "some words")])
    with reader.snapshot() as snapshot:
        with pytest.raises(Superseded), interruptible(lambda: True):
            snapshot._answers.get(snapshot.revision, "answer", lambda: run(reader, LONG))
        assert snapshot._answers.get(snapshot.revision, "answer", lambda: 7) == 7
        assert snapshot.revision > 0, "the transaction goes on"


def test_work_for_later_requests_is_not_ended(writer: StoreWriter, reader: StoreReader) -> None:
    with interruptible(lambda: True):
        with uninterruptible():
            assert run(reader, LONG) == 1_000_000
        assert is_superseded()
    assert not is_superseded()
