"""Servers that are killed, frozen, restarted and replaced by their standby, under an open client."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Literal, Protocol

import pytest

from kebab_tui.domain.errors import KebabError
from kebab_tui.domain.hit import SearchResponse
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.query import SearchMode, SearchQuery
from kebab_tui.settings.settings import IndexSettings, Settings
from kebab_tui.storage.ports import CopyProgress
from kebab_tui.storage.postgres.postgres_index import PostgresIndex
from kebab_tui.workspace import Workspace
from tests.command_line import Kebab
from tests.postgres_servers import Server, free_port
from tests.storage.postgres.conftest import Shared, publish, running
from tests.vault import Vault

pytestmark = pytest.mark.slow

DEADLINE_S = 2.0
QUERIES = ("kernel memory", "port conflict", "포트 충돌을 해결하는", "backup")


@pytest.fixture(scope="module")
def cluster(local: Kebab) -> Iterator[list[Server]]:
    """Servers that these tests may harm, with the sample notes."""
    with running(3) as made:
        done = publish(local, [server.url() for server in made])
        assert done.code == 0, done.err
        yield made


class Opener(Protocol):
    def __call__(self, url: str, on_missing: Literal["fail", "partial"] = "fail") -> Workspace: ...


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opener]:
    """Opens workspaces, which are closed at the end."""
    with ExitStack() as stack:

        def opened(url: str, on_missing: Literal["fail", "partial"] = "fail") -> Workspace:
            index = IndexSettings(url=url, on_missing_shard=on_missing, shard_deadline_s=DEADLINE_S)
            return stack.enter_context(closing(Workspace(Settings(index=index), str(tmp_path))))

        yield opened


def answers(workspace: Workspace) -> list[list[tuple[ChunkRow, float]]]:
    found = []
    for text in QUERIES:
        assert isinstance(workspace._parts.index, PostgresIndex)
        workspace._parts.index.forget_answers()
        found.append([(hit.row, hit.score) for hit in workspace.search(SearchQuery(text, "lexical")).hits])
    return found


def searched(workspace: Workspace, text: str = QUERIES[0]) -> SearchResponse:
    assert isinstance(workspace._parts.index, PostgresIndex)
    workspace._parts.index.forget_answers()
    return workspace.search(SearchQuery(text, "lexical"))


def until_equal(workspace: Workspace, expected: list[list[tuple[ChunkRow, float]]]) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            if answers(workspace) == expected:
                return
        except KebabError:
            pass
        assert time.monotonic() < end, "the answers stay different"
        time.sleep(0.1)


def missing(response: SearchResponse) -> list[str]:
    return [notice.text for notice in response.notices if notice.code == "shards_missing"]


def test_a_killed_shard_is_an_error_with_its_name_or_a_partial_answer(
    cluster: list[Server], opened: Opener
) -> None:
    strict, partial = opened(cluster[0].url()), opened(cluster[0].url(), "partial")
    expected = answers(strict)
    assert answers(partial) == expected
    cluster[2].kill()
    try:
        with pytest.raises(KebabError) as error:
            searched(strict)
        assert f"shard 3 of 3 (127.0.0.1:{cluster[2].port}/postgres)" in error.value.message
        response = searched(partial)
        assert missing(response)[0].startswith("2 of 3 shards: ")
        rows = [hit.row for hit in response.hits]
        assert rows and not {row for row, _ in expected[0]}.isdisjoint(rows)
        assert response.hits and searched(partial).total_matches == response.total_matches
    finally:
        cluster[2].start()
    until_equal(strict, expected)
    until_equal(partial, expected)
    assert not missing(searched(partial))


def test_a_frozen_shard_costs_its_deadline_once(cluster: list[Server], opened: Opener) -> None:
    partial, strict = opened(cluster[0].url(), "partial"), opened(cluster[0].url())
    expected = answers(partial)
    cluster[1].freeze()
    try:
        start = time.monotonic()
        response = searched(partial)
        first = time.monotonic() - start
        assert missing(response)[0].startswith("2 of 3 shards: ")
        start = time.monotonic()
        for text in QUERIES:
            assert missing(searched(partial, text))
        assert time.monotonic() - start < DEADLINE_S, "it was waited for again"
        assert first >= DEADLINE_S * 0.9
        with pytest.raises(KebabError) as error:
            searched(strict)
        assert "shard 2 of 3" in error.value.message
    finally:
        cluster[1].thaw()
    until_equal(partial, expected)
    until_equal(strict, expected)


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_server_that_dies_in_the_middle_of_a_search(
    cluster: list[Server], opened: Opener, mode: SearchMode
) -> None:
    """It is frozen first, so that statements are surely on their way to it."""
    strict, partial = opened(cluster[0].url()), opened(cluster[0].url(), "partial")
    query = SearchQuery(QUERIES[0], mode)
    expected = [(hit.row, hit.score) for hit in strict.search(query).hits]
    assert [(hit.row, hit.score) for hit in partial.search(query).hits] == expected
    for workspace in (strict, partial):
        index = workspace._parts.index
        assert isinstance(index, PostgresIndex)
        index.forget_answers()
        before = index.round_trips
        cluster[1].freeze()
        try:
            with ThreadPoolExecutor(1) as beside:
                searching = beside.submit(workspace.search, query)
                while index.round_trips == before:
                    time.sleep(0.001)
                cluster[1].kill()
                if workspace is strict:
                    with pytest.raises(KebabError) as error:
                        searching.result()
                    assert "shard 2 of 3" in error.value.message
                else:
                    response = searching.result()
                    assert response.hits and missing(response)[0].startswith("2 of 3 shards: ")
        finally:
            cluster[1].start()
        end = time.monotonic() + 60
        while True:
            with contextlib.suppress(KebabError):
                index.forget_answers()
                if [(hit.row, hit.score) for hit in workspace.search(query).hits] == expected:
                    break
            assert time.monotonic() < end, "the answers stay different"
            time.sleep(0.1)


def test_a_frozen_shard_costs_a_search_by_both_its_deadline_once(
    cluster: list[Server], opened: Opener
) -> None:
    partial = opened(cluster[0].url(), "partial")
    partial.search(SearchQuery("warm up", "hybrid"))
    cluster[2].freeze()
    try:
        start = time.monotonic()
        response = partial.search(SearchQuery(QUERIES[1], "hybrid"))
        spent = time.monotonic() - start
        assert response.mode == "hybrid" and missing(response)[0].startswith("2 of 3 shards: ")
        assert DEADLINE_S * 0.9 <= spent < 2 * DEADLINE_S, "words and vectors wait at the same time"
    finally:
        cluster[2].thaw()
    until_equal(partial, answers(opened(cluster[0].url())))


def test_a_reader_that_was_idle_for_several_copies_searches_the_present_one(
    cluster: list[Server], opened: Opener, tmp_path: Path
) -> None:
    vault = Vault(tmp_path)
    cluster[0].sql("CREATE DATABASE idle")
    url = cluster[0].url("idle")
    with closing(vault.workspace):
        vault.write("note0.md", "alpha\n")
        vault.ingest()
        vault.workspace.publish(url)
        reader = opened(url)
        assert len(reader.search(SearchQuery("alpha", "lexical")).hits) == 1
        for number in range(1, 4):  # the first copy is dropped
            vault.write(f"note{number}.md", "alpha\n")
            vault.ingest()
            vault.workspace.publish(url)
        assert len(reader.search(SearchQuery("alpha", "lexical")).hits) == 4


def test_a_restart_between_two_searches_is_not_noticed(cluster: list[Server], opened: Opener) -> None:
    strict = opened(cluster[0].url())
    expected = answers(strict)
    cluster[0].kill()
    cluster[0].start()
    assert answers(strict) == expected


def test_a_standby_takes_over(cluster: list[Server], opened: Opener) -> None:
    primary = cluster[0]
    standby = primary.standby(primary.folder.parent / "standby")
    try:
        hosts = f"postgresql://postgres@127.0.0.1:{primary.port},127.0.0.1:{standby.port}/postgres"
        workspace = opened(hosts)
        expected = answers(workspace)
        primary.kill()
        assert answers(workspace) == expected, "the statements were sent again to the standby"
        standby.promote()
        until_equal(workspace, expected)
    finally:
        standby.stop()
        primary.start()


def test_a_server_that_dies_while_a_copy_is_made(
    cluster: list[Server], tmp_path: Path, opened: Opener
) -> None:
    vault = Vault(tmp_path)
    for number in range(300):
        vault.write(f"{number}.md", f"# Note {number}\n\nalpha number{number}\n")
    vault.ingest()
    for server in cluster[:2]:
        server.sql("CREATE DATABASE dying")
    urls = [server.url("dying") for server in cluster[:2]]
    killed = False

    def progress(one: CopyProgress) -> None:
        nonlocal killed
        if one.done > 200 and not killed:
            killed = True
            cluster[1].kill()

    try:
        with pytest.raises(KebabError) as error:
            vault.workspace.publish(urls[0], shards=urls[1:], progress=progress)
        assert f"127.0.0.1:{cluster[1].port}" in error.value.message
    finally:
        cluster[1].start()
    copied = vault.workspace.publish(urls[0], shards=urls[1:])
    assert copied is not None and 128 <= copied.resumed < 256 and copied.notes == 300
    assert searched(opened(urls[0]), "alpha").total_matches == 300
    vault.workspace.close()


def test_a_command_names_the_server_that_does_not_answer(local: Kebab, tmp_path: Path) -> None:
    port = free_port()
    shared = Shared(tmp_path, local.home, f"postgresql://postgres@127.0.0.1:{port}/nothing")
    for argv in (
        ("search", "kernel"),
        ("list",),
        ("find", "kernel"),
        ("source", "list"),
        ("index", "--status"),
    ):
        done = shared(*argv)
        assert done.code == 2, argv
        assert f"127.0.0.1:{port}" in done.err and "Traceback" not in done.err
    assert shared("doctor").code == 3
