"""How large the tests are that show that time grows no faster than the text, and what time they count.

Only the processor time of the thread that works is counted: other programs cost nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest


def sizes(small: int, full: int) -> pytest.MarkDecorator:
    """Run a test for each `size`; the full one is for `make test-more`."""
    return pytest.mark.parametrize("size", [small, pytest.param(full, marks=pytest.mark.more)])


def cpu_seconds(work: Callable[[], object]) -> float:
    started = time.thread_time()
    work()
    return time.thread_time() - started
