"""What a command may not import: measured on `sys.modules` of a fresh process.

An import is time before the first hit. `imported_by` answers for any command line.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import Kebab

pytestmark = pytest.mark.slow

ENGINES = {"onnxruntime", "faiss", "tokenizers", "watchdog", "sqlite_utils", "numpy"}
FACES = {"textual", "rich"}
PARSERS = {"yaml", "pathspec", "markdown_it", "msgspec"}
HEAVY = ENGINES | FACES | PARSERS

_REPORT = """
import os, sys
from kebab_tui.cli import main
os._exit = sys.exit  # a real run ends without unwinding
try:
    main()
finally:
    sys.stdout.flush()
    print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""
_WARM_UP = """
import sys
from kebab_tui.domain.query import SearchQuery
from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Workspace

workspace = Workspace(Settings(), sys.argv[1])
for _ in workspace.warm_up(by_meaning=sys.argv[2] == "hybrid"):
    pass
before = set(sys.modules)
if sys.argv[2] == "hybrid":
    workspace.search(SearchQuery("kernel tag:none"))
print(*sorted({name.partition(".")[0] for name in before}))
print(*sorted(set(sys.modules) - before))
"""
_ROOT = str(Path(__file__).parents[1])


def imported_by(*argv: str, home: Path, **variables: str) -> set[str]:
    """The top-level modules that `kebab ARGV…` has imported when it ends."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": _ROOT, **variables}
    done = subprocess.run(
        [sys.executable, "-c", _REPORT, *argv], capture_output=True, env=environ, timeout=60, check=False
    )
    return set(done.stderr.decode().splitlines()[-1].split())


@pytest.mark.parametrize("flag", ["--version", "--help"])
def test_version_and_help_import_click_and_nothing_heavy(flag: str, tmp_path: Path) -> None:
    modules = imported_by(flag, home=tmp_path)
    assert "click" in modules
    assert not modules & (HEAVY | {"sqlite3", "platformdirs", "tomllib"})


def test_a_verb_without_settings_imports_nothing_heavy(tmp_path: Path) -> None:
    assert not imported_by("completion", "zsh", home=tmp_path) & HEAVY


def test_a_search_imports_no_parser_no_bar_and_nothing_that_reads_notes(tmp_path: Path) -> None:
    folder, data = tmp_path / "notes", str(tmp_path / "data")
    folder.mkdir()
    (folder / "note.md").write_text("# Title\n\nword\n")
    assert {"sqlite_utils", "pathspec"} & imported_by(
        "ingest", str(folder), "--data-dir", data, home=tmp_path
    )
    for argv in (("word",), ("word", "--json"), ("word", "--explain"), ("word", "--format", "vimgrep")):
        modules = imported_by("search", *argv, "--mode", "lexical", "--data-dir", data, home=tmp_path)
        assert "sqlite3" in modules
        assert not modules & ((HEAVY - {"msgspec"}) | {"platformdirs", "tomllib", "jsonschema", "asyncio"})


def test_a_search_loads_an_engine_only_where_it_has_something_to_do(embedded: Kebab, tmp_path: Path) -> None:
    data, bare = str(embedded.data), str(tmp_path / "data")
    for text in ("word", "kerenl"):  # a slip asks the vocabulary of the model
        by_words = imported_by("search", text, "--mode", "lexical", "--data-dir", data, home=tmp_path)
        assert not by_words & ENGINES
    by_both = imported_by("search", "kernel", "--data-dir", data, home=tmp_path)
    assert {"numpy", "onnxruntime", "tokenizers"} <= by_both
    assert not by_both & ((FACES | PARSERS | {"faiss"}) - {"msgspec"}), "a few vectors need no FAISS"
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "note.md").write_text("# Title\n\nword\n")
    imported_by("ingest", str(tmp_path / "notes"), "--data-dir", bare, home=tmp_path)
    assert not imported_by("search", "word", "--data-dir", bare, home=tmp_path) & ENGINES, "no vectors yet"
    for verb in (("model", "list"), ("list",)):
        assert not imported_by(*verb, "--data-dir", bare, home=tmp_path) & (ENGINES | FACES), verb


def test_the_screens_refusal_imports_nothing_heavy() -> None:
    script = "import sys, kebab_tui.tui; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, env={"PYTHONPATH": _ROOT}, check=True
    )
    assert not set(done.stdout.decode().split()) & (HEAVY | {"click"})


_LOADED = """
import os, sys
from kebab_tui.settings.load import load_settings
load_settings(None, os.environ, {"data_dir": sys.argv[1]})
print(*{name.partition(".")[0] for name in sys.modules})
"""


@pytest.mark.parametrize(("file", "parsed"), [("", False), ("search.default_k = 3", True)])
def test_settings_import_a_parser_only_for_a_file_that_is_there(
    tmp_path: Path, file: str, parsed: bool
) -> None:
    if file:
        (tmp_path / ".config/kebab").mkdir(parents=True)
        (tmp_path / ".config/kebab/config.toml").write_text(file)
    environ = {"HOME": str(tmp_path), "PYTHONPATH": _ROOT}
    argv = [sys.executable, "-c", _LOADED, str(tmp_path)]
    modules = set(subprocess.run(argv, capture_output=True, env=environ, check=True).stdout.decode().split())
    assert ("tomllib" in modules) is parsed
    assert not modules & ((HEAVY - {"msgspec"}) | {"platformdirs", "click", "difflib"})


def test_warming_up_leaves_nothing_for_the_first_question_to_import(embedded: Kebab, tmp_path: Path) -> None:
    def warmed_up(mode: str) -> tuple[set[str], set[str]]:
        argv = (sys.executable, "-c", _WARM_UP, str(embedded.data), mode)
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": _ROOT}
        said = subprocess.check_output(argv, env=environ, text=True).splitlines()
        return set(said[0].split()), set(said[1].split())

    modules, missing = warmed_up("hybrid")
    assert {"numpy", "onnxruntime", "tokenizers"} <= modules
    assert not missing
    assert not warmed_up("lexical")[0] & ENGINES
