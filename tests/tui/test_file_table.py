"""The table of the health page: groups, folds, filter, rows at every width."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.document import Source
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.versions import Version
from kebab_tui.indexing.status import FolderState, LiveState
from kebab_tui.tui.screens.file_table import (
    STATES,
    Folder,
    Heading,
    HealthRows,
    HealthTable,
    SelectableRow,
    detail_rows,
    folders_of,
    summary_row,
)
from kebab_tui.tui.widgets.segments import row_text, row_width
from tests.tui.hits import HOSTILE
from tests.tui.listed_files import a_file, some_files


def a_table() -> HealthTable:
    table = HealthTable()
    table.folders = (Folder("notes", "/home/notes", "watched", notes=12),)
    table.add(some_files())
    return table


def lines(table: HealthTable, width: int = 80, cursor: int | None = None) -> list[str]:
    rows = HealthRows(table, width, cursor)
    return [row_text(rows[y]).rstrip() for y in range(len(rows))]


def test_problems_come_first_and_ok_files_are_a_count() -> None:
    assert lines(a_table(), cursor=2) == [
        "  notes  12 notes  watched  /home/notes",
        "  ▼ Failed (1): could not be read",
        "▌   broken.md                  permission denied",
        "  ▼ Skipped (1): too large, encrypted or without text",
        "    raw.md                     binary file",
        "  ▼ Waiting (1): waiting to be read",
        "    new.md                     not read yet",
        "  ▼ Not indexed (1): excluded or unsupported",
        "    build/                     ignored by .gitignore:2: build/",
        "  ▶ Indexed (40): searchable",
    ]


def test_files_are_ordered_by_state() -> None:
    table = HealthTable()
    table.add(reversed(some_files()))
    shown = [entry for y in range(len(table)) if isinstance(entry := table.entry(y), Heading)]
    assert [heading.state for heading in shown] == list(STATES)


def test_a_group_opens_and_closes() -> None:
    table = a_table()
    before = len(table)
    table.fold("ok")
    assert len(table) == before + 40
    table.fold("ok")
    table.fold("failed")
    assert len(table) == before - 1
    assert "  ▶ Failed (1): could not be read" in lines(table)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("BROKEN", ["broken.md"]),
        ("gitignore", ["build/"]),
        ("binary", ["raw.md"]),
        ("fine 39", ["fine/39.md"]),
        ("pending", ["new.md"]),
        ("nowhere", []),
    ],
)
def test_the_filter_takes_words_of_path_state_and_reason(text: str, found: list[str]) -> None:
    table = a_table()
    table.filter(text)
    entries = (table.entry(y) for y in range(len(table)))
    assert [
        entry.path for entry in entries if not isinstance(entry, Heading | Folder | Version | None)
    ] == found


def test_a_filter_opens_what_is_closed_and_counts_what_it_leaves() -> None:
    table = a_table()
    table.filter("fine/1")
    assert lines(table)[1] == "  ▼ Indexed (11 of 40): searchable"
    assert len(lines(table)) == 1 + 1 + 11
    table.add([a_file("fine/1000.md"), a_file("elsewhere.md")])
    assert lines(table)[1] == "  ▼ Indexed (12 of 42): searchable"
    table.filter("")
    assert lines(table)[-1] == "  ▶ Indexed (42): searchable"


def test_a_filter_without_matches_is_reported() -> None:
    table = a_table()
    table.filter("nowhere")
    assert lines(table)[1:] == ["no files match the filter"]
    assert lines(HealthTable()) == ["no files yet"]


def test_a_place_keeps_its_name_while_files_come_in_above() -> None:
    table = a_table()
    spot = table.find(a_file("build/", "ignored"))
    assert spot is not None
    row = table.row_of(spot)
    table.add([a_file(f"also/{number}.md", "failed", "permission denied") for number in range(7)])
    assert table.row_of(spot) == row + 7
    assert table.spot(row + 7) == spot


def test_a_file_is_found_in_another_state() -> None:
    table = HealthTable()
    table.add([a_file("broken.md", "ok")])
    assert table.find(a_file("broken.md", "failed")) == SelectableRow("ok", 0)
    assert table.find(a_file("broken.md", "failed", source="other")) is None


@given(
    st.lists(st.sampled_from(STATES), max_size=30),
    st.sets(st.sampled_from(STATES)),
    st.sampled_from(["", "1", "failed"]),
)
def test_every_row_has_a_spot_that_leads_back_to_it(states: list[str], folded: set[str], text: str) -> None:
    table = HealthTable()
    table.folders = (Folder("notes", "/notes", "live"),)
    table.add(a_file(f"{n}.md", next(s for s in STATES if s == state)) for n, state in enumerate(states))
    table.filter(text)
    for state in STATES:
        if state in folded:
            table.fold(state)
    for y in range(len(table)):
        spot = table.spot(y)
        assert spot is not None and table.row_of(spot) == y
    assert table.spot(len(table)) is None
    for state in STATES:  # also where a group is empty or closed there is a row to stand on
        assert 0 <= table.row_of(SelectableRow(state, 3)) < len(table)


def test_of_two_folders_every_file_names_its_own() -> None:
    table = a_table()
    table.folders = (
        Folder("notes", "/notes", "watched", notes=1_204, score=7.15),
        Folder("work", "/work", "polled", "a network disk", 1),
        Folder("old", "/old", "removed", use="removed"),
    )
    assert lines(table)[:3] == [
        "  notes  1,204 notes  watched                 score 7.2  /notes",
        "  work        1 note  polled: a network disk             /work",
        "  old                 removed                            /old",
    ]
    assert "    notes: broken.md" in lines(table)[4]


def test_the_watch_state_replaces_the_state_in_the_index() -> None:
    sources = [Source(SourceId(name), "", f"/{name}", state="indexed") for name in ("a", "b", "c")]
    live = LiveState(
        1, (FolderState(SourceId("a"), "/a", "partial", "2 of 9 folders", 2),
            FolderState(SourceId("b"), "/b", "live", "", 1234))
    )  # fmt: skip
    told = folders_of(sources, live)
    assert [(folder.state, folder.reason) for folder in told] == [
        ("partly watched", "2 of 9 folders"), ("watched", "1,234 folders"), ("not watched", ""),
    ]  # fmt: skip
    assert [folder.is_ok for folder in told] == [False, True, True]
    assert [folder.state for folder in folders_of(sources, None)] == ["not watched"] * 3
    paused = [replace(sources[0], use="paused"), replace(sources[1], state="paused")]
    assert [folder.state for folder in folders_of(paused, live, sources[2:])] == [
        "paused", "watched", "removed",
    ]  # fmt: skip


def a_version(label: str, **facts: Any) -> Version:
    return Version(SourceId("notes"), label, "git", "/home/notes/.git", **facts)


def test_versions_are_below_their_folder_and_many_of_them_are_folded() -> None:
    moved = {"health": "moved", "commit": "1a2b3c4d5e", "now": "5d6e7f8a", "ref": "refs/tags/v1"}
    versions = (
        a_version("v1", notes=1, **moved),
        a_version("2024-한글", notes=1_200, commit="aaaabbbbccccdddd"),
    )
    table = a_table()
    table.folders = (
        Folder("notes", "/home/notes", "watched", notes=12, versions=versions),
        Folder("a", "/a", "polled"),
    )
    assert lines(table)[:5] == [
        "  ▼ notes  12 notes  watched  2 versions  /home/notes",
        "      v1              1 note  v1 moved: 1a2b3c4 → 5d6e7f8",
        "      2024-한글  1,200 notes  aaaabbbbcccc",
        "    a       0 notes  polled               /a",
        "  ▼ Failed (1): could not be read",
    ]
    detail = " ".join(row_text(row) for row in detail_rows(table.entry(1), 300, 3))
    assert "notes@v1 of /home/notes/.git" in detail and "kebab source version refresh notes v1" in detail
    assert table.find(versions[1]) == SelectableRow("folder", 2)
    table.fold_versions(table.folders[0])
    assert lines(table)[0].startswith("  ▶ notes") and lines(table)[1].startswith("    a ")
    table.folders = (replace(table.folders[0], name="many", versions=versions * 3),)
    assert (lines(table)[0][:8], table.top_height) == ("  ▶ many", 1), "the files stay in view"


@pytest.mark.parametrize("width", [1, 5, 16, 30, 80, 400])
def test_rows_keep_their_width_whatever_a_name_holds(width: int) -> None:
    table = a_table()
    hostile = Version(SourceId(HOSTILE), HOSTILE, "folder", HOSTILE, health="unreadable", reason=HOSTILE)
    table.folders = (
        Folder(HOSTILE, HOSTILE, "polling", HOSTILE, versions=(hostile,)),
        Folder("a", "/a", "live"),
    )
    table.add(a_file(HOSTILE, state, HOSTILE, HOSTILE, HOSTILE) for state in STATES)
    table.add([a_file("한글 노트/" * 30 + "끝.md", "failed", "권한이 없습니다")])
    table.fold("ok")
    rows = HealthRows(table, width, 3)
    drawn = [rows[y] for y in range(len(rows))]
    drawn += [row for y in range(len(rows)) for row in detail_rows(table.entry(y), width, 3)]
    drawn.append(summary_row(table, is_scanning=True, message=HOSTILE, width=width))
    for row in drawn:
        text = row_text(row)
        assert row_width(row) <= max(width, 16), text
        assert text.isprintable() or "\u200d" in text


def test_the_summary_counts_the_problems() -> None:
    row = summary_row(a_table(), is_scanning=True, message="", width=100)
    assert row_text(row) == "scanning …  ·  1 failed  ·  1 skipped  ·  1 pending"


def test_the_detail_names_the_rule_in_full() -> None:
    table = a_table()
    [path, reason] = detail_rows(table.entry(8), 60, 3)
    assert (row_text(path), row_text(reason)) == ("/notes/build/", "ignored by .gitignore:2: build/")
