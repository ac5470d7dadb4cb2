"""The list of hits does not flash: each of its changes is recorded, on the real application and engine."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from kebab_tui.domain.hit import SearchResponse
from kebab_tui.domain.query import SearchQuery
from kebab_tui.search.explanation import ExplainedResponse
from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Callbacks, Workspace
from tests.tui.recorded_hits import RecordedHits
from tests.tui.screen import WIDE, Proxy, Screen, found, kebab, painted, paths, type_at_once, until

pytestmark = pytest.mark.slow

MOVES_A_HIT_UP = "error handling"
"""Another hit is first by words than by both."""


async def test_hits_stay_until_better_ones_come_and_the_cursor_stays_on_the_first(
    data: Path, tmp_path: Path
) -> None:
    hits = RecordedHits()
    app = kebab(data, hits=hits, mode="hybrid")

    async def press(*keys: str) -> None:
        hits.cause = " ".join(keys)
        await pilot.press(*keys)
        await _explained(pilot)

    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        hits.cause = "quick typing"
        type_at_once(app, "how to restore a database backup")
        await found(pilot)
        await press("f4")
        assert not hits.since("f4")
        await press("f4")
        await press(*"s and a blob of xyzzy")  # in between, keywords alone find nothing
        await press("f4")
        await press("ctrl+w")
        for _mode in range(3):
            await press("ctrl+t")
        hits.cause = "commit"
        _add_note(data, tmp_path / "new", "# backup\n\nHow to restore the backups of a database.\n")
        await until(pilot, lambda: "note.md" in paths(app))
        await _explained(pilot)

    assert all(change.rows for change in hits.changes)
    assert {change.cursor for change in hits.changes if change.cause != "commit"} == {0}
    for before, after in pairwise(hits.changes):
        assert before.selected == after.selected or after.cause not in ("f4", "commit", "start")


async def test_a_list_of_hits_does_not_shrink_before_the_full_response(data: Path) -> None:
    go_on = threading.Event()
    first_answers: list[SearchResponse] = []

    def search(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        if first_answer:
            response = real.search(query, first_answer)
            response = replace(response, hits=response.hits[:1])
            first_answers.append(response)
            return response
        assert query.text != "rust work" or go_on.wait(60)
        return real.search(query, first_answer)

    app = kebab(data, lambda: Proxy(data, search=search), mode="hybrid", query="rust")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        before = paths(app)
        assert len(before) > 1
        type_at_once(app, " work")
        await until(pilot, lambda: first_answers[-1].query == "rust work")
        await pilot.pause()
        assert paths(app) == before
        go_on.set()
        await found(pilot)
        assert app.results.response is not None and app.results.response.query == "rust work"


async def test_a_short_list_does_not_wait_for_a_slow_full_response(data: Path) -> None:
    go_on = threading.Event()

    def search(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        assert first_answer or query.text != "rust work" or go_on.wait(60)
        response = real.search(query, first_answer)
        return replace(response, hits=response.hits[:1]) if first_answer else response

    app = kebab(data, lambda: Proxy(data, search=search), mode="hybrid", query="rust")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        type_at_once(app, " work")
        await until(pilot, lambda: app.results.response and app.results.response.query == "rust work")
        assert len(paths(app)) == 1 and not go_on.is_set()
        go_on.set()
        await found(pilot)


async def test_the_explanation_opened_before_the_final_response_asks_for_no_other(data: Path) -> None:
    go_on = threading.Event()
    asked: list[str] = []

    def search(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        asked.append(query.mode)
        assert first_answer or go_on.wait(60)
        return real.search(query, first_answer)

    hits = RecordedHits()
    app = kebab(data, lambda: Proxy(data, search=search), hits=hits, mode="hybrid", query=MOVES_A_HIT_UP)
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: hits.changes)
        await pilot.press("f4")
        go_on.set()
        await until(pilot, lambda: app.explain.explained is not None)
        words, both = hits.changes
        assert words.selected != both.selected, "the test needs a query with another first hit by words"
        assert words.cursor == both.cursor == 0
        assert asked == ["lexical", "hybrid"]
        assert app.explain.explained is not None and app.hits.selected is not None
        assert app.explain.explained.hit.chunk_id == app.hits.selected.chunk_id


async def test_an_explanation_that_is_computed_does_not_say_that_no_hit_is_selected(data: Path) -> None:
    go_on = threading.Event()

    def explain(real: Workspace, query: SearchQuery) -> ExplainedResponse:
        assert go_on.wait(60)
        return real.explain(query)

    app = kebab(data, lambda: Proxy(data, explain=explain), mode="lexical", query="qqqzzz")
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "No hits for qqqzzz" in painted(app))
        await pilot.press("ctrl+u", *"rust")
        await found(pilot)
        await pilot.press("f4")
        await until(pilot, lambda: "Explaining…" in painted(app))
        assert "No hit is selected" not in painted(app)
        go_on.set()
        await until(pilot, lambda: "First: " in painted(app))


async def test_a_moved_cursor_stays_on_its_hit_through_modes_commits_and_explanations(
    data: Path, tmp_path: Path
) -> None:
    hits = RecordedHits()
    app = kebab(data, hits=hits, mode="lexical", query="rust error")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("down")
        hits.cause = "the rest"
        chosen = app.hits.selected
        assert chosen is not None
        for key in ("f4", "ctrl+t", "f4", "ctrl+t", "f4", "ctrl+t"):
            await pilot.press(key)
            await _explained(pilot)
        _add_note(data, tmp_path / "new", "# Rust error\n\nA rust error is a rust error.\n")
        await until(pilot, lambda: "note.md" in paths(app))
        assert {change.selected for change in hits.since("the rest")} == {chosen.chunk_id}


async def test_the_explanation_changes_no_row_of_the_list(data: Path) -> None:
    app = kebab(data, mode="hybrid", query="git rebase")
    async with app.run_test(size=WIDE) as pilot:
        await _explained(pilot)
        await pilot.press("alt+e")
        await pilot.pause()
        before, samples = list(app.hits._rows), []
        assert any(row.is_further for row in before)

        def is_explained() -> bool:
            samples.append(list(app.hits._rows))
            return app.explain.explained is not None

        for _ in range(2):
            await pilot.press("f4")
            await until(pilot, is_explained)
        assert all(rows == before for rows in samples)
        assert app.hits.cursor == 0


async def _explained(pilot: Screen) -> None:
    """Wait until the query is answered and all jobs behind it are done."""
    app = await found(pilot)
    await until(pilot, lambda: not app.current_query.is_waiting and not app.engine._jobs)
    await pilot.pause()


def _add_note(data: Path, folder: Path, text: str) -> None:
    folder.mkdir()
    (folder / "note.md").write_text(text)
    with closing(Workspace(Settings(), str(data))) as workspace:
        workspace.ingest([str(folder)], Callbacks())
