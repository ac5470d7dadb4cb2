"""How much memory a process and its children hold, as Linux tells it; elsewhere only one's own peak is known.

Imports next to nothing: it is also used inside a process that is measured.
"""

from __future__ import annotations

import os
import re
import resource
import sys


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


def _status(pid: int, name: str) -> float:
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            found = re.search(rf"^{name}:\s+(\d+) kB", file.read(), re.MULTILINE)
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0
