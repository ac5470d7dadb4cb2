"""The query box: typing, colours, history, editing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style
from rich.text import Span, Text
from textual import events
from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input

from kebab_tui.domain.text import sanitize
from kebab_tui.tui.actions import ACTIONS, Facts, action_of, bind, bind_app
from kebab_tui.tui.history import History
from kebab_tui.tui.widgets.query_box import QueryBox, QueryLine, frame_title
from kebab_tui.tui.widgets.query_text import (
    LONGEST,
    ROLES,
    QueryColours,
    component,
    flattened,
    one_plain_line,
    word_start,
)
from kebab_tui.workspace import Workspace
from tests.tui.screen import HostApp

pytestmark = pytest.mark.slow


class Host(HostApp):
    def __init__(self, value: str = "", history: History | None = None, engine: bool = True) -> None:
        super().__init__()
        bind_app(self, ACTIONS)
        self.value = value
        self.history = history
        self.engine = engine
        self.done: list[str] = []
        self.texts: list[str] = []

    def compose(self) -> ComposeResult:
        self.box = QueryBox(self.value, history=self.history)
        self.line = QueryLine(self.box)
        yield self.line

    def on_mount(self) -> None:
        bind(self.box, ACTIONS, "Main", "query")
        self.box.focus()
        if self.engine:
            self.box.set_parser(Workspace.parse)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        facts = Facts(hits=True, moves=True, empty_query=not self.box.value, filters=True)
        return action != "act" or action_of(ACTIONS, str(parameters[0])).is_available(facts)

    def action_act(self, action_id: str) -> None:
        self.done.append(action_id)

    def on_input_changed(self, event: Input.Changed) -> None:
        self.texts.append(event.value)


async def paste(app: Host, pilot: Pilot[None], text: str) -> None:
    app.post_message(events.Paste(text))
    await pilot.pause()


def screen_text(app: Host) -> str:
    return "\n".join(
        "".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()
    )


# typing


async def test_typed_text_is_in_the_box_and_posted() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press("r", "u", "s", "t")
        assert app.box.value == "rust"
        assert app.texts[-1] == "rust"


async def test_syllables_of_an_input_method_arrive_one_by_one() -> None:
    app = Host()
    async with app.run_test() as pilot:
        for syllable in "설계 노트":
            app.box.post_message(events.Key("space" if syllable == " " else syllable, syllable))
        await pilot.pause()
        assert app.box.value == "설계 노트"
        assert app.cursor_position.x == app.box.content_region.x + cell_len("설계 노트")


async def test_coming_back_to_the_box_selects_nothing() -> None:
    app = Host("rust")
    async with app.run_test() as pilot:
        app.screen.set_focus(None)
        app.box.focus()
        await pilot.press("x")
        assert app.box.value == "rustx"


@pytest.mark.parametrize(
    ("keys", "left", "cursor"),
    [
        (["ctrl+a"], "one two", 0),
        (["ctrl+a", "ctrl+e"], "one two", 7),
        (["ctrl+u"], "", 0),
        (["ctrl+w"], "one ", 4),
        (["ctrl+w", "ctrl+w"], "", 0),
        (["home", "ctrl+d"], "ne two", 0),
        (["left", "backspace"], "one to", 5),
        (["left", "left", "ctrl+w"], "one wo", 4),
    ],
)
async def test_line_editing_keeps_its_meaning(keys: list[str], left: str, cursor: int) -> None:
    app = Host("one two")
    async with app.run_test() as pilot:
        await pilot.press(*keys)
        assert (app.box.value, app.box.cursor_position) == (left, cursor)


@pytest.mark.parametrize(
    ("key", "action_id"),
    [
        ("down", "next_hit"),
        ("up", "previous_hit"),
        ("ctrl+n", "next_hit"),
        ("ctrl+p", "previous_hit"),
        ("enter", "open"),
        ("ctrl+o", "open"),
        ("ctrl+@", "mark"),
        ("ctrl+l", "focus_query"),
        ("f2", "palette"),
        ("tab", "next_pane"),
        ("escape", "back"),
        ("ctrl+up", "older_query"),
        ("shift+up", "scroll_up"),
        ("pagedown", "next_page"),
    ],
)
async def test_keys_move_the_hits_while_typing_goes_on(key: str, action_id: str) -> None:
    app = Host("one")
    async with app.run_test() as pilot:
        await pilot.press(key)
        assert app.done == [action_id]
        assert app.box.value == "one"


async def test_a_character_bound_in_the_lists_is_typed_in_the_box() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press("j", "slash", "question_mark", "space", "q", "left_square_bracket")
        assert app.box.value == "j/? q["
        assert app.done == []


async def test_up_recalls_the_last_query_only_on_an_empty_box() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press("up", "a", "up")
        assert app.done == ["recall_query", "previous_hit"]


# deleting a word


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("rust tag:cargo", "rust "),
        ('rust tag:"a b"', "rust "),
        ("rust -path:old/x,new", "rust "),
        ("rust tag:", "rust "),
        ("rust tag:cargo  ", "rust "),
        ("설계 문서", "설계 "),
        ('"one two', '"one '),
        ("http://a.b/c", ""),
        ("", ""),
    ],
)
def test_the_last_word_or_filter_is_one_piece(text: str, left: str) -> None:
    tokens = Workspace.parse(text.rstrip()).tokens
    assert text[: word_start(text, tokens)] == left


@given(st.text('ab :"-,tag()\n', max_size=30))
def test_deleting_words_always_ends(text: str) -> None:
    while text:
        shorter = text[: word_start(text, Workspace.parse(text.rstrip()).tokens)]
        assert len(shorter) < len(text)
        text = shorter


async def test_a_whole_filter_goes_with_one_key() -> None:
    app = Host('rust tag:"a b"')
    async with app.run_test() as pilot:
        await pilot.press("ctrl+w")
        assert app.box.value == "rust "


# what may stand in the box


async def test_a_pasted_book_is_one_line_and_cut() -> None:
    app = Host("a b")
    async with app.run_test() as pilot:
        await pilot.press("left")
        await paste(app, pilot, "설계\r\n\tnote\n" * 100_000)
        assert len(app.box.value) == LONGEST
        assert app.box.value.startswith("a 설계 note 설계")
        assert app.box.value.endswith("b")
        assert app.box.cursor_position == LONGEST - 1


async def test_pasted_text_replaces_the_selection() -> None:
    app = Host("one two")
    async with app.run_test() as pilot:
        await pilot.press("shift+home")
        await paste(app, pilot, "three\n")
        assert app.box.value == "three"


async def test_nothing_pasted_reaches_the_terminal_as_a_command() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await paste(app, pilot, "a\x1b]52;c;AA\x07\u202eb\x9bc")
        assert app.box.value == "a ]52;c;AA  b c"
        assert "\x1b" not in screen_text(app)


@given(st.text(max_size=60))
def test_the_box_holds_plain_text_of_the_same_length(text: str) -> None:
    spoken = one_plain_line(text)
    assert len(spoken) == len(text)
    assert not set(spoken) & set("\n\r\t\x1b\x00")
    assert all(a == b or b == " " for a, b in zip(text, spoken, strict=True))


@given(st.text(max_size=60), st.integers(-3, 80))
def test_a_pasted_text_fits(text: str, room: int) -> None:
    assert len(flattened(text, room)) <= max(room, 0)


def test_text_that_can_be_shown_is_left_alone() -> None:
    text = "설계 👩‍👩‍👧 é tag:rust [b]x[/b]"
    assert one_plain_line(text) == text == sanitize(text)


async def test_a_query_of_five_thousand_characters_fits() -> None:
    app = Host("x" * 6_000)
    async with app.run_test() as pilot:
        await pilot.press("y")
        assert app.box.value == "x" * LONGEST


# colours


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("rust", []),
        ("tag:rust", [(0, 4, "filter-key"), (4, 8, "filter-value")]),
        (
            'a "b c" OR -d e*',
            [(2, 7, "phrase"), (8, 10, "operator"), (11, 13, "negation"), (14, 16, "prefix")],
        ),
        ("tga:rust", [(0, 4, "unknown-key")]),
        ("'a AND b'", [(0, 9, "raw")]),
    ],
)
def test_each_piece_is_styled_by_its_role(text: str, roles: list[tuple[int, int, str]]) -> None:
    shown = Text(text)
    QueryColours(Workspace.parse, lambda name: Style(meta={"name": name})).highlight(shown)
    wanted = ((start, end, Style(meta={"name": f"query-box--{role}"})) for start, end, role in roles)
    assert shown.spans == [Span(*span) for span in wanted]


async def test_a_filter_looks_different_from_a_word_also_without_colour() -> None:
    app = Host("rust tag:cargo")
    async with app.run_test() as pilot:
        await pilot.pause()
        bold = "".join(seg.text for seg in app.box.render_line(0) if seg.style is not None and seg.style.bold)
        assert bold.strip() == "tag:"


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "ansi-dark", "ansi-light", "nord"])
async def test_every_role_has_its_own_style_in_every_theme(theme: str) -> None:
    app = Host()
    async with app.run_test() as pilot:
        app.theme = theme
        await pilot.pause()
        looks = {role: app.box.get_component_rich_style(component(role), partial=True) for role in ROLES}
        assert len({str(look) for look in looks.values()}) == len(ROLES)
        without_colour = {str(look.without_color) for look in looks.values()}
        assert len(without_colour) == len(ROLES)


async def test_typing_works_before_the_engine_is_there() -> None:
    app = Host(engine=False)
    async with app.run_test() as pilot:
        await pilot.press("t", "a", "g", "colon", "x", "space", "y", "ctrl+w", "ctrl+w")
        assert app.box.value == ""


# history


async def test_older_queries_come_back_and_the_draft_is_kept(tmp_path: Path) -> None:
    history = History(str(tmp_path))
    history.add("first")
    history.add("second")
    app = Host("draft", history)
    async with app.run_test():
        app.box.older_query()
        app.box.older_query()
        assert app.box.value == "first"
        assert app.box.cursor_at_end
        app.box.newer_query()
        app.box.newer_query()
        assert app.box.value == "draft"


async def test_a_cleared_query_can_be_recalled(tmp_path: Path) -> None:
    app = Host("precious", History(str(tmp_path)))
    async with app.run_test():
        app.box.clear()
        assert app.box.value == ""
        app.box.older_query()
        assert app.box.value == "precious"


async def test_without_a_history_the_keys_do_nothing() -> None:
    app = Host("draft")
    async with app.run_test():
        app.box.older_query()
        app.box.newer_query()
        assert app.box.value == "draft"


# the frame


async def test_the_frame_s_edge_names_the_mode() -> None:
    app = Host("rust")
    async with app.run_test(size=(60, 10)) as pilot:
        app.line.frame(True)
        app.line.mode = "lexical"
        await pilot.pause()
        top, row, *_ = screen_text(app).splitlines()
        assert top.startswith("╭─ query ───")
        assert top.endswith("── lexical ─╮")
        assert row.startswith("│› rust")


async def test_without_a_frame_prompt_query_and_mode_share_a_row() -> None:
    app = Host("rust")
    async with app.run_test(size=(40, 5)) as pilot:
        await pilot.pause()
        row = screen_text(app).splitlines()[0]
        assert row.startswith("› rust")
        assert row.endswith(" hybrid ")
        assert cell_len(row) == 40


async def test_a_raw_query_is_marked_as_one() -> None:
    app = Host("'a AND b'")
    async with app.run_test(size=(40, 5)) as pilot:
        await pilot.press("space")
        assert "RAW" in screen_text(app)
        app.box.write("a")
        await pilot.pause()
        assert "RAW" not in screen_text(app)


@pytest.mark.parametrize("size", [(20, 5), (400, 120)])
@pytest.mark.parametrize("framed", [True, False])
async def test_it_works_at_every_size(size: tuple[int, int], framed: bool) -> None:
    app = Host("설계 👩‍👩‍👧 é́́ tag:[b]rust[/b] " * 5)
    async with app.run_test(size=size) as pilot:
        app.line.frame(framed)
        await pilot.press("x")
        assert all(cell_len(row) == size[0] for row in screen_text(app).splitlines())


@given(st.integers(0, 400))
def test_the_title_fills_the_edge(width: int) -> None:
    title = frame_title("hybrid", width)
    assert title == "hybrid" or cell_len(title) == width
