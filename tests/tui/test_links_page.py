"""The links page, following links, and going back and forward through visited notes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kebab_tui.domain.citation import Citation, SourceSpan
from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.domain.links import LinkedNote
from kebab_tui.editor import Launch, OpenResult
from kebab_tui.tui import hand_off
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.keys import paste
from kebab_tui.tui.note_hits import Visits, count_words, is_whole, note_hit
from kebab_tui.tui.screens.links_page import LinksPage
from kebab_tui.workspace import Callbacks
from tests.tui.hits import HOSTILE
from tests.tui.screen import VIM, WIDE, Screen, found, kebab, painted, until
from tests.vault import Vault

HUB = """# Hub

About the harbour: [[Pier]] and [the tide](sea/tide.md#high-water).

See [[Ideas]], [[Nowhere]], [[Pier#Gone]] and [kebab](https://example.org/a?b=c).

![[map.png]]
"""
NOTES = {
    "hub.md": HUB,
    "Pier.md": "# Pier\n\nWood and nails.\n\nBack to [[hub|the hub]].\n",
    "sea/tide.md": "# Tide\n\nTwice a day.\n\n## High water\n\nAt noon, see [[Pier]].\n",
    "a/Ideas.md": "# Ideas\n\nOf a.\n",
    "b/Ideas.md": "# Ideas\n\nOf b.\n",
    "회의/2월 회의록.md": "# 2월 회의록\n\n결정은 [[hub]]에.\n",
}

pytestmark = pytest.mark.slow


@dataclass
class Desk:
    """A vault, and an editor that notes what it was asked."""

    vault: Vault
    opened: list[tuple[str, ...]] = field(default_factory=list)
    copied: list[str] = field(default_factory=list)

    def screen(self, query: str = "harbour", **options: Any) -> KebabApp:
        return kebab(self.vault.data, query=query, mode="lexical", **options)

    def edit(self, app: object, made: Launch, path: str, *, is_new: bool = False) -> OpenResult:
        self.opened.append(made.argv)
        if is_new:
            Path(path).write_text("# New\n")
        return OpenResult(True, "")

    def copy(self, text: str, *_: object) -> str:
        self.copied.append(text)
        return f"copied: {text}"

    @property
    def last(self) -> tuple[str, str]:
        """The line and the path that the editor was asked for last."""
        return self.opened[-1][1], os.path.relpath(self.opened[-1][-1], self.vault.root)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    made = Desk(Vault(tmp_path))
    for path, text in NOTES.items():
        made.vault.write(path, text)
    (Path(made.vault.root) / "map.png").write_bytes(b"\x89PNG")
    made.vault.ingest()
    (tmp_path / "vim").touch(0o755)
    monkeypatch.setenv("KEBAB_EDITOR", str(tmp_path / "vim"))
    monkeypatch.setattr(hand_off, "open_in_editor", made.edit)
    monkeypatch.setattr(hand_off, "copy", made.copy)
    yield made
    made.vault.workspace.close()


def page_of(app: KebabApp) -> LinksPage:
    assert isinstance(app.screen, LinksPage), painted(app)
    return app.screen


def rows(app: KebabApp) -> list[str]:
    """The rows as they would be painted in a wide pane."""
    return [" ".join(line.replace("▌", " ").split()) for line in page_of(app).rows.lines]


def has_all(app: KebabApp) -> bool:
    page = page_of(app)
    return page._has_rows and {"out", "in", "similar"} <= page._totals.keys()


@asynccontextmanager
async def page(desk: Desk, query: str = "harbour", size: tuple[int, int] = (200, 50), **options: Any) -> Any:
    async with desk.screen(query, **options).run_test(size=size) as pilot:
        app = await found(pilot)
        await open_page(pilot)
        yield pilot, app


async def open_page(pilot: Screen) -> None:
    app = pilot.app
    assert isinstance(app, KebabApp)
    await pilot.press("f9")
    await until(pilot, lambda: isinstance(app.screen, LinksPage) and has_all(app))


async def closed(pilot: Screen, app: KebabApp) -> None:
    await until(pilot, lambda: not isinstance(app.screen, LinksPage))


async def go_to(pilot: Screen, app: KebabApp, text: str) -> None:
    """Move to the first row with a text."""
    place = next(at for at, row in enumerate(rows(app)) if text in row)
    page_of(app).rows.move_to(place)
    await pilot.pause()


async def test_the_page_lists_links_backlinks_broken_ones_and_addresses(desk: Desk) -> None:
    async with page(desk) as (_, app):
        assert "links of Hub" in painted(app)
        assert rows(app) == [
            "Links · 4",
            "L3 Pier",
            "L3 Tide › high-water the tide sea",
            "L5 Ideas a",
            "or Ideas b",
            "L7 map.png",
            "Linked from · 2",
            "L5 Pier the hub",
            "L3 2월 회의록 hub 회의",
            "Similar · no vectors yet",
            "Broken · 2",
            "L5 Nowhere no such note",
            "L5 Pier#Gone no such heading",
            "Addresses · 1",
            "L5 https://example.org/a?b=c kebab",
        ]


@pytest.mark.parametrize(
    ("row", "line", "path"),
    [
        ("Tide", "+5", "sea/tide.md"),
        ("L3 Pier", "+1", "Pier.md"),
        ("or Ideas", "+1", "b/Ideas.md"),
        ("the hub", "+5", "Pier.md"),
        ("2월", "+3", "회의/2월 회의록.md"),
        ("Nowhere", "+5", "hub.md"),
    ],
)
async def test_a_row_opens_at_its_line(desk: Desk, row: str, line: str, path: str) -> None:
    async with page(desk) as (pilot, app):
        await go_to(pilot, app, row)
        await pilot.press("enter")
        await until(pilot, lambda: desk.opened)
        assert desk.last == (line, path)


async def test_the_preview_follows_the_cursor_and_marks_the_lines(desk: Desk) -> None:
    async with page(desk) as (pilot, app):
        await go_to(pilot, app, "Tide")
        preview = page_of(app).preview
        await until(pilot, lambda: preview.is_certain)
        assert (preview._target.first, preview._target.last) == (5, 7)
        await go_to(pilot, app, "the hub")
        await until(pilot, lambda: preview.is_certain and preview._target.first == 5)
        assert "Wood and nails" in painted(app)


async def test_a_row_opens_where_its_line_is_now(desk: Desk) -> None:
    async with page(desk) as (pilot, app):
        desk.vault.write("Pier.md", "# Pier\n\nNew.\n\nNew.\n\nWood and nails.\n\nBack to [[hub|the hub]].\n")
        await go_to(pilot, app, "the hub")
        await pilot.press("enter")
        await until(pilot, lambda: desk.opened)
        assert desk.last == ("+9", "Pier.md")


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("Tide", "sea/tide.md:L5-L7"),
        ("L3 Pier", "Pier.md"),
        ("the hub", "Pier.md:L5"),
        ("https:", "https://example.org/a?b=c"),
    ],
)
async def test_a_row_is_copied(desk: Desk, row: str, text: str) -> None:
    async with page(desk) as (pilot, app):
        await go_to(pilot, app, row)
        await pilot.press("ctrl+y")
        await until(pilot, lambda: desk.copied)
        assert desk.copied == [text]


@pytest.mark.parametrize(("row", "text"), [("https:", "https://example.org/a?b=c"), ("map.png", "map.png")])
async def test_enter_copies_what_is_no_note(desk: Desk, row: str, text: str) -> None:
    async with page(desk) as (pilot, app):
        await go_to(pilot, app, row)
        await until(pilot, lambda: "Enter copies" in painted(app))
        await pilot.press("enter")
        await until(pilot, lambda: desk.copied)
        assert desk.copied[0].endswith(text)
        assert not desk.opened


async def test_tab_goes_from_part_to_part(desk: Desk) -> None:
    async with page(desk) as (pilot, app):
        seen = []
        for key in ("tab", "tab", "tab", "shift+tab"):
            await pilot.press(key)
            seen.append(rows(app)[page_of(app).rows.cursor].split()[1])
        assert seen == ["Pier", "Nowhere", "https://example.org/a?b=c", "Nowhere"]


async def test_typing_filters_the_rows(desk: Desk) -> None:
    async with page(desk) as (pilot, app):
        await pilot.press(*"pier")
        await until(pilot, lambda: rows(app)[0] == "Links · 1 of 4")
        assert [row for row in rows(app) if "·" not in row] == [
            "L3 Pier",
            "L5 Pier the hub",
            "L5 Pier#Gone no such heading",
        ]
        await pilot.press(*"xyz")
        await until(pilot, lambda: rows(app) == ["no link has these words"])
        await pilot.press("enter")
        assert isinstance(app.screen, LinksPage)


async def test_korean_filters_too(desk: Desk) -> None:
    async with page(desk) as (pilot, app):
        paste(page_of(app).typing_box, "회의록")
        await until(pilot, lambda: rows(app) == ["Linked from · 1 of 2", "L3 2월 회의록 hub 회의"])


async def test_a_broken_link_offers_a_new_note(desk: Desk) -> None:
    async with page(desk) as (pilot, app):
        await go_to(pilot, app, "Nowhere")
        await pilot.press("alt+c")
        await until(pilot, lambda: desk.opened)
        assert desk.last[1] == "Nowhere.md"


async def test_a_link_that_names_a_heading_offers_no_new_note(desk: Desk) -> None:
    async with page(desk) as (pilot, app):
        await go_to(pilot, app, "Pier#Gone")
        await pilot.press("alt+c")
        await until(pilot, lambda: "No new note" in painted(app))
        assert not desk.opened


async def test_following_a_row_shows_its_links_and_back_and_forward_go_through_them(desk: Desk) -> None:
    async with page(desk) as (pilot, app):
        for key, title in [
            ("ctrl+f", "Pier"),
            ("ctrl+f", "Hub"),
            ("alt+left", "Pier"),
            ("alt+left", "Hub"),
            ("alt+right", "Pier"),
        ]:
            await pilot.press(key)
            await until(pilot, lambda: page_of(app).note.title == title and has_all(app))  # noqa: B023
            assert f"links of {title}" in painted(app)
        await pilot.press("escape")
        await closed(pilot, app)
        await until(pilot, lambda: "Wood and nails" in painted(app))
        assert app.hits.selected is not None
        assert app.hits.selected.title == "Hub"
        await pilot.press("enter")
        await until(pilot, lambda: desk.opened)
        assert desk.last[1] == "Pier.md"


async def test_the_first_link_of_the_cited_lines_is_followed(desk: Desk) -> None:
    async with desk.screen().run_test(size=WIDE) as pilot:
        app = await found(pilot)
        await pilot.press("ctrl+f")
        await until(pilot, lambda: app.visited and "Wood and nails" in painted(app))
        assert app.box.value == "harbour"  # the key deletes no word
        await pilot.press("ctrl+f")
        await until(pilot, lambda: app.visited and app.visited.title == "Hub")
        await pilot.press("alt+left")
        await until(pilot, lambda: app.visited and app.visited.title == "Pier")
        await pilot.press("alt+left")
        await until(pilot, lambda: app.visited is None)
        assert "About the harbour" in painted(app)
        await pilot.press("alt+left")
        await until(pilot, lambda: "no note before this one" in painted(app))
        await pilot.press("alt+right")
        await until(pilot, lambda: app.visited and app.visited.title == "Pier")
        await pilot.press("escape")
        await until(pilot, lambda: app.visited is None and "About the harbour" in painted(app))


async def test_typing_and_moving_end_a_visit(desk: Desk) -> None:
    async with desk.screen("ideas").run_test(size=WIDE) as pilot:
        app = await found(pilot)
        app.box.write("pier")
        await found(pilot)
        await pilot.press("ctrl+f")
        await until(pilot, lambda: app.visited)
        await pilot.press("down")
        await until(pilot, lambda: app.visited is None)
        await pilot.press("up", "ctrl+f")
        await until(pilot, lambda: app.visited)
        await pilot.press("s")
        await until(pilot, lambda: app.visited is None)


async def test_lines_without_a_link_are_said(desk: Desk) -> None:
    async with desk.screen("of a").run_test(size=WIDE) as pilot:
        app = await found(pilot)
        assert app.hits.selected is not None
        assert app.hits.selected.path == "a/Ideas.md"
        await pilot.press("ctrl+f")
        await until(pilot, lambda: "no link in the cited lines" in painted(app))


async def test_the_letters_of_the_normal_mode_do_the_same(desk: Desk) -> None:
    async with desk.screen(settings=VIM).run_test(size=WIDE) as pilot:
        app = await found(pilot)
        await pilot.press("escape", "f")
        await until(pilot, lambda: app.visited and app.visited.title == "Pier")
        await pilot.press("H")
        await until(pilot, lambda: app.visited is None)
        await pilot.press("J")
        await until(pilot, lambda: app.visited)
        await pilot.press("L")
        await until(pilot, lambda: isinstance(app.screen, LinksPage) and has_all(app))
        assert page_of(app).note.title == "Pier"


@pytest.mark.parametrize("size", [WIDE, (80, 24)])
async def test_the_line_under_the_preview_counts_and_opens_the_page(
    desk: Desk, size: tuple[int, int]
) -> None:
    async with desk.screen().run_test(size=size) as pilot:
        app = await found(pilot)
        await until(pilot, lambda: "links 4 · linked from 2 · broken 2" in painted(app))
        region = app.preview.region
        await pilot.click(offset=(region.x + 6, region.bottom - 1))
        await until(pilot, lambda: isinstance(app.screen, LinksPage))


@pytest.mark.parametrize("size", [(80, 24), (40, 10)])
async def test_a_small_terminal_has_the_rows(desk: Desk, size: tuple[int, int]) -> None:
    async with page(desk, size=size) as (pilot, app):
        assert "L3    Pier" in painted(app)
        await pilot.press("enter")
        await until(pilot, lambda: desk.opened)


async def test_picking_prints_the_line_of_the_row(desk: Desk) -> None:
    async with page(desk, pick=True) as (pilot, app):
        await go_to(pilot, app, "the hub")
        assert "pick" in painted(app)
        await pilot.press("enter")
        await until(pilot, lambda: app.return_value)
        assert app.return_value == ("+5", os.path.join(desk.vault.root, "Pier.md"))


async def test_a_commit_renews_the_open_page_and_the_cursor_stays(desk: Desk) -> None:
    async with page(desk) as (pilot, app):
        await go_to(pilot, app, "the hub")
        desk.vault.write("new.md", "# New\n\nAlso [[hub]].\n")
        desk.vault.ingest()
        await until(pilot, lambda: "Linked from · 3" in rows(app))
        assert "the hub" in rows(app)[page_of(app).rows.cursor]


async def test_a_note_that_is_deleted_while_its_page_is_open(desk: Desk) -> None:
    async with page(desk) as (pilot, app):
        (Path(desk.vault.root) / "hub.md").unlink()
        desk.vault.ingest()
        await until(pilot, lambda: rows(app)[0].startswith("not in the index"))
        await pilot.press("enter", "ctrl+f", "tab", "escape")
        await closed(pilot, app)


async def test_a_note_that_is_deleted_cannot_be_opened(desk: Desk) -> None:
    async with page(desk) as (pilot, app):
        (Path(desk.vault.root) / "Pier.md").unlink()
        await pilot.press("enter")
        await until(pilot, lambda: "the file is gone: Pier.md" in painted(app))


async def test_similar_notes_have_their_cosine(desk: Desk) -> None:
    desk.vault.workspace.embed(Callbacks())
    async with page(desk) as (_, app):
        similar = [row for row in rows(app) if row.startswith("0.")]
        assert f"Similar · {len(similar)}" in rows(app)
        assert similar == sorted(similar, reverse=True, key=lambda row: row[:4])


async def test_ten_thousand_links_can_all_be_reached(desk: Desk) -> None:
    links = "\n".join(f"- [[Pier|plank {number}]]" for number in range(10_000))
    desk.vault.write("long.md", f"# Long\n\nTimber.\n\n{links}\n")
    desk.vault.ingest()
    async with page(desk, "timber") as (pilot, app):
        assert "Links · 10,000" in rows(app)[0]
        assert "links 999+" in painted(app) or app._counted == {}
        await until(pilot, lambda: len(page_of(app)._found["out"]) == 10_000)
        paste(page_of(app).typing_box, "plank 9999")
        await until(pilot, lambda: rows(app)[0] == "Links · 1 of 10,000")
        await pilot.press("enter")
        await until(pilot, lambda: desk.opened)
        assert desk.last[1] == "Pier.md"


async def test_hostile_links_are_text(desk: Desk) -> None:
    text = HOSTILE.replace("\n", " ").replace("\r", " ").replace("\ud800", "").replace("\x00", "")
    desk.vault.write(
        "hostile.md", f"# Hostile\n\nMalice: [[{text}]] [{text}](https://e.org/{text}) [[Pier]]\n"
    )
    desk.vault.ingest()
    async with page(desk, "malice") as (_, app):
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(painted(app))


# Without a screen


def hit(name: str) -> SearchHit:
    note = LinkedNote(DocId(name), SourceId("s"), "/notes", f"{name}.md", f"{name}.md".encode(), name)
    return note_hit(note)


def test_visits_go_back_and_forward_like_a_browser() -> None:
    visits, (a, b, c, d) = Visits(), map(hit, "abcd")
    assert visits.step(-1, a) is None
    visits.go(a, b)
    visits.go(b, c)
    assert visits.step(-1, c) == b
    assert visits.step(-1, b) == a
    assert visits.step(-1, a) is None
    assert visits.step(1, a) == b
    visits.go(b, d)
    assert visits.step(1, d) is None
    assert visits.step(-1, d) == b


def test_back_returns_to_the_last_visit_from_another_note() -> None:
    visits, (a, b, c) = Visits(), map(hit, "abc")
    visits.go(a, b)
    assert visits.step(-1, c) == b


def test_a_note_with_lines_is_not_a_whole_one() -> None:
    note = LinkedNote(DocId("a"), SourceId("s"), "/notes", "a.md", b"a.md", "a")
    assert is_whole(note_hit(note))
    assert not is_whole(note_hit(note, Citation("a.md", SourceSpan(3, 3))))


def test_counts_are_one_line() -> None:
    assert (
        count_words({"out": 3, "in": 5, "similar": 4, "broken": 0}) == "links 3 · linked from 5 · similar 4"
    )
    assert count_words({"out": 10_000, "in": 0}) == "links 999+ · linked from 0"
    assert count_words({}) == ""
