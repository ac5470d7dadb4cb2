"""What the screen's process holds when it has answered by both, and the indexing one beside it."""

from __future__ import annotations

import time
from collections.abc import Mapping

from tests.benchmarks.measuring import Figure
from tests.benchmarks.screen.process import children, peak_mb, rss_mb
from tests.benchmarks.screen.terminal import ALL_HITS, SCREEN, Terminal

_WATCHED_S = 5.0


def measure(data: str, query: str, environ: Mapping[str, str]) -> list[Figure]:
    with Terminal((*SCREEN, "--data-dir", data, "--query", query), environ) as screen:
        pid = screen.process.pid
        beside = 0.0
        end = time.perf_counter() + _WATCHED_S
        while time.perf_counter() < end:
            screen.listen(0.02)
            beside = max([beside, *map(peak_mb, children(pid))])
        screen.wait_for(ALL_HITS)
        return [
            Figure("the screen, hybrid ready", rss_mb(pid), "MB", 300),
            Figure("the screen, at most", peak_mb(pid), "MB"),
            Figure("the process that looks for changes, at most", beside, "MB"),
        ]
