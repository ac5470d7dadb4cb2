"""The file with the selected model."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kebab_tui.vector_search import FILE_NAME, save_selected_model, selected_model


@pytest.mark.parametrize(
    "put",
    [
        lambda path: os.mkfifo(path),
        lambda path: path.symlink_to("other"),
        lambda path: path.write_bytes(b"x" * 100_000),
        lambda path: path.write_bytes(b"\xff"),
        lambda path: path.write_bytes(b""),
    ],
    ids=["pipe", "link", "large", "no text", "empty"],
)
def test_an_invalid_selection_is_ignored_and_replaced(tmp_path: Path, put: Callable[[Path], None]) -> None:
    (tmp_path / "other").write_text("other\n")
    put(tmp_path / FILE_NAME)
    assert selected_model(str(tmp_path)) == ""
    save_selected_model(str(tmp_path), "own")
    assert selected_model(str(tmp_path)) == "own"
    assert (tmp_path / "other").read_text() == "other\n"
