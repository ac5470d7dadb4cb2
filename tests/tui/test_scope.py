"""The folder in which the screen searches: named, around the current one, or dropped."""

from __future__ import annotations

from pathlib import Path

import pytest

from kebab_tui.settings.settings import Settings
from kebab_tui.tui.app import KebabApp
from kebab_tui.workspace import Callbacks, Workspace
from tests.tui.screen import WIDE, Idle, Screen, found, kebab, painted, paths, until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sources, `work` and `집`, with five notes about kettles."""
    made = tmp_path_factory.mktemp("scope")
    for path in ("work/tea/green.md", "work/tea/black.md", "work/plan.md", "집/일기.md", "집/a.md"):
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        (made / path).write_text(f"# {path}\n\nabout the kettle\n")
    workspace = Workspace(Settings(), str(made / "data"))
    workspace.ingest([str(made / "work"), str(made / "집")], Callbacks())
    workspace.close()
    return made


def chips(app: KebabApp) -> list[str]:
    return [chip.label for chip in app.chips._chips]


async def shown(pilot: Screen, *wanted: str) -> None:
    app = await found(pilot)
    await until(pilot, lambda: sorted(paths(app)) == sorted(wanted))


WORK = ("plan.md", "tea/black.md", "tea/green.md")
HOME = ("a.md", "일기.md")


async def test_a_named_folder_is_searched_whatever_is_typed_and_its_chip_removes_it(place: Path) -> None:
    app = kebab(place / "data", folders=(str(place / "work" / "tea"),), mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await shown(pilot, *WORK[1:])
        assert "in: work/tea ×" in painted(app)
        await pilot.press(*"kettle path:tea/**")
        await shown(pilot, *WORK[1:])
        assert chips(app) == ["in: work/tea", "path:tea/**"]
        await pilot.press("f8")
        await until(pilot, lambda: chips(app) == ["in: work/tea"])
        await pilot.press("ctrl+g")
        await until(pilot, lambda: "green" in painted(app) and "black" in painted(app))
        assert "plan" not in painted(app)
        await pilot.press("escape", "f8")
        await shown(pilot, *WORK, *HOME)
        assert app.box.value.strip() == "kettle" and chips(app) == []


async def test_without_a_folder_the_source_around_the_current_one_is_searched(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place / "집")
    app = kebab(place / "data", query="kettle", mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await shown(pilot, *HOME)
        assert chips(app) == ["in: 집"]
        await pilot.click("#chips", offset=(3, 0))
        await shown(pilot, *WORK, *HOME)
        await pilot.press("alt+i")
        await shown(pilot, *HOME)
    everything = kebab(place / "data", query="kettle", mode="lexical", everywhere=True)
    async with everything.run_test(size=WIDE) as pilot:
        await shown(pilot, *WORK, *HOME)


async def test_a_folder_of_sources_searches_them_and_indexes_nothing(place: Path) -> None:
    indexing = Idle()
    app = kebab(place / "data", folders=(str(place),), mode="lexical", indexing=indexing)
    async with app.run_test(size=WIDE) as pilot:
        await shown(pilot, *WORK, *HOME)
        await until(pilot, lambda: indexing.asked == [()])


async def test_a_query_without_hits_offers_to_search_everywhere(place: Path) -> None:
    app = kebab(place / "data", folders=(str(place / "work"),), query="일기", mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "search everywhere  1 hit" in painted(app))
        await pilot.press("tab")
        await shown(pilot, "일기.md")
        assert chips(app) == [] and app.box.value == "일기"


async def test_a_folder_that_is_not_indexed_yet_shows_no_other_notes(place: Path, tmp_path: Path) -> None:
    indexing = Idle()
    app = kebab(place / "data", folders=(str(tmp_path),), mode="lexical", indexing=indexing)
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: indexing.asked == [(str(tmp_path),)])
        assert paths(app) == [] and chips(app) == [f"in: {tmp_path.name}"]
        assert "Reading your notes" in painted(app)
