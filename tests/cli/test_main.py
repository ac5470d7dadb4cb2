"""The table of verbs, and the options that stand before or after a verb."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import click
import pytest

from kebab_tui import __version__
from kebab_tui.cli.command import CliCommand
from kebab_tui.cli.edge import Invocation, invocation, pass_invocation, run, shared_options
from kebab_tui.cli.main import VERBS, cli


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "KEBAB_CONFIG", "KEBAB_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def test_help_lists_every_verb_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(cli, ["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for name, (_, _, line) in VERBS.items():
        assert f"{name} {line}" in shown


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version_is_one_line(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(cli, [flag]) == 0
    assert capsys.readouterr().out == f"kebab {__version__}\n"


@pytest.mark.parametrize("words", ["", "search", "source add", "help"])
def test_help_is_a_command_too(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(cli, ["help", *words.split()]) == 0
    shown = capsys.readouterr().out
    assert run(cli, [*words.split(), "--help"]) == 0
    assert capsys.readouterr().out == shown


def test_help_knows_the_screen_and_refuses_what_is_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(cli, ["help", "tui"]) == 0
    assert "kebab-tui [OPTIONS] [FOLDER…]" in capsys.readouterr().out
    for words, message in (("serach", "unknown command 'serach'"), ("search x", "has no subcommands")):
        assert run(cli, ["help", *words.split()]) == 2
        assert message in capsys.readouterr().err


def test_help_lists_an_option_once_under_a_heading_and_ends_with_examples(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(cli, ["search", "--help"]) == 0
    shown = capsys.readouterr().out
    headings = [line for line in shown.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == ["What to search:", "Filters:", "Ranking:", "Output:", "General:", "Examples:"]
    assert "-n, --limit N  " in shown
    other_spellings = ("--k ", "--top", "--fts-only", "--vec-only", "--second-look", "--colour")
    assert not any(spelling in shown for spelling in other_spellings)
    assert run(cli, ["search", "x", "--top", "0"]) == 2
    assert "Invalid value for '--limit'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "hint"),
    [("serach", "did you mean `kebab search`?"), ("충돌", "`kebab search WORDS` searches")],
)
def test_an_unknown_verb_is_answered_with_the_nearest(
    word: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(cli, [word, "--json"]) == 2
    told = json.loads(capsys.readouterr().err)
    assert told["code"] == "invalid_input"
    assert word in told["message"]
    assert hint in told["hint"]


def test_a_bare_call_shows_the_help_and_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(cli, []) == 2
    assert "Commands:" in capsys.readouterr().err


def test_each_command_has_examples() -> None:
    root = click.Context(cli)
    for name in VERBS.keys() - {"tui", "source", "model"}:
        command = cli.get_command(root, name)
        assert isinstance(command, CliCommand) and command.examples, name
        assert all(line.split()[0] in ("kebab", "vim", "eval") for line, _ in command.examples), name


def test_each_verb_is_a_command_of_its_own_name() -> None:
    for name, (module, attribute, _) in VERBS.items():
        assert attribute == f"{name}_command"
        assert getattr(import_module(module), attribute).name == name


@pytest.mark.parametrize("name", sorted(VERBS.keys() - {"tui"}))
def test_the_help_of_each_verb_lists_its_options(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(cli, [name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: kebab {name} ")


def probe(argv: Sequence[str]) -> list[Invocation]:
    """Run `outer [inner] show` with shared options everywhere; what the verb was handed, twice."""
    seen: list[Invocation] = []

    @click.group()
    @shared_options
    def outer() -> None: ...

    @outer.group()
    @shared_options
    def inner() -> None: ...

    @inner.command()
    @shared_options
    @click.pass_context
    @pass_invocation
    def show(handed: Invocation, ctx: click.Context) -> None:
        seen.extend([handed, invocation(ctx), ctx.obj])

    assert run(outer, argv) == 0
    return seen


@pytest.mark.parametrize(
    "argv",
    [
        "--data-dir {d} inner show",
        "inner --data-dir {d} show",
        "inner show --data-dir {d}",
        "--data-dir /elsewhere inner show --data-dir {d}",
    ],
)
def test_the_data_folder_may_be_named_before_or_after_the_verb(tmp_path: Path, argv: str) -> None:
    handed, *_ = probe(argv.format(d=tmp_path).split())
    assert handed.data_dir == str(tmp_path)


def test_the_index_may_be_named_before_or_after_the_verb(tmp_path: Path) -> None:
    for argv in ("--index {d} inner show", "inner show --index {d}"):
        handed, *_ = probe(argv.format(d=tmp_path).split())
        assert handed.data_dir == str(tmp_path)


def test_the_configuration_reaches_the_verb_and_is_loaded_once(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text("search.default_k = 3")
    handed, again, obj = probe(["inner", "show", "--config", str(file)])
    assert handed.settings.search.default_k == 3
    assert handed is again is obj


def test_a_missing_named_configuration_ends_every_verb_that_needs_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command()
    @shared_options
    @pass_invocation
    def show(handed: Invocation) -> None:
        raise AssertionError("must not be reached")

    group = click.Group(commands={"show": show})
    assert run(group, ["show", "--config", str(tmp_path / "none.toml")]) == 2
    assert f"--config: there is no file {tmp_path}/none.toml" in capsys.readouterr().err
