"""The import contracts of pyproject.toml see an import that breaks them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FORBIDDEN = {
    "cli/search_output.py": "kebab_tui.storage.lock",
    "search/engine.py": "kebab_tui.tui",
    "search/lexical.py": "sqlite3",
    "search/semantic.py": "onnxruntime",
    "indexing/ingest.py": "textual",
    "doctor.py": "kebab_tui.storage.sqlite.reader",
    "formats/markdown.py": "pypdfium2",
}
"""Importing module -> what it may not import."""


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The linter's report on a copy of the package with all forbidden imports added."""
    copy = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__", "_*models", "_sample")
    shutil.copytree(ROOT / "kebab_tui", copy / "kebab_tui", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", copy)
    for path, imported in FORBIDDEN.items():
        with open(copy / "kebab_tui" / path, "a") as module:
            module.write(f"\n\nimport {imported}\n")
    linter = "from importlinter.cli import lint_imports_command as lint; lint()"
    argv = [sys.executable, "-c", f"import sys; sys.path.insert(0, '.'); {linter}", "--no-cache"]
    done = subprocess.run(argv, cwd=copy, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(("path", "imported"), FORBIDDEN.items())
def test_a_forbidden_import_is_reported(complaints: str, path: str, imported: str) -> None:
    importer = "kebab_tui." + path.removesuffix(".py").replace("/", ".")
    assert f"{importer} -> {imported}" in complaints
