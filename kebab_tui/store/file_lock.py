"""An operating-system lock on an open file: held by one process, freed by its death."""

from __future__ import annotations


def try_lock(descriptor: int) -> bool:
    """Take the lock if nobody has it; closing the descriptor lets it go."""
    try:
        import fcntl
    except ImportError:
        return _try_lock_windows(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _try_lock_windows(descriptor: int) -> bool:
    import msvcrt
    import os

    try:
        # Far behind any text, so that others can still read it.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]  # only on Windows
    except OSError:
        return False
    return True
