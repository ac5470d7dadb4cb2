"""The queries asked before: kept, once each, and walked through."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.tui.history import FILE, MOST, History, deduplicated


def asked(folder: Path, *queries: str) -> History:
    history = History(str(folder))
    for query in queries:
        history.add(query)
    return history


def test_queries_are_there_next_time(tmp_path: Path) -> None:
    asked(tmp_path, "설계 tag:rust", "two")
    assert History(str(tmp_path)).queries == ("설계 tag:rust", "two")


def test_a_repeated_query_is_the_newest_and_stored_once(tmp_path: Path) -> None:
    assert asked(tmp_path, "one", "two", "one").queries == ("two", "one")


def test_an_empty_query_is_not_added(tmp_path: Path) -> None:
    assert asked(tmp_path, "", "  ").queries == ()
    assert os.listdir(tmp_path) == []


def test_only_the_newest_are_kept(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("".join(f"q{n}\n" for n in range(500)))
    history = asked(tmp_path, "last")
    assert len(history.queries) == MOST
    assert history.queries[-2:] == ("q499", "last")
    assert len((tmp_path / FILE).read_text().splitlines()) == MOST


def test_walking_back_and_forth_returns_to_what_was_being_typed(tmp_path: Path) -> None:
    history = asked(tmp_path, "one", "two")
    assert history.older("thr") == "two"
    assert history.older("two") == "one"
    assert history.older("one") == "one"
    assert history.newer("one") == "two"
    assert history.newer("two") == "thr"
    assert history.newer("thr") == "thr"


def test_going_back_skips_the_present_query(tmp_path: Path) -> None:
    history = asked(tmp_path, "one", "two")
    assert history.older("two") == "one"


def test_a_file_that_is_no_history_counts_as_empty_and_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / FILE
    (tmp_path / "other").write_text("secret\n")
    for put in (
        lambda: os.mkfifo(path),  # opening it would block forever
        lambda: path.symlink_to("other"),
        lambda: path.write_bytes(b"x\n" * (3 << 20)),
        lambda: path.write_bytes(b"\xff\n"),
    ):
        put()
        assert asked(tmp_path, "one").queries == ("one",)
        assert path.read_text() == "one\n"
        path.unlink()
    assert (tmp_path / "other").read_text() == "secret\n"


def test_two_windows_do_not_lose_each_other_s_queries(tmp_path: Path) -> None:
    first, second = History(str(tmp_path)), History(str(tmp_path))
    first.add("from the first")
    second.add("from the second")
    assert set(History(str(tmp_path)).queries) == {"from the first", "from the second"}


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"good\n\x1b[2J\n", b"\x00" * 100, "a\u202eb\n".encode()])
def test_damaged_lines_are_ignored(tmp_path: Path, data: bytes) -> None:
    (tmp_path / FILE).write_bytes(data)
    assert set(History(str(tmp_path)).queries) <= {"good"}


def test_in_a_read_only_folder_the_history_lasts_for_the_session(tmp_path: Path) -> None:
    history = asked(tmp_path / "is not there", "one")
    assert history.older("") == "one"


def test_a_folder_in_its_place_is_no_history(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    assert asked(tmp_path, "one").queries == ("one",)
    assert os.listdir(tmp_path) == [FILE]


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    asked(tmp_path, "private")
    assert (tmp_path / FILE).stat().st_mode & 0o077 == 0


@given(st.lists(st.text("ab ", max_size=3), max_size=300))
def test_each_query_is_remembered_once_where_it_was_asked_last(queries: list[str]) -> None:
    kept = deduplicated(queries)
    assert len(set(kept)) == len(kept) <= MOST
    assert kept == sorted(kept, key=lambda query: len(queries) - queries[::-1].index(query))
    assert set(kept) <= set(queries)
