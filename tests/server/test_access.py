"""The file with the token: made once, for its owner only."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest

from kebab_tui.domain.errors import UsageError
from kebab_tui.server.access import read_token


def test_a_token_is_made_once_for_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "serve.token"
    before = os.umask(0)
    try:
        token = read_token(str(path))
    finally:
        os.umask(before)
    assert re.fullmatch(rb"[\w-]{43}", token)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_token(str(path)) == token
    assert read_token(str(tmp_path / "other")) != token


def test_a_token_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text("  correct-horse-battery \n")
    path.chmod(0o400)
    assert read_token(str(path)) == b"correct-horse-battery"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644])
def test_a_token_that_others_could_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "serve.token"
    read_token(str(path))
    path.chmod(mode)
    with pytest.raises(UsageError, match="others may read or write"):
        read_token(str(path))


@pytest.mark.parametrize(
    "text", ["", "short", "two words that are long", "한글토큰한글토큰한글토큰", "x" * 5_000, "\n"]
)
def test_what_is_no_token(tmp_path: Path, text: str) -> None:
    path = tmp_path / "serve.token"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(UsageError, match="has no token"):
        read_token(str(path))


def test_links_and_other_kinds_of_files_are_refused(tmp_path: Path) -> None:
    real, link, loose, pipe = (tmp_path / name for name in ("real", "link", "loose", "pipe"))
    read_token(str(real))
    link.symlink_to(real)
    loose.symlink_to(tmp_path / "elsewhere")
    os.mkfifo(pipe, 0o600)
    for path in (link, loose, pipe, tmp_path, tmp_path / "no/folder/token"):
        with pytest.raises(UsageError, match="cannot"):
            read_token(str(path))
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file away")
def test_a_token_of_another_user_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "serve.token"
    read_token(str(path))
    os.chown(path, 12_345, -1)
    with pytest.raises(UsageError, match="another user"):
        read_token(str(path))
