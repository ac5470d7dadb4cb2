"""onnxruntime collects and sends no data."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from kebab_tui.embedding.card import ModelCard
from tests.command_line import ROOT

_ENCODE = """
import sys
from pathlib import Path
from kebab_tui.embedding.card import read_card
from kebab_tui.embedding.encoder import Encoder
print(Encoder(read_card(sys.argv[1])).query("port").shape)
"""


def test_a_model_leaves_no_trace_of_who_ran_it(real_card: ModelCard, tmp_path: Path) -> None:
    """It used to cache the names of machine, program and model for upload."""
    home = tmp_path / "home"
    home.mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", _ENCODE, str(Path(real_card.onnx).parent)],
        env=environ,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert os.listdir(home) == []
