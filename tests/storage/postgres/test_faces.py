"""A shared index on the screen and for agents: notes that are not on this machine, servers that are away."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kebab_tui.server.view import AgentView
from kebab_tui.settings.settings import IndexSettings, SearchSettings, Settings
from kebab_tui.tui.preview.open_note import NOT_HERE
from kebab_tui.tui.preview.pane import Preview
from kebab_tui.workspace import Workspace
from tests.postgres_servers import Server
from tests.storage.postgres.conftest import running
from tests.tui.screen import Idle, kebab, painted, paths, until
from tests.vault import Vault

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    """Two servers with an index whose notes are not on this machine any more."""
    vault = Vault(tmp_path_factory.mktemp("faces"))
    for number in range(8):
        vault.write(
            f"note{number}.md", f"# Note {number}\n\nfirst line\n\n## Below\n\nalpha number {number}\n"
        )
    vault.write(
        "long.md",
        "\n".join(f"## Part {part}\n\n{f'paragraph {part} of several. ' * 60}\n" for part in "ABC")
        + "\nomega\n",
    )
    vault.ingest()
    with running(2) as servers:
        vault.workspace.publish(servers[0].url(), shards=[servers[1].url()])
        shutil.rmtree(vault.root)
        vault.workspace.close()
        yield servers


def settings(server: Server, **index: object) -> Settings:
    index = {"url": server.url(), "shard_deadline_s": 2.0, **index}
    return Settings(index=IndexSettings(**index), search=SearchSettings(mode="lexical"))  # type: ignore[arg-type]


def test_an_agent_reads_passages_that_are_not_on_this_machine(
    published: list[Server], tmp_path: Path
) -> None:
    with closing(Workspace(settings(published[0]), str(tmp_path))) as workspace:
        view = AgentView(workspace)
        passages = view.search("alpha 3", limit=5, max_tokens=4_000)
        assert passages.hits[0].hit.citation.path == "note3.md"
        assert "alpha number 3" in passages.hits[0].hit.text
        assert any("was published" in notice.text for notice in passages.notices)
        read = view.read("note3.md:L7", max_tokens=1_000)
        assert read.lines == ("alpha number 3",)
        assert "first line" in view.read("note3.md", max_tokens=1_000).lines


def test_the_screen_shows_what_is_missing_and_goes_on(published: list[Server], tmp_path: Path) -> None:
    async def run() -> None:
        published[0].kill()
        indexing = Idle()
        app = kebab(tmp_path, settings=settings(published[0], on_missing_shard="partial"), indexing=indexing)
        async with app.run_test(size=(120, 30)) as pilot:
            await until(pilot, lambda: "did not answer" in painted(app))
            published[0].start()
            await until(pilot, lambda: paths(app))
            await pilot.press(*"alpha")
            await until(pilot, lambda: NOT_HERE[:30] in painted(app))
            assert "alpha number" in painted(app)
            published[1].kill()
            await pilot.press(*" number")
            await until(pilot, lambda: "1 of 2 shards" in painted(app))
            published[1].start()
            await pilot.press("backspace")
            await until(pilot, lambda: "of 2 shards" not in painted(app) and len(paths(app)) == 8)
            assert indexing.asked == [], "nothing is indexed into a shared index"

    asyncio.run(run())


def test_the_preview_shows_all_that_the_index_has_of_a_note(published: list[Server], tmp_path: Path) -> None:
    async def run() -> None:
        app = kebab(tmp_path, settings=settings(published[0]))
        async with app.run_test(size=(120, 30)) as pilot:
            await pilot.press(*"omega")
            await until(pilot, lambda: paths(app) == ["long.md"])
            preview = app.preview
            await until(pilot, lambda: "paragraph A" in whole(preview))
            assert "omega" in whole(preview) and "paragraph B" in whole(preview)
            assert preview.is_certain and NOT_HERE[:30] in painted(app)
            hit = app.hits.selected
            assert hit is not None and "paragraph A" not in hit.text, "the passage alone was shown"

    asyncio.run(run())


def whole(preview: Preview) -> str:
    return "" if preview._note is None else "\n".join(preview._note.whole(1_000_000) or ())


def test_an_open_screen_hears_of_a_new_copy(published: list[Server], tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    vault.write("fresh.md", "alpha entirely fresh\n")
    vault.ingest()
    database = "heard"
    published[0].sql(f"CREATE DATABASE {database}")
    url = published[0].url(database)
    vault.workspace.publish(url)

    async def run() -> None:
        app = kebab(tmp_path / "reader", settings=settings(published[0], url=url))
        async with app.run_test(size=(120, 30)) as pilot:
            await pilot.press(*"alpha")
            await until(pilot, lambda: len(paths(app)) == 1)
            vault.write("fresher.md", "alpha even fresher\n")
            vault.ingest()
            await asyncio.to_thread(vault.workspace.publish, url)
            await until(pilot, lambda: len(paths(app)) == 2)

    asyncio.run(run())
    vault.workspace.close()
