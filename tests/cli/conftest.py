"""What tests of the command line start from: the sample vault's index, or one that is still empty."""

from __future__ import annotations

import signal
from collections.abc import Iterator
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


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder with three notes, to be changed at will."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "port.md").write_text("---\ntags: [ops]\n---\n# Port conflict\n\nTwo listeners collide.\n")
    code = "```rust\nlet a = b;\n```"
    (folder / "rust.md").write_text(f"# Rust\n\n## Ownership\n\nA value has one owner.\n\n{code}\n")
    (folder / "케밥.md").write_text("# 케밥\n\n숯불에 구운 고기.\n")
    return folder


@pytest.fixture(autouse=True)
def in_the_foreground() -> Iterator[None]:
    """A job in the background ignores ctrl+c."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
