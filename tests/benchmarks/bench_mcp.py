"""What an agent waits for: to connect, and for a search.

    python -m tests.benchmarks.bench_mcp [FOLDER]

Without a folder on the sample vault, whose searches take less time than the protocol. Connecting is measured
by processor time, until the first answer, beside importing the server of the SDK and `kebab --version`. A
warm search is measured over stdio by the client of the SDK, in turns with `Workspace.search` and the same
queries.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping

from mcp import Client, StdioServerParameters

from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Callbacks, Workspace
from tests.benchmarks.bench_cold import run
from tests.benchmarks.measuring import Figure, machine, median, percentile, report, seconds

_ROUNDS = 9
_SEARCHES = 20
_NOTES = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "notes")
_KEBAB = [sys.executable, "-c", "from kebab_tui.cli import main; main()"]
_SDK = [sys.executable, "-c", "import mcp.server.lowlevel"]
_QUERIES = ("port conflict", "포트 충돌", "how do I free a busy port", "rust workspace 설계", "밥 짓는 법")
_HANDSHAKE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}


def connect(argv: list[str], environ: Mapping[str, str]) -> tuple[float, float]:
    """Seconds by the clock on the wall, and of the processor, until the answer to the handshake."""
    start = time.perf_counter()
    with subprocess.Popen(
        argv, env=dict(environ), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(_HANDSHAKE).encode() + b"\n")
        server.stdin.flush()
        assert b"serverInfo" in server.stdout.readline()
        wall = time.perf_counter() - start
        with open(f"/proc/{server.pid}/stat", "rb") as stat:
            spent = stat.read().rpartition(b") ")[2].split()[11:13]
        server.kill()
    return wall, sum(map(int, spent)) / os.sysconf("SC_CLK_TCK")


def connecting(environ: Mapping[str, str]) -> list[Figure]:
    taken: dict[str, list[tuple[float, float]]] = {"sdk": [], "version": [], "connect": []}
    for round_number in range(_ROUNDS + 1):
        spent = {
            "sdk": run(_SDK, environ),
            "version": run([*_KEBAB, "--version"], environ),
            "connect": connect([*_KEBAB, "mcp"], environ),
        }
        for name, one in spent.items():
            if round_number:  # the first one compiles
                taken[name].append(one)
    processor = {name: median([cpu for _, cpu in spent]) for name, spent in taken.items()}
    reference = processor["sdk"] + processor["version"]
    return [
        Figure("import of the SDK's server + kebab --version, processor time", 1000 * reference, "ms"),
        Figure("connecting to kebab mcp / that", processor["connect"] / reference, "x", 1.5),
        Figure("connecting, by the clock", 1000 * median([wall for wall, _ in taken["connect"]]), "ms"),
    ]


async def searching(data: str, environ: Mapping[str, str]) -> list[Figure]:
    workspace = Workspace(Settings(), data)
    parameters = StdioServerParameters(command=_KEBAB[0], args=[*_KEBAB[1:], "mcp"], env=dict(environ))
    engine: list[float] = []
    server: list[float] = []
    async with Client(parameters) as client:
        for round_number in range(_SEARCHES + 2):
            for text in _QUERIES:
                query = SearchQuery(text, k=8, filters=SearchFilters(shareable=True))
                of_engine = seconds(lambda query=query: workspace.search(query))  # type: ignore[misc]
                start = time.perf_counter()
                answer = await client.call_tool("search", {"query": text})
                of_server = time.perf_counter() - start
                assert answer.structured_content["returned"] == 8
                if round_number >= 2:  # the first ones load the model
                    engine.append(of_engine)
                    server.append(of_server)
    workspace.close()
    return [
        Figure("Workspace.search, p50", 1000 * median(engine), "ms"),
        Figure("search over stdio, p50 / that", median(server) / median(engine), "x", 1.5),
        Figure("search over stdio, p50", 1000 * median(server), "ms"),
        Figure("search over stdio, p95", 1000 * percentile(server, 0.95), "ms"),
    ]


def measure(notes: str) -> list[Figure]:
    with tempfile.TemporaryDirectory() as root:
        environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        data = os.path.join(root, "data")
        environ |= {"KEBAB_DATA_DIR": data, "PYTHONPYCACHEPREFIX": os.path.join(root, "pyc")}
        workspace = Workspace(Settings(), data)
        workspace.ingest([notes], Callbacks())
        workspace.embed(Callbacks())
        workspace.close()
        return [*connecting(environ), *asyncio.run(searching(data, environ))]


if __name__ == "__main__":
    report(machine(), measure(sys.argv[1] if len(sys.argv) > 1 else _NOTES))
