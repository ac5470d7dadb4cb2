"""Shell completion: the script and its requests to the program."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from kebab_tui.cli.edge import run
from kebab_tui.cli.main import VERBS, cli

Capture = pytest.CaptureFixture[str]


def completed(words: str, at: int, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(at))
    monkeypatch.setenv("_KEBAB_COMPLETE", "bash_complete")
    run(cli, [])
    return {line.partition(",")[2] for line in capsys.readouterr().out.splitlines()}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_calls_the_program_back(shell: str, capsys: Capture) -> None:
    assert run(cli, ["completion", shell]) == 0
    assert f"_KEBAB_COMPLETE={shell}_complete" in capsys.readouterr().out


@pytest.mark.program
@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_can_read_its_script(capsys: Capture) -> None:
    run(cli, ["completion", "bash"])
    script = capsys.readouterr().out
    assert subprocess.run(["bash", "-n"], input=script.encode(), check=False).returncode == 0


def test_an_unknown_shell_gives_the_known_ones(capsys: Capture) -> None:
    assert run(cli, ["completion", "tcsh"]) == 2
    shown = capsys.readouterr().err
    assert all(shell in shown for shell in ("bash", "zsh", "fish"))


def test_verbs_are_completed(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    assert completed("kebab ", 1, capsys, monkeypatch) == set(VERBS)
    assert completed("kebab in", 1, capsys, monkeypatch) == {"init", "ingest", "inspect", "index"}


def test_options_of_a_verb_are_completed(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"--path", "--data-dir", "--config"} <= completed("kebab init --", 2, capsys, monkeypatch)


def test_after_a_mistyped_verb_there_is_nothing_to_complete_and_no_error(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert completed("kebab serch x", 2, capsys, monkeypatch) == {""}
