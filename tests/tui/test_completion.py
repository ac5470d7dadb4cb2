"""Completion: what is offered at the cursor, the text in grey, and the list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import ComposeResult
from textual.pilot import Pilot

from kebab_tui.search.completions import MAX_COMPLETIONS, Completions, completions_of
from kebab_tui.tui.actions import ACTIONS, Facts, action_of, bind
from kebab_tui.tui.widgets.completion_list import CompletionList, Offer, offered
from kebab_tui.tui.widgets.query_box import QueryBox, QueryLine
from kebab_tui.workspace import Workspace
from tests.tui.screen import HostApp, painted
from tests.vault import Vault

pytestmark = pytest.mark.slow

KNOWN = completions_of(
    {"tag": [("rust", 12), ("Ruby", 5), ("rust-async", 3), ("설계", 2), ("two words", 1)]},
    [("work", 20), ("home", 4)],
    ["notes/rust/kb.md", "notes/rust/ownership.md", "notes/go.md", "north.md", "a b/c.md"],
    {"type": {"markdown": 9}, "lang": {"ko": 3}, "kind": {}, "trust": {}},
)


def offer_at(text: str, known: Completions = KNOWN) -> Offer | None:
    """What is offered at `|`, or at the end."""
    before, _, after = text.partition("|")
    return offered(before + after, len(before), Workspace.parse(before + after).tokens, known)


def texts(text: str, known: Completions = KNOWN) -> list[str]:
    offer = offer_at(text, known)
    return [] if offer is None else [candidate.text for candidate in offer.candidates]


def accepted(text: str, number: int = 0) -> str:
    offer = offer_at(text)
    assert offer is not None
    return offer.replaced(text.replace("|", ""), offer.candidates[number])


def in_grey(text: str, known: Completions = KNOWN) -> str | None:
    offer = offer_at(text, known)
    return (offer.appended(text) or None) if offer is not None else None


# what is offered


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("ta", ["tag:", "task:"]),
        ("TA", ["tag:", "task:"]),
        ("rust pa", ["path:"]),
        ("-ta", ["tag:", "task:"]),
        ("-ty", []),
        ("t", []),
        ("before", []),
        ("ta|x", []),
        ("pa| x", ["path:"]),
        ("tag:", ["rust", "Ruby", "rust-async", "설계", "two words"]),
        ("tag:ru", ["rust", "Ruby", "rust-async"]),
        ("tag:ASYNC", ["rust-async"]),
        ("tag:rust_a", ["rust-async"]),
        ("tag:#ru", ["rust", "Ruby", "rust-async"]),
        ("tag:rust", ["rust", "rust-async"]),
        ("tag:rust-async", []),
        ("tag:y", ["Ruby", "rust-async"]),
        ("tag:wor", ["two words"]),
        ("tag:섥", ["설계"]),
        ("tag:ㅅ", ["설계"]),
        ("tag:ㅅㄱ", ["설계"]),
        ("tag:rust,", ["Ruby", "rust-async", "설계", "two words"]),
        ("tag:rust,ru", ["Ruby", "rust-async"]),
        ("tag:ru|st,Ruby", ["rust", "rust-async"]),
        ("a -tag:ru|,설계 b", ["rust", "Ruby", "rust-async"]),
        ('tag:"two', ["two words"]),
        ("tag:zz", []),
        ("tag:x ", []),
        ("path:own", ["notes/rust/ownership.md"]),
        ("path:rust/", ["notes/rust/", "notes/rust/ownership.md", "notes/rust/kb.md"]),
        ("tga:ru", ["tag:"]),
        ("tga|:ru", ["tag:"]),
        ("'tag:", []),
        ('"a phrase', []),
        ("title:x", []),
    ],
)
def test_the_values_that_fit_are_offered_the_likeliest_first(text: str, first: list[str]) -> None:
    assert sorted(texts(text)) == sorted(first) and texts(text)[:1] == first[:1]


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("a ta", "a tag:"),
        ("-ta", "-tag:"),
        ("tag:ru", "tag:rust"),
        ("tag:ru|xx b", "tag:rust b"),
        ("a -tag:설계,ru|,x b", "a -tag:설계,rust,x b"),
        ("tag:two", 'tag:"two words"'),
        ('tag:"two| b', 'tag:"two words"'),
        ("tga:ru", "tag:ru"),
        ("path:a", 'path:"a b/"'),
    ],
)
def test_accepting_replaces_only_the_part_at_the_cursor(text: str, becomes: str) -> None:
    assert accepted(text) == becomes


def test_counts_or_meanings_stand_beside_the_values() -> None:
    def notes(text: str) -> dict[str, tuple[int | None, str]]:
        offer = offer_at(text)
        assert offer is not None
        return {one.text: (one.count, one.meaning) for one in offer.candidates}

    assert notes("tag:ru")["rust"] == (12, "")
    assert notes("in:")["home"] == (4, "")
    assert notes("path:no")["notes/"] == (3, "")
    assert notes("lang:")["ko"] == (3, "Korean")
    assert notes("type:")["note"] == (0, "")
    assert notes("after:")["7d"] == (None, "the last 7 days")
    assert notes("ta")["tag:"] == (None, "notes with a tag")


def test_every_key_and_fixed_value_has_a_meaning() -> None:
    for key in KNOWN.values:
        assert [one.meaning for one in KNOWN.keys(key[:-1] if len(key) > 2 else "")] != [""]
    for key in ("after", "before", "kind", "lang"):
        assert all(one.meaning for one in KNOWN.matching(key, ""))


@pytest.mark.parametrize(
    ("text", "is_begun"),
    [
        ("tag:", True),
        ("tag:ru", True),
        ("tag:rust", False),
        ("TAG:RUST", False),
        ("lang:k", True),
        ("name:", None),
        ("path:", True),
        ("path:nor", False),
        ("after:", True),
        ("ta", False),
    ],
)
def test_a_filter_without_effect_yet_is_told_apart(text: str, is_begun: bool | None) -> None:
    offer = offer_at(text)
    assert (None if offer is None else offer.is_begun) == is_begun


@pytest.mark.parametrize(
    ("wrong", "instead"),
    [
        ("type:pfd", ["type:pdf", "type:markdown"]),
        ("type:markdown,pfd", ["type:markdown,pdf"]),
        ("kind:pdf", ["type:pdf"]),
        ("after:lastweek", ["after:7d", "after:30d"]),
        ("in:wrk", ["in:work", "in:home"]),
        ("lang:xx", ["lang:ko", "lang:en", "lang:und"]),
        ("tag:", ["tag:rust", "tag:Ruby"]),
        ("-lang:ko", ["lang:ko"]),
        ("tag:rust", []),
    ],
)
def test_a_wrong_filter_has_valid_ones_in_its_place(wrong: str, instead: list[str]) -> None:
    found = KNOWN.replacements(wrong)
    assert found[: len(instead)] == instead
    assert all(Workspace.parse(one).error is None for one in found)


@given(st.text('rutag:", -path/in설계', max_size=20), st.integers(0, 20))
def test_an_accepted_candidate_is_part_of_a_filter(text: str, cursor: int) -> None:
    cursor = min(cursor, len(text))
    offer = offered(text, cursor, Workspace.parse(text).tokens, KNOWN)
    if offer is not None:
        assert 0 <= offer.start <= cursor <= offer.end <= len(text) or offer.title == "did you mean"
        for candidate in offer.candidates:
            changed = offer.replaced(text, candidate)
            assert any(
                token.role in ("filter_key", "filter_value") and token.start <= offer.start <= token.end
                for token in Workspace.parse(changed).tokens
            )


# in grey


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("ta", "g:"),
        ("rust pa", "th:"),
        ("-ta", "g:"),
        ("-ty", None),
        ("t", None),
        ("before", None),
        ("zz", None),
        ("", None),
        ("rust ", None),
        ("tag:", "rust"),
        ("tag:ru", "st"),
        ("TA", "g:"),
        ("TAG:ru", "st"),
        ("-Tag:RU", "st"),
        ("tag:rub", "y"),
        ("TAG:RUB", "y"),
        ("-tag:ru", "st"),
        ("tag:rust", "-async"),
        ("tag:rust-async", None),
        ("tag:설", "계"),
        ("tag:rust,", "Ruby"),
        ("tag:rust,ru", "by"),
        ("tag:tw", None),
        ('tag:"tw', 'o words"'),
        ('tag:"two words"', None),
        ('tag:"two words",ru', "st"),
        ("tag:x ", None),
        ("in:w", "ork"),
        ("path:no", "tes/"),
        ("path:notes/r", "ust/"),
        ("path:notes/rust/k", "b.md"),
        ("path:nor", "th.md"),
        ('path:"a ', 'b/"'),
        ("lang:k", "o"),
        ("kind:c", "ode"),
        ("trust:s", "econdary"),
        ("after:", "7d"),
        ("title:", None),
        ("'tag:", None),
        ('"a phrase', None),
        ("wor*", None),
        ("tga:ru", None),
    ],
)
def test_the_end_of_a_query_is_completed(text: str, rest: str | None) -> None:
    assert in_grey(text) == rest


@given(st.text('rutag:", -path/in설계', max_size=20))
def test_text_in_grey_only_adds_and_stays_a_filter(text: str) -> None:
    if rest := in_grey(text):
        after = Workspace.parse(text + rest).tokens
        assert after[-1].end == len(text + rest)
        assert after[-1].role in ("filter_key", "filter_value")


def test_a_value_with_a_space_is_quoted_where_nothing_is_typed_yet() -> None:
    assert in_grey("tag:", completions_of({"tag": [("two words", 1)]}, [], [], {})) == '"two words"'


@pytest.mark.parametrize(
    "value", ["a\x1b]0;x\x07", "a\u202eb", "a\u200bb", "a\tb", 'a"b', "a\nb", "a" + "\u0301" * 20]
)
def test_a_value_that_the_box_cannot_hold_is_not_offered(value: str) -> None:
    known = completions_of({"tag": [(value, 2), ("a👨‍👩‍👧한", 1)]}, [], [f"{value}/x.md"], {})
    assert [*known.values["tag"]] == ["a👨‍👩‍👧한"]
    assert [*known.values["path"]] == []


def test_folders_come_before_notes_and_the_fullest_first() -> None:
    paths = tuple(KNOWN.values["path"])
    assert paths[:3] == ("notes/", "notes/rust/", "a b/")
    assert paths[3:] == ("notes/rust/kb.md", "notes/rust/ownership.md", "notes/go.md", "north.md", "a b/c.md")


def test_the_number_of_completion_values_is_limited() -> None:
    assert (
        len(completions_of({}, [], (f"f{n}/x.md" for n in range(3 * MAX_COMPLETIONS)), {}).values["path"])
        == MAX_COMPLETIONS
    )


# from an index


def test_an_index_knows_its_tags_folders_and_notes(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    vault.write("러스트/kb.md", "# Rust\n#rust #cargo\n")
    vault.write("one.md", "one #rust #a/b/c\n")
    vault.write("two.txt", "한국어로 쓴 글 #a/d #a/b\n")
    vault.ingest()
    known = vault.workspace.completions().values
    vault.workspace.close()
    assert known["tag"] == {"a": 2, "a/b": 2, "rust": 2, "a/b/c": 1, "a/d": 1, "cargo": 1}
    assert tuple(known["path"]) == ("러스트/", "one.md", "two.txt", "러스트/kb.md")
    assert known["in"] == {"notes": 3}
    assert (known["type"]["markdown"], known["type"]["note"], known["type"]["pdf"]) == (2, 1, 0)
    assert known["lang"]["ko"] == 1
    assert known["kind"] == {"info": 3, "code": 0}
    assert known["trust"] == {"generated": 3, "secondary": 3, "primary": 3}


def test_without_an_index_the_keys_are_known_all_the_same(tmp_path: Path) -> None:
    known = Vault(tmp_path).workspace.completions().values
    assert known["tag"] == {}
    assert known["lang"]["ko"] is None


# in the box


class Host(HostApp):
    def __init__(self, value: str = "", known: Completions = KNOWN) -> None:
        super().__init__()
        self.value, self.known = value, known
        self.done: list[str] = []

    def compose(self) -> ComposeResult:
        self.list = CompletionList(accept_key="tab", choose_key="↓", take_key="enter")
        self.box = QueryBox(self.value)
        self.box.completion_list = self.list
        yield from (QueryLine(self.box), self.list)

    def on_mount(self) -> None:
        self.screen.styles.layers = ("base", "overlay")  # type: ignore[assignment]
        bind(self.box, ACTIONS, "Main", "query")
        self.box.set_parser(Workspace.parse)
        self.box.know(self.known)
        self.box.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        facts = Facts(
            hits=True,
            moves=True,
            empty_query=not self.box.value,
            completing=self.list.is_open,
            choosing=self.list.takes_moves,
            chosen=self.list.chosen is not None,
        )
        return action != "act" or action_of(ACTIONS, str(parameters[0])).is_available(facts)

    def action_act(self, action_id: str) -> None:
        self.done.append(action_id)
        if action_id in ("complete", "take_completion"):
            self.box.accept_completion()
        elif action_id.endswith("_completion"):
            self.list.move(1 if action_id.startswith("next") else -1)

    def on_completion_list_candidate_clicked(self, event: CompletionList.CandidateClicked) -> None:
        self.box.accept_completion(event.number)


def is_open(app: Host) -> bool:
    return app.list.is_open


async def write(pilot: Pilot[None], text: str) -> None:
    await pilot.press(*("space" if letter == " " else letter for letter in text))
    await pilot.pause()


@pytest.mark.parametrize("key", ["right", "ctrl+e", "end"])
async def test_a_key_at_the_end_accepts_what_is_in_grey(key: str) -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press("t", "a")
        await pilot.press(key)
        assert app.box.value == "tag:"


async def test_away_from_the_end_a_key_only_moves() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press("t", "a")
        await pilot.press("left", "ctrl+e")
        assert app.box.value == "ta"


async def test_nothing_is_offered_before_the_data_is_there() -> None:
    app = Host(known=completions_of({}, [], [], {}))
    async with app.run_test() as pilot:
        await pilot.press(*"in", "colon", "w", "right")
        assert app.box.value == "in:w"
        app.box.know(KNOWN)
        await pilot.press("o", "right")
        assert app.box.value == "in:work"


# the list


async def test_the_list_opens_below_the_word_and_tab_accepts() -> None:
    app = Host()
    async with app.run_test(size=(60, 16)) as pilot:
        await write(pilot, "a ta")
        assert is_open(app) and "tag:" in painted(app) and "notes with a tag" in painted(app)
        await pilot.press("tab")
        assert app.box.value == "a tag:"
        await pilot.pause()
        rows = painted(app).splitlines()
        assert "tag: in all notes" in rows[1]
        assert rows[2].split("│")[1].split() == ["rust", "12"]
        await pilot.press("tab")
        assert app.box.value == "a tag:rust" and not is_open(app)
        await pilot.press("tab")
        assert app.done[-1] == "next_pane", "a value that was accepted leaves tab alone"
        await write(pilot, "-")
        assert is_open(app)


async def test_moves_go_to_the_hits_unless_the_filter_has_no_effect_yet() -> None:
    app = Host()
    async with app.run_test(size=(60, 16)) as pilot:
        await write(pilot, "ta")
        await pilot.press("down", "enter")
        assert app.done == ["next_hit", "open"]
        await write(pilot, "g:rust")
        assert is_open(app)
        await pilot.press("down", "up", "enter")
        assert app.done[2:] == ["next_hit", "previous_hit", "open"]


async def test_in_a_list_that_was_entered_keys_choose_and_enter_accepts() -> None:
    app = Host()
    async with app.run_test(size=(60, 16)) as pilot:
        await write(pilot, "tag:")
        await pilot.press("up", "enter")
        assert app.done == ["previous_hit", "open"], "not before it is entered"
        await pilot.press("down", "down", "up", "up")
        assert app.list.chosen is None
        await pilot.press("down", "down")
        assert "▌Ruby" in painted(app)
        await pilot.press("enter")
        assert app.box.value == "tag:Ruby" and not is_open(app)


async def test_the_list_scrolls_to_the_chosen_row() -> None:
    known = completions_of({"tag": [(f"tag{n:02}", 99 - n) for n in range(40)]}, [], [], {})
    app = Host(known=known)
    async with app.run_test(size=(40, 10)) as pilot:
        await write(pilot, "tag:")
        assert "tag00" in painted(app) and "tag39" not in painted(app)
        await pilot.press(*["down"] * 50)
        assert "▌tag39" in painted(app) and "40 of 40" in painted(app)
        await pilot.press("enter")
        assert app.box.value == "tag:tag39"


async def test_a_key_lays_out_nothing_while_the_list_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Host()
    async with app.run_test(size=(60, 16)) as pilot:
        await write(pilot, "tag:")
        layouts: list[object] = []
        reflow = app.screen._compositor.reflow

        def counted(*given: Any) -> Any:
            layouts.append(given)
            return reflow(*given)

        monkeypatch.setattr(app.screen._compositor, "reflow", counted)
        await write(pilot, "rust")
        await pilot.press("down", "backspace", "backspace", "down", "down")
        await pilot.pause()
        assert is_open(app) and not layouts
        await pilot.press("escape", *"xyz")
        await pilot.pause()
        assert not is_open(app) and layouts


async def test_closing_lasts_until_another_word() -> None:
    app = Host()
    async with app.run_test(size=(60, 16)) as pilot:
        await write(pilot, "tag:r")
        app.box.close_completions()
        await write(pilot, "u")
        assert not is_open(app)
        await write(pilot, " lang:")
        assert is_open(app)


async def test_a_click_accepts() -> None:
    app = Host()
    async with app.run_test(size=(60, 16)) as pilot:
        await write(pilot, "tag:")
        await pilot.click(CompletionList, offset=(4, 2))
        await pilot.pause()
        assert app.box.value == "tag:Ruby" and app.focused is app.box
        await write(pilot, ",")
        assert is_open(app)


async def test_it_opens_by_typing_only() -> None:
    app = Host("tag:ru")
    async with app.run_test(size=(60, 16)) as pilot:
        await pilot.pause()
        assert not is_open(app)
        await pilot.press("left", "right", "left")
        assert not is_open(app)
        app.box.write("lang:")
        assert not is_open(app)
        await write(pilot, "k")
        assert is_open(app)
        await pilot.press("home")
        assert not is_open(app)


async def test_it_closes_with_the_focus_elsewhere() -> None:
    app = Host()
    async with app.run_test(size=(60, 16)) as pilot:
        await write(pilot, "tag:")
        app.screen.set_focus(None)
        await pilot.pause()
        assert not is_open(app)


@pytest.mark.parametrize("size", [(10, 4), (40, 10), (300, 90)])
async def test_the_list_is_on_the_screen_at_every_size(size: tuple[int, int]) -> None:
    known = completions_of(
        {"tag": [("설계 " * 40, 1), ("\x1b]52;c;AA\x07", 2), ("[b]rust[/b]", 3)]}, [], [], {}
    )
    app = Host("x " * 200, known)
    async with app.run_test(size=size) as pilot:
        await write(pilot, "tag:")
        assert is_open(app)
        assert app.list.region.x >= 0 and app.list.region.right <= size[0]
        assert "\x1b" not in painted(app) and "\x07" not in painted(app)
