"""The manual pages are those of the commands, and a page formatter has nothing to complain about."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from types import ModuleType

import pytest

from kebab_tui.cli.main import VERBS
from tests.command_line import ROOT

PAGES = ROOT / "docs/man"


def manual() -> ModuleType:
    spec = importlib.util.spec_from_file_location("manual", ROOT / "docs/manual.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_command_has_the_page_that_it_would_write() -> None:
    pages = manual().pages()
    assert set(pages) == {"kebab.1", "kebab-tui.1", *(f"kebab-{name}.1" for name in VERBS)}
    assert {file.name: file.read_text("utf-8") for file in PAGES.iterdir()} == pages, "run make manual"


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff here")
def test_a_page_reads_as_the_help() -> None:
    argv = ["groff", "-ww", "-man", "-K", "utf-8", "-T", "utf8", "-P", "-c", str(PAGES / "kebab-source.1")]
    done = subprocess.run(argv, capture_output=True, timeout=60, check=True)
    assert not done.stderr
    text = " ".join(re.sub(".\b", "", done.stdout.decode()).split())
    assert "kebab source add [OPTIONS] FOLDER Add FOLDER as a source." in text
    assert "50 the title begins with NAME" in text
