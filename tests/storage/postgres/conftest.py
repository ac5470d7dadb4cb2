"""Three real servers for each worker, started by the first test that asks, with the sample notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kebab_tui.search.ports import FieldWeights
from kebab_tui.storage.ports import Index
from kebab_tui.storage.postgres.postgres_index import PostgresIndex
from tests.command_line import Done, Kebab
from tests.postgres_servers import Server, folder_of_servers, missing


@dataclass(frozen=True)
class Shared(Kebab):
    """Runs commands on a shared index."""

    url: str = ""
    variables: dict[str, str] = field(default_factory=dict)

    def __call__(self, *argv: str, **variables: str) -> Done:
        return super().__call__("--index", self.url, *argv, **self.variables, **variables)


@dataclass
class Servers:
    """Several servers; a published index takes a database of its own on each."""

    all: list[Server]
    used: int = 0

    def database(self, count: int = 1) -> list[str]:
        """The URLs of a new, empty database on the first servers."""
        self.used += 1
        name = f"kebab{self.used}"
        for server in self.all[:count]:
            server.sql(f"CREATE DATABASE {name}")
        return [server.url(name) for server in self.all[:count]]


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    with running(3) as started:
        yield Servers(started)


@contextmanager
def running(count: int) -> Iterator[list[Server]]:
    """New servers."""
    if reason := missing():
        pytest.skip(reason)
    with folder_of_servers() as folder:
        made = [Server.create(folder / "server1")]
        for number in range(2, count + 1):
            made.append(made[0].copied(folder / f"server{number}"))
        try:
            for server in made:
                server.start()
            yield made
        finally:
            for server in made:
                server.stop()


def publish(kebab: Kebab, urls: list[str], *argv: str) -> Done:
    shards = [word for url in urls[1:] for word in ("--shards", url)]
    return kebab("index", "--copy-to", urls[0], *shards, *argv)


@pytest.fixture(scope="session")
def local(embedded_place: Path, tmp_path_factory: pytest.TempPathFactory) -> Kebab:
    """The sample notes in SQLite, with vectors. Only for reading."""
    return Kebab(embedded_place / "data", tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session", params=[1, 3], ids=["1 server", "3 servers"])
def shared(
    servers: Servers, local: Kebab, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Shared:
    """The same on one server, and on three."""
    urls = servers.database(request.param)
    done = publish(local, urls)
    assert done.code == 0, done.err
    return Shared(tmp_path_factory.mktemp("data"), local.home, urls[0])


FACTORY: Callable[[str, str, FieldWeights], Index] = PostgresIndex
"""For mypy: it has every method of the ports."""
