"""Makes the indexes of earlier programs, and prints what their upgrade takes."""

from __future__ import annotations

import lzma
import os
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
from io import BytesIO
from pathlib import Path

from kebab_tui.settings.settings import Settings
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.writer import StoreWriter
from kebab_tui.workspace import Callbacks, Workspace
from tests.upgrade import COMMITS, INDEXES, unpack, write_notes


def run(commit: str, place: Path, *verbs: list[str]) -> None:
    """Run command lines of the program of a commit on the index in `place/data`."""
    program = place / "program"
    archive = subprocess.run(["git", "archive", commit], capture_output=True, check=True)
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(program, filter="data")
    environ = {"PATH": os.environ["PATH"], "HOME": str(place), "PYTHONPATH": str(program)}
    kebab = [sys.executable, "-m", "kebab_tui"]
    for verb in verbs:
        argv = [*kebab, *verb, "--data-dir", str(place / "data")]
        subprocess.run(argv, env=environ, cwd=program, check=verb[0] == "ingest")


def make(commit: str) -> None:
    """Index the notes with the program of a commit, with vectors where it had a model."""
    with tempfile.TemporaryDirectory() as place:
        notes, data = (Path(place) / name for name in ("notes", "data"))
        write_notes(notes)
        run(commit, Path(place), ["ingest", str(notes)], ["index", "--embed"])
        connection = sqlite3.connect(data / "kebab.sqlite")
        connection.execute("VACUUM INTO ?", (str(data / "whole.sqlite"),))
        connection.close()
        INDEXES.mkdir(exist_ok=True)
        whole = (data / "whole.sqlite").read_bytes()
        (INDEXES / f"{commit}.sqlite.xz").write_bytes(lzma.compress(whole, preset=9 | lzma.PRESET_EXTREME))


def report(folder: str = "") -> None:
    """One line for each index: the time of the schema steps, of reading again, and the sizes."""
    print(f"{'index':<10}{'steps ms':>10}{'read ms':>10}{'kB before':>11}{'kB after':>10}")
    for commit in [list(COMMITS)[-1]] if folder else COMMITS:
        with tempfile.TemporaryDirectory() as place:
            root, data = Path(place) / "notes", Path(place) / "data"
            if folder:
                run(commit, Path(place), ["ingest", folder, "--quiet"])
                database = data / "kebab.sqlite"
            else:
                write_notes(root)
                database = unpack(commit, data, root)
            before, began = database.stat().st_size, time.perf_counter()
            StoreWriter(DataFolder(str(data))).close()
            stepped = time.perf_counter()
            workspace = Workspace(Settings(), str(data))
            workspace.ingest([], Callbacks())
            ended = time.perf_counter()
            workspace.close()
            times = f"{(stepped - began) * 1000:>10.0f}{(ended - stepped) * 1000:>10.0f}"
            print(f"{commit:<10}{times}{before / 1000:>11,.0f}{database.stat().st_size / 1000:>10,.0f}")


if __name__ == "__main__":
    if sys.argv[1:] and os.path.isdir(sys.argv[1]):
        report(os.path.abspath(sys.argv[1]))
    for name in sys.argv[1:]:
        if not os.path.isdir(name):
            make(name)
    if not sys.argv[1:]:
        report()
