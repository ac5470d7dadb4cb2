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
import tempfile


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


def private_mb(pid: int) -> float:
    """What is of no file: the system can neither share it nor drop it. Linux only."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            found = re.findall(r"^(?:Anonymous|Swap): +(\d+) kB", file.read(), re.MULTILINE)
    except OSError:
        return 0.0
    return sum(map(int, found)) / 1024


Use = dict[str, tuple[int, int]]
"""Of each thread: nanoseconds of processor time, and how often it went to sleep to be woken again."""


def use(pid: int) -> Use:
    """What each thread of a process has used so far."""
    found: Use = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        task = f"/proc/{pid}/task/{thread}"
        with contextlib.suppress(OSError), open(f"{task}/schedstat") as spent, open(f"{task}/status") as told:
            slept = told.read().partition("\nvoluntary_ctxt_switches:")[2].split()[0]
            found[thread] = int(spent.read().split()[0]), int(slept)
    return found


def since(before: Use, after: Use) -> tuple[float, int]:
    """Seconds of processor time and wakes in between; not of threads that have ended, which nothing tells."""
    began = {thread: before.get(thread, (0, 0)) for thread in after}
    spent_ns = sum(after[thread][0] - began[thread][0] for thread in after)
    return spent_ns / 1e9, sum(after[thread][1] - began[thread][1] for thread in after)


def each_since(before: Use, after: Use) -> dict[str, int]:
    """Wakes of each thread in between, by its number."""
    return {thread: after[thread][1] - before.get(thread, (0, 0))[1] for thread in after}


def only_selects(pid: int, seconds: float) -> set[str]:
    """The threads that in so many seconds only look for input with `select`; none without strace.

    On a busy machine they also wait for the interpreter's lock.
    """
    if shutil.which("strace") is None:
        return set()
    with tempfile.NamedTemporaryFile("r") as log:
        argv = ["timeout", "-s", "INT", str(seconds), "strace", "-f", "-qq", "-o", log.name, "-p", str(pid)]
        subprocess.run(argv, capture_output=True, check=False)
        calls: dict[str, set[str]] = {}
        for thread, call in re.findall(r"^(\d+) +(?:<\.\.\. )?(\w+)", log.read(), re.MULTILINE):
            calls.setdefault(thread, set()).add(call)
    selects = {"select", "pselect6", "restart_syscall"}
    return {thread for thread, names in calls.items() if names & selects and names <= selects | {"futex"}}


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
