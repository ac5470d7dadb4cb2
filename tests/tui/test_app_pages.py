"""A list that is longer than a page: the next one is there before the cursor is at its end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from kebab_tui.domain.errors import StoreError
from kebab_tui.domain.hit import SearchResponse
from kebab_tui.domain.query import SearchMode, SearchQuery
from kebab_tui.search.explanation import ExplainedResponse
from kebab_tui.settings.settings import Settings
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.current_query import CurrentQuery
from kebab_tui.tui.messages import MoreFound
from kebab_tui.tui.screens.why_not_prompt import WhyNotPrompt
from kebab_tui.workspace import Workspace
from tests.tui.hits import answer_of
from tests.tui.screen import WIDE, Proxy, Screen, focus, found, kebab, painted, until
from tests.vault import Vault

pytestmark = pytest.mark.slow

NOTES = 130
PAGE = 40


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    """Notes about quokkas, three pages and a bit. Only for reading."""
    yield from made(tmp_path_factory.mktemp("long"))


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[Vault]:
    """The same, for a test that writes notes."""
    yield from made(tmp_path)


def made(place: Path) -> Iterator[Vault]:
    vault = Vault(place)
    for number in range(NOTES):
        vault.write(f"{number:03}.md", f"# Note {number}\n\nThe quokka sleeps{' and eats' * (number % 9)}.\n")
    vault.write("other.md", "# Wombat\n\nA wombat digs.\n")
    vault.ingest()
    yield vault
    vault.workspace.close()


def screen(vault: Vault, **options: Any) -> KebabApp:
    asked: dict[str, Any] = {"query": "quokka", "mode": "lexical", "page": PAGE}
    return kebab(vault.data, **(asked | options))


async def listed(pilot: Screen) -> KebabApp:
    """The first page is there, and the list has the keys."""
    app = await found(pilot)
    await focus(pilot, app.hits)
    return app


def count(app: KebabApp) -> int:
    return len(app.hits._hits)


def in_view(app: KebabApp) -> list[str]:
    return [app.hits.render_line(y).text for y in range(app.hits.size.height)]


async def test_the_next_page_comes_near_the_end_and_nothing_in_view_moves(long: Vault) -> None:
    async with screen(long).run_test(size=WIDE) as pilot:
        app = await listed(pilot)
        assert count(app) == PAGE and "130 passages" in painted(app)
        await pilot.press(*["down"] * 10)
        assert count(app) == PAGE
        app.hits.move_to(25)
        before = in_view(app)
        await until(pilot, lambda: count(app) == 2 * PAGE)
        assert app.hits.cursor == 25
        assert in_view(app) == before
        assert [hit.rank for hit in app.hits._hits] == list(range(1, 81))


async def test_scrolling_loads_as_the_cursor_does(long: Vault) -> None:
    async with screen(long).run_test(size=WIDE) as pilot:
        app = await listed(pilot)
        app.hits.scroll_end(animate=False)
        await until(pilot, lambda: count(app) == 2 * PAGE)
        assert app.hits.cursor == 0


async def test_a_high_screen_is_filled_at_once(long: Vault) -> None:
    async with screen(long).run_test(size=(120, 120)) as pilot:
        app = await listed(pilot)
        await until(pilot, lambda: count(app) == 2 * PAGE)
        assert app.hits.cursor == 0
        assert all(line.strip() for line in in_view(app))


@pytest.mark.parametrize("query", ["quokka", "", "type:markdown"])
async def test_end_pressed_again_reaches_the_very_last_however_fast_the_keys(long: Vault, query: str) -> None:
    whole = NOTES if query == "quokka" else NOTES + 1
    async with screen(long, query=query).run_test(size=WIDE) as pilot:
        app = await listed(pilot)
        await pilot.press(*["end"] * 5)
        await until(pilot, lambda: count(app) == whole and app.hits.is_at_end)
        assert len({hit.chunk_id for hit in app.hits._hits}) == whole
        assert [hit.rank for hit in app.hits._hits] == list(range(1, whole + 1))
        assert (f"{whole} passages" if query else f"{whole} notes") in painted(app)


async def test_moving_elsewhere_cancels_the_jump_to_the_end(long: Vault) -> None:
    page, go_on = threading.Event(), threading.Event()

    def slow(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        if query.offset:
            page.set()
            assert go_on.wait(60)
        return real.search(query, first_answer)

    async with screen(long, workspace=lambda: Proxy(long.data, search=slow)).run_test(size=WIDE) as pilot:
        app = await listed(pilot)
        await pilot.press("end", "end", "up")
        await until(pilot, page.is_set)
        assert app.hits.cursor == PAGE - 2  # a page that is on its way holds no key up
        go_on.set()
        await until(pilot, lambda: count(app) == 2 * PAGE)
        assert app.hits.cursor == PAGE - 2


async def test_a_page_with_an_older_number_is_dropped(long: Vault) -> None:
    page = long.workspace.search(SearchQuery("quokka", "lexical", k=PAGE, offset=PAGE))
    async with screen(long).run_test(size=WIDE) as pilot:
        app = await listed(pilot)
        app.post_message(MoreFound(app.current_query._generation - 1, page))
        await pilot.pause()
        assert count(app) == PAGE


async def test_a_new_query_waits_for_no_page_but_the_one_that_is_searched(long: Vault) -> None:
    asked: list[SearchQuery] = []
    page, go_on = threading.Event(), threading.Event()

    def slow(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        asked.append(query)
        if query.offset:
            page.set()
            assert go_on.wait(60)
        return real.search(query, first_answer)

    async with screen(long, workspace=lambda: Proxy(long.data, search=slow)).run_test(size=WIDE) as pilot:
        app = await listed(pilot)
        await pilot.press("end", "up", "down", "up", "end")
        await until(pilot, page.is_set)
        app.box.write("wombat")
        await pilot.pause()
        go_on.set()
        await found(pilot)
        assert [hit.path for hit in app.hits._hits] == ["other.md"]
        assert [(query.text, query.k, query.offset) for query in asked] == [
            ("quokka", PAGE, 0),
            ("quokka", PAGE, PAGE),
            ("wombat", PAGE, 0),
        ]


async def test_a_failed_page_keeps_the_list_and_is_requested_again(long: Vault) -> None:
    refused: list[int] = []

    def once(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        if query.offset and not refused:
            refused.append(query.offset)
            raise StoreError("the index could not be read: disk I/O error", "kebab doctor")
        return real.search(query, first_answer)

    async with screen(long, workspace=lambda: Proxy(long.data, search=once)).run_test(size=WIDE) as pilot:
        app = await listed(pilot)
        await pilot.press("end")
        await until(pilot, lambda: "disk I/O error" in painted(app))
        assert count(app) == PAGE
        await until(pilot, lambda: not app.current_query.is_waiting)
        await pilot.press("up")
        await until(pilot, lambda: count(app) > PAGE)


async def test_a_page_of_another_state_of_the_index_is_not_put_behind_the_hits(long: Vault) -> None:
    newer: list[int] = []

    def search(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        page = real.search(query, first_answer)
        if query.offset:
            newer.append(page.corpus_revision + 1)
            return replace(page, corpus_revision=newer[-1])
        return page

    async with screen(long, workspace=lambda: Proxy(long.data, search=search)).run_test(size=WIDE) as pilot:
        app = await listed(pilot)
        await pilot.press("end")
        await until(pilot, lambda: newer and not app.current_query._is_loading)
        assert count(app) == PAGE


async def test_a_live_update_keeps_the_pages_and_the_selected_passage(growing: Vault) -> None:
    async with screen(growing).run_test(size=WIDE) as pilot:
        app = await listed(pilot)
        await pilot.press("end")
        await until(pilot, lambda: count(app) == 2 * PAGE)
        await pilot.press("down", "down", "down", "down", "down")
        selected = app.hits.selected
        assert selected is not None and app.hits.cursor == 44
        growing.write("best.md", "# quokka\n\nquokka quokka quokka\n")
        growing.ingest()
        await until(pilot, lambda: app.hits._hits[0].path == "best.md")
        assert count(app) == 2 * PAGE
        assert app.hits.selected is not None and app.hits.selected.chunk_id == selected.chunk_id
        assert app.hits.cursor == 45
        await pilot.press("end", "end", "end")
        await until(pilot, lambda: f"{NOTES + 1} passages" in painted(app))
        growing.write("last.md", "# zebra\n\nA note of many words, one of which is quokka, among others.\n")
        growing.ingest()
        await until(pilot, lambda: f"{NOTES + 2} passages" in painted(app))


async def test_the_explanation_of_a_later_hit_asks_for_its_page_only(long: Vault) -> None:
    asked: list[SearchQuery] = []

    def noted(real: Workspace, query: SearchQuery) -> ExplainedResponse:
        asked.append(query)
        return real.explain(query)

    app = screen(long, workspace=lambda: Proxy(long.data, explain=noted))
    async with app.run_test(size=WIDE) as pilot:
        await listed(pilot)
        await pilot.press("end")
        await until(pilot, lambda: count(app) == 2 * PAGE)
        await pilot.press("end")
        await until(pilot, lambda: count(app) == NOTES)
        assert app.hits.cursor == 2 * PAGE - 1
        before = app.hits._hits
        await pilot.press("f4")
        await until(pilot, lambda: f"#{2 * PAGE} " in painted(app))
        await pilot.press("down")
        await until(pilot, lambda: f"#{2 * PAGE + 1} " in painted(app))
        await pilot.press("up")
        await until(pilot, lambda: f"#{2 * PAGE} " in painted(app))
        assert [(query.k, query.offset) for query in asked] == [(PAGE, PAGE), (PAGE, 2 * PAGE)]
        assert app.hits._hits is before


async def test_marks_and_copies_hold_on_later_pages(long: Vault) -> None:
    async with screen(long, pick=True).run_test(size=WIDE) as pilot:
        app = await listed(pilot)
        await pilot.press("end", "end")
        await until(pilot, lambda: app.hits.cursor > PAGE and count(app) > 2 * PAGE)
        await pilot.press("ctrl+@", "ctrl+@")
        marked = [hit.path for hit in app.hits.marked]
        assert len(marked) == 2
        await pilot.press("end")
        await until(pilot, lambda: count(app) == NOTES)
        assert [hit.path for hit in app.hits.marked] == marked
        assert "2 marked" in painted(app)
        await pilot.press("enter")
        await until(pilot, lambda: app.return_value)
    assert [line for line in app.return_value or () if line.endswith(".md")]


async def test_pages_by_words_and_by_meaning_make_one_list(data: Path) -> None:
    asked: list[tuple[SearchMode, bool]] = []

    def noted(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        asked.append((query.mode, first_answer))
        return real.search(query, first_answer)

    app = kebab(data, lambda: Proxy(data, search=noted), query="rust", page=10)
    async with app.run_test(size=WIDE) as pilot:
        await listed(pilot)
        await pilot.press(*["end"] * 7)
        await until(pilot, lambda: app.results.response and app.results.response.next_offset is None)
        await until(pilot, lambda: app.hits.is_at_end)
        total = app.results.response.total_matches if app.results.response else 0
        assert total > 20
        assert [hit.rank for hit in app.hits._hits] == list(range(1, total + 1))
        await pilot.press("f4")
        await until(pilot, lambda: f"#{total} " in painted(app))
        asked.clear()
        before = app.hits.selected
        for mode in ("lexical", "vector", "hybrid"):
            await pilot.press("ctrl+t")
            await until(pilot, lambda: app.results.response and app.results.response.mode == mode)  # noqa: B023
        assert not any(first_answer for _, first_answer in asked)  # the list stays until the whole answer
        assert before is not None
        await until(pilot, lambda: before.chunk_id in {hit.chunk_id for hit in app.hits._hits})


class Asked:
    """Notes what is asked."""

    def __init__(self) -> None:
        self.all: list[tuple[str, int, int]] = []

    def ask(self, generation: int, query: SearchQuery, explain: bool, again: bool = False) -> None:
        self.all.append(("explained" if explain else "ask", query.k, query.offset))

    def load_page(self, generation: int, query: SearchQuery) -> None:
        self.all.append(("more", query.k, query.offset))

    def explain(self, generation: int, query: SearchQuery) -> None:
        self.all.append(("explain", query.k, query.offset))


@pytest.mark.parametrize(
    ("loaded", "total", "text", "asked"),
    [
        (3, 3, "workspace", 50),
        (50, 90, "workspace", 50),
        (50, 50, "workspace", 100),
        (200, 900, "workspace", 200),
        (319, 319, "workspace", 350),
        (319, 319, "another", 50),
    ],
)
def test_as_many_hits_are_asked_for_again_as_are_shown(
    loaded: int, total: int, text: str, asked: int
) -> None:
    engine = Asked()
    questions = CurrentQuery(engine, "lexical")
    shown = answer_of(loaded, total=total)
    for wanted in (False, True):
        questions.ask(text, explain=wanted, shown=shown)
    assert engine.all == [("ask", asked, 0), ("explained" if asked == 50 else "ask", asked, 0)]


def test_one_page_is_asked_for_at_a_time_and_pages_grow_with_the_list() -> None:
    engine = Asked()
    questions = CurrentQuery(engine, "lexical")
    questions.ask("workspace", explain=False)
    questions.load_more(answer_of(50, total=9_000))
    assert len(engine.all) == 1  # there is no answer yet
    questions.finish(answered=True)
    for loaded in (50, 100, 200, 400, 800):
        questions.load_more(answer_of(loaded, total=9_000))
        questions.load_more(answer_of(loaded, total=9_000))  # it is on its way
        questions.loaded()
    assert engine.all[1:] == [
        ("more", 50, 50),
        ("more", 100, 100),
        ("more", 200, 200),
        ("more", 400, 400),
        ("more", 400, 800),
    ]


async def test_why_not_goes_to_a_passage_behind_the_loaded_pages(data: Path) -> None:
    app = kebab(data, query="rust", page=5)
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await until(pilot, lambda: app.current_query.is_answered)
        assert app.results.response is not None
        with closing(Workspace(Settings(), str(data))) as workspace:
            query = SearchQuery("rust", "hybrid", k=1000, typing=True)
            last = workspace.search(query).hits[-1]
        assert last.rank > len(app.results.response.hits)
        await pilot.press("alt+w")
        await until(pilot, lambda: isinstance(app.screen, WhyNotPrompt))
        app.screen.query_one(Input).value = str(last.citation)
        await pilot.press("enter")
        await until(pilot, lambda: f"enter: go to rank {last.rank}" in painted(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.hits.selected is not None and app.hits.selected.rank == last.rank)
        assert app.hits.selected is not None
        assert app.hits.selected.chunk_id == last.chunk_id
