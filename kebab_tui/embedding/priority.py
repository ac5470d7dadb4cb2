"""Lets background threads step back behind the thread that serves the user."""

from __future__ import annotations

import contextlib
import os
import sys
import threading

_NICENESS = 10


def step_back() -> None:
    """Lower the priority of the calling thread alone, for the rest of its life.

    Only Linux has priorities by thread here; elsewhere nothing happens. A thread cannot
    climb back without privileges, so only a thread made for the purpose may call this.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
