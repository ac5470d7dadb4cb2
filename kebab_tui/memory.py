"""Returns free memory of the C library to the system. Does nothing without glibc."""

from __future__ import annotations

import contextlib
from typing import Any

_M_MMAP_THRESHOLD = -3
_LARGE_BYTES = 1 << 20


def give_back() -> None:
    """Return all free memory: 18 MB after a model was opened, 80 MB after it has run for long."""
    with contextlib.suppress(OSError, AttributeError):
        _c_library().malloc_trim(0)


def keep_large_blocks_apart() -> None:
    """From now on, return each large block as soon as it is free.

    By default the library keeps large blocks between small ones: 60 MB after some changes to an index of
    100,000 vectors.
    """
    with contextlib.suppress(OSError, AttributeError):
        _c_library().mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)


def _c_library() -> Any:
    import ctypes  # would delay the first frame

    return ctypes.CDLL(None)
