"""How large the tests are that show that time grows no faster than the text, and what time they count.

Small by default. `FULL_SIZE=1 make unit` runs them with millions of characters and ten thousand
queries. Only the processor time of the thread that works is counted: other programs cost nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

FULL_SIZE = bool(os.environ.get("FULL_SIZE"))


def sized(full: int, small: int) -> int:
    return full if FULL_SIZE else small


def cpu_seconds(work: Callable[[], object]) -> float:
    started = time.thread_time()
    work()
    return time.thread_time() - started
