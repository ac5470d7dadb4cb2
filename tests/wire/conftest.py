"""The index of the sample vault."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import Kebab, indexed_sample


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Kebab:
    """An index of the whole sample vault. Only for tests that change nothing."""
    return indexed_sample(tmp_path_factory.mktemp("indexed"))


@pytest.fixture
def kebab(tmp_path: Path) -> Kebab:
    """An index that holds nothing yet."""
    return Kebab(tmp_path / "data", tmp_path / "home")
