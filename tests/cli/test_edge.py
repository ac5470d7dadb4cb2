"""How a run ends: codes, messages, streams. The verbs here are stand-ins; the processes are real."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from kebab_tui.cli.edge import explain, run, wants_json
from kebab_tui.domain.errors import ConfigError, StoreBusyError

pytestmark = pytest.mark.slow

VERBS = """
import errno, os, signal, sys, time
import click
from kebab_tui.cli.edge import pass_invocation; from kebab_tui.cli.edge import shared_options
from kebab_tui.cli.edge import run
from kebab_tui.domain.errors import NotFoundError

@click.group()
@shared_options
def group(): pass

@group.command()
@shared_options
@pass_invocation
def crash(invocation): raise ZeroDivisionError("one\\ntwo \\x1b[2J\\x9b")

@group.command()
def found(): return 1

@group.command()
def missing(): raise NotFoundError("no note 'a\\x1b[2Jb'", "`kebab list` shows them")

@group.command()
def many():
    for number in range(100_000): print(number)

@group.command()
@click.argument("name")
def show(name): print(name, "\\ucda9\\ub3cc \\ud800")

@group.command()
def wait():
    print("ready", flush=True)
    while True:
        time.sleep(0.05)  # a signal just before `signal.pause` would be slept through

sys.exit(run(group, sys.argv[1:]))
"""


def environment(folder: Path) -> dict[str, str]:
    root = str(Path(__file__).parents[2])
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": root}


def kebab(
    folder: Path,
    *argv: str | bytes,
    stdout: int = subprocess.PIPE,
    variables: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", VERBS, *argv],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environment(folder) | (variables or {}),
        timeout=60,
        check=False,
    )


# exit codes and messages


def test_what_a_verb_returns_is_the_exit_code(tmp_path: Path) -> None:
    assert kebab(tmp_path, "found").returncode == 1


def test_an_error_is_one_message_one_hint_and_the_errors_own_code(tmp_path: Path) -> None:
    done = kebab(tmp_path, "missing")
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.decode() == "error: no note 'a␛[2Jb'\n  hint: `kebab list` shows them\n"


def test_asked_for_json_the_error_is_json_even_when_the_words_cannot_be_parsed(tmp_path: Path) -> None:
    done = kebab(tmp_path, "missing", "--json")
    told = json.loads(done.stderr)
    assert done.returncode == 2
    assert told["schema_version"] == "error.v1"
    assert told["code"] == "invalid_input"
    assert "--json" in told["message"]
    assert told["hint"]


@pytest.mark.parametrize(
    ("argv", "json_asked"),
    [
        (["search", "x"], False),
        (["search", "x", "--json"], True),
        (["search", "--format", "json", "x"], True),
        (["search", "--format=jsonl", "x"], True),
        (["search", "--format", "human", "x"], False),
        (["search", "--", "--json"], False),
        (["search", "--format"], False),
        ([], False),
    ],
)
def test_json_is_recognised_from_the_words(argv: list[str], json_asked: bool) -> None:
    assert wants_json(argv) is json_asked


def test_a_usage_error_names_the_help_of_its_own_verb(capsys: pytest.CaptureFixture[str]) -> None:
    @click.group()
    def group() -> None: ...

    @group.command()
    @click.option("--k", type=int)
    def search(k: int) -> None: ...

    assert run(group, ["search", "--k", "x"]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("error: Invalid value for '--k'")
    assert "hint: see `kebab search --help`" in shown


def test_a_bare_group_shows_its_help_and_counts_as_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    @click.group()
    def group() -> None:
        """Notes."""

    assert run(group, []) == 2
    assert "Notes." in capsys.readouterr().err


def test_each_foreseen_exception_has_its_code() -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    told = [
        explain(error) for error in (StoreBusyError("m", "h"), ConfigError("m"), KeyboardInterrupt(), full)
    ]
    assert [(f.code, f.exit_code) for f in told if f] == [
        ("store_busy", 2),
        ("config_invalid", 2),
        ("interrupted", 130),
        ("disk_full", 2),
    ]
    assert explain(ZeroDivisionError()) is None


# defects


def test_a_defect_is_one_line_and_its_traceback_a_file_in_the_data_folder(tmp_path: Path) -> None:
    data = tmp_path / "data"
    done = kebab(tmp_path, "crash", "--data-dir", str(data))
    assert done.returncode == 2
    assert done.stderr.decode().splitlines() == [
        "error: internal error: ZeroDivisionError: one",
        f"  hint: see the traceback in {data}/crash.log",
    ]
    log = (data / "crash.log").read_text()
    assert "Traceback" in log and "two ␛[2J\ufffd" in log


def test_a_defect_shows_its_traceback_when_debugging(tmp_path: Path) -> None:
    shown = kebab(tmp_path, "crash", variables={"KEBAB_DEBUG": "1"}).stderr.decode()
    assert "Traceback" in shown and "two ␛[2J\ufffd" in shown


def test_an_internal_error_without_a_log_gives_the_debug_variable(tmp_path: Path) -> None:
    (tmp_path / "data" / "crash.log").mkdir(parents=True)
    done = kebab(tmp_path, "crash", "--data-dir", str(tmp_path / "data"))
    assert done.returncode == 2
    assert b"KEBAB_DEBUG=1" in done.stderr
    assert b"Traceback" not in done.stderr


# signals, pipes and full disks


def test_ctrl_c_ends_with_130_and_one_short_line(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", VERBS, "wait"]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(tmp_path),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    ) as process:  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        try:
            _, told = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, told) == (130, b"interrupted\n")


def test_a_reader_that_goes_away_ends_the_run_quietly(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", VERBS, "many"]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(tmp_path)
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        process.wait(timeout=60)
    assert process.returncode == 141


def test_a_reader_that_never_was_is_met_quietly_at_the_last_flush(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = kebab(tmp_path, "show", "note", stdout=write)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("verb", ["show x", "many"])
def test_a_full_disk_behind_stdout_is_reported(tmp_path: Path, verb: str) -> None:
    with open("/dev/full", "wb") as full:
        done = kebab(tmp_path, *verb.split(), stdout=full.fileno())
    assert done.returncode == 2
    assert done.stderr.decode().splitlines()[0] == "error: no space left on the device"
    assert b"Exception ignored" not in done.stderr


# text that no locale can spoil


@pytest.mark.parametrize(
    "locale",
    [
        {"LC_ALL": "C.UTF-8"},
        {"LANG": "C"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "ascii"},
    ],
)
def test_a_file_name_leaves_as_the_bytes_on_disk_in_any_locale(
    tmp_path: Path, locale: dict[str, str]
) -> None:
    name = "노트".encode() + b"\xff.md"
    done = kebab(tmp_path, "show", name, variables=locale)
    assert done.returncode == 0, done.stderr
    assert done.stdout == name + " 충돌 \\ud800\n".encode()


def test_an_encoding_without_hangul_spells_it_out(tmp_path: Path) -> None:
    done = kebab(tmp_path, "show", b"\xff", variables={"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "1"})
    assert done.stdout == b"\xff \\ucda9\\ub3cc \\ud800\n"
