"""What programs do to whole folders while they are watched."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.indexing.keeping import Kept, citations_are_true, keeping, until
from tests.vault import Vault

pytestmark = pytest.mark.slow


@pytest.fixture
def kept(vault: Vault) -> Iterator[Kept]:
    vault.write("a.md", "# A\n\nalpha\n")
    for n in range(12):
        vault.write(f"old/{n % 3}/{n}.md", f"# Note {n}\n\nword{n}\n")
    with keeping(vault) as made:
        yield made


def test_a_folder_that_is_renamed_keeps_all_ids(vault: Vault, kept: Kept) -> None:
    before = vault.ids()
    os.rename(vault.root / "old", vault.root / "new")
    until(lambda: vault.find("word7") == ["new/1/7.md"])
    kept.settled()
    assert vault.ids() == {path.replace("old/", "new/"): doc for path, doc in before.items()}
    assert citations_are_true(vault)
    vault.write("new/1/7.md", "# Note\n\nlater\n")
    until(lambda: vault.find("later") == ["new/1/7.md"], "a folder that was renamed is heard")


def test_a_folder_moved_out_goes_with_its_notes_and_comes_back(
    vault: Vault, kept: Kept, tmp_path: Path
) -> None:
    os.rename(vault.root / "old", tmp_path / "elsewhere")
    until(lambda: set(vault.ids()) == {"a.md"})
    kept.settled()
    os.rename(tmp_path / "elsewhere", vault.root / "back")
    until(lambda: len(vault.ids()) == 13)
    kept.settled()
    vault.write("back/2/2.md", "# Note\n\nlater\n")
    until(lambda: vault.find("later") == ["back/2/2.md"])


def test_a_folder_that_is_removed_leaves_no_orphan(vault: Vault, kept: Kept) -> None:
    shutil.rmtree(vault.root / "old")
    until(lambda: set(vault.ids()) == {"a.md"})
    kept.settled()
    gone = {path for outcome, path in kept.outcomes() if outcome == "removed" and "sentinel" not in path}
    assert gone == {f"old/{n % 3}/{n}.md" for n in range(12)}


def test_a_note_moved_between_folders_keeps_its_id(vault: Vault, kept: Kept) -> None:
    before = vault.ids()
    vault.move("old/1/7.md", "deep/er/x.md")
    until(lambda: vault.find("word7") == ["deep/er/x.md"])
    kept.settled()
    assert vault.ids()["deep/er/x.md"] == before["old/1/7.md"]
    assert ("moved", "deep/er/x.md") in kept.outcomes()


def test_two_notes_that_swap_names_keep_their_ids(vault: Vault, kept: Kept) -> None:
    before = vault.ids()
    for old, new in (("a.md", "tmp"), ("old/0/0.md", "a.md"), ("tmp", "old/0/0.md")):
        vault.move(old, new)
    until(lambda: vault.find("alpha") == ["old/0/0.md"])
    kept.settled()
    assert vault.ids() == before | {"a.md": before["old/0/0.md"], "old/0/0.md": before["a.md"]}


def test_a_rename_that_changes_only_the_case_is_a_rename(vault: Vault, kept: Kept) -> None:
    before = vault.ids()["a.md"]
    vault.move("a.md", "A.md")
    until(lambda: vault.find("alpha") == ["A.md"])
    kept.settled()
    assert vault.ids()["A.md"] == before


def test_a_note_replaced_by_a_folder_of_its_name_and_back(vault: Vault, kept: Kept) -> None:
    os.remove(vault.root / "a.md")
    vault.write("a.md/inner.md", "# Inner\n\nbeta\n")
    until(lambda: vault.find("beta") == ["a.md/inner.md"] and "a.md" not in vault.ids())
    kept.settled()
    shutil.rmtree(vault.root / "a.md")
    vault.write("a.md", "# A\n\ngamma\n")
    until(lambda: vault.find("gamma") == ["a.md"] and "a.md/inner.md" not in vault.ids())
    kept.settled()


def test_folders_made_and_filled_at_once_are_all_found(vault: Vault, kept: Kept) -> None:
    for n in range(40):
        vault.write(f"{n % 4}/{n % 5}/{n % 7}/{n}.md", f"fresh{n}")
    kept.settled()
    assert len(vault.ids()) == 13 + 40


def test_an_archive_that_is_unpacked(vault: Vault, kept: Kept, tmp_path: Path) -> None:
    subprocess.run(["tar", "cf", tmp_path / "notes.tar", "-C", vault.root, "."], check=True)
    shutil.rmtree(vault.root / "old")
    kept.settled()
    subprocess.run(["tar", "xf", tmp_path / "notes.tar", "-C", vault.root], check=True)
    until(lambda: len(vault.ids()) == 13)
    kept.settled()


def git(folder: Path, *argv: str) -> None:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    subprocess.run(["git", *identity, *argv], cwd=folder, check=True, capture_output=True)


@pytest.mark.program
@pytest.mark.skipif(shutil.which("git") is None, reason="no git here")
def test_a_branch_that_is_checked_out(vault: Vault, kept: Kept) -> None:
    """More files than are looked at one by one."""
    git(vault.root, "init", "-q", "-b", "main")
    git(vault.root, "add", ".")
    git(vault.root, "commit", "-qm", "first")
    git(vault.root, "checkout", "-qb", "other")
    for n in range(550):
        vault.write(f"many/{n % 20}/{n}.md", f"# Many {n}\n\nnumber{n}\n")
    vault.move("old/1/7.md", "moved.md")
    git(vault.root, "add", ".")
    git(vault.root, "commit", "-qm", "second")
    kept.settled()
    git(vault.root, "checkout", "-q", "main")
    until(lambda: len(vault.ids()) == 13)
    kept.settled()
    git(vault.root, "checkout", "-q", "other")
    until(lambda: len(vault.ids()) == 563)
    kept.settled()
    assert vault.find("word7") == ["moved.md"]
    assert citations_are_true(vault)


def test_rules_that_change_take_notes_out_and_back(vault: Vault, kept: Kept) -> None:
    vault.write("old/.gitignore", "1/\n")
    until(lambda: len(vault.ids()) == 13 - 4)
    vault.write("old/1/new.md", "unheard")
    kept.settled()
    assert vault.find("unheard") == []
    os.remove(vault.root / "old/.gitignore")
    until(lambda: len(vault.ids()) == 13 + 1)
    vault.write("old/1/new.md", "heard again")
    until(lambda: vault.find("heard") == ["old/1/new.md"])


def test_what_is_no_note_costs_no_change(vault: Vault, kept: Kept) -> None:
    before, seen = vault.everything(), len(kept.changes)
    for name in (".hidden.md", "picture.png", "a.md~", "#a.md#", ".git/x.md", "4913", ".a.md.swp"):
        vault.write(name, "nothing to see")
    os.symlink(vault.root / "old", vault.root / "link")
    os.symlink("a.md", vault.root / "twin.md")
    kept.settled()
    assert vault.everything()[3] == before[3]
    assert [path for _, path in kept.outcomes()[seen:] if "sentinel" not in path] == []


def test_a_folder_that_goes_is_paused_and_comes_back_with_its_changes(vault: Vault, kept: Kept) -> None:
    away = vault.root.with_name("away")
    os.rename(vault.root, away)

    def kind() -> str:
        live = kept.live()
        return live.folders[0].kind if live else ""

    until(lambda: kind() == "paused")
    assert len(vault.ids()) == 13, "the notes stay"
    (away / "a.md").write_text("# A\n\nwhile away\n")
    os.rename(away, vault.root)
    until(lambda: vault.find("while away") == ["a.md"])
    until(lambda: kind() == "live")
    kept.settled()


def test_a_folder_that_becomes_a_link_into_another_source_is_paused(vault: Vault, tmp_path: Path) -> None:
    vault.write("a.md", "alpha")
    more = tmp_path / "more"
    more.mkdir()
    (more / "b.md").write_text("beta")
    with keeping(vault, None, str(vault.root), str(more)) as kept:
        os.rename(more, tmp_path / "away")
        more.symlink_to(vault.root)

        def states() -> dict[str, str]:
            live = kept.live()
            return {folder.source: folder.reason for folder in live.folders} if live else {}

        until(lambda: "is the same folder as the source notes" in states()["more"])
        vault.write("new.md", "delta")
        until(lambda: vault.find("delta") == ["new.md"])
        assert sorted(vault.ids()) == ["a.md", "b.md", "new.md"]
        more.unlink()
        os.rename(tmp_path / "away", more)
        until(lambda: not states()["more"])
        (more / "c.md").write_text("gamma")
        until(lambda: vault.find("gamma") == ["c.md"])


def test_notes_in_a_folder_that_was_made_anew_are_read_at_once(
    vault: Vault, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kebab_tui.indexing.schedule.FIRST_S", 3600)
    monkeypatch.setattr("kebab_tui.indexing.schedule.LONGEST_S", 3600)
    shutil.rmtree(vault.root)
    until(lambda: (live := kept.live()) is not None and live.folders[0].kind == "paused")
    vault.root.mkdir()
    retries = kept.daemon._worker._schedule._retries
    until(lambda: (str(vault.root), b"") in retries, "an empty folder is not believed")
    assert len(vault.ids()) == 13
    until(lambda: (live := kept.live()) is not None and "an empty one" in live.folders[0].reason)
    vault.write("new.md", "fresh")
    until(lambda: list(vault.ids()) == ["new.md"])
    until(lambda: (live := kept.live()) is not None and live.folders[0].kind == "live")
    kept.settled()
