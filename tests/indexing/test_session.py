"""Write sessions: repair of the database, and the list of sources."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kebab_tui.domain.document import Source
from kebab_tui.domain.errors import NotFoundError, SourceError, UsageError
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.query import SearchFilters
from kebab_tui.embedding.model_folders import BUNDLED_MODEL
from kebab_tui.settings.settings import Settings, SourceSettings
from kebab_tui.storage.sqlite import recovery
from kebab_tui.workspace import Callbacks, Workspace
from tests.vault import Vault


@pytest.fixture
def other(tmp_path: Path) -> Path:
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "o.md").write_text("omega")
    return folder


def test_a_folder_on_the_command_line_becomes_a_source_once(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    for spelling in (str(vault.root), f"{vault.root}/", f"{vault.root}/../notes"):
        vault.workspace.ingest([spelling], Callbacks())
    assert [source.root for source in vault.workspace.sources()] == [str(vault.root)]


def test_a_folder_inside_a_source_brings_that_source_up_to_date(vault: Vault) -> None:
    vault.write("sub/a.md", "alpha")
    vault.ingest()
    vault.write("b.md", "beta")
    vault.workspace.ingest([str(vault.root / "sub")], Callbacks())
    assert vault.find("beta") == ["b.md"]
    with pytest.raises(SourceError, match="folder not found"):
        vault.workspace.ingest([str(vault.root / "no such")], Callbacks())


def test_a_folder_around_a_source_is_refused_with_the_way_out(vault: Vault) -> None:
    vault.write("sub/a.md", "alpha")
    vault.workspace.ingest([str(vault.root / "sub")], Callbacks())
    with pytest.raises(UsageError) as refused:
        vault.ingest()
    assert "kebab source remove sub" in refused.value.hint


def test_a_link_to_a_source_is_that_source(vault: Vault, tmp_path: Path) -> None:
    vault.write("a.md", "alpha")
    vault.ingest()
    os.symlink(vault.root, tmp_path / "link")
    assert vault.workspace.ingest([str(tmp_path / "link")], Callbacks()).count("unchanged") == 1
    assert len(vault.workspace.sources()) == 1


def test_a_source_named_while_its_folder_is_away_is_paused(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    vault.ingest()
    os.rename(vault.root, f"{vault.root}.away")
    assert vault.ingest().sources[0].paused
    assert vault.find("alpha") == ["a.md"]


def test_two_folders_of_one_name_are_told_apart(vault: Vault, tmp_path: Path) -> None:
    twin = tmp_path / "elsewhere" / "notes"
    twin.mkdir(parents=True)
    (twin / "a.md").write_text("alpha")
    vault.write("a.md", "alpha")
    vault.ingest()
    vault.workspace.ingest([str(twin)], Callbacks())
    assert [source.source_id for source in vault.workspace.sources()] == ["notes", "notes-2"]
    assert vault.find("alpha", SearchFilters(sources=(SourceId("notes-2"),))) == ["a.md"]


def test_ingest_without_any_folder_says_what_to_do(vault: Vault) -> None:
    with pytest.raises(UsageError, match="no folder to index") as refused:
        vault.workspace.ingest([], Callbacks())
    assert "kebab ingest FOLDER" in refused.value.hint


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_a_folder_that_is_none_leaves_no_trace(vault: Vault, tmp_path: Path, kind: str) -> None:
    place = tmp_path / "x"
    if kind == "file":
        place.write_text("alpha")
    with pytest.raises(SourceError):
        vault.workspace.ingest([str(place)], Callbacks())
    assert vault.workspace.sources() == []


def test_removing_an_unknown_source_is_an_error(vault: Vault) -> None:
    vault.ingest()
    with pytest.raises(NotFoundError, match="nonsense"):
        vault.workspace.remove_source(SourceId("nonsense"), Callbacks())


def test_removing_a_source_forgets_its_notes_and_touches_no_file(vault: Vault, other: Path) -> None:
    vault.write("a.md", "alpha")
    vault.workspace.ingest([str(vault.root), str(other)], Callbacks())
    vault.workspace.remove_source(SourceId("other"), Callbacks())
    assert (vault.find("omega"), vault.find("alpha")) == ([], ["a.md"])
    assert (other / "o.md").exists()
    assert [source.source_id for source in recovery.read_sources(vault.files.sources)] == ["notes"]
    assert not vault.orphans()


def test_declared_folders_are_taken_over_and_follow_the_configuration(vault: Vault, other: Path) -> None:
    entry = SourceSettings(path=str(other), id="omega", title="Omega", exclude=("x*",))
    for title in ("Omega", "Another title"):
        declared = SourceSettings(path=entry.path, id=entry.id, title=title, exclude=entry.exclude)
        workspace = vault.opened(Settings(sources=(declared,)))
        revision = workspace.ingest([], Callbacks()).corpus_revision
        assert workspace.ingest([], Callbacks()).corpus_revision == revision, "nothing declared has changed"
        assert [(source.source_id, source.title) for source in workspace.sources()] == [("omega", title)]
        workspace.close()


@pytest.mark.parametrize("below", ["", "sub"])
def test_a_declared_folder_that_is_in_a_source_already_is_refused_by_name(vault: Vault, below: str) -> None:
    vault.write("sub/a.md", "alpha")
    vault.ingest()
    declared = SourceSettings(path=str(vault.root / below), id="mine")
    workspace = vault.opened(Settings(sources=(declared,)))
    with pytest.raises(SourceError, match="belongs to the source notes") as refused:
        workspace.ingest([], Callbacks())
    assert "remove one from the configuration file" in refused.value.hint
    assert "kebab source remove notes" in refused.value.hint
    workspace.close()


def test_a_lost_database_is_rebuilt_from_the_list_of_folders(vault: Vault, other: Path) -> None:
    vault.write("a.md", "alpha")
    vault.workspace.ingest([str(vault.root), str(other)], Callbacks())
    vault.workspace.close()
    before = vault.workspace.sources()
    vault.workspace.close()
    for name in os.listdir(vault.data):
        if name.startswith("kebab.sqlite"):
            os.remove(vault.data / name)
    report = vault.ingest()
    assert [source.source for source in report.sources] == ["notes", "other"], (
        "all folders, not only the named"
    )
    assert vault.workspace.sources() == before
    assert vault.find("omega") == ["o.md"]


WRITING: dict[str, Callable[[Workspace], object]] = {
    "source add": lambda workspace: workspace.add_source(
        Source(SourceId("new"), "new", os.path.join(os.path.dirname(workspace._parts.index.folder), "new")),
        Callbacks(),
    ),
    "index --embed": lambda workspace: workspace.embed(Callbacks()),
    "index --rebuild-fts": lambda workspace: workspace.rebuild_full_text(Callbacks()),
    "index --rebuild-vectors": lambda workspace: workspace.rebuild_vectors(Callbacks()),
    "model use": lambda workspace: workspace.use_model(BUNDLED_MODEL, Callbacks()),
}


@pytest.mark.parametrize("verb", WRITING)
def test_the_next_writer_restores_the_notes_of_a_lost_database(vault: Vault, verb: str) -> None:
    vault.write("a.md", "alpha")
    vault.ingest()
    vault.workspace.close()
    (vault.root.parent / "new").mkdir()
    for file in vault.data.glob("kebab.sqlite*"):
        file.unlink()
    WRITING[verb](vault.workspace)
    assert vault.find("alpha") == ["a.md"]


def test_the_list_of_folders_survives_a_restoration_that_is_cut_short(
    vault: Vault, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.workspace.ingest([str(vault.root), str(other)], Callbacks())
    vault.workspace.close()
    os.remove(vault.data / "kebab.sqlite")
    with monkeypatch.context() as patch:
        patch.setattr("kebab_tui.storage.sqlite.writer.StoreWriter.mirror_sources", _killed)
        with pytest.raises(KeyboardInterrupt):
            vault.workspace.ingest([], Callbacks())
    assert len(recovery.read_sources(vault.files.sources)) == 2
    assert len(vault.workspace.ingest([], Callbacks()).sources) == 2


def test_a_lost_list_of_folders_is_written_again(vault: Vault) -> None:
    vault.ingest()
    listed = recovery.read_sources(vault.files.sources)
    for harm in (os.remove, lambda path: open(path, "w").close()):
        harm(vault.files.sources)
        vault.ingest()
        assert recovery.read_sources(vault.files.sources) == listed


def test_a_source_keeps_its_metadata_through_a_rebuild(vault: Vault) -> None:
    root = str(vault.root)
    source = Source(
        SourceId("s"),
        "제목",
        root,
        "what it is",
        ("*.md",),
        ("x/",),
        rules=("cite it",),
        version_label="v1",
        weight=2.5,
    )
    vault.workspace.add_source(source, Callbacks())
    vault.workspace.close()
    os.remove(vault.data / "kebab.sqlite")
    vault.workspace.ingest([], Callbacks())
    (restored,) = vault.workspace.sources()
    assert restored == Source(
        source.source_id, source.title, source.root, source.description, source.include, source.exclude,
        rules=source.rules, version_label=source.version_label, weight=source.weight, state="indexed",
    )  # fmt: skip


def test_a_wrong_sign_of_damage_is_removed(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    vault.ingest()
    recovery.mark_suspect(vault.files)
    assert vault.ingest().healed == ""
    assert not recovery.is_suspect(vault.files)


def _killed(*_: object) -> None:
    raise KeyboardInterrupt
