"""Why not: type a path, see the stage that dropped the note."""

from __future__ import annotations

import pytest
from textual.app import App
from textual.widgets import Input

from kebab_tui.domain.errors import Failure
from kebab_tui.domain.query import SearchQuery
from kebab_tui.search.why_not import WhyNot, WhyNotStage
from kebab_tui.tui.actions import ACTIONS
from kebab_tui.tui.screens.why_not_prompt import (
    MOST_OFFERED,
    WhyNotChoice,
    WhyNotPrompt,
    offer_rows,
    verdict_rows,
)
from kebab_tui.tui.widgets.segments import RowsView, row_text, row_width
from kebab_tui.workspace import Workspace
from tests.figures import add_up
from tests.tui.hits import HOSTILE, hit

pytestmark = pytest.mark.slow

NOTE = hit(text="")
PATHS = ("infra/docker.md", "infra/port-conflict.md", "infra/포트-충돌.md")
FILTERED = WhyNot(PATHS[0], "filtered", "left out by tag:rust", "drop the filter to see it")


def verdict(why: WhyNot, width: int = 80) -> list[str]:
    return [row_text(row) for row in verdict_rows(why, width)]


def test_the_passed_stages_precede_the_one_that_dropped_the_note() -> None:
    assert verdict(FILTERED) == [
        "infra/docker.md",
        "✓ indexed",
        "✗ filtered: left out by tag:rust",
        "  → drop the filter to see it",
    ]


@pytest.mark.parametrize(
    ("stage", "passed"),
    [("not indexed", 0), ("filtered", 1), ("no match", 2), ("below score", 3), ("ranked", 4)],
)
def test_each_stage_has_its_place(stage: WhyNotStage, passed: int) -> None:
    lines = verdict(WhyNot("a.md", stage, "why"))
    assert [line[0] for line in lines[1:]] == ["✓"] * passed + ["✗"]
    assert lines[-1] == f"✗ {stage}: why"


def test_a_note_that_is_listed_after_all_was_stopped_by_nothing() -> None:
    lines = verdict(WhyNot("a.md", "listed", "rank 3", rank=3, score=0.51234))
    assert not any("✗" in line for line in lines)
    assert lines[-2:] == ["  rank 3", "  score 0.5123"]


@pytest.mark.parametrize("width", [16, 40, 100])
def test_a_note_in_the_list_stands_beside_the_first_hit(embedded_sample: Workspace, width: int) -> None:
    why = embedded_sample.why_not(SearchQuery("docker port"), "infra/port-conflict.md")
    assert why.comparison is not None
    rows = list(verdict_rows(why, width))
    assert all(row_width(row) <= max(width, 46) for row in rows)
    lines = [" ".join(row_text(row).split()) for row in rows]
    assert "this first costs" in lines
    table = lines[lines.index("this first costs") + 1 :]
    parts = [line.split() for line in table if line.split()[0] in ("words", "meaning", "name", "score")]
    *costs, total = [numbers[3] for numbers in parts]
    assert add_up(costs, total)
    assert [numbers[0] for numbers in parts if "most" in numbers] == [why.comparison.decides]
    assert any(line.startswith("Why not higher?") for line in lines) or width == 16


@pytest.mark.parametrize("width", [16, 30, 80])
def test_hostile_paths_and_details_stay_text_within_the_width(width: int) -> None:
    why = WhyNot(HOSTILE, "no match", HOSTILE, HOSTILE)
    rows = [*verdict_rows(why, width), *offer_rows([HOSTILE] * 3, 1, width)]
    for row in rows:
        assert row_width(row) <= width
        assert row_text(row).isprintable() or "\u200d" in row_text(row)


def test_the_chosen_path_is_marked_by_a_sign() -> None:
    rows = [row_text(row).rstrip() for row in offer_rows(PATHS[:2], 1, 40)]
    assert rows == ["  infra/docker.md", "▌ infra/port-conflict.md"]


class Host(App[None]):
    """Answers the prompt as the application does, from a fixed list."""

    def __init__(self) -> None:
        super().__init__()
        self.prompt = WhyNotPrompt(ACTIONS, "port conflict")
        self.asked: list[str] = []
        self.gone: list[WhyNotChoice | None] = []

    def on_mount(self) -> None:
        self.push_screen(self.prompt, self.gone.append)

    def on_why_not_prompt_typed(self, typed: WhyNotPrompt.Typed) -> None:
        self.prompt.offer(typed.part, [path for path in PATHS if typed.part in path])

    def on_why_not_prompt_asked(self, asked: WhyNotPrompt.Asked) -> None:
        self.asked.append(asked.path)

    @property
    def seen(self) -> list[str]:
        return [line.rstrip() for line in self.prompt.query_one(RowsView).lines]

    @property
    def box(self) -> Input:
        return self.prompt.query_one(Input)


async def test_typing_offers_the_paths_that_hold_it() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert app.focused is app.box
        await pilot.press(*"port")
        assert app.seen == ["▌ infra/port-conflict.md"], "what Enter asks about"


async def test_a_path_is_completed_by_tab_and_asked_about_by_enter() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press(*"dock", "tab")
        assert app.box.value == PATHS[0]
        await pilot.press("enter")
        assert app.asked == [PATHS[0]]
        app.prompt.answer(PATHS[0], FILTERED, NOTE)
        await pilot.pause()
        assert app.seen == [*verdict(FILTERED), "", "enter: show the note"]
        await pilot.press("enter")
        await pilot.pause()
        assert app.gone == [WhyNotChoice(NOTE, in_list=False)]


async def test_the_arrows_choose_among_the_offered_paths() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press(*"infra", "down", "down", "up")
        assert app.seen[1] == f"▌ {PATHS[1]}"
        await pilot.press("enter")
        assert app.asked == [PATHS[1]]
        assert app.box.value == PATHS[1]


async def test_a_click_on_an_offered_path_asks_about_it() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press(*"infra")
        await pilot.pause()
        await pilot.click(RowsView, offset=(3, 2))
        assert app.asked == [PATHS[2]]


async def test_a_long_verdict_is_read_page_by_page_in_a_small_terminal() -> None:
    app = Host()
    async with app.run_test(size=(40, 8)) as pilot:
        await pilot.pause()
        await pilot.press(*"a.md", "enter")
        app.prompt.answer("a.md", WhyNot("a.md", "ranked", "word " * 100, "ask for more"))
        await pilot.pause()
        answer = app.prompt.query_one(RowsView)
        for _ in range(20):
            await pilot.press("pagedown")
        assert answer.scroll_offset.y + answer.size.height == len(answer.lines)
        await pilot.press("pageup")
        assert answer.scroll_offset.y + answer.size.height < len(answer.lines)


async def test_a_path_that_is_not_offered_may_be_asked_about_too() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press(*"no.md", "enter")
        assert app.asked == ["no.md"]
        app.prompt.fail("no.md", Failure("store_busy", "the index is busy", "try again"))
        await pilot.pause()
        assert app.seen == ["the index is busy: try again"]


async def test_an_answer_to_an_older_question_is_not_shown() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press(*"no.md", "enter", "x")
        app.prompt.answer("no.md", FILTERED)
        app.prompt.offer("no.md", PATHS)
        app.prompt.fail("no.md", Failure("store_busy", "late"))
        await pilot.pause()
        assert app.seen == []


async def test_an_empty_box_asks_nothing_and_escape_closes() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("enter")
        assert app.asked == []
        await pilot.press("escape")
        assert app.screen is not app.prompt


async def test_the_number_of_offered_paths_is_limited() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        app.prompt.offer("", [f"{number}.md" for number in range(50)])
        assert len([line for line in app.seen if line.endswith(".md")]) == MOST_OFFERED


@pytest.mark.parametrize("size", [(20, 5), (400, 120)])
async def test_any_size_works(size: tuple[int, int]) -> None:
    app = Host()
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press(*"a.md", "enter")
        app.prompt.answer("a.md", FILTERED)
        await pilot.pause()
        assert app.box.region.height == 1
