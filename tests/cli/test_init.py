"""`kebab init` puts a file in place, once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kebab_tui.cli.edge import run
from kebab_tui.cli.main import cli
from kebab_tui.settings.starter import starter_text

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "KEBAB_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_the_file_lands_in_the_usual_place_and_its_path_is_the_only_output(
    home: Path, capsys: Capture
) -> None:
    assert run(cli, ["init"]) == 0
    path = home / ".config/kebab/config.toml"
    assert path.read_text() == starter_text()
    shown = capsys.readouterr()
    assert shown.out == f"{path}\n"
    assert "kebab ingest" in shown.err


def test_a_second_init_changes_nothing_and_is_no_error(home: Path, capsys: Capture) -> None:
    path = home / "mine.toml"
    path.write_text("# mine")
    assert run(cli, ["init", "--path", str(path)]) == 0
    assert path.read_text() == "# mine"
    shown = capsys.readouterr()
    assert shown.out == f"{path}\n"
    assert "exists already" in shown.err


def test_a_broken_file_in_place_does_not_stop_init_from_saying_where_it_is(home: Path) -> None:
    path = home / ".config/kebab/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text("nonsense")
    assert run(cli, ["init"]) == 0
    assert path.read_text() == "nonsense"


def test_config_and_its_variable_name_the_place_too(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(cli, ["init", "--config", str(home / "a/by-flag.toml")]) == 0
    monkeypatch.setenv("KEBAB_CONFIG", str(home / "b/by-variable.toml"))
    assert run(cli, ["init"]) == 0
    assert (home / "a/by-flag.toml").exists()
    assert (home / "b/by-variable.toml").exists()


def test_a_tilde_is_home_and_a_relative_path_starts_here(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    assert run(cli, ["init", "--path", "~/one.toml"]) == 0
    assert run(cli, ["init", "--path", "two.toml"]) == 0
    assert {"one.toml", "two.toml"} <= set(os.listdir(home))


@pytest.mark.parametrize("target", [".", "file/config.toml", "missing\0name"])
def test_a_path_that_cannot_be_written_is_an_error(home: Path, capsys: Capture, target: str) -> None:
    (home / "file").touch()
    assert run(cli, ["init", "--path", str(home / target)]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_a_disk_that_takes_no_byte_leaves_no_half_file_behind(home: Path) -> None:
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0));"
        "from kebab_tui.cli import main; main()"
    )
    environ = {"HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[2])}
    argv = [sys.executable, "-c", script, "init"]
    done = subprocess.run(argv, env=environ, capture_output=True, check=False)
    assert done.returncode == 2
    assert b"error: cannot write " in done.stderr
    assert not (home / ".config/kebab/config.toml").exists()
