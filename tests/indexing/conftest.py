from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vault import Vault


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    made = Vault(tmp_path)
    yield made
    made.workspace.close()


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files just written count as written long ago, so that a stamp alone says "unchanged"."""
    monkeypatch.setattr("kebab_tui.indexing.reconcile._RACY_NS", -(10**12))
