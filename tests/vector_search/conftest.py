"""An index with a model small enough to be read at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kebab_tui.workspace import Callbacks
from tests.embedding.tiny_models import write_tiny
from tests.vault import Vault


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    """Two notes, read by a model of a few words that lies in the data folder."""
    made = Vault(tmp_path)
    made.write("a.md", "port conflict")
    made.write("b.md", "backup 백업")
    made.ingest()
    write_tiny(made.data / "models" / "tiny", normalise=True)
    made.workspace.use_model("tiny", Callbacks())
    yield made
    made.workspace.close()
