"""The explain panel: follows the hit, applies what-ifs at once, keeps its scroll position."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.app import App, ComposeResult

from kebab_tui.search.explanation import ExplainedResponse
from kebab_tui.tui.explain.panel import ExplainPanel
from kebab_tui.workspace import Workspace
from tests.tui.explaining import explained

pytestmark = pytest.mark.slow


class Host(App[None]):
    def __init__(self, panel: ExplainPanel | None = None) -> None:
        super().__init__()
        self.panel = panel or ExplainPanel(id="explain")
        self.changes: list[ExplainPanel.Changed] = []

    def compose(self) -> ComposeResult:
        yield self.panel

    def on_explain_panel_changed(self, changed: ExplainPanel.Changed) -> None:
        self.changes.append(changed)

    @property
    def seen(self) -> list[str]:
        """The lines that stand on the screen now."""
        return [self.panel.render_line(y).text.rstrip() for y in range(self.panel.size.height)]


def strip(app: Host) -> str:
    """The settings, wherever they stand."""
    return next((line for line in app.seen if line.startswith("what if  ")), "")


@pytest.fixture(scope="module")
def answer(embedded_sample: Workspace) -> ExplainedResponse:
    return explained(embedded_sample, "port conflict")


async def test_it_explains_the_hit_that_it_is_shown(answer: ExplainedResponse) -> None:
    app = Host()
    async with app.run_test(size=(100, 40)) as pilot:
        for hit in answer.hits[:3]:
            app.panel.show(hit, answer)
            await pilot.pause()
            assert app.seen[0] == hit.headline[:100].rstrip() or hit.headline.startswith(app.seen[0])
            assert strip(app).startswith("what if")
            assert any(line.startswith(f"#{hit.hit.rank} ") for line in app.seen)
            assert any(line.startswith("rerank") for line in app.seen)


async def test_without_a_hit_it_shows_the_reason(answer: ExplainedResponse) -> None:
    app = Host()
    async with app.run_test(size=(100, 10)) as pilot:
        app.panel.show(answer.hits[0], answer)
        app.panel.clear("Type something to search for.")
        await pilot.pause()
        assert "".join(app.seen) == "Type something to search for."
        app.panel.show(None, answer)
        await pilot.pause()
        assert "No hit is selected." in app.seen


async def test_changing_a_setting_shows_its_value_and_posts_the_moves(answer: ExplainedResponse) -> None:
    app = Host()
    async with app.run_test(size=(100, 40)) as pilot:
        app.panel.show(answer.hits[0], answer)
        app.panel.toggle_rerank()
        app.panel.step_rrf_k(up=False)
        app.panel.step_meaning(up=True)
        await pilot.pause()
        assert strip(app).startswith(
            "what if  { } meaning weight 1→1.1  [ ] rrf_k 60→50  | re-ranking on→off  = reset"
        )
        assert any("1.1/(50+" in line for line in app.seen), "the arithmetic is that of the what-if"
        assert not any(line.startswith("rerank ") for line in app.seen)
        assert len(app.changes) == 3
        assert app.changes[-1].changes


async def test_more_meaning_moves_hits_while_they_are_reranked(answer: ExplainedResponse) -> None:
    app = Host()
    async with app.run_test(size=(110, 40)) as pilot:
        app.panel.show(answer.hits[1], answer)
        for _ in range(3):
            app.panel.step_meaning(up=True)
        await pilot.pause()
        assert strip(app).startswith(
            "what if  { } meaning 70 %→100 %  [ ] rrf_k 60  | re-ranking on  = reset"
        )
        assert "only affects which 75 are considered. Press | to turn it off." in " ".join(app.seen)
        assert app.changes[-1].changes, "the list shows how hits move"
        explained = app.panel.explained
        assert explained is not None
        assert app.seen[0] == explained.headline, "the sentence is that of the what-if"
        assert "1 × cosine" in " ".join(app.seen)


async def test_a_reset_goes_back_to_the_order_that_was_searched(answer: ExplainedResponse) -> None:
    app = Host()
    async with app.run_test(size=(100, 40)) as pilot:
        app.panel.show(answer.hits[0], answer)
        before = app.panel.lines
        app.panel.toggle_rerank()
        assert app.panel.lines != before
        app.panel.reset_what_if()
        await pilot.pause()
        assert app.panel.lines == before
        assert app.changes[-1].changes == {}
        app.panel.reset_what_if()
        await pilot.pause()
        assert len(app.changes) == 2, "nothing was turned"


async def test_a_what_if_outlives_the_hit_and_a_fresh_answer_to_the_same_query(
    answer: ExplainedResponse, embedded_sample: Workspace
) -> None:
    app = Host()
    async with app.run_test(size=(100, 40)) as pilot:
        app.panel.show(answer.hits[0], answer)
        app.panel.step_rrf_k(up=False)
        app.panel.show(answer.hits[1], answer)
        await pilot.pause()
        assert "60→50" in strip(app)
        assert len(app.changes) == 1, "another hit changes no order"
        again = replace(answer)
        app.panel.show(again.hits[1], again)
        await pilot.pause()
        assert "60→50" in strip(app)
        assert len(app.changes) == 2, "the fresh list has to be marked too"
        other = explained(embedded_sample, "docker")
        app.panel.show(other.hits[0], other)
        await pilot.pause()
        assert "60→" not in strip(app)


async def test_a_response_without_fusion_has_no_strip_and_ignores_the_settings(
    embedded_sample: Workspace,
) -> None:
    app = Host()
    by_words = explained(embedded_sample, "port conflict", mode="lexical")
    async with app.run_test(size=(100, 40)) as pilot:
        app.panel.show(by_words.hits[0], by_words)
        app.panel.step_rrf_k(up=True)
        app.panel.step_meaning(up=True)
        app.panel.toggle_rerank()
        app.panel.reset_what_if()
        await pilot.pause()
        assert not app.panel.has_what_if
        assert not strip(app)
        assert app.seen[0].startswith("First: ")
        assert app.changes == []


async def test_it_stays_where_it_was_scrolled_to_when_the_hit_changes(answer: ExplainedResponse) -> None:
    app = Host()
    async with app.run_test(size=(60, 12)) as pilot:
        app.panel.show(answer.hits[0], answer)
        await pilot.pause()
        app.panel.scroll_to(y=8, animate=False)
        await pilot.pause()
        app.panel.show(answer.hits[1], answer)
        await pilot.pause()
        assert app.panel.scroll_offset.y == 8
        assert app.seen == [line.rstrip() for line in app.panel.lines[8:20]]
        app.panel.toggle_rerank()
        await pilot.pause()
        assert app.panel.scroll_offset.y == 0, "what was turned is to be seen"


@pytest.mark.parametrize("size", [(20, 5), (30, 10), (80, 24), (400, 120)])
async def test_any_size_works(answer: ExplainedResponse, size: tuple[int, int]) -> None:
    app = Host()
    async with app.run_test(size=size) as pilot:
        app.panel.show(answer.hits[0], answer)
        await pilot.pause()
        for y in range(size[1]):
            assert app.panel.render_line(y).cell_length == app.panel.scrollable_content_region.width


async def test_a_resize_lays_the_rows_out_again(answer: ExplainedResponse) -> None:
    app = Host()
    async with app.run_test(size=(120, 40)) as pilot:
        app.panel.show(answer.hits[0], answer)
        await pilot.pause()
        wide = len(app.panel.lines)
        await pilot.resize_terminal(40, 40)
        await pilot.pause()
        assert len(app.panel.lines) > wide
