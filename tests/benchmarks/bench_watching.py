"""What it costs to watch a large tree, and how long a saved note is on its way to the queue.

    python -m tests.benchmarks.bench_watching [SECONDS]

In a process of its own, idle for a minute unless told otherwise. The reference is the walk
over the same folders, which every start pays anyway.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import threading
import time

from kebab_tui.indexing.path_queue import PathQueue
from kebab_tui.indexing.watcher import FolderWatch
from tests.benchmarks.measuring import Figure, machine, percentile, report, seconds

_FOLDERS = 15_000
_SAVES = 200


def _make_tree(root: str) -> list[str]:
    folders = [os.path.join(root, f"{number // 100:03}", f"{number % 100:02}") for number in range(_FOLDERS)]
    for folder in folders:
        os.makedirs(folder)
        with open(os.path.join(folder, "note.md"), "w") as note:
            note.write("# note\n")
    return folders


def _anything(path: bytes, is_dir: bool) -> bool:
    return True


def _walk(root: str) -> None:
    for _ in os.walk(root):
        pass


def _resident_mb() -> float:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / 1e6


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _idle_share(idle_s: float) -> float:
    """Per cent of one processor, while nothing happens."""
    before = _processor_seconds()
    threading.Event().wait(idle_s)
    return 100 * (_processor_seconds() - before) / idle_s


def _latencies(queue: PathQueue, folders: list[str]) -> list[float]:
    """Milliseconds from the write of a note to its path in the queue."""
    taken = []
    arrived = threading.Event()
    add = queue.add

    def added(root: str, path: bytes, is_dir: bool = False, settle_s: float = 0.0) -> None:
        add(root, path, is_dir, settle_s)
        arrived.set()

    queue.add = added  # type: ignore[method-assign]
    for folder in folders[:_SAVES]:
        arrived.clear()
        start = time.perf_counter()
        with open(os.path.join(folder, "note.md"), "w") as note:
            note.write("# saved\n")
        arrived.wait()
        taken.append(1000 * (time.perf_counter() - start))
        queue.take()
    return taken


def measure(idle_s: float) -> list[Figure]:
    with tempfile.TemporaryDirectory() as root:
        folders = _make_tree(root)
        walking = seconds(lambda: _walk(root))
        queue = PathQueue()
        watch = FolderWatch(queue, root, _anything)
        before = _resident_mb()
        starting = seconds(watch.start)
        memory = _resident_mb() - before
        assert watch.state().kind == "live", watch.state()
        _walk(root)  # once sent watchdog's own observer into a loop
        idle = _idle_share(idle_s)
        latencies = _latencies(queue, folders)
        stopping = seconds(watch.stop)
    return [
        Figure("os.walk", walking, "s"),
        Figure("setting the watches / that", starting / walking, "x", 3.0),
        Figure("setting the watches", starting, "s"),
        Figure(f"processor while idle, {idle_s:g} s", idle, "%", 0.3),
        Figure("memory of the watches, watchdog included", memory, "MB", 60),
        Figure("note written -> path in the queue, median", percentile(latencies, 0.5), "ms"),
        Figure("note written -> path in the queue, 95th percentile", percentile(latencies, 0.95), "ms", 20),
        Figure("stopping", stopping, "s", 0.3),
    ]


if __name__ == "__main__":
    print(machine())
    report(f"watching {_FOLDERS} folders", measure(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0))
