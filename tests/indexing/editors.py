"""How programs save a file: their system calls, in their order, as recorded from each."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

Save = Callable[[Path, str], None]


def _write(path: Path, text: str, *, pieces: int = 1) -> None:
    """Truncate and write in place, perhaps in several writes."""
    data = text.encode()
    size = max(1, len(data) // pieces + 1)
    with open(path, "wb", buffering=0) as handle:
        handle.writelines(data[start : start + size] for start in range(0, len(data), size))
        os.fsync(handle.fileno())


def vim(path: Path, text: str) -> None:
    """The default: the old file becomes the backup, a new one takes its name."""
    swap, probe, backup = path.with_name(f".{path.name}.swp"), path.with_name("4913"), Path(f"{path}~")
    _write(swap, "b0VIM 9.0")
    probe.touch()
    probe.unlink()
    os.rename(path, backup)
    _write(path, text)
    os.chmod(path, 0o644)
    backup.unlink()
    swap.unlink()


def vim_in_place(path: Path, text: str) -> None:
    """`:set backupcopy=yes`: the backup is a copy."""
    swap, backup = path.with_name(f".{path.name}.swp"), Path(f"{path}~")
    _write(swap, "b0VIM 9.0")
    shutil.copyfile(path, backup)
    _write(path, text)
    backup.unlink()
    swap.unlink()


def nano(path: Path, text: str) -> None:
    lock = path.with_name(f".{path.name}.swp")
    _write(lock, "nano")
    _write(path, text, pieces=3)
    lock.unlink()


def micro(path: Path, text: str) -> None:
    """Opens the file to see whether it may, then writes it in place; its backup lies elsewhere."""
    os.close(os.open(path, os.O_WRONLY))
    _write(path, text)


def emacs(path: Path, text: str) -> None:
    """A lock that is a link to nowhere, an autosave, a backup by renaming that stays."""
    lock, auto = path.with_name(f".#{path.name}"), path.with_name(f"#{path.name}#")
    os.symlink("someone@somewhere.1234:1700000000", lock)
    _write(auto, text)
    os.rename(path, f"{path}~")
    _write(path, text, pieces=2)
    os.chmod(path, 0o644)
    auto.unlink()
    lock.unlink()


def vscode(path: Path, text: str) -> None:
    """In place: emptied first, then written."""
    _write(path, "")
    _write(path, text, pieces=2)


def vscode_atomic(path: Path, text: str) -> None:
    scratch = path.with_name(f"{path.name}.vsctmp")
    _write(scratch, text)
    os.rename(scratch, path)


def sed(path: Path, text: str) -> None:
    scratch = path.with_name("sedK3x9Qa")
    _write(scratch, text)
    os.chmod(scratch, 0o644)
    os.rename(scratch, path)


def cp(path: Path, text: str) -> None:
    other = path.parent.parent / "elsewhere.md"
    _write(other, text)
    shutil.copyfile(other, path)


def mv(path: Path, text: str) -> None:
    other = path.parent.parent / "elsewhere.md"
    _write(other, text)
    os.rename(other, path)


def rsync(path: Path, text: str) -> None:
    """A hidden name with a random end, the time of the original, then the right name."""
    scratch = path.with_name(f".{path.name}.Hq2Zp1")
    _write(scratch, text, pieces=2)
    os.utime(scratch, (1_700_000_000, 1_700_000_000))
    os.rename(scratch, path)


def sync_tool(path: Path, text: str) -> None:
    scratch = path.with_name(f".syncthing.{path.name}.tmp")
    _write(scratch, text)
    os.utime(scratch, (1_600_000_000, 1_600_000_000))
    os.rename(scratch, path)


def removed_and_written(path: Path, text: str) -> None:
    """Some editors take the old file away before there is a new one."""
    path.unlink()
    _write(path, text)


EDITORS: tuple[Save, ...] = (
    vim, vim_in_place, nano, micro, emacs, vscode, vscode_atomic, sed, cp, mv, rsync, sync_tool,
    removed_and_written,
)  # fmt: skip
