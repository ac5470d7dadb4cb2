"""A thousand searches over HTTP by eight clients, beside `Workspace.search`.

    python -m tests.benchmarks.bench_serve [FOLDER]

Without a folder on the sample vault, whose searches take less time than the protocol. `kebab serve` runs in a
process of its own. Eight clients ask it at the same time, each over one connection, by REST and by the
protocol; in turns with them, eight threads of this process call `Workspace.search` with the same queries. On
a busy machine the processor time says more than the clock: two processes wait for a processor instead of one.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from urllib.parse import quote

from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Callbacks, Workspace
from tests.benchmarks.bench_mcp import _NOTES, _QUERIES
from tests.benchmarks.measuring import Figure, machine, median, percentile, report, stopwatch

_CLIENTS = 8
_REQUESTS = 1_000
_ROUNDS = 5
_KEBAB = [sys.executable, "-c", "from kebab_tui.cli import main; main()"]

Ask = Callable[[str], None]
"""Asks one query and checks the answer."""


def by_eight(make: Callable[[], Ask], requests: int) -> tuple[list[float], float]:
    """Seconds of each request, and of all of them together."""

    def client(number: int) -> list[float]:
        ask, taken = make(), []
        for text in islice(cycle(_QUERIES), number, number + requests // _CLIENTS):
            start = time.perf_counter()
            ask(text)
            taken.append(time.perf_counter() - start)
        return taken

    with ThreadPoolExecutor(_CLIENTS) as pool, stopwatch() as elapsed:
        taken = [one for own in pool.map(client, range(_CLIENTS)) for one in own]
        return taken, elapsed()


def processor_seconds(pid: int | str) -> float:
    with open(f"/proc/{pid}/stat", "rb") as stat:
        return sum(map(int, stat.read().rpartition(b") ")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def http_client(url: str, token: str, *, by_protocol: bool) -> Ask:
    host, _, port = url.removeprefix("http://").rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=600)
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}

    def ask(text: str) -> None:
        if by_protocol:
            params = {"name": "search", "arguments": {"query": text}}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            more = {"Content-Type": "application/json"}
            connection.request("POST", "/mcp", json.dumps(body).encode(), headers | more)
        else:
            connection.request("GET", f"/api/v1/search?q={quote(text)}", headers=headers)
        answer = connection.getresponse()
        found = json.loads(answer.read())
        assert answer.status == 200, found
        assert (found["result"]["structuredContent"] if by_protocol else found)["returned"] > 0

    return ask


def measure(notes: str) -> list[Figure]:
    with tempfile.TemporaryDirectory() as root:
        data = os.path.join(root, "data")
        workspace = Workspace(Settings(), data)
        workspace.ingest([notes], Callbacks())
        workspace.embed(Callbacks())

        def search(text: str) -> None:
            query = SearchQuery(text, k=8, filters=SearchFilters(shareable=True))
            assert workspace.search(query).hits

        server = subprocess.Popen(
            [*_KEBAB, "--data-dir", data, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        with open(os.path.join(data, "serve.token")) as file:
            token = file.read().strip()
        makers = {
            "engine": lambda: search,
            "rest": lambda: http_client(url, token, by_protocol=False),
            "mcp": lambda: http_client(url, token, by_protocol=True),
        }
        taken: dict[str, list[float]] = {name: [] for name in makers}
        rates: dict[str, list[float]] = {name: [] for name in makers}
        spent = dict.fromkeys(makers, 0.0)
        for round_number in range(_ROUNDS + 1):
            for name, make in makers.items():
                before = processor_seconds("self" if name == "engine" else server.pid)
                seconds, all_of_them = by_eight(make, _REQUESTS // _ROUNDS)
                if round_number:  # the first one loads the models
                    taken[name] += seconds
                    rates[name].append(len(seconds) / all_of_them)
                    spent[name] += processor_seconds("self" if name == "engine" else server.pid) - before
        workspace.close()
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    engine = median(taken["engine"])
    return [
        Figure("Workspace.search by 8 threads, p50", 1000 * engine, "ms"),
        Figure("Workspace.search by 8 threads", median(rates["engine"]), "/s"),
        Figure("search over REST by 8 clients, p50 / that", median(taken["rest"]) / engine, "x", 1.5),
        Figure("search over REST by 8 clients, p50", 1000 * median(taken["rest"]), "ms"),
        Figure("search over REST by 8 clients, p95", 1000 * percentile(taken["rest"], 0.95), "ms"),
        Figure("search over REST by 8 clients", median(rates["rest"]), "/s"),
        Figure(
            "search over MCP by 8 clients, p50 / that of the engine", median(taken["mcp"]) / engine, "x", 1.5
        ),
        Figure("search over MCP by 8 clients, p50", 1000 * median(taken["mcp"]), "ms"),
        Figure("processor time of the server by REST / of the engine", spent["rest"] / spent["engine"], "x"),
        Figure("processor time of the server by MCP / of the engine", spent["mcp"] / spent["engine"], "x"),
        Figure("requests that failed", 0, ""),
    ]


if __name__ == "__main__":
    report(machine(), measure(sys.argv[1] if len(sys.argv) > 1 else _NOTES))
