"""Completion appends the rest of a key or a value and never changes typed text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult

from kebab_tui.search.filter_keys import MAX_COMPLETIONS, completions_of
from kebab_tui.tui.widgets.query_box import QueryBox
from kebab_tui.tui.widgets.query_text import complete
from kebab_tui.workspace import Workspace
from tests.vault import Vault

KNOWN = completions_of(
    {"tag": ["rust", "Ruby", "rust-async", "설계", "two words"]},
    ["work", "home"],
    ["notes/rust/kb.md", "notes/rust/ownership.md", "notes/go.md", "north.md", "a b/c.md"],
)


def offered(text: str) -> str | None:
    completed = complete(text, Workspace.parse(text).tokens, KNOWN)
    return None if completed is None else completed[len(text) :]


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
    assert offered(text) == rest


@given(st.text('rutag:", -path/in설계', max_size=20))
def test_a_completion_only_adds_and_stays_a_filter(text: str) -> None:
    tokens = Workspace.parse(text).tokens
    completed = complete(text, tokens, KNOWN)
    if completed is not None:
        assert completed.startswith(text)
        assert len(completed) > len(text)
        after = Workspace.parse(completed).tokens
        assert after[-1].end == len(completed)
        assert after[-1].role in ("filter_key", "filter_value")


def test_a_value_with_a_space_is_quoted_where_nothing_is_typed_yet() -> None:
    known = completions_of({"tag": ["two words"]}, [], [])
    assert complete("tag:", Workspace.parse("tag:").tokens, known) == 'tag:"two words"'


def test_folders_come_before_notes_and_the_fullest_first() -> None:
    paths = KNOWN.values["path"]
    assert paths[:3] == ("notes/", "notes/rust/", "a b/")
    assert paths[3:] == ("notes/rust/kb.md", "notes/rust/ownership.md", "notes/go.md", "north.md", "a b/c.md")


def test_the_number_of_completion_values_is_limited() -> None:
    assert (
        len(completions_of({}, [], (f"f{n}/x.md" for n in range(3 * MAX_COMPLETIONS))).values["path"])
        == MAX_COMPLETIONS
    )


# from an index


def test_an_index_knows_its_tags_folders_and_notes(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    vault.write("러스트/kb.md", "# Rust\n#rust #cargo\n")
    vault.write("one.md", "one #rust\n")
    vault.ingest()
    known = vault.workspace.completions().values
    vault.workspace.close()
    assert known["tag"] == ("rust", "cargo")
    assert known["path"] == ("러스트/", "one.md", "러스트/kb.md")
    assert known["in"] == ("notes",)


def test_without_an_index_the_keys_are_known_all_the_same(tmp_path: Path) -> None:
    known = Vault(tmp_path).workspace.completions().values
    assert known["tag"] == ()
    assert "ko" in known["lang"]


# in the box


class Host(App[None]):
    def compose(self) -> ComposeResult:
        yield QueryBox()

    def on_mount(self) -> None:
        box = self.query_one(QueryBox)
        box.set_parser(Workspace.parse)
        box.know(KNOWN)
        box.focus()


@pytest.mark.parametrize("key", ["right", "ctrl+e", "end"])
async def test_a_key_at_the_end_accepts_what_is_offered(key: str) -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press("t", "a")
        await pilot.press(key)
        assert app.query_one(QueryBox).value == "tag:"


async def test_away_from_the_end_a_key_only_moves() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press("t", "a")
        await pilot.press("left", "ctrl+e")
        assert app.query_one(QueryBox).value == "ta"


async def test_nothing_is_offered_before_the_data_is_there() -> None:
    app = Host()
    async with app.run_test() as pilot:
        app.query_one(QueryBox).know(completions_of({}, [], []))
        await pilot.press(*"in", "colon", "w", "right")
        assert app.query_one(QueryBox).value == "in:w"
        app.query_one(QueryBox).know(KNOWN)
        await pilot.press("o", "right")
        assert app.query_one(QueryBox).value == "in:work"
