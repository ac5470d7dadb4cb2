"""Small git repositories for tests, made by git itself; no settings of the machine count."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

GIT = shutil.which("git")
needs_git = pytest.mark.skipif(GIT is None, reason="git is not installed")
_TIME = "2026-01-02T03:04:05Z"


def git(place: Path, *arguments: str, stdin: bytes = b"") -> str:
    """What git answers in a folder."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(place),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        "GIT_AUTHOR_DATE": _TIME,
        "GIT_COMMITTER_DATE": _TIME,
    }
    done = subprocess.run(
        [GIT or "git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *arguments],
        cwd=place, env=environment, input=stdin, capture_output=True, check=True,
    )  # fmt: skip
    return os.fsdecode(done.stdout).strip()


def commit(place: Path, tag: str = "", **files: str | None) -> str:
    """Write files (None: delete), commit them, perhaps tag; `__` in a name is a slash. Returns the commit."""
    if not (place / ".git").exists():
        place.mkdir(parents=True, exist_ok=True)
        git(place, "init", "-q")
    for name, text in files.items():
        file = place / f"{name.replace('__', '/')}.md"
        if text is None:
            file.unlink()
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    git(place, "add", "-A")
    git(place, "commit", "-q", "--allow-empty", "-m", "notes")
    if tag:
        git(place, "tag", tag)
    return git(place, "rev-parse", "HEAD")


def everything_below(folder: Path) -> dict[str, tuple[bytes, int]]:
    """The content and the time of every file."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}
