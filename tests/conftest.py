"""What several folders of tests share: the sample vault, indexed once for each worker."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kebab_tui.settings.model import Settings
from kebab_tui.workspace import Callbacks, Workspace

REPOSITORY = Path(__file__).parent.parent
SAMPLE_NOTES = REPOSITORY / "fixtures" / "notes"


@pytest.fixture(autouse=True)
def _nobodys_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sees the configuration or the index of whoever runs it."""
    for name in list(os.environ):
        if name.startswith("KEBAB_") and name != "KEBAB_CORPUS":
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "no-data"))


@pytest.fixture(scope="session")
def sample_notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sample vault that nobody may change."""
    folder = tmp_path_factory.mktemp("vault") / "notes"
    shutil.copytree(SAMPLE_NOTES, folder)
    return folder


@pytest.fixture(scope="session")
def sample(sample_notes: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """The sample vault, indexed. Only for reading."""
    workspace = Workspace(Settings(), str(tmp_path_factory.mktemp("index")))
    workspace.ingest([str(sample_notes)], Callbacks())
    yield workspace
    workspace.close()
