"""ctrl+c at the places where Python, or SQLite, would lose it."""

from __future__ import annotations

import gc
import os
import runpy
import signal
import sqlite3
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from unittest import mock

import click
import pytest

from kebab_tui import cli
from kebab_tui.cli import interrupt
from kebab_tui.cli.edge import run
from kebab_tui.cli.interrupt import CtrlC, Interrupt
from kebab_tui.storage.sqlite import connection
from kebab_tui.storage.sqlite.recovery import full_text_error
from tests.command_line import Kebab


@pytest.fixture(autouse=True)
def term_is_survived() -> Iterator[None]:
    """One that the run does not handle must not end the tests."""
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    yield
    signal.signal(signal.SIGTERM, before)


GOLDEN = "- {id: port, query: listeners, lang: en, probes: stem, expect: [{note: port.md}]}\n"


def press(number: int = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


def test_ctrl_c_within_a_statement_is_no_error_of_the_index(
    kebab: Kebab, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kebab("ingest", str(notes))
    with monkeypatch.context() as patched:
        patched.setattr(connection, "indexed_grams", lambda *_: press())
        done = kebab("index", "--rebuild-fts")
    assert (done.code, done.err) == (130, "interrupted\n")
    assert kebab("search", "--mode", "lexical", "listeners").code == 0
    assert kebab("index", "--rebuild-fts").code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_evaluation_that_is_stopped_while_it_saves_leaves_no_file(
    kebab: Kebab, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    golden = tmp_path / "golden.yaml"
    golden.write_text(GOLDEN)
    runs = tmp_path / "runs"
    runs.mkdir()
    kebab("ingest", str(notes))
    left: list[Path] = []

    def stop_here(*_: object) -> None:
        left.extend(runs.iterdir())
        press(number)

    with monkeypatch.context() as patched:
        patched.setattr("os.replace", stop_here)
        done = kebab("eval", str(golden), "--modes", "lexical", "--save", str(runs / "run.json"))
    assert len(left) == 1
    assert done.code == 130, done.err
    assert done.err.endswith("interrupted\n")
    assert list(runs.iterdir()) == []


def test_a_verb_that_never_heard_of_ctrl_c_has_not_ended_well() -> None:
    @click.command()
    def verb() -> int:
        with suppress(KeyboardInterrupt):  # as SQLite may do
            press()
        return 0

    assert run(click.Group(commands={"verb": verb}), ["verb"]) == 130


def test_ctrl_c_while_the_full_text_is_checked_does_not_count_as_damage() -> None:
    interrupted = sqlite3.OperationalError("interrupted")
    interrupted.sqlite_errorcode = sqlite3.SQLITE_INTERRUPT
    database = mock.Mock(execute=mock.Mock(side_effect=interrupted))
    with pytest.raises(KeyboardInterrupt):
        full_text_error(database)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_run_knows_of_the_second_one_too(number: int) -> None:
    with CtrlC() as run, Interrupt() as asking:
        asking.work_began()
        press(number)
        assert not run.pressed
        with pytest.raises(KeyboardInterrupt):
            press(number)
        assert run.pressed


class Thing:
    pass


def test_ctrl_c_within_a_callback_of_the_collector_comes_again(capfd: pytest.CaptureFixture[str]) -> None:
    def lose_it() -> None:
        thing = Thing()
        _ = weakref.ref(thing, lambda _: press())
        del thing
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            time.sleep(0.001)

    with CtrlC(), pytest.raises(KeyboardInterrupt):
        lose_it()
    assert capfd.readouterr() == ("", "")


def test_ctrl_c_within_the_hook_that_raises_it_again_is_not_lost_either(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    again: list[int] = []

    def press_again() -> None:
        again.append(1)
        if len(again) == 1:
            press()

    monkeypatch.setattr(interrupt, "_press_again", press_again)
    with CtrlC():
        thing = Thing()
        _ = weakref.ref(thing, lambda _: press())
        del thing
    assert len(again) == 2
    assert capfd.readouterr() == ("", "")


class Loading(ModuleType):
    """A module whose loading is interrupted."""

    def __init__(self, error: BaseException) -> None:
        super().__init__("kebab_tui.cli.edge")
        self._error = error

    def __getattr__(self, name: str) -> object:
        raise self._error if name == "run" else AttributeError(name)


@pytest.mark.parametrize("wrapped", [False, True])
def test_ctrl_c_while_the_program_is_loaded_is_no_crash(
    monkeypatch: pytest.MonkeyPatch, wrapped: bool
) -> None:
    error: BaseException = KeyboardInterrupt()
    if wrapped:  # as Python does for one that meets the body of a class
        error = RuntimeError("Error calling __set_name__")
        error.__cause__ = KeyboardInterrupt()
    left: list[int] = []
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.setattr(gc, "set_threshold", lambda _: None)
    monkeypatch.setattr(os, "_exit", left.append)
    monkeypatch.setitem(sys.modules, "kebab_tui.cli.edge", Loading(error))
    runpy.run_path(str(cli.__file__))["main"]()  # the package's `main` is the module of that name by now
    assert left == [130]


def test_other_errors_in_a_callback_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: told.append(lost.exc_type))
    with CtrlC():
        thing = Thing()
        _ = weakref.ref(thing, lambda _: 1 / 0)
        del thing
    assert told == [ZeroDivisionError]


def test_afterwards_all_is_as_it_was() -> None:
    hook = sys.unraisablehook
    with CtrlC() as outer:
        assert signal.getsignal(signal.SIGINT) is outer
        with Interrupt():
            assert signal.getsignal(signal.SIGINT) is not outer
        assert signal.getsignal(signal.SIGINT) is outer
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert sys.unraisablehook is hook


def test_a_run_in_the_background_goes_on_ignoring_it() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with CtrlC() as pressed, Interrupt() as stop:
        press()
        stop.work_began()
        press()
        assert not stop.asked()
        press(signal.SIGTERM)
        assert stop.asked()
    assert not pressed.pressed
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
