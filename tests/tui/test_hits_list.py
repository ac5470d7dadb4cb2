"""The list of hits: cursor, marks, mouse, and a stable scroll position."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import pytest
from textual import on
from textual.app import App, ComposeResult
from textual.events import MouseScrollDown
from textual.message import Message

from kebab_tui.domain.citation import Located, SourceSpan
from kebab_tui.domain.hit import RetrievalDetail, SearchHit
from kebab_tui.domain.ids import ChunkRow, DocId
from kebab_tui.tui.actions import ACTIONS, bind
from kebab_tui.tui.widgets import hits_list
from kebab_tui.tui.widgets.hit_rows import RULES, HitStyle, Line, hit_lines
from kebab_tui.tui.widgets.hits_list import HitsList
from kebab_tui.tui.widgets.segments import CURSOR
from tests.tui.hits import HOSTILE, answer, answer_of, hit
from tests.tui.screen import SharedScreen, focus, found, painted, until

pytestmark = pytest.mark.slow


class _Host(App[None]):
    """Shows the list with the keys of the registry, and notes what it posts."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Message] = []
        self.chosen: list[str] = []

    def compose(self) -> ComposeResult:
        yield HitsList()

    def on_mount(self) -> None:
        bind(self.hits, ACTIONS, "Main", "lists")

    def action_act(self, name: str) -> None:
        hits = self.hits
        does: dict[str, Callable[[], None]] = {
            "next_hit": lambda: hits.move_by(1),
            "previous_hit": lambda: hits.move_by(-1),
            "next_page": lambda: hits.move_by_pages(1),
            "previous_page": lambda: hits.move_by_pages(-1),
            "first_hit": lambda: hits.move_to(0),
            "last_hit": hits.move_to_last,
            "mark": hits.toggle_mark,
            "open": hits.choose,
        }
        does[name]()

    @property
    def hits(self) -> HitsList:
        return self.query_one(HitsList)

    @on(HitsList.Moved)
    @on(HitsList.Chosen)
    @on(HitsList.Marked)
    @on(HitsList.NearEnd)
    def hear(self, message: Message) -> None:
        self.heard.append(message)
        if isinstance(message, HitsList.Chosen) and self.hits.selected is not None:
            self.chosen.append(self.hits.selected.path)

    @property
    def moved(self) -> list[str]:
        return [message.hit.path for message in self.heard if isinstance(message, HitsList.Moved)]


def _screen(hits: HitsList) -> list[str]:
    return [hits.render_line(y).text for y in range(hits.size.height)]


def _row_of(hits: HitsList, path: str) -> int:
    """The line of the note, whose file name tells it from others with its title."""
    name = path.rpartition("/")[2]
    return next(y for y, line in enumerate(_screen(hits)) if line.rstrip().endswith(f" {name}"))


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the hits that were laid out, in order."""
    paths: list[str] = []

    def noting(hit: SearchHit, look: HitStyle) -> tuple[Line, Line]:
        paths.append(hit.path)
        return hit_lines(hit, look)

    monkeypatch.setattr(hits_list, "hit_lines", noting)
    return paths


@pytest.mark.parametrize(
    ("keys", "index"),
    [
        ("ctrl+n", 1),
        ("down", 1),
        ("down down up", 1),
        ("down up", 0),
        ("end", 39),
        ("end home", 0),
        ("end home home", 0),
        ("pagedown", 10),
        ("pagedown pagedown pageup", 10),
        ("pageup", 0),
        ("end down", 39),
        ("up", 0),
    ],
)
async def test_keys_move_the_cursor(keys: str, index: int) -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        app.hits.focus()
        app.hits.show(answer_of(40))
        await pilot.press(*keys.split())
        assert app.hits.cursor == index
        assert any(line.startswith("▌") for line in _screen(app.hits))


async def test_the_app_hears_where_the_cursor_is_and_what_is_chosen() -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        app.hits.focus()
        app.hits.show(answer_of(3))
        await pilot.press("down", "enter")
        await pilot.pause()
        assert app.moved[-1] == "notes/2.md"
        assert app.chosen == ["notes/2.md"]


async def test_space_marks_and_goes_on_and_marks_outlive_the_question() -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        app.hits.focus()
        app.hits.show(answer_of(5))
        await pilot.press("ctrl+@", "ctrl+@", "up", "ctrl+@")
        assert [marked.path for marked in app.hits.marked] == ["notes/1.md"]
        app.hits.show(answer_of(5, first=100))
        assert [marked.path for marked in app.hits.marked] == ["notes/1.md"]
        counts = [message.count for message in app.heard if isinstance(message, HitsList.Marked)]
        assert counts == [1, 2, 1]
        app.hits.clear_marks()
        assert app.hits.marked == ()


async def test_a_mark_is_seen_and_follows_what_is_newly_known_of_its_hit() -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        app.hits.focus()
        app.hits.show(answer(hit(1), hit(2)))
        await pilot.press("ctrl+@")
        assert _screen(app.hits)[0].startswith(" ✓ ")
        app.hits.show(answer(hit(1, span=SourceSpan(50, 60)), hit(2)))
        assert app.hits.marked[0].citation.span == SourceSpan(50, 60)


async def test_going_down_never_leaves_a_passage_without_its_title_on_top() -> None:
    app = _Host()
    async with app.run_test(size=(80, 15)) as pilot:
        app.hits.focus()
        app.hits.show(answer_of(40))
        await pilot.press(*["down"] * 12)
        assert app.hits.scroll_offset.y % 2 == 0
        lines = _screen(app.hits)
        assert lines[0].startswith("   Workspace › Setup ")
        assert [line[0] for line in lines].count("▌") == 2


async def test_hits_shown_before_the_first_layout_begin_at_the_top() -> None:
    class Early(_Host):
        def on_mount(self) -> None:
            self.hits.show(answer_of(40))
            self.hits.move_by(1)

    app = Early()
    async with app.run_test(size=(80, 15)) as pilot:
        await pilot.pause()
        assert (app.hits.cursor, app.hits.scroll_offset.y) == (1, 0)


async def test_a_kept_hit_stays_on_its_line_of_the_screen() -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        app.hits.focus()
        app.hits.show(answer_of(40))
        await pilot.press(*["down"] * 14)
        kept = app.hits.selected
        assert kept is not None
        row = _row_of(app.hits, kept.path)
        newer = answer(*(hit(n, f"notes/{n}.md") for n in [*range(200, 207), *range(1, 41)]))
        app.hits.show(newer, keep=kept.chunk_id)
        await pilot.pause()
        assert app.hits.selected == kept
        assert app.hits.cursor == 21
        assert _row_of(app.hits, kept.path) == row


async def test_a_kept_hit_that_is_gone_leaves_cursor_and_view_in_their_places() -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        app.hits.focus()
        app.hits.show(answer_of(40))
        await pilot.press(*["down"] * 14)
        kept, top = app.hits.selected, app.hits.scroll_offset.y
        assert kept is not None
        app.hits.show(answer_of(40, first=100), keep=kept.chunk_id)
        await pilot.pause()
        assert (app.hits.cursor, app.hits.scroll_offset.y) == (14, top)
        app.hits.show(answer_of(3, first=100), keep=kept.chunk_id)
        await pilot.pause()
        assert (app.hits.cursor, app.hits.scroll_offset.y) == (2, 0)


async def test_a_new_question_starts_at_the_top() -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        app.hits.focus()
        app.hits.show(answer_of(40))
        await pilot.press("end")
        app.hits.show(answer_of(40, first=100))
        await pilot.pause()
        assert (app.hits.cursor, app.hits.scroll_offset.y) == (0, 0)
        assert app.moved[-1] == "notes/100.md"


async def test_no_hits_select_nothing_and_no_key_fails() -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        app.hits.focus()
        app.hits.show(answer_of(5))
        app.hits.show(answer())
        await pilot.press("down", "up", "end", "home", "pagedown", "pageup", "ctrl+@", "enter")
        assert app.hits.selected is None
        assert app.chosen == []
        assert not "".join(_screen(app.hits)).strip()


async def test_a_click_selects_a_double_click_opens_and_the_wheel_scrolls() -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        app.hits.show(answer_of(40))
        await pilot.pause()
        await pilot.click(HitsList, offset=(10, 5))
        assert (app.hits.cursor, app.chosen) == (2, [])
        await pilot.double_click(HitsList, offset=(10, 8))
        assert (app.hits.cursor, app.chosen) == (4, ["notes/5.md"])
        app.hits.post_message(_wheel(app.hits))
        await pilot.pause()
        assert app.hits.scroll_offset.y > 0
        assert app.hits.cursor == 4


async def test_a_click_under_the_last_hit_does_nothing() -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        app.hits.show(answer_of(2))
        await pilot.double_click(HitsList, offset=(10, 15))
        assert (app.hits.cursor, app.chosen) == (0, [])


async def test_a_thousand_hits_cost_nothing_until_they_are_shown(drawn: list[str]) -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        app.hits.show(answer_of(1000))
        await pilot.pause()
        assert len(drawn) == 10
        app.hits.focus()
        await pilot.press("down")
        assert set(drawn[10:]) == {"notes/1.md", "notes/2.md"}


async def test_a_line_drawn_once_is_drawn_no_more(drawn: list[str]) -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        app.hits.show(answer_of(20))
        await pilot.pause()
        before = len(drawn)
        app.hits.show(answer_of(20))
        await pilot.pause()
        assert len(drawn) == before


async def test_badges_of_a_what_if_and_of_a_moved_passage_are_shown() -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        found = hit(1, stale=True)
        app.hits.show(answer(found, hit(2)))
        app.hits.show_rank_changes({ChunkRow(1): -1, ChunkRow(2): 1})
        app.hits.show_location(found, Located(SourceSpan(19, 41), "moved", 7))
        await pilot.pause()
        lines = _screen(app.hits)
        assert "▼1" in lines[0]
        assert "▲1" in lines[2]
        assert "moved" in lines[0]
        app.hits.show(answer(hit(1, indexed_ns=2), hit(2)))
        whole = "".join(_screen(app.hits))
        assert not [sign for sign in ("▼", "▲", "moved", "stale") if sign in whole]


# The same question again, because notes have changed


def of(note: int, passage: int, line: int = 1) -> SearchHit:
    return hit(passage, f"notes/{note}.md", doc_id=DocId(str(note)), span=SourceSpan(line, line + 5))


def _signs(hits: HitsList) -> str:
    """How each hit differs from a moment ago, from the top of the view."""
    return "".join(line[1] for line in _screen(hits)[1::2])


async def test_what_the_same_question_did_not_find_a_moment_ago_is_marked() -> None:
    app = _Host()
    async with app.run_test(size=(80, 8)):
        app.hits.show(answer(of(1, 1), of(2, 2), of(3, 3)))
        found = app.hits.show(answer(of(1, 1), of(2, 12), of(4, 4)), again=True)
        assert str(found) == "1 new, 1 changed, 1 gone"
        assert _signs(app.hits) == " ~+ "


async def test_another_question_marks_nothing() -> None:
    app = _Host()
    async with app.run_test(size=(80, 8)):
        app.hits.show(answer(of(1, 1), of(2, 2)))
        app.hits.show(answer(of(1, 1), of(3, 3)), again=True)
        found = app.hits.show(answer(of(1, 1), of(4, 4)))
        assert str(found) == ""
        assert _signs(app.hits) == "    "


async def test_where_all_is_new_nothing_is_marked() -> None:
    app = _Host()
    async with app.run_test(size=(80, 8)):
        app.hits.show(answer())
        found = app.hits.show(answer_of(3), again=True)
        assert str(found) == "3 new"
        assert _signs(app.hits) == "    "


async def test_the_only_hit_is_marked_when_it_is_new() -> None:
    app = _Host()
    async with app.run_test(size=(80, 8)):
        app.hits.show(answer())
        app.hits.show(answer(of(1, 1)), again=True)
        assert _signs(app.hits) == "+   "


async def test_marks_of_news_go_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hits_list, "FRESH_S", 0.05)
    app = _Host()
    async with app.run_test(size=(80, 8)) as pilot:
        app.hits.show(answer(of(1, 1)))
        app.hits.show(answer(of(1, 1), of(2, 2)), again=True)
        assert _signs(app.hits) == " +  "
        await until(pilot, lambda: _signs(app.hits) == "    ")


async def test_later_news_have_all_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    app = _Host()
    async with app.run_test(size=(80, 8)) as pilot:
        app.hits.show(answer(of(1, 1)))
        monkeypatch.setattr(hits_list, "FRESH_S", 0.05)
        app.hits.show(answer(of(1, 1), of(2, 2)), again=True)
        monkeypatch.setattr(hits_list, "FRESH_S", 60)
        app.hits.show(answer(of(1, 1), of(2, 2), of(3, 3)), again=True)
        await pilot.pause(0.15)
        assert _signs(app.hits) == "  + "


async def test_the_cursor_follows_a_passage_that_changed_and_its_row_does_not_move() -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        others = [of(number, number) for number in range(2, 40)]
        app.hits.show(answer(*others[:14], of(1, 1, line=30), *others[14:]))
        app.hits.move_to(14)
        await pilot.pause()
        kept, row = app.hits.selected, _row_of(app.hits, "notes/1.md")
        assert kept is not None
        better = (of(90, 90), *others[:16], of(1, 50, line=1))
        newer = answer(*better, *others[16:18], of(1, 51, line=31), *others[18:])
        app.hits.show(newer, keep=kept.chunk_id, again=True)
        await pilot.pause()
        assert app.hits.selected == of(1, 51, line=31)
        assert _row_of(app.hits, "notes/1.md") == row


async def test_a_hit_that_appears_above_does_not_move_what_the_cursor_is_on() -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        app.hits.show(answer_of(40))
        app.hits.move_to(14)
        await pilot.pause()
        kept, before = app.hits.selected, _screen(app.hits)
        assert kept is not None
        newer = answer(*(hit(n, f"notes/{n}.md") for n in (99, *range(1, 41))))
        app.hits.show(newer, keep=kept.chunk_id, again=True)
        await pilot.pause()
        assert app.hits.selected == kept
        assert _screen(app.hits) == before


# Notes with several passages


def _passages(hits: HitsList) -> list[tuple[int, bool]]:
    """The passages in the rows, by number, and whether each is a further one of its note."""
    return [(row.hit.rank, row.is_further) for row in hits._rows]


THREE = (of(1, 1), of(2, 2), of(1, 3), of(1, 4), of(3, 5))


async def test_a_note_is_one_row_that_counts_its_other_passages() -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        app.hits.show(answer(*THREE))
        await pilot.pause()
        assert _passages(app.hits) == [(1, False), (2, False), (5, False)]
        assert app.hits.notes == 3
        assert [line.rstrip().endswith("+2") for line in _screen(app.hits)[1:6:2]] == [
            True,
            False,
            False,
        ]


async def test_the_passages_of_the_selected_note_unfold_and_fold_in_place() -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        app.hits.show(answer(*THREE))
        app.hits.fold()
        assert _passages(app.hits) == [(1, False), (3, True), (4, True), (2, False), (5, False)]
        assert _screen(app.hits)[1].rstrip().endswith("less")
        app.hits.move_by(2)
        await pilot.pause()
        assert app.hits.selected == THREE[3]
        app.hits.fold()
        await pilot.pause()
        assert app.hits.selected == THREE[0]
        assert _passages(app.hits) == [(1, False), (2, False), (5, False)]
        assert app.moved[-1] == "notes/1.md"
        app.hits.move_by(1)
        app.hits.fold()  # a note of one passage
        assert len(_passages(app.hits)) == 3


async def test_unfolding_scrolls_to_show_the_passages_and_the_title_above_stays() -> None:
    app = _Host()
    async with app.run_test(size=(80, 10)) as pilot:
        others = [of(number, number) for number in range(2, 30)]
        app.hits.show(answer(*others[:9], of(1, 101), of(1, 102), of(1, 103), *others[9:]))
        app.hits.move_to(9)
        app.hits.fold()
        await pilot.pause()
        in_view = dict.fromkeys(app.hits._row_at[app.hits.scroll_offset.y :][:10])
        assert [app.hits._rows[index].hit.rank for index in in_view] == [9, 10, 101, 102, 103]
        assert app.hits.cursor == 9


async def test_a_click_on_the_count_unfolds_without_moving_the_cursor() -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        app.hits.show(answer(of(2, 1), of(1, 2), of(1, 3)))
        await pilot.pause()
        await pilot.click(HitsList, offset=(78, 3))
        assert (len(_passages(app.hits)), app.hits.cursor) == (3, 0)
        await pilot.click(HitsList, offset=(78, 3))
        assert (len(_passages(app.hits)), app.hits.cursor) == (2, 0)


async def test_a_selected_passage_that_is_no_longer_the_best_stays_in_its_row() -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        app.hits.show(answer(of(2, 2), of(1, 1), of(3, 3)))
        app.hits.move_to(1)
        await pilot.pause()
        before = _screen(app.hits)
        app.hits.show(answer(of(2, 2), of(1, 9), of(1, 1), of(3, 3)), keep=of(1, 1).chunk_id, again=True)
        await pilot.pause()
        assert app.hits.selected == of(1, 1)
        assert app.hits.cursor == 1
        assert _screen(app.hits)[2] == before[2]
        assert _screen(app.hits)[3].rstrip().endswith("+1")
        app.hits.fold()
        assert [row.hit for row in app.hits._rows] == [of(2, 2), of(1, 9), of(1, 1), of(3, 3)]
        assert app.hits.selected == of(1, 1)


async def test_unfolded_notes_stay_so_until_another_query() -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)):
        app.hits.show(answer(*THREE))
        app.hits.fold()
        app.hits.show(answer(*THREE), again=True)
        assert len(_passages(app.hits)) == 5
        app.hits.show(answer(*THREE, query="another"))
        assert len(_passages(app.hits)) == 3


async def test_a_page_adds_passages_above_the_cursor_and_its_row_stays() -> None:
    app = _Host()
    async with app.run_test(size=(80, 10)) as pilot:
        first = [of(number, number) for number in range(1, 21)]
        app.hits.show(answer(*first, of(1, 50), total_matches=60, next_offset=21))
        app.hits.fold()
        app.hits.move_to(10)
        await pilot.pause()
        kept, row = app.hits.selected, _row_of(app.hits, "notes/10.md")
        app.hits.append(answer(*first, of(1, 50), of(1, 51), of(1, 52), of(30, 53)))
        await pilot.pause()
        assert app.hits.selected == kept
        assert _row_of(app.hits, "notes/10.md") == row
        assert app.hits.notes == 21


async def test_a_mark_and_news_are_seen_on_a_folded_note() -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        app.hits.show(answer(*THREE))
        app.hits.fold()
        app.hits.move_to(1)
        app.hits.toggle_mark()
        app.hits.move_to(0)
        app.hits.fold()
        app.hits.show(answer(*THREE, of(3, 6)), again=True)
        await pilot.pause()
        assert app.hits.marked == (THREE[2],)
        assert _screen(app.hits)[0].startswith("▌✓")
        assert _signs(app.hits).startswith("  +")


async def test_few_notes_of_many_passages_ask_for_more_only_while_they_leave_the_pane_empty() -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        for count, asks in ((50, 1), (hits_list._UNASKED, 1), (50, 2)):
            found = [of(number % 3, number) for number in range(count)]
            app.hits.show(answer(*found, total_matches=999, next_offset=count))
            await pilot.pause()
            assert len([one for one in app.heard if isinstance(one, HitsList.NearEnd)]) == asks
        app.hits.show(answer_of(15, total=99))
        await pilot.pause()
        assert len([one for one in app.heard if isinstance(one, HitsList.NearEnd)]) == 2
        app.hits.move_by(1)
        await pilot.pause()
        assert len([one for one in app.heard if isinstance(one, HitsList.NearEnd)]) == 3


# Rules between kinds of matches

_MEANING = RetrievalDetail("hybrid", vector_rank=1)


def _rules(hits: HitsList) -> list[str]:
    """The rules in view, and the sign of each row without one."""
    return [line.strip("─ ") if line.startswith(" ─") else "" for line in _screen(hits)]


async def test_rules_separate_the_kinds_of_matches() -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        named, full = hit(1, score_kind="name"), hit(2)
        partial, meaning = hit(3, relaxed=True), hit(4, retrieval=_MEANING)
        app.hits.show(answer(named, full, partial, meaning, hit(5, further=True)))
        await pilot.pause()
        assert [rule for rule in _rules(app.hits) if rule] == list(RULES.values())
        assert [y for y, rule in enumerate(_rules(app.hits)) if rule] == [0, 3, 6, 9, 12]
        app.hits.show(answer(full, partial))
        assert [rule for rule in _rules(app.hits) if rule] == ["partial matches"]
        app.hits.show(answer(full))
        assert not any(_rules(app.hits))


async def test_a_rule_comes_once_however_the_kinds_are_mixed_and_pages_change_none() -> None:
    app = _Host()
    async with app.run_test(size=(80, 24)) as pilot:
        mixed = (hit(1), hit(2, relaxed=True), hit(3), hit(4, relaxed=True), hit(5, retrieval=_MEANING))
        app.hits.show(answer(*mixed, hit(6, relaxed=True), next_offset=6))
        await pilot.pause()
        before = _screen(app.hits)
        assert [y for y, rule in enumerate(_rules(app.hits)) if rule] == [6]
        assert [y for y, line in enumerate(before) if "partial match " in line] == [2]
        assert "by meaning only" in before[9]
        app.hits.append(answer(*mixed, hit(6, relaxed=True), hit(7)))
        await pilot.pause()
        assert _screen(app.hits)[:13] == before[:13]


async def test_moves_clicks_and_pages_count_the_rules() -> None:
    app = _Host()
    async with app.run_test(size=(80, 10)) as pilot:
        hits = [hit(1, score_kind="name"), *(hit(number) for number in range(2, 40))]
        app.hits.show(answer(*hits))
        await pilot.pause()
        await pilot.click(HitsList, offset=(10, 3))  # the rule
        assert app.hits.cursor == 0
        await pilot.click(HitsList, offset=(10, 4))
        assert app.hits.cursor == 1
        app.hits.move_by_pages(1)
        assert app.hits.cursor == 5
        app.hits.move_by_pages(-9)
        await pilot.pause()
        assert (app.hits.cursor, app.hits.scroll_offset.y) == (0, 0)
        assert _rules(app.hits)[0] == "name matches"


# Scores


async def test_bars_are_drawn_where_the_score_orders_the_list() -> None:
    app = _Host()
    async with app.run_test(size=(80, 24)) as pilot:
        scores = (0.9, 0.6, 0.7, 0.3)
        app.hits.show(
            answer(hit(9, score_kind="name", score=1.0), *(hit(n, score=s) for n, s in enumerate(scores)))
        )
        await pilot.pause()
        assert [row.share for row in app.hits._rows] == [None, 24, 12, None, 1]
        app.hits.show(answer(hit(1, score=0.5), hit(2, score=0.5)))
        assert [row.share for row in app.hits._rows] == [None, None]
        app.hits.show(answer(hit(1, score=0.0), hit(2, score=0.0)))
        assert [row.share for row in app.hits._rows] == [None, None]


@pytest.mark.parametrize("size", [(20, 5), (40, 10), (400, 120), (1, 1)])
async def test_it_works_at_any_size(size: tuple[int, int]) -> None:
    app = _Host()
    async with app.run_test(size=size) as pilot:
        app.hits.focus()
        app.hits.show(answer_of(300))
        await pilot.press("down", "end", "up")
        await pilot.resize_terminal(60, 12)
        assert app.hits.cursor == 298
        assert any(line.startswith("▌") for line in _screen(app.hits))


async def test_the_row_under_the_cursor_differs_by_more_than_colour() -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        app.hits.show(answer(hit(1, highlights=((2, 6),)), hit(2)))
        await pilot.pause()
        assert [line[0] for line in _screen(app.hits)[:4]] == ["▌", "▌", " ", " "]
        cursor, other = (next(iter(app.hits.render_line(y))).style for y in (0, 2))
        assert cursor is not None
        assert other is not None
        assert cursor.bgcolor != other.bgcolor
        match = next(part.style for part in app.hits.render_line(1) if part.text == "Rust")
        assert match is not None
        assert match.bold


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "ansi-dark"])
async def test_a_change_of_theme_repaints_what_was_kept(theme: str) -> None:
    app = _Host()
    async with app.run_test(size=(80, 20)) as pilot:
        app.theme = "dracula"
        app.hits.show(answer_of(2))
        await pilot.pause()
        before = [part.style for part in app.hits.render_line(0)]
        app.theme = theme
        await pilot.pause()
        assert [part.style for part in app.hits.render_line(0)] != before


async def test_no_control_byte_of_a_hostile_hit_reaches_the_terminal() -> None:
    app = _Host()
    evil = hit(
        path=f"dir/{HOSTILE}.md", title=HOSTILE, heading_path=HOSTILE, snippet=HOSTILE, highlights=((3, 40),)
    )
    async with app.run_test(size=(400, 20)) as pilot:
        app.hits.show(answer(evil, query=HOSTILE))
        await pilot.pause()
        strips = [app.hits.render_line(y) for y in range(4)]
        assert "[/nope]" in strips[0].text
        assert not [
            c for strip in strips for c in strip.text if unicodedata.category(c) in ("Cc", "Cs", "Cf")
        ]
        bytes_sent = "".join(strip.render(app.console) for strip in strips)
        assert set(_escapes(bytes_sent)) <= {"m"}


def _wheel(widget: HitsList) -> MouseScrollDown:
    return MouseScrollDown(widget, 5, 5, 0, 1, 0, False, False, False)


def _escapes(sent: str) -> list[str]:
    """The final letter of every escape sequence; `?` for anything else that follows an escape."""
    found = re.findall(r"\x1b(\[[0-9;]*)?(.)", sent, re.DOTALL)
    return [letter if opened else "?" for opened, letter in found]


async def test_the_cursor_of_the_terminal_stands_on_the_selected_hit(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        in_the_box = app.cursor_position
        assert in_the_box == app.box.cursor_screen_offset
        await focus(pilot, app.hits)
        for key in ("down", "down", "up"):
            await pilot.press(key)
            await until(pilot, lambda: app.cursor_position.x == app.hits.content_region.x)
            at = app.cursor_position
            rows = painted(app).splitlines()
            assert [row[at.x] for row in rows[at.y : at.y + 2]] == [CURSOR, CURSOR]
            assert rows[at.y - 1][at.x] != CURSOR
        await focus(pilot, app.box)
        await until(pilot, lambda: app.cursor_position == in_the_box)
