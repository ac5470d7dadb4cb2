"""Reads files that the program itself has written, and does not trust them.

Anything may stand in their place: a link is not followed, a pipe is not waited for, a device is
not read, and neither is a file that is larger than it can be. All of that is an OSError.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from typing import Any

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)


def open_regular(path: str, *, follow: bool = False) -> int:
    """A descriptor to read from; of what a link leads to only if it may `follow` links."""
    try:
        descriptor = os.open(path, _FLAGS if follow else _FLAGS | _NOFOLLOW)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "a symbolic link", path) from error
        raise
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read(path: str, most: int) -> bytes:
    """All of a file of `most` bytes or fewer."""
    with open(open_regular(path), "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"larger than {most} bytes", path)
    return data


def read_json(path: str, most: int) -> Any:
    """The value that a file holds; ValueError when it is no JSON, or nested too deeply."""
    try:
        return json.loads(read(path, most))
    except RecursionError as error:
        raise ValueError(f"{path} is nested too deeply") from error
