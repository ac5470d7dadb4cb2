"""Tests of the screen may be coroutines, each in an event loop of its own; or start it on a terminal."""

from __future__ import annotations

import asyncio
import gc
import inspect
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from kebab_tui.tui.preview.syntax import Lexers
from tests.tui.pty_screen import IDLE_SCREEN, PtyScreen, Start
from tests.tui.screen import SharedScreen


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted}))
    return True


@pytest.fixture(scope="session")
def shared(embedded_place: Path, tmp_path_factory: pytest.TempPathFactory) -> SharedScreen:
    """Screens on the sample vault, for tests that change no note."""
    data = tmp_path_factory.mktemp("shared") / "data"
    return SharedScreen(shutil.copytree(embedded_place / "data", data))


@pytest.fixture(autouse=True, scope="session")
def lexers() -> Lexers:
    """All that the tests' notes need: when colours come is for the tests of just that."""
    found = Lexers()
    for name in ("markdown", "sh", "python", "rust", "sql", "toml", "yaml", "json", "*.py", "*.rs"):
        found.named(name)
    return found


@pytest.fixture(autouse=True, scope="session")
def _collected_seldom() -> Iterator[None]:
    """A quarter of the processor time would be the collector's: a screen is many small objects."""
    usual = gc.get_threshold()
    gc.freeze()  # what has been imported stays
    gc.set_threshold(20_000, 20, 20)
    yield
    gc.set_threshold(*usual)
    gc.unfreeze()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts screens, and ends those that are still there."""
    started: list[PtyScreen] = []

    def begin(*argv: str | Path, **how: object) -> PtyScreen:
        started.append(PtyScreen(*map(str, argv), home=tmp_path, **how))  # type: ignore[arg-type]
        return started[-1]

    yield begin
    for screen in started:
        screen.close()


@pytest.fixture
def idle(start: Start) -> Start:
    """The same that search by words and index nothing, for tests that are about something else."""
    return partial(start, "--mode", "lexical", program=IDLE_SCREEN)


@pytest.fixture
def data(embedded_place: Path, tmp_path: Path) -> Path:
    """An index of the sample vault that a test may change."""
    return shutil.copytree(embedded_place / "data", tmp_path / "data")
