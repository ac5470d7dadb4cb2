"""Publishes the sample notes to three PostgreSQL servers, searches them there, and stops: `make shards`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.postgres_servers import Server, folder_of_servers, missing

ROOT = Path(__file__).parents[1]
SEARCHES = (
    ("search", "포트 충돌 해결", "-n", "2"),
    ("search", "how do I free a busy port", "-n", "2"),
    ("find", "dokcer"),
    ("doctor",),
)


def main() -> int:
    if reason := missing():
        print(f"no servers can be started here: {reason}", file=sys.stderr)
        return 2
    with ExitStack() as stack:
        folder = stack.enter_context(folder_of_servers())
        data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kebab-shards-")))
        servers = []
        for number in range(3):
            server = Server.create(folder / f"server{number + 1}")
            stack.callback(server.stop)
            servers.append(server.start())
            print(f"started server {number + 1} on port {server.port}")
        shards = [word for server in servers[1:] for word in ("--shards", server.url())]
        _kebab(data, "ingest", "--wait", "--quiet", str(ROOT / "fixtures/notes"))
        _kebab(data, "index", "--copy-to", servers[0].url(), *shards)
        for argv in SEARCHES:
            _kebab(data / "reader", "--index", servers[0].url(), *argv)
    print("\nstopped the servers")
    return 0


def _kebab(data: Path, *argv: str) -> None:
    print(f"\n$ kebab {' '.join(argv)}", flush=True)
    subprocess.run([sys.executable, "-m", "kebab_tui", "--data-dir", str(data), *argv], check=True, cwd=ROOT)


if __name__ == "__main__":
    raise SystemExit(main())
