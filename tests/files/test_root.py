"""The identity of a root folder: the folder, its file system, and the file systems inside it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kebab_tui.files import root as files_root
from kebab_tui.files.root import Mount, RootIdentity, is_empty


def test_a_folder_stays_the_same_while_its_notes_change_and_another_one_is_different(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    root.mkdir()
    before = RootIdentity.of(str(root))
    assert is_empty(str(root))
    (root / "a.md").write_text("a")
    after = RootIdentity.of(str(root))
    assert after == before and after.stored == before.stored and not is_empty(str(root))
    shutil.move(root, tmp_path / "away")
    assert is_empty(str(root)), "nor can it be listed"
    root.mkdir()
    assert RootIdentity.of(str(root)) != before
    assert RootIdentity.of(str(tmp_path / "away")).stored == before.stored, "a folder keeps it when it moves"


def test_which_disks_others_can_write_to() -> None:
    kinds = ["ext4", "tmpfs", "btrfs", "overlay", "fuseblk", "nfs", "nfs4", "cifs", "fuse.sshfs", "9p"]
    remote = {kind for kind in kinds if Mount(1, b"/", kind).is_remote}
    assert remote == {"nfs", "nfs4", "cifs", "fuse.sshfs", "9p"}


def test_the_mount_table_is_read_with_its_escapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "my notes"
    (root / "deep").mkdir(parents=True)
    table = tmp_path / "mountinfo"
    monkeypatch.setattr(files_root, "_MOUNTS", str(table))
    escaped = str(root).replace(" ", r"\040")
    table.write_text(
        "1 1 8:1 / / rw - ext4 /dev/a rw\n"
        f"2 1 0:9 / {escaped} rw,nosuid shared:1 master:2 - fuse.sshfs host: rw\n"
        f"3 2 0:9 / {escaped}/deep rw - tmpfs none rw\n"
        f"4 1 0:9 / {escaped}er rw - tmpfs none rw\n"
    )
    place = RootIdentity.of(str(root))
    assert (place.mount.number, place.mount.kind) == (2, "fuse.sshfs")
    assert {mount.number for mount in place.mounts_inside} == {3}
    below = RootIdentity.of(str(root / "deep"))
    assert below.mount.number == 3
    table.unlink()
    assert RootIdentity.of(str(root)).mount.point == b"/"
