"""From a key that moves the cursor to the last thing painted for it, preview and explain open."""

from __future__ import annotations

from collections.abc import Mapping

from tests.benchmarks.measuring import Figure, median, percentile
from tests.benchmarks.screen.terminal import SCREEN, Terminal, shows
from tests.benchmarks.screen.vaults import TOPIC

_DOWN, _UP = "\x1b[B", "\x1b[A"
_STEPS = 14
_QUIET_S = 0.15


def measure(data: str, notes: str, environ: Mapping[str, str], rounds: int) -> list[Figure]:
    """`data` is of such `notes`; every hit is of another note."""
    argv = (*SCREEN, "--data-dir", data, "--explain", "--query", TOPIC)
    first: list[float] = []
    last: list[float] = []
    with Terminal(argv, environ) as screen:
        screen.wait_for(shows("note-0"))
        screen.settle(2.0)
        for number in range(2 * rounds):
            for _ in range(_STEPS):
                since = len(screen.pieces)
                at = screen.press(_UP if number % 2 else _DOWN)
                first.append(1000 * (screen.wait_for(bool, since) - at))
                end = screen.settle(_QUIET_S)
                last.append(1000 * (end - at))
    return [
        Figure(f"{notes}: cursor moved, p95", percentile(first, 0.95), "ms"),
        Figure(f"{notes}: all painted, p50", median(last), "ms"),
        Figure(f"{notes}: all painted, p95", percentile(last, 0.95), "ms", 40),
    ]
