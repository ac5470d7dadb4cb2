"""Files of the program itself, with anything in their place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kebab_tui import own_files


def test_a_small_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert own_files.read(str(tmp_path / "file"), 5) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        own_files.read(str(tmp_path / "file"), 4)


def test_only_a_regular_file_is_read_and_nothing_is_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in (tmp_path / "pipe", tmp_path / "folder", "/dev/zero"):
        with pytest.raises(OSError, match="not a regular file"):
            own_files.read(str(name), 10)


def test_no_more_is_read_than_fits_however_large_the_file_is(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.truncate(tmp_path / "file", 8 << 40)
    with pytest.raises(OSError, match="larger than 4 bytes"):
        own_files.read(str(tmp_path / "file"), 4)


def test_what_is_refused_is_closed(tmp_path: Path) -> None:
    lowest = os.dup(0)
    os.close(lowest)
    with pytest.raises(OSError, match="not a regular file"):
        own_files.read(str(tmp_path), 4)
    again = os.dup(0)
    os.close(again)
    assert again == lowest


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"1")
    (tmp_path / "link").symlink_to("file")
    with pytest.raises(OSError, match="a symbolic link"):
        own_files.read(str(tmp_path / "link"), 10)


@pytest.mark.parametrize("text", ["", "{", "[" * 200_000, "1" * 10_000, "\x80", "nul"])
def test_what_is_no_json_is_one_kind_of_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text(text, "latin-1")
    with pytest.raises(ValueError):
        own_files.read_json(str(tmp_path / "file"), 1 << 20)
