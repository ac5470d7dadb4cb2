"""What an index of a million passages costs on three PostgreSQL servers, and which queries are heavy there.

    python -m tests.benchmarks.bench_shards_million DATA [--pause]

DATA: a data folder of `python -m tests.benchmarks.million`, which is copied before use. Starts three servers
on this machine, publishes the index to them, with HNSW, and removes all of it at the end; --pause waits for
Enter before that. Prints processor time and space of a passage; then of the queries that take longest the
time and the plan's costliest nodes on the first server. Every answer is compared with the local index.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from kebab_tui.domain.query import SearchMode, SearchQuery
from kebab_tui.settings.settings import IndexSettings, Settings
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.postgres.cluster import Cluster, Statement, connect
from kebab_tui.storage.postgres.postgres_index import PostgresIndex
from kebab_tui.storage.postgres.publish import _Publication
from kebab_tui.storage.sqlite.connection import open_reader
from kebab_tui.workspace import Workspace
from tests.benchmarks.measuring import Figure, machine, percentile, report
from tests.postgres_servers import Server, folder_of_servers, missing

SHARDS = 3
NEEDED_GB = 30
HEAVIEST = 20
_EACH = 8
"""Queries of each form."""
_CONFIG = "shared_buffers = 512MB\nmaintenance_work_mem = 1GB\nmax_wal_size = 1GB"
_DEADLINE_S = 120.0
_PAIR = 2


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("data", type=Path)
    parser.add_argument("--pause", action="store_true")
    given = parser.parse_args()
    if reason := missing():
        print(reason, file=sys.stderr)
        return 2
    if (free := shutil.disk_usage(tempfile.gettempdir()).free / 1e9) < NEEDED_GB:
        print(f"{tempfile.gettempdir()}: {free:.1f} GB free, {NEEDED_GB} GB needed", file=sys.stderr)
        return 2
    print(machine(), flush=True)
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kebab-bench-")))
        shutil.copytree(given.data, place / "data")
        folder = stack.enter_context(folder_of_servers())
        servers = []
        for number in range(SHARDS):
            server = Server.create(folder / f"server{number}")
            server.configure(_CONFIG)
            stack.callback(server.stop)
            servers.append(server.start())
        local = stack.enter_context(closing(Workspace(Settings(), str(place / "data"))))
        publish(local, servers)
        index = IndexSettings(url=servers[0].url(), shard_deadline_s=_DEADLINE_S)
        shared = stack.enter_context(closing(Workspace(Settings(index=index), str(place / "reader"))))
        search(local, shared, queries_of(str(place / "data")))
        print(machine())
        if given.pause:
            input(f"{servers[0].url()}: press Enter to remove it")
    return 0


def publish(local: Workspace, servers: Sequence[Server]) -> None:
    moments: list[tuple[float, float, float]] = []

    def mark() -> None:
        moments.append((time.perf_counter(), time.process_time(), sum(map(processor_s, servers))))

    def marked(name: str) -> Any:
        method: Callable[..., Any] = getattr(_Publication, name)

        def run(self: _Publication, *given: Any) -> Any:
            mark()
            return method(self, *given)

        return patch.object(_Publication, name, run)

    with marked("_load"), marked("_complete"), marked("_gather_words"), marked("_switch"):
        mark()
        copied = local.publish(servers[0].url(), shards=[one.url() for one in servers[1:]], hnsw=True)
        mark()
    assert copied is not None and len(moments) == 6
    names = ("private notes", "loading", "indexes and checks", "HNSW, rights, vacuum")
    figures = [
        Figure(f"{name}: by the clock", after[0] - before[0], "s")
        for name, before, after in zip(names, moments, moments[1:], strict=False)
    ]
    (wall, client, served), (_, client_end, served_end) = moments[0], moments[-1]
    hnsw = moments[4][2] - moments[3][2]
    both = client_end - client + served_end - served
    number = copied.passages
    ms = 1000 / number
    figures += [
        Figure("passages a second, by the clock", number / (moments[-1][0] - wall), ""),
        Figure("processor time a passage, this process", ms * (client_end - client), "ms"),
        Figure("processor time a passage, servers without HNSW", ms * (served_end - served - hnsw), "ms"),
        Figure("processor time a passage, HNSW and vacuum", ms * hnsw, "ms"),
        Figure("processor time a passage, all but HNSW", ms * (both - hnsw), "ms", 1.0),
    ]
    report(f"{len(servers)} servers, HNSW: {number:,} passages", figures)
    sizes: dict[str, int] = {}
    for server in servers:
        for name, size in server.sql(_SIZES):
            sizes[str(name)] = sizes.get(str(name), 0) + int(str(size))
    largest = sorted(sizes.items(), key=lambda one: -one[1])
    figures = [Figure("KB a passage, all", sum(sizes.values()) / number / 1024, "KB", 12)]
    figures += [Figure(f"  {name}", size / number / 1024, "KB") for name, size in largest[:10]]
    report("space", figures)


_SIZES = """
SELECT c.relname, pg_relation_size(c.oid) + coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'kebab_1' AND c.relkind IN ('r', 'i')
"""


def processor_s(server: Server) -> float:
    """Processor time of a server, also of its processes that have ended."""
    total = 0
    for number, pid in enumerate(server.pids):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11 : 13 if number else 15]))
    return total / os.sysconf("SC_CLK_TCK")


def queries_of(data: str) -> list[str]:
    """Queries of each form, of common words, of words in the middle, and of words as they stand in a text."""
    dice = random.Random(3)
    with closing(open_reader(DataFolder(data).database)) as database:
        ordered = [
            word for (word,) in database.execute("SELECT word FROM words ORDER BY seen DESC LIMIT 20000")
        ]
        last = database.execute("SELECT max(id) FROM chunks").fetchone()[0]
        texts: list[list[str]] = []
        while len(texts) < 8 * _EACH:
            found = database.execute(
                "SELECT text FROM chunks WHERE id = ?", (dice.randint(1, last),)
            ).fetchone()
            words = [word for word in (found[0] if found else "").split() if word.isalnum()]
            if len(words) > 12:
                start = dice.randrange(len(words) - 8)
                texts.append(words[start : start + 8])
    common, middle = ordered[:60], ordered[200:5000]
    part = iter(texts)
    forms: list[Callable[[], str]] = [
        lambda: dice.choice(common),
        lambda: " ".join(dice.sample(common, 2)),
        lambda: " ".join(dice.sample(common, 4)),
        lambda: " ".join(dice.sample(middle, 2)),
        lambda: f"{dice.choice(common)} {dice.choice(middle)}",
        lambda: " ".join(next(part)[:3]),
        lambda: " ".join(next(part)),
        lambda: f'"{" ".join(next(part)[:2])}"',
        lambda: f'"{" ".join(dice.choice(texts)[:3])}" {dice.choice(middle)}',
        lambda: f"{dice.choice(common)[:2]}*",
        lambda: f"{dice.choice(middle)[:3]}* {dice.choice(common)}",
        lambda: f"{dice.choice(middle)} OR {dice.choice(common)}",
        lambda: f"{dice.choice(common)} ({dice.choice(middle)} OR {dice.choice(middle)})",
        lambda: f"{dice.choice(common)} -{dice.choice(common)}",
        lambda: f"{dice.choice(middle)} path:copy-1/**",
        lambda: f"{dice.choice(common)} path:*api* kind:code",
        lambda: f"{dice.choice(middle)} title:{dice.choice(common)}",
        lambda: f"heading:{dice.choice(common)} {dice.choice(middle)}",
        lambda: f"{dice.choice(common)} after:2020",
    ]
    return [form() for form in forms for _ in range(_EACH)]


@dataclass(frozen=True, slots=True)
class Asked:
    text: str
    theirs: float
    ours: float
    same: bool
    statements: Sequence[str]


def search(local: Workspace, shared: Workspace, texts: Sequence[str]) -> None:
    index = shared._parts.index
    assert isinstance(index, PostgresIndex)
    shared.search(SearchQuery("warm up", "hybrid"))
    local.search(SearchQuery("warm up", "lexical"))
    asked = [_ask(local, shared, index, text) for text in texts]
    hybrid = [_seconds(shared, index, text, "hybrid") for text in texts[:: _EACH // _PAIR]]
    theirs, ours = [one.theirs for one in asked], [one.ours for one in asked]
    figures = [
        Figure("p50", 1000 * percentile(theirs, 0.5), "ms"),
        Figure("p95", 1000 * percentile(theirs, 0.95), "ms"),
        Figure("p50 of the local index", 1000 * percentile(ours, 0.5), "ms"),
        Figure("p95 of the local index", 1000 * percentile(ours, 0.95), "ms"),
        Figure("answers that differ", sum(not one.same for one in asked), ""),
        Figure(f"{len(hybrid)} of them hybrid, p50", 1000 * percentile(hybrid, 0.5), "ms"),
        Figure(f"{len(hybrid)} of them hybrid, p95", 1000 * percentile(hybrid, 0.95), "ms"),
    ]
    report(f"{len(asked)} queries by words", figures)
    print(
        f"the {HEAVIEST} that took longest: ms, ms of the local index, query, costliest nodes of one server"
    )
    for one in sorted(asked, key=lambda one: -one.theirs)[:HEAVIEST]:
        print(f"  {1000 * one.theirs:7.0f} {1000 * one.ours:7.0f}  {one.text}")
        print(f"{'':18}{_plan(index, one.statements)}", flush=True)


def _seconds(workspace: Workspace, index: PostgresIndex, text: str, mode: SearchMode) -> float:
    index.forget_answers()
    start = time.perf_counter()
    workspace.search(SearchQuery(text, mode))
    return time.perf_counter() - start


def _ask(local: Workspace, shared: Workspace, index: PostgresIndex, text: str) -> Asked:
    query = SearchQuery(text, "lexical")
    start = time.perf_counter()
    expected = local.search(query)
    ours = time.perf_counter() - start
    index.forget_answers()
    statements: list[str] = []
    begin = Cluster.begin

    def recorded(self: Cluster, sent: Sequence[Statement], *given: Any, **options: Any) -> Any:
        statements.extend(one.sql for one in sent)
        return begin(self, sent, *given, **options)

    with patch.object(Cluster, "begin", recorded):
        start = time.perf_counter()
        found = shared.search(query)
        theirs = time.perf_counter() - start
    hits = [[(hit.row, hit.score) for hit in response.hits] for response in (expected, found)]
    return Asked(text, theirs, ours, hits[0] == hits[1], statements)


def _plan(index: PostgresIndex, statements: Sequence[str]) -> str:
    """The costliest statement on the first server: its time, and the nodes that took most of it."""
    copy, cluster = index._fleet.copy, index._cluster
    assert copy is not None
    worst: tuple[float, dict[str, Any]] | None = None
    with connect(cluster.nodes[0].parameters, _DEADLINE_S, settings="-c jit=off -c join_collapse_limit=4 "
                 "-c max_parallel_workers_per_gather=0") as connection:  # fmt: skip
        connection.execute(f"SET search_path = {copy.path}".encode())
        for statement in dict.fromkeys(statements):
            row = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}".encode()).fetchone()
            assert row is not None
            plan = row[0][0]["Plan"]
            if worst is None or plan["Actual Total Time"] > worst[0]:
                worst = plan["Actual Total Time"], plan
    assert worst is not None
    nodes = sorted(_nodes(worst[1]), key=lambda one: -one[0])[:3]
    return f"{worst[0]:.0f} ms: " + "; ".join(f"{name} {spent:.0f} ms" for spent, name in nodes)


def _nodes(plan: dict[str, Any]) -> Iterator[tuple[float, str]]:
    """Each node with its own milliseconds."""
    children = plan.get("Plans", [])
    spent = plan["Actual Total Time"] * plan["Actual Loops"]
    own = spent - sum(one["Actual Total Time"] * one["Actual Loops"] for one in children)
    rows = plan["Actual Rows"] * plan["Actual Loops"]
    yield (
        own,
        f"{plan['Node Type']}{' ' + plan['Relation Name'] if 'Relation Name' in plan else ''} ({rows:,.0f})",
    )
    for one in children:
        yield from _nodes(one)


if __name__ == "__main__":
    raise SystemExit(main())
