"""What a screen and its indexing process cost while nobody does anything and no note changes.

    python -m tests.benchmarks.bench_idle [FOLDER] [--idle SECONDS] [--names]

FOLDER: notes, the examples of the repository unless told; their number makes no difference. Processor
time says how fast the machine is, too; wakes and system calls do not. System calls are counted by
strace, after the rest: it slows down what it counts.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Workspace
from tests.benchmarks.measuring import Figure, machine, report
from tests.benchmarks.screen.process import (
    children,
    each_since,
    only_selects,
    rss_mb,
    since,
    system_calls,
    use,
)
from tests.benchmarks.screen.terminal import SCREEN, Terminal, environment

_SAMPLE = Path(__file__).parents[2] / "fixtures" / "notes"
_QUIET_S = 10.0
"""So long nothing is painted, and hardly anything computed: longer than any pause between two works."""
_LOOK_S, _REST = 0.5, 0.05
"""How often to look, and the part of a processor that both processes use at most when they rest."""
_PATIENCE_S = 300.0
ASLEEP_S = 50.0
"""After so long without a note the indexing process has written its vectors' file and let go of the model."""
_COUNTED_S = 10.0
_GOALS = {"screen": 60, "indexing process": 40}
"""System calls a second."""
WAKES = 3
"""A second, of all threads but Textual's: the main one, with its timers, and the one that reads keys."""


def idle(screen: Terminal, seconds: float, *, names: bool = False) -> list[Figure]:
    """What both processes use while nothing happens, and what they hold."""
    pids = {"screen": screen.process.pid, "indexing process": children(screen.process.pid)[0]}
    of_textual = {str(pids["screen"]), *only_selects(pids["screen"], _COUNTED_S / 2)}
    before = {who: use(pid) for who, pid in pids.items()}
    start = time.perf_counter()
    screen.listen_until(start + seconds)
    spent = time.perf_counter() - start
    figures = []
    for who, pid in pids.items():
        after = use(pid)
        busy, woken = since(before[who], after)
        own = sum(n for thread, n in each_since(before[who], after).items() if thread not in of_textual)
        figures += [
            Figure(f"{who}: processor, idle {seconds:g} s", 100 * busy / spent, "%"),
            Figure("  wakes of our own threads", own / spent, "/s", WAKES),
            *([Figure("  wakes of Textual's", (woken - own) / spent, "/s")] if who == "screen" else []),
            *_counted(pid, _GOALS[who], names),
            Figure("  holds", rss_mb(pid), "MB"),
        ]
    return figures


def _counted(pid: int, goal: float, names: bool) -> list[Figure]:
    calls = system_calls(pid, _COUNTED_S)
    if calls is None:
        print("  system calls are not counted: strace is not installed, or may not be attached")
        return []
    figures = [Figure("  system calls", sum(calls.values()) / _COUNTED_S, "/s", goal)]
    if names:
        figures += [Figure(f"    {name}", count / _COUNTED_S, "/s") for name, count in calls.items()]
    return figures


def until_at_rest(workspace: Workspace, screen: Terminal) -> float:
    """Until everything is read and embedded, and both processes rest; gives the seconds until then."""
    start = rests_since = time.perf_counter()
    while (now := time.perf_counter()) - rests_since < _QUIET_S:
        if now - start > _PATIENCE_S:
            raise TimeoutError("the screen does not come to rest")
        pids = (screen.process.pid, *children(screen.process.pid))
        painted, before = len(screen.pieces), [use(pid) for pid in pids]
        screen.listen_until(now + _LOOK_S)
        spent = sum(since(used, use(pid))[0] for used, pid in zip(before, pids, strict=True))
        live = workspace.live()
        is_busy = live is None or live.pending or live.phase.kind != "idle"
        if is_busy or len(screen.pieces) > painted or spent > _REST * _LOOK_S:
            rests_since = time.perf_counter()
    return rests_since - start


def measure(notes: str, home: str, seconds: float, names: bool) -> list[Figure]:
    data = os.path.join(home, "data")
    workspace = Workspace(Settings(), data)
    with Terminal((*SCREEN, "--data-dir", data, "--query", "port", notes), environment(home)) as screen:
        settled = until_at_rest(workspace, screen)
        screen.listen_until(time.perf_counter() + ASLEEP_S)
        figures = [Figure("screen settled after", settled, "s"), *idle(screen, seconds, names=names)]
    workspace.close()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", default=str(_SAMPLE))
    parser.add_argument("--idle", type=float, default=30.0)
    parser.add_argument("--names", action="store_true", help="each system call by its name")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kebab-idle-") as home:
        print(machine())
        report("an idle screen", measure(given.folder, home, given.idle, given.names))


if __name__ == "__main__":
    main()
