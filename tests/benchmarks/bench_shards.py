"""How an index in PostgreSQL compares with the local one it was copied from, both asked in turn in one run.

    python -m tests.benchmarks.bench_shards DATA [--searches N] [--hnsw]

DATA: a data folder with 100,000 passages or more, and their vectors. It is copied to one server, then to
three,
which are started on this machine; every answer is compared. Prints what the copy costs in time and space, the
latency of each mode as a ratio, and the trips of a search; with --hnsw also the recall of an approximate
search.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np

from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.query import SearchMode, SearchQuery
from kebab_tui.search.ports import Among
from kebab_tui.settings.settings import IndexSettings, Settings
from kebab_tui.storage.postgres.postgres_index import PostgresIndex
from kebab_tui.workspace import Workspace
from tests.benchmarks.bench_searching import noisy
from tests.benchmarks.measuring import Figure, machine, percentile, report
from tests.postgres_servers import Server, folder_of_servers, missing

GOALS: dict[tuple[int, str], float] = {
    (1, "lexical"): 3,
    (3, "lexical"): 5,
    (1, "hybrid"): 9,
    (3, "hybrid"): 9,
}
HNSW_GOAL = 4.0
LEAST_RECALL = 0.985
TOP = 10


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", metavar="DATA")
    parser.add_argument("--searches", type=int, default=60)
    parser.add_argument("--hnsw", action="store_true")
    given = parser.parse_args()
    if reason := missing():
        print(reason, file=sys.stderr)
        return 2
    print(machine())
    local = Workspace(Settings(), given.data)
    texts = queries_of(local, given.searches)
    with ExitStack() as stack:
        folder = stack.enter_context(folder_of_servers())
        place = stack.enter_context(tempfile.TemporaryDirectory(prefix="kebab-bench-"))
        servers = []
        for number in range(3):
            server = Server.create(folder / f"server{number}")
            server.configure("shared_buffers = 512MB\nmaintenance_work_mem = 512MB\nmax_wal_size = 8GB")
            stack.callback(server.stop)
            servers.append(server.start())
        for count in (1, 3):
            compare(local, servers[:count], f"of{count}", texts, place, hnsw=False)
        if given.hnsw:
            compare(local, servers[:1], "hnsw", texts, place, hnsw=True)
    local.close()
    return 0


def queries_of(local: Workspace, count: int) -> list[str]:
    """One to four neighbouring words of passages, as somebody would remember them."""
    dice = random.Random(1)
    found: list[str] = []
    with local._parts.index.reader.snapshot() as snapshot:
        chunks = snapshot.collection().chunks
        while len(found) < count:
            rows = list(range(*sorted(dice.sample(range(1, chunks), 2))))[:1]
            passages = snapshot.hydrate(rows)  # type: ignore[arg-type]
            words = [word for one in passages.values() for word in one.chunk.text.replace("'", " ").split()]
            size = 1 + len(found) % 4
            if len(words) > size + 8:
                start = dice.randrange(len(words) - size)
                found.append(" ".join(words[start : start + size]))
    return found


def compare(
    local: Workspace, servers: Sequence[Server], name: str, texts: Sequence[str], place: str, *, hnsw: bool
) -> None:
    for server in servers:
        server.sql(f"CREATE DATABASE {name}")
    urls = [server.url(name) for server in servers]
    used = time.process_time()
    copied = local.publish(urls[0], shards=urls[1:], hnsw=hnsw)
    assert copied is not None
    used = time.process_time() - used
    shared = Workspace(Settings(index=IndexSettings(url=urls[0], shard_deadline_s=60)), place)
    index = shared._parts.index
    assert isinstance(index, PostgresIndex)
    size = index.size()
    title = f"{len(servers)} server{'s' * (len(servers) > 1)}{', HNSW' * hnsw}: {copied.passages:,} passages"
    figures = [
        Figure("passages copied a second, wall", copied.passages / copied.seconds, ""),
        Figure("passages copied a second of this process's CPU", copied.passages / used, ""),
        Figure("KB a passage on the servers", size / copied.passages / 1024, "KB", 12),
    ]
    modes: tuple[SearchMode, ...] = ("hybrid",) if hnsw else ("lexical", "hybrid")
    for mode in modes:
        figures += latencies(
            local, shared, index, texts, mode, HNSW_GOAL if hnsw else GOALS[len(servers), mode]
        )
    if hnsw:
        found = recall(local, shared, texts)
        figures += [
            Figure(
                "1 - recall@10 of texts of similar meaning as a passage", 1 - found[0], "", 1 - LEAST_RECALL
            ),
            Figure("recall@10, questions", found[1], ""),
        ]
    report(title, figures)
    shared.close()


def latencies(
    local: Workspace,
    shared: Workspace,
    index: PostgresIndex,
    texts: Sequence[str],
    mode: SearchMode,
    goal: float,
) -> list[Figure]:
    ours, theirs, trips, beside, different = [], [], [], [], 0
    for workspace in (local, shared):
        workspace.search(SearchQuery("warm up", mode))
    for text in texts:
        query = SearchQuery(text, mode)
        index.forget_answers()
        start = time.perf_counter()
        expected = local.search(query)
        ours.append(time.perf_counter() - start)
        before = index.round_trips, index.round_trips_beside
        start = time.perf_counter()
        found = shared.search(query)
        theirs.append(time.perf_counter() - start)
        trips.append(index.round_trips - before[0])
        beside.append(index.round_trips_beside - before[1])
        different += [(hit.row, hit.score) for hit in found.hits] != [
            (hit.row, hit.score) for hit in expected.hits
        ]
    p50, p95 = (percentile(theirs, share) / percentile(ours, share) for share in (0.5, 0.95))
    return [
        Figure(f"{mode}: p50 to local ({1000 * percentile(ours, 0.5):.0f} ms)", p50, "x", goal),
        Figure(f"{mode}: p95 to local ({1000 * percentile(ours, 0.95):.0f} ms)", p95, "x"),
        Figure(f"{mode}: exchanges, p50", percentile(trips, 0.5), ""),
        Figure(f"{mode}: exchanges, most", max(trips), "", 4),
        Figure(f"{mode}: exchanges beside the first ones, most", max(beside), ""),
        Figure(f"{mode}: answers that differ, of {len(texts)}", different, ""),
    ]


def recall(local: Workspace, shared: Workspace, texts: Sequence[str]) -> tuple[float, float]:
    """The share of the nearest passages, found exactly, that an approximate search finds.

    First of noisy copies of vectors, as in `bench_searching`; then of questions. The corpus has a hundred
    noisy copies of each real vector, and a question is about as near to all of them.
    """
    parts = local._parts
    exact, approximate = (one._parts.semantics.vectors().searched for one in (local, shared))
    dice, card = np.random.default_rng(11), parts.semantics.card()
    with parts.index.reader.snapshot() as snapshot:
        chunks = snapshot.collection().chunks
    rows = [ChunkRow(row) for row in random.Random(5).sample(range(1, chunks), len(texts))]
    with parts.index.reader.vectors(card.fingerprint) as source:
        stored = [np.frombuffer(blob, np.float16) for blob in source.vectors(rows).values()]
    copies = [noisy(one.reshape(-1, card.dims)[:1].astype(np.float32), dice)[0] for one in stored]
    encoder = parts.semantics.encoder()
    shares = []
    for queries in (copies, [encoder.query(text) for text in texts]):
        found = 0
        for vector in queries:
            nearest = {one.row for one in exact.nearest(vector, TOP, Among())}
            found += len(nearest & {one.row for one in approximate.nearest(vector, TOP, Among())})
        shares.append(found / (TOP * len(queries)))
    return shares[0], shares[1]


if __name__ == "__main__":
    raise SystemExit(main())
