"""onnxruntime and tokenizers are imported only when a model opens, and by one module each."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
ENGINES = {"onnxruntime", "tokenizers", "numpy"}


@pytest.mark.parametrize("module", ["card", "integrity", "encoder", "model_folders"])
def test_importing_a_module_loads_no_engine(module: str) -> None:
    script = f"import sys, kebab_tui.embedding.{module}; print(*{{n.partition('.')[0] for n in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert not set(done.stdout.split()) & ENGINES


@pytest.mark.parametrize(
    ("engine", "module"), [("onnxruntime", "runtime.py"), ("tokenizers", "tokenizer.py")]
)
def test_each_engine_is_imported_in_one_place(engine: str, module: str) -> None:
    folder = ROOT / "kebab_tui" / "embedding"
    pattern = re.compile(rf"^\s*(?:import|from) {engine}\b", re.MULTILINE)
    assert [path.name for path in folder.glob("*.py") if pattern.search(path.read_text("utf-8"))] == [module]


def test_opening_and_using_a_model_writes_nothing(tmp_path: Path) -> None:
    from tests.embedding.tiny_models import write_tiny

    script = (
        "import sys; from kebab_tui.embedding.card import read_card;"
        "from kebab_tui.embedding.encoder import Encoder; e = Encoder(read_card(sys.argv[1]), 2);"
        "e.query('port'); list(e.passages(['port'] * 3))"
    )
    argv = [sys.executable, "-W", "error", "-c", script, str(write_tiny(tmp_path))]
    done = subprocess.run(argv, capture_output=True, cwd=ROOT, check=True)
    assert done.stdout + done.stderr == b""
