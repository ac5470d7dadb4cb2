"""What a process and its children use, as Linux tells it; elsewhere only one's own peak of memory is known.

Imports next to nothing: it is also used inside a process that is measured.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator


def rss_mb(pid: int) -> float:
    """What it holds now; 0 when it is gone."""
    return _status(pid, "VmRSS")


def peak_mb(pid: int) -> float:
    """The most it ever held since it became the program it is."""
    found = _status(pid, "VmHWM")
    if not found and pid == os.getpid():
        # No better figure there: a process begins with the peak of the one that started it.
        unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
        found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    return found


def children(pid: int) -> list[int]:
    """Started by any of its threads."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
    except OSError:
        return []
    return found


def processor_s(pid: int) -> float:
    """Processor time of its threads so far, more exact than the ticks of `times`."""
    return sum(int(text.split()[0]) for text in _of_threads(pid, "schedstat")) / 1e9


def wakes(pid: int) -> int:
    """How often its threads have gone to sleep so far, each time to be woken again."""
    statuses = _of_threads(pid, "status")
    return sum(int(text.partition("\nvoluntary_ctxt_switches:")[2].split()[0]) for text in statuses)


def _of_threads(pid: int, name: str) -> Iterator[str]:
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/{name}") as file:
            yield file.read()


def system_calls(pid: int, seconds: float) -> dict[str, int] | None:
    """Which system calls its threads make in so many seconds; None without strace."""
    if shutil.which("strace") is None:
        return None
    counting = ["strace", "-c", "-f", "-qq", "-U", "name,calls", "-p", str(pid)]
    argv = ["timeout", "-s", "INT", str(seconds), *counting]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    table = re.findall(r"^(\w+)\s+(\d+)$", done.stderr, re.MULTILINE)
    return {name: int(calls) for name, calls in table if name != "total"} or None


def _status(pid: int, name: str) -> float:
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            found = re.search(rf"^{name}:\s+(\d+) kB", file.read(), re.MULTILINE)
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0
