"""The page of file formats is written from the registry."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from kebab_tui.formats.registry import FORMATS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_formats_is_current(tmp_path: Path) -> None:
    """`make formats` writes it."""
    (tmp_path / "formats.py").write_bytes((DOCS / "formats.py").read_bytes())
    environ = {"PYTHONPATH": str(DOCS.parent)}
    argv = [sys.executable, str(tmp_path / "formats.py")]
    subprocess.run(argv, env=environ, check=True, capture_output=True)
    written = (tmp_path / "formats.md").read_text("utf-8")
    assert written == (DOCS / "formats.md").read_text("utf-8")
    assert all(f"| `{name}` |" in written for name in FORMATS)
