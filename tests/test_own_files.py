"""The files of the data folder: private to their owner, replaced as a whole, read with a size limit."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kebab_tui import own_files, vector_search
from kebab_tui.indexing.status import LiveFile, LiveState
from kebab_tui.settings.settings import ScreenSettings
from kebab_tui.storage.lock import DataFolder, WriterLock
from kebab_tui.storage.sqlite import recovery
from kebab_tui.tui.choices import Choices, keep
from kebab_tui.tui.history import History
from tests.notes import a_source
from tests.vault import Vault


@pytest.fixture(params=[0o022, 0o000], ids=["022", "000"])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> dict[str, str]:
    """Paths on which group or others have any permission."""
    found = [folder, *(path for path in folder.rglob("*") if not path.is_symlink())]
    modes = {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in found}
    return {name: oct(mode) for name, mode in modes.items() if mode & 0o077}


def everything_written(vault: Vault) -> None:
    """Write an index and all files beside it; an open connection keeps the log."""
    vault.write("a.md", "alpha")
    vault.ingest()
    with vault.workspace._parts.index.reader.snapshot():
        vault.write("b.md", "beta")
        vault.ingest()
        for write in WRITERS.values():
            write(vault.files)


WRITERS: dict[str, Callable[[DataFolder], object]] = {
    "sources.json": lambda folder: recovery.write_sources(folder.sources, [a_source()]),
    "model.txt": lambda folder: vector_search.save_selected_model(folder.root, "another"),
    "queries.txt": lambda folder: History(folder.root).add("a query"),
    "screen.json": lambda folder: keep(folder.root, ScreenSettings(), Choices(), Choices("light")),
    "live.json": lambda folder: LiveFile(folder.root, lambda _: None).write(LiveState(os.getpid())),
    "suspect": recovery.mark_suspect,
    "screen.log": lambda folder: os.close(own_files.create(os.path.join(folder.root, "screen.log"))),
    "vectors.kebabvec": lambda folder: own_files.replace(f"{folder.root}/vectors.kebabvec", b"x"),
}


def test_an_index_is_readable_by_its_owner_only(umask: None, tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    everything_written(vault)
    vault.workspace.request_rescan()
    assert {"kebab.sqlite-wal", "kebab.sqlite-shm", "requests", *WRITERS} <= set(os.listdir(vault.data))
    assert open_to_others(vault.data) == {}
    vault.workspace.close()


def test_the_next_writer_restricts_files_that_others_could_read(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    everything_written(vault)
    (vault.data / "models" / "mine").mkdir(parents=True)
    (vault.data / "models" / "mine" / "card.yaml").touch()
    for path in [vault.data, *vault.data.rglob("*")]:
        path.chmod(0o777 if path.is_dir() else 0o666)
    with vault.workspace._parts.index.reader.snapshot():
        vault.ingest()
        assert open_to_others(vault.data) == {}
    vault.workspace.close()


def test_in_a_mixed_folder_only_the_index_is_restricted(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    vault.data.mkdir(mode=0o755)
    (vault.data / "script.sh").touch(0o755)
    outside = tmp_path / "outside"
    outside.touch(0o644)
    (vault.data / "models").symlink_to(outside)
    vault.ingest()
    assert open_to_others(vault.data) == {".": "0o755", "script.sh": "0o755"}
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644, "a link is not followed"
    vault.workspace.close()


def test_a_file_system_without_permissions_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = Vault(tmp_path)
    vault.data.mkdir(mode=0o755)

    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "chmod", refused)
    vault.write("a.md", "alpha")
    vault.ingest()
    assert vault.find("alpha") == ["a.md"]
    vault.workspace.close()


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("ending", ["", ".new"])
def test_no_link_is_written_through(tmp_path: Path, name: str, ending: str) -> None:
    folder = DataFolder(str(tmp_path / "data"))
    own_files.make_folder(folder.root)
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "data" / (name + ending)).symlink_to(tmp_path / "precious")
    WRITERS[name](folder)
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (tmp_path / "data" / name).is_symlink()


def test_a_lock_that_is_a_link_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "writer.lock").symlink_to(tmp_path / "precious")
    lock = WriterLock(str(tmp_path / "writer.lock"))
    lock.acquire("test", 0, lambda _: None)
    assert lock.holder() and lock.is_in_place()
    lock.release()
    assert (tmp_path / "precious").read_text() == "precious"


def test_the_data_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "elsewhere")
    vault = Vault(tmp_path)
    vault.write("a.md", "alpha")
    vault.ingest()
    assert vault.find("alpha") == ["a.md"]
    assert open_to_others(tmp_path / "elsewhere") == {}
    vault.workspace.close()


def test_a_file_that_cannot_be_replaced_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    own_files.replace(str(path), b"one", b" two")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    with pytest.raises(OSError):
        own_files.replace(str(path), b"three")
    assert path.read_bytes() == b"one two"
    assert os.listdir(tmp_path) == ["file"]


def test_of_two_writers_of_one_file_one_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "file")
    sync = os.fsync

    def overtaken(descriptor: int) -> None:
        monkeypatch.setattr(os, "fsync", sync)
        os.close(own_files.create(f"{path}.new"))

    monkeypatch.setattr(os, "fsync", overtaken)
    with pytest.raises(FileExistsError):
        own_files.replace(path, b"first")
    assert os.listdir(tmp_path) == ["file.new"], "the other one goes on"


def test_a_small_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert own_files.read(str(tmp_path / "file"), 5) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        own_files.read(str(tmp_path / "file"), 4)


def test_only_a_regular_file_is_read_without_blocking(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in (tmp_path / "pipe", tmp_path / "folder", "/dev/zero"):
        with pytest.raises(OSError, match="not a regular file"):
            own_files.read(str(name), 10)


def test_a_huge_file_is_rejected_without_reading_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.truncate(tmp_path / "file", 8 << 40)
    with pytest.raises(OSError, match="larger than 4 bytes"):
        own_files.read(str(tmp_path / "file"), 4)


def test_a_rejected_file_is_closed(tmp_path: Path) -> None:
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
def test_invalid_json_is_a_value_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text(text, "latin-1")
    with pytest.raises(ValueError):
        own_files.read_json(str(tmp_path / "file"), 1 << 20)
