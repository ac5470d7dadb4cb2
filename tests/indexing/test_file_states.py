"""Every file has one state and a reason; nothing is written by looking."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kebab_tui.indexing.lookup import ListedFile
from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Callbacks, Workspace
from tests.vault import Vault


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    vault = Vault(tmp_path)
    vault.write("good.md", "# Good\n\nwords\n")
    vault.write("binary.md", b"\0\1\2")
    vault.write("sub/drafts/a.md", "x")
    vault.write("sub/.gitignore", "# mine\ndrafts/\n*.tmp.md\n")
    vault.write("sub/b.tmp.md", "x")
    vault.write("picture.png", b"png")
    vault.ingest()
    return vault


def listed(vault: Vault) -> dict[str, ListedFile]:
    found = list(vault.workspace.file_states())
    assert len({file.path for file in found}) == len(found), "each file is told once"
    return {file.path: file for file in found}


def states(vault: Vault) -> dict[str, tuple[str, str]]:
    return {path: (file.state, file.reason) for path, file in listed(vault).items()}


def test_every_file_is_there_with_its_state_and_reason(vault: Vault) -> None:
    assert states(vault) == {
        "good.md": ("ok", ""),
        "binary.md": ("skipped", "binary file"),
        "sub/drafts/": ("ignored", "ignored by"),
        "sub/b.tmp.md": ("ignored", "ignored by"),
        "picture.png": ("ignored", "unsupported file type"),
    }


def test_an_ignored_file_names_the_rule_and_its_line(vault: Vault) -> None:
    files = listed(vault)
    assert (files["sub/drafts/"].rule_at, files["sub/drafts/"].rule) == ("sub/.gitignore:2", "drafts/")
    assert (files["sub/b.tmp.md"].rule_at, files["sub/b.tmp.md"].rule) == ("sub/.gitignore:3", "*.tmp.md")


def test_what_the_next_ingest_would_read_is_pending(vault: Vault) -> None:
    vault.write("new.md", "new")
    vault.write("good.md", "# Good\n\nother words\n")
    found = states(vault)
    assert found["new.md"] == ("pending", "not read yet")
    assert found["good.md"] == ("pending", "changed since it was read")
    vault.ingest()
    assert {states(vault)[path][0] for path in ("new.md", "good.md")} == {"ok"}


def test_what_the_next_ingest_would_take_out_is_pending(vault: Vault) -> None:
    vault.write("other/a.md", "a")
    vault.ingest()
    (vault.root / "good.md").unlink()
    (vault.root / "binary.md").unlink()
    vault.write(".kebabignore", "other/\n")
    found = states(vault)
    assert found["good.md"][0] == found["binary.md"][0] == found["other/a.md"][0] == "pending"
    assert found["good.md"][1].startswith("deleted")
    assert found["other/a.md"][1].startswith("excluded now")
    assert found["other/"] == ("ignored", "ignored by")


def test_notes_of_an_older_reader_are_pending(vault: Vault) -> None:
    other = vault.opened(Settings(chunking=type(Settings().chunking)(target=500)))
    found = {file.path: file for file in other.file_states()}
    assert found["good.md"].state == "pending" and "older version" in found["good.md"].reason


def test_a_file_that_failed_says_why_and_is_read_again_by_the_next_ingest(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tripping(*_: Any) -> Any:
        raise RecursionError("too deep")

    vault.write("deep.md", "x")
    with monkeypatch.context() as patch:
        patch.setattr("kebab_tui.indexing.pipeline.chunk", tripping)
        vault.ingest()
    state, reason = states(vault)["deep.md"]
    assert state == "failed" and "too deep" in reason
    vault.ingest()
    assert states(vault)["deep.md"] == ("ok", "")


def test_what_is_wrong_comes_first(vault: Vault) -> None:
    vault.write("a.md", "a")
    assert next(file.path for file in vault.workspace.file_states()) == "binary.md"


def test_a_missing_folder_is_told_and_its_notes_stay(vault: Vault) -> None:
    os.rename(vault.root, vault.root.parent / "away")
    found = states(vault)
    assert found[""][0] == "failed" and "folder not found" in found[""][1]
    assert found["good.md"] == ("ok", "cannot be read now; it stays in the index")


def test_a_name_of_any_bytes_opens_its_file(vault: Vault) -> None:
    name = b"bytes-\xff\x1b[31m.md"
    with open(os.path.join(os.fsencode(vault.root), name), "wb") as file:
        file.write(b"here")
    [found] = [file for file in vault.workspace.file_states() if file.path.startswith("bytes")]
    assert Path(found.location).read_bytes() == b"here"


def test_looking_changes_nothing(vault: Vault) -> None:
    vault.write("new.md", "new")
    before = vault.everything()
    listed(vault)
    assert vault.everything() == before


def test_without_an_index_there_are_no_files(tmp_path: Path) -> None:
    assert list(Workspace(Settings(), str(tmp_path / "none")).file_states()) == []


def test_two_folders_keep_their_files_apart(vault: Vault, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "good.md").write_text("another")
    vault.workspace.ingest([str(other)], Callbacks())
    found = [(file.source, file.path) for file in vault.workspace.file_states() if file.path == "good.md"]
    assert sorted(found) == [("notes", "good.md"), ("other", "good.md")]
