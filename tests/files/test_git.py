"""Whether a folder has a git remote: read from small files, in every layout that git makes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from kebab_tui.files.git import has_remote

CONFIG = '[core]\n\tbare = false\n[remote "origin"]\n\turl = https://example.org/notes.git\n'


def repository(place: Path, config: str = CONFIG) -> Path:
    (place / ".git").mkdir(parents=True)
    (place / ".git/config").write_text(config)
    return place


def test_a_folder_in_a_repository_with_a_remote_has_one(tmp_path: Path) -> None:
    repository(tmp_path / "clone")
    notes = tmp_path / "clone/docs/notes"
    notes.mkdir(parents=True)
    assert has_remote(str(tmp_path / "clone"))
    assert has_remote(str(notes))
    (tmp_path / "link").symlink_to(notes)
    assert has_remote(str(tmp_path / "link")), "the folder that the link leads to"


@pytest.mark.parametrize(
    "config", ["", "[core]\n", '# [remote "origin"]\n', '[branch "main"]\n\tremote = origin\n', "[remote]\n"]
)
def test_a_repository_without_a_remote_has_none(tmp_path: Path, config: str) -> None:
    assert not has_remote(str(repository(tmp_path / "local", config)))


def test_a_folder_outside_of_any_repository_has_none(tmp_path: Path) -> None:
    assert not has_remote(str(tmp_path))
    assert not has_remote(str(tmp_path / "absent"))


def test_the_nearest_repository_counts(tmp_path: Path) -> None:
    repository(tmp_path / "outer")
    assert not has_remote(str(repository(tmp_path / "outer/inner", "[core]\n")))


def test_what_is_no_small_regular_file_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    (folder / ".git").mkdir(parents=True)
    os.mkfifo(folder / ".git/config")
    assert not has_remote(str(folder))
    os.remove(folder / ".git/config")
    (tmp_path / "secret").write_text(CONFIG)
    (folder / ".git/config").symlink_to(tmp_path / "secret")
    assert not has_remote(str(folder))
    os.remove(folder / ".git/config")
    (folder / ".git/config").write_text(CONFIG + "#" * (1 << 20))
    assert not has_remote(str(folder))


@pytest.mark.parametrize("pointer", ["", "\0", "gitdir: /nowhere", "nonsense\n" * 9, "gitdir: ."])
def test_a_pointer_to_nowhere_is_no_repository(tmp_path: Path, pointer: str) -> None:
    (tmp_path / ".git").write_text(pointer)
    assert not has_remote(str(tmp_path))


def test_worktrees_and_submodules_of_git_itself(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*argv: str, at: Path) -> None:
        names = ("-c", "user.name=x", "-c", "user.email=x@y", "-c", "protocol.file.allow=always")
        subprocess.run(["git", *names, *argv], cwd=at, env=environ, check=True, capture_output=True)

    main = tmp_path / "main"
    main.mkdir()
    git("init", "-q", at=main)
    git("commit", "-q", "--allow-empty", "-m", "x", at=main)
    git("worktree", "add", "-q", str(tmp_path / "tree"), at=main)
    assert not has_remote(str(tmp_path / "tree"))
    git("remote", "add", "origin", "https://example.org/x.git", at=main)
    assert has_remote(str(main))
    assert has_remote(str(tmp_path / "tree"))
    outer = tmp_path / "outer"
    outer.mkdir()
    git("init", "-q", at=outer)
    git("submodule", "add", "-q", str(main), "inner", at=outer)
    assert (outer / "inner/.git").is_file()
    assert has_remote(str(outer / "inner"))
    assert not has_remote(str(outer))
