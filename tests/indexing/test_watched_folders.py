"""The watched sources: one set of ignore rules for the events and the scans of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kebab_tui.domain.document import Source
from kebab_tui.domain.ids import SourceId
from kebab_tui.indexing.path_queue import PathBatch, PathQueue
from kebab_tui.indexing.watched_folders import WatchedFolders, WatchedSource

NOTES = SourceId("notes")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


@pytest.fixture(params=[False, True], ids=["watched", "without_events"])
def folders(request: pytest.FixtureRequest) -> Iterator[WatchedFolders]:
    made = WatchedFolders(PathQueue(), lambda: False, without_events=request.param)
    yield made
    made.stop()


def followed(folders: WatchedFolders, root: Path, *exclude: str) -> WatchedSource:
    folders.follow([Source(NOTES, "notes", str(root), exclude=exclude)])
    return folders.by_root[str(root)]


def test_the_scans_of_saved_notes_share_the_rules_with_the_watch(folders: WatchedFolders, root: Path) -> None:
    source = followed(folders, root)
    batch = PathBatch(str(root), paths=(b"a.md",))
    assert source.scanner_for(batch) is source.scanner_for(batch)


@pytest.mark.parametrize(
    "changed",
    [{"paths": (b"a.md", b"sub/.gitignore")}, {"subtrees": (b"sub",)}, {"whole": "periodic scan"}],
    ids=["ignore_file", "folder", "everything"],
)
def test_the_rules_are_read_again_when_an_ignore_file_may_have_changed(
    folders: WatchedFolders, root: Path, changed: dict[str, object]
) -> None:
    source = followed(folders, root)
    assert source.scanner_for(PathBatch(str(root), paths=(b"a.md",))).takes("a.md", is_folder=False)
    (root / ".gitignore").write_text("a.md\n")
    batch = PathBatch(str(root), **changed)  # type: ignore[arg-type]
    assert not source.scanner_for(batch).takes("a.md", is_folder=False)


def test_changed_settings_of_a_source_change_its_rules(folders: WatchedFolders, root: Path) -> None:
    batch = PathBatch(str(root), paths=(b"a.md",))
    assert followed(folders, root).scanner_for(batch).takes("a.md", is_folder=False)
    assert not followed(folders, root, "a.md").scanner_for(batch).takes("a.md", is_folder=False)


def test_a_source_without_events_has_a_state_only_when_its_scan_was_rejected(root: Path) -> None:
    folders = WatchedFolders(PathQueue(), lambda: False, without_events=True)
    source = followed(folders, root)
    assert source.state(()) is None
    source.rejected = "folder not found"
    state = source.state(())
    assert state is not None and (state.kind, state.reason) == ("paused", "folder not found")


def test_several_folders_share_one_check_a_second(tmp_path: Path) -> None:
    roots = [tmp_path / name for name in ("a", "b", "c")]
    for root in roots:
        root.mkdir()
    folders = WatchedFolders(PathQueue(), lambda: False)

    def shares(*watched: Path) -> list[int]:
        folders.follow([Source(SourceId(root.name), root.name, str(root)) for root in watched])
        return [one.watch.watched_together for one in folders.by_root.values() if one.watch is not None]

    try:
        assert shares(*roots) == [3, 3, 3]
        assert shares(roots[0]) == [1]
    finally:
        folders.stop()


def test_unreadable_paths_are_in_the_state_of_a_watched_source(root: Path) -> None:
    folders = WatchedFolders(PathQueue(), lambda: False)
    try:
        source = followed(folders, root)
        state, partial = source.state(()), source.state((b"a", b"b"))
        assert state is not None and partial is not None
        assert state.kind == "live"
        assert (partial.kind, partial.reason) == (
            "partial",
            "cannot be read: a and 1 more; retried periodically",
        )
    finally:
        folders.stop()
