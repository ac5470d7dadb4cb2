"""Notices that the terminal has gone away.

The kernel tells the leader of the session, and nobody else. A screen that was started by
`make`, `sudo` or a script would go on for ever without a terminal, and the library's
reader would go round at its end of file at full speed.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time

_TO_LEAVE_S = 2.0
"""Who has not left by then, with nobody to look at it, is ended."""


def heed_hanging_up() -> None:
    """Send SIGHUP to this process when its terminal goes, as if it led the session."""
    with contextlib.suppress(AttributeError, OSError):  # not every system can tell
        watch = select.poll()
        watch.register(0, 0)  # that it is gone is told unasked
        threading.Thread(target=_heed, args=(watch,), name="terminal", daemon=True).start()


def _heed(watch: select.poll) -> None:
    gone = select.POLLHUP | select.POLLERR
    if any(event & gone for _, event in watch.poll()):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGHUP)
        time.sleep(_TO_LEAVE_S)
        os._exit(128 + signal.SIGHUP)
