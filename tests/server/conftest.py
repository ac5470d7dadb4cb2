"""What tests of the server start from: the sample vault, and a vault with private notes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import Kebab, indexed_sample


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Kebab:
    """An index of the whole sample vault. Only for tests that change nothing."""
    return indexed_sample(tmp_path_factory.mktemp("indexed"))


@pytest.fixture
def vault(tmp_path: Path) -> Kebab:
    """Two sources; `notes` has private notes."""
    texts = {
        "notes/infra/port.md": "# Port conflict\n\n## Cause\n\nTwo listeners collide on one port.\n",
        "notes/infra/secret.md": "---\nprivate: true\n---\n# Zebra password\n\nThe port is 4711.\n",
        "notes/diary/day.md": "# Quiet day\n\nI freed a port and met a yak.\n",
        "notes/diary/.kebabprivate": "*\n",
        "notes/포트.md": "# 포트 충돌\n\n두 프로그램이 같은 포트를 쓴다.\n",
        "work/plan.md": "# Plan\n\nMove the port of the wiki. Codename quagga.\n",
        "work/infra/port.md": "# Ports at work\n\nA list of ports.\n",
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    kebab = Kebab(tmp_path / "data", tmp_path / "home")
    for folder in ("notes", "work"):
        done = kebab("ingest", str(tmp_path / folder))
        assert done.code == 0, done.err
    return kebab


@pytest.fixture
def kebab(tmp_path: Path) -> Kebab:
    """An index that holds nothing yet."""
    return Kebab(tmp_path / "data", tmp_path / "home")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "port.md").write_text("# Port conflict\n\nTwo listeners collide.\n")
    return folder
