"""The health page: files arrive while it is used, and nothing jumps."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from kebab_tui.domain.versions import Version
from kebab_tui.editor import EditorError
from kebab_tui.indexing.status import FolderState, LiveState
from kebab_tui.settings.settings import Settings
from kebab_tui.tui.engine_thread import EngineThread
from kebab_tui.tui.keymap import keymap
from kebab_tui.tui.screens.file_states import FileStatesScreen
from kebab_tui.tui.screens.file_table import Folder, Heading
from kebab_tui.workspace import Callbacks, Workspace
from tests.tui.hits import HOSTILE
from tests.tui.listed_files import NOTES, Listing, a_file, some_files
from tests.tui.screen import WIDE, HostApp, Idle, found, kebab, painted, until

pytestmark = pytest.mark.slow


class Host(HostApp):
    def __init__(self, listing: Listing, *, vim: bool = False) -> None:
        super().__init__()
        self._keys_in_order.vim = vim
        self.listing = listing
        self.opened: list[str] = []
        self.problem = ""
        self.retries = 0
        self.engine = EngineThread(lambda: cast("Workspace", listing))
        self.page = FileStatesScreen(keymap({}, vim=vim), self.engine, self.open_file)

    def on_mount(self) -> None:
        self.engine.start(self.post_message)
        self.push_screen(self.page)

    def on_unmount(self) -> None:
        self.engine.close()

    def on_file_states_screen_retry(self) -> None:
        self.retries += 1

    def open_file(self, path: str) -> str:
        if self.problem:
            raise EditorError(self.problem, "set EDITOR")
        self.opened.append(path)
        return "opened"


Seen = Pilot[None]


async def all_there(pilot: Seen, host: Host) -> None:
    await until(pilot, lambda: "scanning" not in painted(host) and host.page.files.table.total)


def chosen(host: Host) -> str:
    entry = host.page.files.selected
    return f"[{entry.state}]" if isinstance(entry, Heading) else getattr(entry, "path", "")


async def wait(pilot: Seen, condition: Callable[[], object]) -> None:
    await until(pilot, condition)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is told when it is known, whatever comes behind it."""
    monkeypatch.setattr("kebab_tui.tui.screens.file_states._BATCH_S", -1.0)


async def test_every_state_is_on_the_screen_with_its_reason() -> None:
    host = Host(Listing(some_files()))
    async with host.run_test(size=(100, 30)) as pilot:
        await all_there(pilot, host)
        screen = painted(host)
        for said in ("1 failed", "broken.md", "permission denied", "binary file", ".gitignore:2: build/"):
            assert said in screen
        assert "Indexed (40)" in screen and "fine/0.md" not in screen
        assert host.listing.looks == 1


@pytest.mark.usefixtures("at_once")
async def test_files_are_shown_before_the_last_one_is_known_and_the_page_can_be_left() -> None:
    host = Host(Listing(some_files(), held=3))
    async with host.run_test(size=(100, 30)) as pilot:
        await wait(pilot, lambda: "not read yet" in painted(host))
        assert "scanning" in painted(host)
        await pilot.press("escape")
        assert host.screen is not host.page
        host.listing.gate.set()
        assert host.listing.left.wait(60)


@pytest.mark.usefixtures("at_once")
async def test_the_cursor_stays_on_its_file_while_files_come_in_above_it() -> None:
    late = [a_file(f"late/{number}.md", "failed", "permission denied") for number in range(100)]
    host = Host(Listing([*some_files(), *late], held=44))
    async with host.run_test(size=(100, 24)) as pilot:
        await wait(pilot, lambda: "Indexed (40)" in painted(host))
        await pilot.press("end", "enter")
        while chosen(host) != "build/":
            await pilot.press("up")
        line = host.page.files.cursor - host.page.files.scroll_offset.y
        host.listing.gate.set()
        await all_there(pilot, host)
        assert chosen(host) == "build/"
        assert host.page.files.cursor - host.page.files.scroll_offset.y == line


async def test_moving_goes_from_the_first_heading_to_the_last_row() -> None:
    host = Host(Listing(some_files()))
    async with host.run_test(size=(100, 24)) as pilot:
        await all_there(pilot, host)
        await pilot.press("up", "up")
        assert isinstance(host.page.files.selected, Folder)
        await pilot.press("down", "down", "ctrl+n")
        assert chosen(host) == "[skipped]"
        await pilot.press("end")
        assert chosen(host) == "[ok]"
        await pilot.press("enter", "end")
        assert chosen(host) == "fine/39.md"
        assert "fine/39.md" in painted(host)
        await pilot.press("pageup", "home")
        assert isinstance(host.page.files.selected, Folder)


async def test_typing_filters_and_esc_goes_back_step_by_step() -> None:
    host = Host(Listing(some_files()))
    async with host.run_test(size=(100, 24)) as pilot:
        await all_there(pilot, host)
        await pilot.press(*"fine", "/", "3", "9")
        assert host.page.query_one(Input).value == "fine/39"
        await wait(pilot, lambda: "Indexed (1 of 40)" in painted(host))
        await pilot.press("down")
        assert chosen(host) == "fine/39.md"
        await pilot.press("escape")
        assert host.page.query_one(Input).value == "" and host.focused is host.page.files
        await pilot.press("escape")
        assert host.screen is not host.page


async def test_every_letter_goes_into_the_filter() -> None:
    host = Host(Listing(some_files()))
    async with host.run_test(size=(100, 24)) as pilot:
        await all_there(pilot, host)
        await pilot.press(*"raqojkgG", "slash", "question_mark", "space", "x")
        assert host.page.typing_box.value == "raqojkgG/? x"
        assert (host.retries, host.opened) == (0, [])


async def test_with_vim_keys_letters_are_commands_until_the_filter_has_the_focus() -> None:
    host = Host(Listing(some_files()), vim=True)
    async with host.run_test(size=(100, 24)) as pilot:
        await all_there(pilot, host)
        await pilot.press("G", "k", "z")
        assert chosen(host) == "build/" and host.page.typing_box.value == ""
        await pilot.press("g", "j", "space")
        assert "broken.md" not in painted(host)
        await pilot.press("r")
        assert host.retries == 1
        await pilot.press("slash", *"raq")
        assert host.page.typing_box.value == "raq"
        await pilot.press("escape", "q")
        assert host.screen is not host.page


async def test_the_page_is_framed_with_its_keys_in_the_border() -> None:
    host = Host(Listing(some_files()))
    async with host.run_test(size=(100, 24)) as pilot:
        await all_there(pilot, host)
        first, *_, last = painted(host).splitlines()
        assert first.startswith("╭─ Files (44) ─") and last.endswith("╯")
        assert "alt+r retry failed" in last and "esc close" in last
        files = host.page.files
        below = files.cursor + 1
        own, other = (
            {one.style.bgcolor for one in files.render_line(y) if one.style} for y in (files.cursor, below)
        )
        assert own != other


async def test_enter_in_the_filter_opens_the_chosen_file(tmp_path: Path) -> None:
    note = tmp_path / "a note.md"
    note.write_text("x")
    host = Host(Listing([replace(a_file("a note.md", "failed", "permission denied"), location=str(note))]))
    async with host.run_test(size=(100, 24)) as pilot:
        await all_there(pilot, host)
        await pilot.press("ctrl+l", *"note", "down", "enter")
        await wait(pilot, lambda: host.opened)


@pytest.mark.parametrize("key", ["enter", "ctrl+o"])
async def test_a_key_opens_the_file_under_the_cursor(key: str, tmp_path: Path) -> None:
    note = tmp_path / "a note.md"
    note.write_text("x")
    host = Host(Listing([replace(a_file("a note.md", "failed", "permission denied"), location=str(note))]))
    async with host.run_test(size=(100, 24)) as pilot:
        await all_there(pilot, host)
        await pilot.press("down", key)
        assert [Path(path).resolve() for path in host.opened] == [note]
        host.problem = "no editor was found"
        await pilot.press(key)
        await wait(pilot, lambda: "no editor was found: set EDITOR" in painted(host))


async def test_what_is_no_file_is_not_opened() -> None:
    host = Host(
        Listing(
            [
                replace(a_file("usr/", "ignored", "ignored by", "usr/", "x:1"), location="/usr/"),
                a_file("gone", "failed"),
            ]
        )
    )
    async with host.run_test(size=(100, 24)) as pilot:
        await all_there(pilot, host)
        await pilot.press("down", "enter")
        await wait(pilot, lambda: "gone: no longer there" in painted(host))
        await pilot.press("end", "enter")
        await wait(pilot, lambda: "a folder" in painted(host))
        assert host.opened == []


async def test_a_key_asks_to_read_what_failed_again_and_a_commit_shows_by_itself() -> None:
    host = Host(Listing(some_files()))
    async with host.run_test(size=(100, 24)) as pilot:
        await all_there(pilot, host)
        await pilot.press("down", "alt+r")
        await wait(pilot, lambda: "reading 1 again" in painted(host))
        assert host.retries == 1
        host.listing.files[0] = a_file("broken.md", "ok")
        host.listing.commits += 1
        await wait(pilot, lambda: "failed" not in painted(host).replace("retry failed", ""))
        assert "Indexed (41)" in painted(host)
        await pilot.press("alt+r")
        await wait(pilot, lambda: "no failed files" in painted(host))
        assert host.retries == 1


async def test_f5_rescans_and_keeps_cursor_filter_and_folds() -> None:
    host = Host(Listing(some_files()))
    async with host.run_test(size=(100, 30)) as pilot:
        await all_there(pilot, host)
        await pilot.press("alt+e")
        assert "broken.md" not in painted(host)
        await pilot.press("down", "down")
        assert chosen(host) == "raw.md"
        host.listing.files[:0] = [a_file(f"x{number}.md", "skipped", "binary file") for number in range(3)]
        await pilot.press("f5")
        await wait(pilot, lambda: "4 skipped" in painted(host))
        assert chosen(host) == "raw.md"
        assert "broken.md" not in painted(host)


async def test_a_changed_watch_state_of_a_folder_is_shown_at_once() -> None:
    host = Host(Listing(some_files()))
    async with host.run_test(size=(100, 30)) as pilot:
        await all_there(pilot, host)
        assert "not watched" in painted(host)
        paused = FolderState(NOTES, "/notes", "paused", "the folder is not there", 0)
        host.listing.state = LiveState(1, (paused,))
        await wait(pilot, lambda: "missing: the folder is not there" in painted(host))
        assert host.listing.looks == 1


async def test_versions_come_at_once_and_what_became_of_them_while_git_answers() -> None:
    kept = Version(NOTES, "v1", "git", "/notes/.git", commit="1a2b3c4d", notes=3)
    listing = Listing(some_files())
    listing.versions = [kept]
    listing.compared = {kept: replace(kept, health="moved", now="5d6e7f8a")}
    listing.git.clear()
    host = Host(listing)
    async with host.run_test(size=(100, 30)) as pilot:
        await all_there(pilot, host)
        assert "v1  3 notes  1a2b3c4d" in painted(host)
        await pilot.press("up")
        await wait(pilot, lambda: host.page.files.selected == kept)
        listing.git.set()
        await wait(pilot, lambda: "v1 moved: 1a2b3c4 → 5d6e7f8" in painted(host))
        await wait(pilot, lambda: "notes@v1 of /notes/.git" in painted(host))  # in the details
        await pilot.press("enter")
        await wait(pilot, lambda: "in:notes version:v1" in painted(host))
        await pilot.press("alt+p")
        await wait(pilot, lambda: "select its line" in painted(host))
        await pilot.press("alt+d")
        await wait(pilot, lambda: "kebab source version remove notes v1" in painted(host))
        assert host.screen is host.page, "nothing happens to the folder"
        await pilot.press("up", "enter")
        await wait(pilot, lambda: "▶ notes" in painted(host) and "moved:" not in painted(host))


async def test_an_engine_error_is_shown_and_the_table_stays() -> None:
    host = Host(Listing(some_files()))
    async with host.run_test(size=(100, 24)) as pilot:
        await all_there(pilot, host)
        host.listing.error = "the index is damaged"
        await pilot.press("f5")
        await wait(pilot, lambda: "the index is damaged" in painted(host))
        assert "broken.md" in painted(host)


async def test_esc_closes_the_page() -> None:
    host = Host(Listing(some_files()))
    async with host.run_test(size=(100, 24)) as pilot:
        await all_there(pilot, host)
        await pilot.press("escape")
        assert host.screen is not host.page
        assert host.listing.left.wait(60)


@pytest.mark.parametrize("size", [(20, 5), (40, 10), (400, 120)])
async def test_any_size_and_any_name_work(size: tuple[int, int]) -> None:
    host = Host(Listing([*some_files(), a_file(HOSTILE, "failed", HOSTILE, HOSTILE, HOSTILE)]))
    async with host.run_test(size=size) as pilot:
        await all_there(pilot, host)
        await pilot.press("end", "enter", "end", "home")
        for line in painted(host).split("\n"):
            assert line.isprintable() or "\u200d" in line


# On the real screen


async def test_f12_shows_the_files_of_the_real_index_and_retry_indexes_again(
    embedded_place: Path, tmp_path: Path
) -> None:
    shutil.copytree(embedded_place / "data", tmp_path / "data")
    app = kebab(tmp_path / "data", query="rust")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("f12")
        page = app.screen
        assert isinstance(page, FileStatesScreen)
        await until(pilot, lambda: "searchable" in painted(app))
        page.post_message(FileStatesScreen.Retry())
        assert isinstance(app.indexing, Idle)
        idle = app.indexing
        await until(pilot, lambda: idle.asked == [()])
        await pilot.press("f12")
        assert app.screen is not page


async def test_a_real_commit_is_noticed(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "one.md").write_text("one")
    writer = Workspace(Settings(), str(tmp_path / "data"))
    writer.ingest([str(notes)], Callbacks())
    app = kebab(tmp_path / "data")
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("f12")
        await until(pilot, lambda: "Indexed (1)" in painted(app))
        (notes / "two.md").write_text("two")
        writer.ingest([], Callbacks())
        await until(pilot, lambda: "Indexed (2)" in painted(app))
    writer.close()
