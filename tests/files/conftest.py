"""A vault in which every rule excludes something."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    for path in (
        "a.md", "todo.md", "x.mkd", "draft.md", "revived.md", "sub/draft.md", "sub/deep/b.txt", "build/c.md",
        "private/d.md", ".hidden.md", ".obsidian/e.md", "picture.png", "a.md~", "sub/only.md", "sub/한글.md",
    ):  # fmt: skip
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")
    (root / ".gitignore").write_text("# built\nbuild/\ndraft.md\nrevived.md\n")
    (root / "sub/.kebabignore").write_text("/only.md\n!draft.md\n")
    (tmp_path / "outside.md").write_text("x")
    (root / "away.md").symlink_to(tmp_path / "outside.md")
    (root / "twin.md").symlink_to("a.md")
    (root / "link").symlink_to("sub")
    os.mkfifo(root / "pipe.md")
    return root
