"""Reading one file: consistent, never outside the root, never blocking."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from kebab_tui.domain.errors import UnreadableFileError, UnsuitableFileError
from kebab_tui.files.read import VanishedFileError, read_file
from kebab_tui.formats.decode import MEGABYTE, ReadLimits

LIMITS = ReadLimits()


def test_a_file_comes_with_its_fingerprint_and_hash(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/노트.md").write_bytes(b"\xff\x00text\r\n")
    content = read_file(str(tmp_path), "sub/노트.md", LIMITS)
    status = (tmp_path / "sub/노트.md").stat()
    assert content.data == b"\xff\x00text\r\n"
    assert content.content_hash == hashlib.sha256(content.data).hexdigest()
    assert (content.fingerprint.size, content.fingerprint.mtime_ns) == (8, status.st_mtime_ns)
    assert (content.fingerprint.ctime_ns, content.fingerprint.inode) == (status.st_ctime_ns, status.st_ino)


def test_an_empty_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.md").touch()
    assert read_file(str(tmp_path), "a.md", LIMITS).data == b""


def test_a_file_of_exactly_the_limit_is_read_and_one_byte_more_is_not(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"x" * 10)
    assert read_file(str(tmp_path), "a.md", ReadLimits(10)).data == b"x" * 10
    with pytest.raises(UnsuitableFileError, match="larger than"):
        read_file(str(tmp_path), "a.md", ReadLimits(9))


def test_a_huge_file_is_refused_without_reading_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(tmp_path / "a.md", "wb") as file:
        file.truncate(100 * MEGABYTE)
    monkeypatch.delattr(os, "read")
    with pytest.raises(UnsuitableFileError, match=r"^larger than 8 MB$"):
        read_file(str(tmp_path), "a.md", LIMITS)


@pytest.mark.parametrize(
    "path", ["../out.md", "sub/../../out.md", "/etc/passwd", "", ".", "a//b.md", "nul\0.md"]
)
def test_a_path_cannot_leave_the_root(tmp_path: Path, path: str) -> None:
    (tmp_path / "out.md").write_text("secret")
    (tmp_path / "root/sub").mkdir(parents=True)
    with pytest.raises(UnreadableFileError, match="outside the folder"):
        read_file(str(tmp_path / "root"), path, LIMITS)


def test_links_are_rejected_anywhere_in_the_path(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a.md").write_text("secret")
    (tmp_path / "root").mkdir()
    (tmp_path / "root/away").symlink_to(tmp_path / "out")
    (tmp_path / "root/a.md").symlink_to(tmp_path / "out/a.md")
    for path in ("away/a.md", "a.md"):
        with pytest.raises(UnreadableFileError, match="symbolic link"):
            read_file(str(tmp_path / "root"), path, LIMITS)


def test_a_pipe_a_folder_and_a_device_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "folder.md").mkdir()
    for root, path in ((str(tmp_path), "pipe.md"), (str(tmp_path), "folder.md"), ("/dev", "zero")):
        with pytest.raises(UnreadableFileError, match="not a regular file"):
            read_file(root, path, LIMITS)


@pytest.mark.parametrize("path", ["gone.md", "gone/a.md"])
def test_a_missing_file_differs_from_an_unreadable_one(tmp_path: Path, path: str) -> None:
    with pytest.raises(VanishedFileError, match="no longer there"):
        read_file(str(tmp_path), path, LIMITS)


def test_a_missing_root_looks_like_a_vanished_file(tmp_path: Path) -> None:
    with pytest.raises(VanishedFileError):
        read_file(str(tmp_path / "gone"), "a.md", LIMITS)


def test_a_file_without_permission_is_an_error_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(UnreadableFileError, match="permission denied") as caught:
        read_file(str(tmp_path), "a.md", LIMITS)
    assert caught.value.hint
    assert not isinstance(caught.value, VanishedFileError)


def test_a_name_that_is_no_utf8_can_be_read(tmp_path: Path) -> None:
    raw = b"\xff\xfe.md"
    with open(os.path.join(os.fsencode(tmp_path), raw), "wb") as file:
        file.write(b"x")
    assert read_file(str(tmp_path), os.fsdecode(raw), LIMITS).data == b"x"


def write_during_reads(monkeypatch: pytest.MonkeyPatch, note: Path, versions: list[bytes]) -> None:
    """Save another version after each of the first reads."""
    read = os.read

    def read_and_save(descriptor: int, count: int) -> bytes:
        data = read(descriptor, count)
        if data and versions:
            save = note.with_suffix(".tmp")
            save.write_bytes(versions.pop(0))
            save.replace(note)
        return data

    monkeypatch.setattr(os, "read", read_and_save)


def test_a_file_saved_while_it_was_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "a.md"
    note.write_bytes(b"first")
    write_during_reads(monkeypatch, note, [b"second"])
    content = read_file(str(tmp_path), "a.md", LIMITS)
    assert content.data == b"second"
    assert content.fingerprint.inode == note.stat().st_ino


def test_a_file_that_keeps_changing_gets_an_outdated_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "a.md"
    note.write_bytes(b"0")
    write_during_reads(monkeypatch, note, [b"1", b"2", b"3", b"4", b"5"])
    content = read_file(str(tmp_path), "a.md", LIMITS)
    assert content.data == b"2"
    assert content.fingerprint.inode != note.stat().st_ino


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.md").write_text("x")
    before = len(os.listdir("/proc/self/fd"))
    read_file(str(tmp_path), "sub/a.md", LIMITS)
    for path in ("sub/gone.md", "sub/a.md/x", "sub"):
        with pytest.raises(UnreadableFileError):
            read_file(str(tmp_path), path, LIMITS)
    assert len(os.listdir("/proc/self/fd")) == before
