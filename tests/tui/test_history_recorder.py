"""Which queries are remembered."""

from __future__ import annotations

from pathlib import Path

import pytest

from kebab_tui.tui.history import READ_S, History, HistoryRecorder


class Reader:
    """Somebody who reads hits for as long as a test says."""

    def __init__(self, folder: Path) -> None:
        self.now = 0.0
        self.history = History(str(folder))
        self.remembering = HistoryRecorder(self.history, lambda: self.now)

    def read(self, query: str, seconds: float) -> None:
        self.remembering.shown(query)
        self.now += seconds


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


def test_a_query_read_for_a_while_is_added_when_it_is_replaced(reader: Reader) -> None:
    reader.read("rust", READ_S)
    assert not reader.history.queries
    reader.remembering.left()
    assert reader.history.queries == ("rust",)


def test_a_query_on_the_way_to_another_one_is_not_added(reader: Reader) -> None:
    for query in ("r", "ru", "rus"):
        reader.read(query, READ_S / 2)
        reader.remembering.left()
    assert reader.history.queries == ()


def test_better_hits_of_the_same_query_do_not_start_the_time_anew(reader: Reader) -> None:
    reader.read("rust", READ_S / 2)
    reader.read("rust", READ_S / 2)
    reader.remembering.left()
    assert reader.history.queries == ("rust",)


def test_a_query_without_hits_is_not_added(reader: Reader) -> None:
    reader.read("rust", READ_S)
    reader.remembering.left()
    reader.now += READ_S
    reader.remembering.left()
    assert reader.history.queries == ("rust",)


def test_a_known_query_keeps_its_place_so_that_going_back_goes_on(reader: Reader) -> None:
    for query in ("one", "two", "three"):
        reader.history.add(query)
    assert reader.history.older("") == "three"
    assert reader.history.older("three") == "two"
    reader.read("two", READ_S)
    reader.remembering.left()
    assert reader.history.older("two") == "one"
