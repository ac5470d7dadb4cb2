"""The quick switcher: find a note by its name, see it, open it; or start a new one."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kebab_tui.domain.errors import Failure
from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.names import stem_of
from kebab_tui.editor import Launch, OpenResult
from kebab_tui.tui import hand_off
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.keys import paste
from kebab_tui.tui.messages import IndexingEnded
from kebab_tui.tui.new_note import NewNote
from kebab_tui.tui.recent_notes import FILE
from kebab_tui.tui.screens import switcher
from kebab_tui.tui.screens.folder_prompt import FolderPrompt
from kebab_tui.tui.screens.switcher import Switcher
from kebab_tui.workspace import Callbacks
from tests.tui.hits import HOSTILE
from tests.tui.screen import WIDE, Proxy, Screen, focus, found, kebab, painted, type_at_once, until
from tests.vault import Vault

pytestmark = pytest.mark.slow

NOTES = {
    "infra/docker.md": "# Docker\n\nContainers for all.\n",
    "infra/port-conflict.md": "---\naliases: [Quokka]\n---\n# Ports\n\nWho has port 80?\n",
    "infra/ideas.md": "# Ideas\n\nOf the servers.\n",
    "회의/2월 회의록.md": "# 2월 회의록\n\n결정 사항.\n",
    "rust/ideas.md": "# Ideas\n\nOf the crates.\n",
    "🚀 launch.md": "# Launch\n\nTen, nine, eight.\n",
}


@dataclass
class Desk:
    """A vault, and an editor that notes what it was asked and saves when told."""

    vault: Vault
    opened: list[tuple[str, ...]] = field(default_factory=list)
    saves: bool = False

    def screen(self, query: str = "", **options: Any) -> KebabApp:
        return kebab(self.vault.data, query=query, mode="lexical", **options)

    def edit(self, app: object, made: Launch, path: str, *, is_new: bool = False) -> OpenResult:
        self.opened.append(made.argv)
        assert is_new is not os.path.exists(path)
        if is_new and self.saves:
            Path(path).write_text("# New\n\nA thought.\n")
        return OpenResult(True, "")

    @property
    def paths(self) -> list[str]:
        return [os.path.relpath(argv[-1], self.vault.root) for argv in self.opened]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    made = Desk(Vault(tmp_path))
    for number, (path, text) in enumerate(NOTES.items()):
        full = made.vault.write(path, text)
        os.utime(full, (1_700_000_000 + number,) * 2)
    made.vault.ingest()
    (tmp_path / "vim").touch(0o755)
    monkeypatch.setenv("KEBAB_EDITOR", str(tmp_path / "vim"))
    monkeypatch.setattr(hand_off, "open_in_editor", made.edit)
    yield made
    made.vault.workspace.close()


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were copied."""
    texts: list[str] = []

    def copy(text: str, *_: object) -> str:
        texts.append(text)
        return ""

    monkeypatch.setattr(hand_off, "copy", copy)
    return texts


def page_of(app: KebabApp) -> Switcher:
    assert isinstance(app.screen, Switcher)
    return app.screen


def rows(app: KebabApp) -> list[str]:
    """The paths of the listed notes; a new note with a plus."""
    return [
        f"+{note.path}" if isinstance(note, NewNote) else note.path
        for note in page_of(app)._notes
        if note is not None
    ]


def selected(app: KebabApp) -> str:
    note = page_of(app)._selected
    return note.path if note is not None else ""


async def switch(pilot: Screen, typed: str = "") -> KebabApp:
    """Open the page, type, and wait for the rows."""
    app = pilot.app
    assert isinstance(app, KebabApp)
    await pilot.press("ctrl+g")
    await until(pilot, lambda: isinstance(app.screen, Switcher))
    type_at_once(app, typed)
    page = page_of(app)
    await until(pilot, lambda: page._asked_for == typed and page._has_rows)
    return app


@asynccontextmanager
async def page(desk: Desk, typed: str = "", size: tuple[int, int] = WIDE, **options: Any) -> Any:
    async with desk.screen(**options).run_test(size=size) as pilot:
        await found(pilot)
        yield pilot, await switch(pilot, typed)


# Names


async def test_without_a_name_the_latest_changed_notes_are_listed(desk: Desk) -> None:
    async with page(desk) as (_, app):
        assert rows(app) == list(NOTES)[::-1]
        assert "Recently changed" in painted(app)


@pytest.mark.parametrize("pane", ["box", "hits", "preview"])
async def test_the_page_opens_from_every_pane_and_the_query_stays(desk: Desk, pane: str) -> None:
    async with desk.screen("ideas").run_test(size=WIDE) as pilot:
        app = await found(pilot)
        await focus(pilot, getattr(app, pane))
        await switch(pilot, "docker")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, Switcher))
        assert app.box.value == "ideas"
        assert app.focused is getattr(app, pane)


@pytest.mark.parametrize(
    ("typed", "path"),
    [
        ("dock", "infra/docker.md"),
        ("dcoker", "infra/docker.md"),
        ("quokka", "infra/port-conflict.md"),
        ("ports", "infra/port-conflict.md"),
        ("infra/id", "infra/ideas.md"),
        ("[[port conflict|ports]]", "infra/port-conflict.md"),
        ("ㅎㅇㄹ", "회의/2월 회의록.md"),
        ("회으", "회의/2월 회의록.md"),
        ("🚀", "🚀 launch.md"),
    ],
)
async def test_a_note_is_found_by_its_names(desk: Desk, typed: str, path: str) -> None:
    async with page(desk, typed) as (pilot, app):
        assert rows(app)[0] == path
        await pilot.press("enter")
        await until(pilot, lambda: desk.opened)
        assert desk.paths == [path]
        assert "+1" in desk.opened[0]


async def test_a_row_has_the_name_the_alias_that_matches_and_the_folder(desk: Desk) -> None:
    async with page(desk, "quo") as (_, app):
        row = page_of(app).rows.lines[0]
        assert row.split() == ["▌", "port-conflict", "Quokka", "infra"]
        parts = [(segment.text, segment.role) for segment in page_of(app).rows._rows[0]]
        assert ("Quo", "match") in parts


async def test_notes_of_one_name_are_told_apart_by_their_folder(desk: Desk) -> None:
    async with page(desk, "ideas") as (_, app):
        lines = [line.split() for line in page_of(app).rows.lines]
        assert sorted(line[-1] for line in lines[:2]) == ["infra", "rust"]


async def test_an_enter_pressed_before_the_rows_arrive_opens_the_note_of_the_typed_name(desk: Desk) -> None:
    go_on = threading.Event()

    def find(real: Any, text: str, *args: Any, **named: Any) -> Any:
        if text:
            go_on.wait(60)
        return real.find(text, *args, **named)

    app = kebab(desk.vault.data, lambda: Proxy(desk.vault.data, find=find), mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await switch(pilot)
        before = rows(app)
        type_at_once(app, "docker\r")
        await until(pilot, lambda: page_of(app)._chooses)
        assert rows(app) == before, "the old rows stay"
        go_on.set()
        await until(pilot, lambda: desk.opened)
    assert desk.paths == ["infra/docker.md"]


async def test_the_preview_shows_the_beginning_of_the_selected_note_without_a_cited_line(desk: Desk) -> None:
    async with page(desk, "docker") as (pilot, app):
        await until(pilot, lambda: "Containers for all" in painted(app))
        assert page_of(app).preview._target.sure is None
        await pilot.press("escape")
        await switch(pilot, "ideas")
        first = selected(app)
        await pilot.press("ctrl+n")
        other = "Of the crates" if first == "infra/ideas.md" else "Of the servers"
        await until(pilot, lambda: other in painted(app))


async def test_more_notes_are_loaded_near_the_end_and_the_cursor_stays(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(switcher, "FIRST", 30)
    monkeypatch.setattr(switcher, "MOST", 60)
    for number in range(80):
        desk.vault.write(f"log/{number:03}.md", f"entry {number}\n")
    desk.vault.ingest()
    async with page(desk, "log/") as (pilot, app):
        assert len(rows(app)) == 30
        last = rows(app)[-1]
        await pilot.press("ctrl+end")
        await until(pilot, lambda: len(rows(app)) == 60)
        assert selected(app) == last
        await pilot.press("ctrl+end", "ctrl+end")
        await until(pilot, lambda: "first 60" in painted(app))


# Recent notes


async def open_by_name(pilot: Screen, desk: Desk, name: str) -> None:
    count = len(desk.opened)
    await switch(pilot, name)
    await pilot.press("enter")
    await until(pilot, lambda: len(desk.opened) > count)


async def test_recent_notes_come_first_and_the_last_one_second_as_with_alt_tab(desk: Desk) -> None:
    async with desk.screen().run_test(size=WIDE) as pilot:
        await found(pilot)
        for name in ("docker", "launch", "port"):
            await open_by_name(pilot, desk, name)
        app = await switch(pilot)
        assert rows(app)[:3] == ["🚀 launch.md", "infra/port-conflict.md", "infra/docker.md"]
        assert len(rows(app)) == len(NOTES)
        await pilot.press("enter")
        await until(pilot, lambda: len(desk.opened) == 4)
        await switch(pilot)
        assert selected(app) == "infra/port-conflict.md"
        await pilot.press("ctrl+g")
        assert selected(app) == "🚀 launch.md"


async def test_recent_notes_outlive_the_session_a_rename_and_a_deletion(desk: Desk) -> None:
    async with desk.screen().run_test(size=WIDE) as pilot:
        await found(pilot)
        for name in ("launch", "port", "docker"):
            await open_by_name(pilot, desk, name)
    desk.vault.move("infra/docker.md", "box/podman.md")
    os.unlink(desk.vault.root / "infra/port-conflict.md")
    desk.vault.ingest()
    async with page(desk) as (_, app):
        assert rows(app)[:2] == ["box/podman.md", "🚀 launch.md"]


async def test_a_hit_that_was_opened_is_a_recent_note(desk: Desk) -> None:
    async with desk.screen("containers").run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: desk.opened)
        app = await switch(pilot)
        assert rows(app)[0] == "infra/docker.md"
        assert "Recent" in painted(app)


async def test_a_damaged_list_of_recent_notes_is_ignored(desk: Desk) -> None:
    (desk.vault.data / FILE).write_bytes(b"\x1b[2J\xff")
    async with page(desk) as (_, app):
        assert rows(app) == list(NOTES)[::-1]


# Other uses of a note


async def test_tab_searches_in_the_notes_of_the_name(desk: Desk) -> None:
    async with page(desk, "docker", query="ideas") as (pilot, app):
        await pilot.press("tab")
        await until(pilot, lambda: app.box.value == 'name:"docker" ')
        await found(pilot)
        assert [hit.path for hit in app.hits._hits] == ["infra/docker.md"]
        assert app.history.queries[-1] == "ideas"
        assert len(app.recent.notes) == 1


async def test_the_path_is_copied(desk: Desk, copied: list[str]) -> None:
    async with page(desk, "docker") as (pilot, _):
        await pilot.press("ctrl+y")
        await until(pilot, lambda: copied)
    assert copied == ["infra/docker.md"]


async def test_the_whole_path_is_copied_if_another_folder_has_the_same_one(
    desk: Desk, tmp_path: Path, copied: list[str]
) -> None:
    (tmp_path / "work" / "infra").mkdir(parents=True)
    (tmp_path / "work" / "infra" / "docker.md").write_text("# Docker\n\nAt work.\n")
    desk.vault.workspace.ingest([str(tmp_path / "work")], Callbacks())
    async with page(desk, "docker") as (pilot, app):
        folders = [line.split()[-1] for line in page_of(app).rows.lines[:2]]
        assert sorted(folders) == ["notes/infra", "work/infra"]
        note = page_of(app)._selected
        assert isinstance(note, SearchHit)
        await pilot.press("ctrl+y")
        await until(pilot, lambda: copied)
    assert copied == [f"{note.root}/infra/docker.md"]


async def test_enter_picks_the_note_and_no_new_one_is_offered(desk: Desk) -> None:
    async with page(desk, "dock", pick=True) as (pilot, app):
        assert rows(app) == ["infra/docker.md"]
        await pilot.press("enter")
        await until(pilot, lambda: app.return_value)
    assert app.return_value == ("+1", f"{desk.vault.root}/infra/docker.md")


async def test_a_deleted_note_is_reported(desk: Desk) -> None:
    async with page(desk, "docker") as (pilot, app):
        os.unlink(desk.vault.root / "infra/docker.md")
        await pilot.press("enter")
        await until(pilot, lambda: "the file is gone" in painted(app))
    assert not desk.opened


# New notes


async def test_a_saved_new_note_is_indexed_and_shown(desk: Desk) -> None:
    desk.saves = True
    async with page(desk, "kube log", query="containers") as (pilot, app):
        path = f"{desk.vault.root}/infra/kube log.md"
        assert rows(app) == [f"+{path}"], "in the folder of the selected hit"
        await until(pilot, lambda: "The editor creates the file when you save" in painted(app))
        assert "".join(page_of(app).preview._words).startswith(path)
        await pilot.press("enter")
        await until(pilot, lambda: desk.opened)
        assert desk.paths == ["infra/kube log.md"]
        desk.vault.ingest()
        await until(pilot, lambda: [hit.path for hit in app.hits._hits] == ["infra/kube log.md"])
        assert app.box.value == 'name:"kube log" '


async def test_a_new_note_that_was_not_saved_is_nothing(desk: Desk) -> None:
    async with page(desk, "infra/kube log", query="ideas") as (pilot, app):
        asked = list(app.indexing.asked)
        await pilot.press("enter")
        await until(pilot, lambda: "was not saved" in painted(app))
        assert desk.paths == ["infra/kube log.md"]
        assert app.box.value == "ideas"
        assert not os.path.exists(desk.vault.root / "infra/kube log.md")
        assert app.indexing.asked == asked


async def test_a_graphical_editor_saves_later(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "code").touch(0o755)
    monkeypatch.setenv("KEBAB_EDITOR", str(tmp_path / "code"))
    async with page(desk, "kube log") as (pilot, app):
        await pilot.press("enter")
        await until(pilot, lambda: "will be indexed once it is saved" in painted(app))


async def test_an_index_that_cannot_be_written_is_said_after_a_new_note(desk: Desk) -> None:
    desk.saves = True
    async with page(desk, "kube log") as (pilot, app):
        app.post_message(IndexingEnded(failure=Failure("readonly", "the data folder is read-only")))
        await until(pilot, lambda: app.results.is_read_only)
        await pilot.press("enter")
        await until(pilot, lambda: "changed notes cannot be indexed" in painted(app))


async def test_a_new_note_is_offered_below_notes_of_other_names_only(desk: Desk) -> None:
    async with page(desk, "dock") as (pilot, app):
        assert [stem_of(row) for row in rows(app)] == ["docker", "dock"]
        await pilot.press("alt+c")
        await until(pilot, lambda: desk.opened)
        assert stem_of(desk.paths[0]) == "dock"
        await switch(pilot, "Docker")
        assert rows(app) == ["infra/docker.md"]


async def test_without_a_query_a_new_note_goes_to_the_note_opened_last(desk: Desk) -> None:
    async with desk.screen().run_test(size=WIDE) as pilot:
        await found(pilot)
        app = await switch(pilot, "kube")
        assert rows(app) == [f"+{desk.vault.root}/kube.md"]
        await pilot.press("escape")
        for name in ("2월", "docker"):
            await open_by_name(pilot, desk, name)
        await switch(pilot, "kube")
        assert rows(app) == [f"+{desk.vault.root}/infra/kube.md"]


async def test_a_request_may_come_after_the_page_was_closed(desk: Desk) -> None:
    async with page(desk, "docker") as (pilot, app):
        closed = page_of(app)
        await pilot.press("escape")
        await until(pilot, lambda: not closed.is_attached)
        closed.catch_up()
        closed._request("docker")
        assert closed.typing_box.value == "docker"


async def test_the_path_of_a_note_starts_no_new_one(desk: Desk) -> None:
    async with page(desk, "infra/ideas") as (_, app):
        assert rows(app)[0] == "infra/ideas.md"
        assert not any(row.startswith("+") for row in rows(app))


async def test_from_a_page_without_hits_the_query_is_the_name(desk: Desk) -> None:
    async with desk.screen("gossamer").run_test(size=WIDE) as pilot:
        app = await found(pilot)
        await pilot.press("ctrl+g")
        await until(pilot, lambda: isinstance(app.screen, Switcher) and page_of(app)._notes)
        assert page_of(app).typing_box.value == "gossamer"
        assert rows(app) == [f"+{desk.vault.root}/gossamer.md"]
        type_at_once(app, "dock")
        await until(pilot, lambda: page_of(app)._asked_for == "dock" and page_of(app)._has_rows)


async def test_a_folder_that_does_not_exist_is_said(desk: Desk) -> None:
    async with page(desk, "new/kube") as (pilot, app):
        await until(pilot, lambda: "there is no folder new" in painted(app))
        await pilot.press("enter", "alt+c")
        assert isinstance(app.screen, Switcher)
    assert not desk.opened


@pytest.mark.parametrize(
    "typed", [HOSTILE, "../../etc/passwd", "-rf $(touch x)", "한" * 300, "[/nope]", "..."]
)
async def test_hostile_names_are_text_and_stay_in_the_source(desk: Desk, typed: str) -> None:
    async with desk.screen().run_test(size=WIDE) as pilot:
        app = await found(pilot)
        await switch(pilot)
        box = page_of(app).typing_box
        paste(box, typed)
        await until(pilot, lambda: page_of(app)._has_rows and page_of(app)._asked_for == box.value)
        text = painted(app)
        assert all(line.isprintable() or "\u200d" in line for line in text.splitlines())
        for row in rows(app):
            if row.startswith("+"):
                assert os.path.normpath(row[1:]).startswith(f"{desk.vault.root}/")


# States


async def test_without_an_index_the_page_says_what_to_do(tmp_path: Path) -> None:
    async with kebab(tmp_path / "data").run_test(size=WIDE) as pilot:
        app = pilot.app
        assert isinstance(app, KebabApp)
        await until(pilot, lambda: isinstance(app.screen, FolderPrompt))
        await pilot.press("escape")
        await switch(pilot, "docker")
        await until(pilot, lambda: "kebab ingest" in painted(app))


async def test_in_an_empty_vault_a_note_can_be_started(tmp_path: Path, desk: Desk) -> None:
    (tmp_path / "empty").mkdir()
    desk.vault = Vault(tmp_path / "empty")
    desk.vault.ingest()
    async with page(desk) as (pilot, app):
        assert "no notes yet" in painted(app)
        type_at_once(app, "first")
        await until(pilot, lambda: rows(app) == [f"+{desk.vault.root}/first.md"])


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (200, 50)])
async def test_every_size_shows_the_list(desk: Desk, size: tuple[int, int]) -> None:
    async with page(desk, "회의", size=size) as (_, app):
        assert "2월 회의록" in painted(app)
