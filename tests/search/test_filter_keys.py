"""Filter keys, and suggestions for mistyped ones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from kebab_tui.domain.errors import FilterError, UnfinishedFilterError
from kebab_tui.search.filter_keys import FILTER_KEYS, check_sources, nearest_key, parse_date


@pytest.mark.parametrize("key", FILTER_KEYS)
def test_a_key_with_two_letters_swapped_is_recognised(key: str) -> None:
    assert nearest_key(key[1] + key[0] + key[2:]) == key


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("tags", "tag"), ("folder", "path"), ("source", "in"), ("since", "after"), ("Titel", "title"),
     ("creatd", "after"), ("ext", "type"), ("filename", "name")],
)  # fmt: skip
def test_a_slip_or_another_tools_name_is_recognised(typed: str, meant: str) -> None:
    assert nearest_key(typed) == meant


@pytest.mark.parametrize(
    "typed", ["http", "text", "next", "todo", "std", "foo", "note", "localhost", "error", "x"]
)
def test_other_words_before_a_colon_are_not_keys(typed: str) -> None:
    assert nearest_key(typed) is None


def test_a_date_begins_in_the_clocks_own_zone() -> None:
    seoul = timezone(timedelta(hours=9))
    now = datetime(2026, 5, 1, 3, tzinfo=seoul)
    assert parse_date("2026-05-01", now) == int(datetime(2026, 4, 30, 15, tzinfo=UTC).timestamp()) * 10**9
    assert parse_date("today", now) == parse_date("2026-05-01", now)


def test_a_clock_without_a_zone_means_the_machines() -> None:
    now = datetime(2026, 5, 1, 3)  # noqa: DTZ001 -- the case under test
    assert parse_date("2026-05-01", now) == int(now.replace(hour=0).timestamp()) * 10**9


@pytest.mark.parametrize(
    "text", ["", "soon", "2026-02-30", "20260101", "2026-1-1-1", "d", "-3d", "0000", "９９d"]
)
def test_other_texts_are_not_dates(text: str) -> None:
    assert parse_date(text, datetime(2026, 1, 1, tzinfo=UTC)) is None


def test_the_beginning_of_a_source_is_unfinished_only_while_it_is_typed() -> None:
    known = ["notes", "work"]
    check_sources(["notes", "work"], known, begun="in:notes in:work")
    with pytest.raises(UnfinishedFilterError):
        check_sources(["wo"], known, begun="rust in:wo")
    for begun in ("", "in:wo rust"):
        with pytest.raises(FilterError, match="invalid in:wo") as refused:
            check_sources(["wo"], known, begun=begun)
        assert not isinstance(refused.value, UnfinishedFilterError)
