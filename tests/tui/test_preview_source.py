"""Files as lines: the same lines as in the index, and large files without reading them whole."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.errors import KebabError
from kebab_tui.formats.decode import decode
from kebab_tui.tui.preview import source_lines
from kebab_tui.tui.preview.source_lines import InBlocks, LargeText, OpenFile, identity, whole_text

_TEXT = st.text(st.sampled_from("ab\n\r가🙂\x0b\x85\u2028"), max_size=60)


def opened(path: Path, content: str | bytes = "") -> OpenFile:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return OpenFile(os.fsencode(path))


def counted(file: OpenFile) -> LargeText:
    text = LargeText(file)
    while not text.counted_whole:
        text.count_on()
    return text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@given(text=_TEXT, block=st.integers(1, 9), longest=st.integers(70, 300))
def test_a_large_file_has_the_lines_that_the_index_counts(
    folder: Path, text: str, block: int, longest: int
) -> None:
    file = opened(folder / "note.md", text)
    with (
        patch.object(source_lines, "_BLOCK", block),
        patch.object(source_lines, "_BLOCKS_AT_ONCE", 2),
        patch.object(source_lines, "LONGEST_LINE", longest * 4),
    ):
        large = counted(file)
        lines = list(decode(text.encode()).lines)
        assert large.count == len(lines)
        assert large.slice(1, len(lines) + 3) == lines
        for first in range(1, len(lines) + 1):
            assert large.slice(first, first + 1) == lines[first - 1 : first + 1]


def test_lines_in_blocks_are_the_same_lines(tmp_path: Path) -> None:
    text = counted(opened(tmp_path / "note.md", "".join(f"line {n}\n" for n in range(1, 301))))
    blocks = InBlocks(text)

    assert blocks.count == 300
    assert list(blocks.slice(60, 70)) == [f"line {n}" for n in range(60, 71)]
    assert list(blocks.slice(299, 400)) == ["line 299", "line 300"]


def test_what_is_not_counted_yet_is_not_shown(tmp_path: Path) -> None:
    with patch.object(source_lines, "_BLOCK", 10), patch.object(source_lines, "_BLOCKS_AT_ONCE", 1):
        text = LargeText(opened(tmp_path / "note.md", "one\ntwo\nthree\nfour\nfive\n"))
        text.count_on()

        assert list(text.slice(1, 2)) == ["one", "two"]
        assert list(text.slice(5, 5)) == []
        assert not text.counted_whole


def test_of_a_very_long_line_only_the_beginning_is_read(tmp_path: Path) -> None:
    with patch.object(source_lines, "LONGEST_LINE", 10):
        text = counted(opened(tmp_path / "note.md", "x" * 50 + "\nnext\n"))

        assert list(text.slice(1, 2)) == ["x" * 10 + "…", "next"]


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    assert list(counted(opened(tmp_path / "note.md", b"\xef\xbb\xbfone\n")).slice(1, 1)) == ["one"]


def test_a_file_that_shrinks_while_it_is_shown_ends_early(tmp_path: Path) -> None:
    path = tmp_path / "note.md"
    text = counted(opened(path, "one\ntwo\nthree\n"))
    os.truncate(path, 4)

    assert list(text.slice(1, 3)) == ["one"]


def test_a_disk_failure_is_shown_in_the_text(tmp_path: Path) -> None:
    blocks = InBlocks(counted(opened(tmp_path / "note.md", "one\n")))
    with patch("os.pread", side_effect=OSError(errno.EIO, "")):
        assert list(blocks.slice(1, 1)) == ["(unreadable: Input/output error)"]
    assert list(blocks.slice(1, 1)) == ["one"]


def test_a_file_of_ordinary_size_is_decoded_as_the_index_does(tmp_path: Path) -> None:
    file = opened(tmp_path / "note.txt", "충돌\r\n둘".encode("cp949"))

    assert whole_text(file, lambda data: decode(data).lines).lines == ("충돌", "둘")


def test_a_missing_file_is_gone(tmp_path: Path) -> None:
    with pytest.raises(KebabError, match="gone"):
        OpenFile(os.fsencode(tmp_path / "none.md"))


def test_a_file_without_read_permission_is_reported(tmp_path: Path) -> None:
    refused = PermissionError(errno.EACCES, "")
    with (
        patch("os.open", side_effect=refused),
        pytest.raises(KebabError, match="no permission"),
    ):
        OpenFile(os.fsencode(tmp_path))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(KebabError, match="not a file"):
        OpenFile(os.fsencode(tmp_path))


def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(KebabError, match="not a file"):
        OpenFile(os.fsencode(tmp_path / "pipe.md"))


def test_a_large_binary_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KebabError, match="binary file"):
        LargeText(opened(tmp_path / "note.md", b"\x7fELF\0\0"))


def test_a_file_closes_with_the_last_who_holds_it(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    text = LargeText(opened(tmp_path / "note.md", "one\n"))
    assert len(os.listdir("/proc/self/fd")) == before + 1
    del text
    assert len(os.listdir("/proc/self/fd")) == before


def test_another_size_or_time_is_another_file(tmp_path: Path) -> None:
    path = tmp_path / "note.md"
    file = opened(path, "one\n")
    assert identity(os.fsencode(path)) == file.identity
    path.write_text("two lines\n")
    assert identity(os.fsencode(path)) != file.identity
    path.unlink()
    assert identity(os.fsencode(path)) is None
