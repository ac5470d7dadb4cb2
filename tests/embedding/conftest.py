"""The real model for the tests that need it: from the checkout, or from the folder KEBAB_TEST_MODEL names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kebab_tui.embedding.card import CARD, ModelCard, read_card
from kebab_tui.embedding.encoder import Encoder
from kebab_tui.embedding.model_folders import BUNDLED_MODEL, bundled_root

_FOLDER = os.environ.get("KEBAB_TEST_MODEL") or os.path.join(bundled_root(), BUNDLED_MODEL)


@pytest.fixture(autouse=True)
def _cold(cold_model: None) -> None:
    """These tests are about opening a model, so open it each time."""


@pytest.fixture(scope="session")
def real_card() -> ModelCard:
    """The bundled model; do not change its files."""
    if not (Path(_FOLDER) / CARD).is_file():
        pytest.skip(f"the bundled model is not in {_FOLDER}")
    return read_card(_FOLDER)


@pytest.fixture(scope="session")
def encoder(real_card: ModelCard) -> Encoder:
    return Encoder(real_card, threads=2)
