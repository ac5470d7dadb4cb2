"""What the C library does with memory that is free again.

Only glibc can be told; elsewhere nothing happens. `ctypes` is imported when it is needed:
it would delay the first frame.
"""

from __future__ import annotations

import contextlib
from typing import Any

_M_MMAP_THRESHOLD = -3
_LARGE_BYTES = 1 << 20


def give_back() -> None:
    """Return what is free to the system: after a model has run that is 80 MB."""
    with contextlib.suppress(OSError, AttributeError):
        _c_library().malloc_trim(0)


def keep_large_blocks_apart() -> None:
    """Return every large block as soon as it is free, for as long as the process lives.

    By itself the library puts more and more of them between small ones, and keeps them: 60 MB
    after an index of 100,000 vectors was followed through some changes.
    """
    with contextlib.suppress(OSError, AttributeError):
        _c_library().mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)


def _c_library() -> Any:
    import ctypes

    return ctypes.CDLL(None)
