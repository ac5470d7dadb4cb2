"""Runs `kebab` in this process as the console script would, and hands back what it wrote."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from kebab_tui.cli.edge import run
from kebab_tui.cli.main import cli

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "fixtures/notes"
WRITTEN = 1_767_225_600  # 2026-01-01: every copied note has this time, so that answers repeat


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


@dataclass(frozen=True)
class Kebab:
    """One index; calling it runs one command line."""

    data: Path
    home: Path

    def __call__(self, *argv: str, **variables: str) -> Done:
        with _captured() as (out, err), mock.patch.dict(os.environ, self.environ | variables, clear=True):
            code = run(cli, ["--data-dir", str(self.data), *argv])
            return Done(code, _text(out), _text(err))

    @property
    def environ(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "PYTHONPATH": str(ROOT)}

    @property
    def argv(self) -> list[str]:
        """How another process is started on the same index."""
        return [sys.executable, "-m", "kebab_tui", "--data-dir", str(self.data)]


@contextmanager
def _captured() -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with mock.patch.object(sys, "stdout", out), mock.patch.object(sys, "stderr", err):
        yield out, err


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode("utf-8", "surrogateescape")


def indexed_sample(folder: Path) -> Kebab:
    """Index a copy of the sample vault, in `folder/notes`, with times that are the same everywhere."""
    notes = folder / "notes"
    shutil.copytree(SAMPLE, notes)
    for path in notes.rglob("*"):
        os.utime(path, (WRITTEN, WRITTEN))
    kebab = Kebab(folder / "data", folder / "home")
    done = kebab("ingest", str(notes))
    assert done.code == 0, done.err
    return kebab
