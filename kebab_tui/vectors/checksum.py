"""The checksum of a vectors' file, by a thread of its own while others are at work.

Reading and hashing 80 MB takes as long as importing what reads them, and needs the
interpreter for none of it. What was hashed counts only for a file that is still the same
one, and our files are never written in place. Knows where the checksum stands in the
file, and not what is in it; imports neither numpy nor faiss.
"""

from __future__ import annotations

import hashlib
import os
import struct
import threading
from dataclasses import dataclass

HEADER = struct.Struct("<8sII32sqQQQQ")
"""What a file begins with; its checksum follows."""
DIGEST_BYTES = 32
_BLOCK = 4 << 20


@dataclass(frozen=True, slots=True)
class _Sum:
    identity: tuple[int, ...]
    digest: bytes


class Checksum:
    """Begun when it is made; of the header and of all that follows the stored checksum."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._sum: _Sum | None = None
        self._thread = threading.Thread(target=self._take, name="checksum", daemon=True)
        self._thread.start()

    def of(self, status: os.stat_result) -> bytes | None:
        """The checksum of a file, waited for; None when another one was read, or none could be."""
        self._thread.join()
        if self._sum is None or self._sum.identity != _identity(status):
            return None
        return self._sum.digest

    def _take(self) -> None:
        try:
            with open(self._path, "rb", buffering=0) as file:
                status = os.fstat(file.fileno())
                digest = hashlib.sha256(file.read(HEADER.size))
                file.seek(HEADER.size + DIGEST_BYTES)
                block = memoryview(bytearray(_BLOCK))
                while count := file.readinto(block):
                    digest.update(block[:count])
        except OSError:
            return  # whoever opens the file says what is wrong with it
        self._sum = _Sum(_identity(status), digest.digest())


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
