"""Sources that the user paused or removed: hidden at once, deleted when nothing can undo that."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.domain.scope import SourcePart
from kebab_tui.settings.settings import Settings, SourceSettings
from kebab_tui.workspace import Callbacks, Workspace
from tests.indexing.keeping import keeping, until
from tests.vault import Vault

NOTES, OTHER = SourceId("notes"), SourceId("other")


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    """Two sources with a note of the same name, one of which links to the other."""
    made = Vault(tmp_path)
    made.write("kettle.md", "# Kettle\n\nBoil the water. [[mine]]\n")
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.md").write_text("# Mine\n\nBoil the coal. #pit\n")
    made.workspace.ingest([str(made.root), str(other)], Callbacks())
    yield made
    made.workspace.close()


def seen(workspace: Workspace) -> set[str]:
    """Every way to meet a note."""
    found = {f"search {hit.path}" for hit in workspace.search(SearchQuery("boil")).hits}
    found |= {f"meaning {hit.path}" for hit in workspace.search(SearchQuery("boil", "vector")).hits}
    found |= {f"recent {hit.path}" for hit in workspace.recent(9).hits}
    found |= {f"name {note.document.path}" for note in workspace.find("mine")}
    found |= {f"list {note.path}" for note in workspace.documents(SearchFilters())[0]}
    found |= {f"file {file.path}" for file in workspace.file_states()}
    found |= {f"path {path}" for path in workspace.completions().matching("path", "mi")}
    found |= {f"broken {one.link.path}" for one in workspace.links("kettle.md", "broken").links}
    return found


def test_a_removed_source_is_hidden_everywhere_and_comes_back_by_undo(vault: Vault) -> None:
    workspace = vault.workspace
    workspace.embed(Callbacks())
    before = seen(workspace)
    assert {"search mine.md", "meaning mine.md", "list mine.md", "name mine.md"} <= before
    with workspace.keeping_removed():
        workspace.set_source_use(OTHER, "removed", Callbacks())
        assert {one for one in seen(workspace) if "mine" in one} == {"broken mine"}
        assert [source.source_id for source in workspace.sources()] == [NOTES]
        vault.opened(Settings()).ingest([], Callbacks())
        assert vault.rows("SELECT count(*) FROM documents") == [(2,)], "another program deletes nothing yet"
        workspace.set_source_use(OTHER, "watched", Callbacks())
        assert seen(workspace) == before
        workspace.set_source_use(OTHER, "removed", Callbacks())
    workspace.ingest([], Callbacks())
    assert vault.rows("SELECT path FROM documents") == [("kettle.md",)]
    assert vault.orphans() == []


REMOVE_AND_DIE = """
import os, signal, sys
from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Callbacks, Workspace
workspace = Workspace(Settings(), sys.argv[1])
undo = workspace.keeping_removed()
undo.__enter__()
workspace.set_source_use("other", "removed", Callbacks())
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_after_a_kill_the_removed_source_is_deleted_whole_by_the_next_writer(vault: Vault) -> None:
    subprocess.run([sys.executable, "-c", REMOVE_AND_DIE, str(vault.data)], timeout=60, check=False)
    assert [source.source_id for source in vault.workspace.sources()] == [NOTES]
    assert vault.rows("SELECT count(*) FROM documents") == [(2,)]
    vault.workspace.ingest([], Callbacks())
    assert vault.rows("SELECT source_id, path FROM documents") == [("notes", "kettle.md")]
    assert not list((vault.data / "requests").glob("*.undo"))


def test_a_removed_folder_that_is_named_again_comes_back(vault: Vault) -> None:
    with vault.workspace.keeping_removed():
        vault.workspace.set_source_use(OTHER, "removed", Callbacks())
        other = vault.data.parent / "other"
        vault.workspace.ingest([str(other)], Callbacks())
        assert [source.source_id for source in vault.workspace.sources()] == [NOTES, OTHER]
        vault.workspace.set_source_use(OTHER, "removed", Callbacks())
        (other / "inner").mkdir()
        (other / "inner" / "a.md").write_text("boil")
        vault.workspace.ingest([str(other / "inner")], Callbacks())
        roots = [source.root for source in vault.workspace.sources()]
        assert roots == [str(vault.root), str(other / "inner")], (
            "the other one is deleted: folders do not nest"
        )


def test_a_declared_source_is_removed_in_the_configuration_file(vault: Vault) -> None:
    declared = Settings(sources=(SourceSettings(path=str(vault.root), id="notes"),))
    workspace = vault.opened(declared)
    with pytest.raises(UsageError, match="configuration file"):
        workspace.set_source_use(NOTES, "removed", Callbacks())
    workspace.set_source_use(NOTES, "paused", Callbacks())
    workspace.ingest([], Callbacks())
    assert [source.use for source in workspace.sources()] == ["paused", "watched"], (
        "declaring keeps it paused"
    )
    workspace.close()


def test_a_paused_source_is_searched_but_not_read(vault: Vault) -> None:
    vault.workspace.set_source_use(NOTES, "paused", Callbacks())
    vault.write("kettle.md", "# Kettle\n\nDescaled.\n")
    with keeping(vault) as process:
        until(lambda: (live := process.live()) is not None and bool(live.folders) and not live.pending)
        live = process.live()
        assert live is not None and [folder.source for folder in live.folders] == [OTHER]
    assert vault.find("boil") == ["kettle.md", "mine.md"]
    assert [report.source for report in vault.workspace.ingest([], Callbacks()).sources] == [OTHER]
    vault.workspace.set_source_use(NOTES, "watched", Callbacks())
    vault.workspace.ingest([], Callbacks())
    assert vault.find("descaled") == ["kettle.md"]


def test_the_scope_of_a_folder_is_the_source_around_it(vault: Vault, tmp_path: Path) -> None:
    vault.write("tea/green.md", "boil gently")
    vault.write("teapot.md", "boil")
    vault.ingest()
    os.symlink(vault.root / "tea", tmp_path / "link")
    inside = SourcePart(NOTES, "tea")
    assert vault.workspace.source_around(str(tmp_path / "link")) == inside
    assert vault.workspace.scope_of(str(tmp_path)) == (SourcePart(NOTES), SourcePart(OTHER))
    assert vault.workspace.source_around(str(tmp_path)) is None
    assert vault.find("boil", SearchFilters(scope=(inside,))) == ["tea/green.md"]
    assert vault.find("boil in:other", SearchFilters(scope=(inside,))) == [], "no query widens it"
    vault.workspace.set_source_use(NOTES, "removed", Callbacks())
    assert vault.workspace.source_around(str(vault.root)) is None
