"""What several folders of tests share: the sample vault, indexed once for each worker."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Callbacks, Workspace
from tests.command_line import Kebab
from tests.warm_model import use_cold_model, use_warm_model

REPOSITORY = Path(__file__).parent.parent
SAMPLE_NOTES = REPOSITORY / "fixtures" / "notes"

# On a busy machine an example may take any time: that says nothing about the code.
# `pytest --hypothesis-profile=thorough` tries twenty times as many examples.
settings.register_profile(
    "kebab", parent=settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", parent=settings.get_profile("kebab"), max_examples=2_000)
settings.load_profile("kebab")


_tests_ended = count(1)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Close the indexes of ended tests, which cycles of objects keep open: a process may open 1,024 files."""
    if next(_tests_ended) % 100 == 0:
        gc.collect()


_MODEL = {"embedded_place", "real_card"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that ask the bundled model are slow: it takes seconds until there are vectors to ask for."""
    for item in items:
        if isinstance(item, pytest.Function) and not _MODEL.isdisjoint(item.fixturenames):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _nobodys_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sees the configuration or the index of whoever runs it."""
    for name in list(os.environ):
        if name.startswith("KEBAB_") and name != "KEBAB_CORPUS":
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "no-data"))


@pytest.fixture(scope="session", autouse=True)
def warm_model() -> Iterator[None]:
    """See `tests.warm_model`; tests of the opening itself use `cold_model`."""
    with pytest.MonkeyPatch.context() as patched:
        use_warm_model(patched)
        yield


@pytest.fixture
def cold_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command and every workspace opens and probes its model itself, as in the product."""
    use_cold_model(monkeypatch)


@pytest.fixture(scope="session")
def sample_notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sample vault that nobody may change."""
    folder = tmp_path_factory.mktemp("vault") / "notes"
    shutil.copytree(SAMPLE_NOTES, folder)
    return folder


@pytest.fixture(scope="session")
def sample(sample_notes: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """The sample vault, indexed. Only for reading."""
    workspace = Workspace(Settings(), str(tmp_path_factory.mktemp("index")))
    workspace.ingest([str(sample_notes)], Callbacks())
    yield workspace
    workspace.close()


@pytest.fixture(scope="session")
def embedded_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`notes` and `data`: the sample vault with the bundled model's vectors, made by the first worker."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    place = shared / "embedded"
    with open(shared / "embedded.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "data").exists():
            _embed_sample(place)
    return place


def _embed_sample(place: Path) -> None:
    shutil.copytree(SAMPLE_NOTES, place / "notes")
    workspace = Workspace(Settings(), str(place / "making"))
    workspace.ingest([str(place / "notes")], Callbacks())
    workspace.embed(Callbacks())
    workspace.close()
    os.rename(place / "making", place / "data")  # whole or not there


@pytest.fixture(scope="session")
def embedded_sample(embedded_place: Path) -> Iterator[Workspace]:
    """The sample vault with the bundled model's vectors. Only for reading."""
    workspace = Workspace(Settings(), str(embedded_place / "data"))
    yield workspace
    workspace.close()


@pytest.fixture(scope="session")
def embedded(embedded_place: Path, tmp_path_factory: pytest.TempPathFactory) -> Kebab:
    """The same on the command line. Only for tests that change nothing."""
    return Kebab(embedded_place / "data", tmp_path_factory.mktemp("home"))
