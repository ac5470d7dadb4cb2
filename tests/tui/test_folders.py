"""From a folder to its notes on the screen: the first run, large folders, samples, the health page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Input

from kebab_tui.settings.settings import IndexSettings, Settings
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.launch import Options
from kebab_tui.tui.samples import SAMPLE_FOLDER, sample_data
from kebab_tui.tui.screens.folder_prompt import FolderPrompt
from kebab_tui.tui.screens.question import Question
from kebab_tui.workspace import Callbacks, Workspace
from tests.tui.screen import WIDE, Idle, kebab, painted, paths, until

pytestmark = pytest.mark.slow
CAUTIOUS = Settings(index=IndexSettings(ask_notes=2))


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    made = tmp_path / "notes"
    made.mkdir()
    for name in ("a", "b", "c"):
        (made / f"{name}.md").write_text(f"# {name}\n\nkettle\n")
    return made


def index(data: Path, *folders: Path) -> None:
    workspace = Workspace(Settings(), str(data))
    workspace.ingest([str(folder) for folder in folders], Callbacks())
    workspace.close()


async def test_on_the_first_run_a_typed_folder_is_indexed_and_searched(tmp_path: Path, notes: Path) -> None:
    app = KebabApp(Options(), Settings(data_dir=str(tmp_path / "data")))
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: isinstance(app.screen, FolderPrompt))
        await pilot.press(*f"{tmp_path}/nothere")
        await until(pilot, lambda: "folder not found" in painted(app))
        await pilot.press("ctrl+u", *f"{tmp_path}/no", "tab", "enter")
        await until(pilot, lambda: sorted(paths(app)) == ["a.md", "b.md", "c.md"])
        assert "in: notes ×" in painted(app)


async def test_a_large_folder_is_indexed_only_after_a_yes(tmp_path: Path, notes: Path) -> None:
    indexing = Idle()
    app = kebab(tmp_path / "data", settings=CAUTIOUS, folders=(str(notes),), indexing=indexing)
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: isinstance(app.screen, Question))
        await until(pilot, lambda: "3 notes in" in painted(app) and "Index it" in painted(app))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, FolderPrompt))
        assert indexing.asked == [] and app.screen.query_one(Input).value == str(notes)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Question))
        await pilot.press("enter")
        await until(pilot, lambda: indexing.asked == [(str(notes),)])


async def test_the_sample_notes_have_an_index_of_their_own(tmp_path: Path, notes: Path) -> None:
    data = tmp_path / "data"
    app = kebab(data)
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "Sample notes" in painted(app))
        await pilot.press("f7")
        await until(pilot, lambda: app.successor)
    assert app.successor is not None
    options, settings = app.successor
    assert settings.data_dir == sample_data(str(data)) and not (data / "kebab.sqlite").exists()
    assert (Path(settings.data_dir) / SAMPLE_FOLDER).is_dir()
    index(Path(settings.data_dir), Path(options.folders[0]))
    samples = KebabApp(replace(options, watch=False), settings, indexing=Idle())
    async with samples.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "alt+o: search your own folder" in painted(samples) and paths(samples))
        await pilot.press("alt+o")
        await until(pilot, lambda: isinstance(samples.screen, FolderPrompt))
        await pilot.press(*str(notes), "enter")
        await until(pilot, lambda: samples.successor)
    assert samples.successor is not None
    back, own = samples.successor
    assert (own.data_dir, back.folders, back.own) == (str(data), (str(notes),), None)


async def test_sample_notes_among_others_leave_on_consent_and_are_asked_about_once(
    tmp_path: Path, notes: Path
) -> None:
    data, samples = tmp_path / "data", tmp_path / SAMPLE_FOLDER
    samples.mkdir()
    (samples / "sample.md").write_text("kettle")
    index(data, notes, samples)
    app = kebab(data)
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "The sample notes are still among your own" in painted(app))
        await pilot.press("enter")
        await until(pilot, lambda: sorted(paths(app)) == ["a.md", "b.md", "c.md"])
    index(data, notes, samples)
    again = kebab(data)
    async with again.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: len(paths(again)) == 4)
        assert not isinstance(again.screen, Question)


async def test_a_folder_is_paused_removed_and_brought_back_on_the_health_page(
    tmp_path: Path, notes: Path
) -> None:
    data, other = tmp_path / "data", tmp_path / "other"
    other.mkdir()
    (other / "d.md").write_text("kettle")
    index(data, notes, other)
    app = kebab(data)

    def line(name: str) -> str:
        return next((line for line in painted(app).splitlines() if f" {name} " in line), "")

    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: len(paths(app)) == 4)
        await pilot.press("f12")
        await until(pilot, lambda: "Indexed (4)" in painted(app))
        await pilot.press("home", "alt+p")
        await until(pilot, lambda: "paused" in line("notes") and "3 notes" in line("notes"))
        await pilot.press("alt+d")
        await until(pilot, lambda: "Remove notes (3 notes) from the index?" in painted(app))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, Question))
        await pilot.press("alt+d")
        await until(pilot, lambda: isinstance(app.screen, Question))
        await pilot.press("enter")
        await until(pilot, lambda: "removed" in line("notes") and "Files (1)" in painted(app))
        await until(pilot, lambda: paths(app) == ["d.md"])
        await pilot.press("alt+u")
        await until(pilot, lambda: "3 notes" in line("notes"))
        await until(pilot, lambda: len(paths(app)) == 4)
        await pilot.press("alt+d")
        await until(pilot, lambda: isinstance(app.screen, Question))
        await pilot.press("enter")
        await until(pilot, lambda: len(paths(app)) < 4)
    index(data)
    workspace = Workspace(Settings(), str(data))
    assert len(workspace.sources()) == 1 and workspace.removed_sources() == []
    workspace.close()
