"""What the build tells the person who waits for it: one line at a time, with the minutes since the start."""

from __future__ import annotations

import sys
import time

STARTED = time.monotonic()


def say(line: str) -> None:
    """One line to stderr, at once."""
    minutes, seconds = divmod(int(time.monotonic() - STARTED), 60)
    print(f"{minutes:3d}:{seconds:02d}  {line}", file=sys.stderr, flush=True)
