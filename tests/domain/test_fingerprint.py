"""Fingerprints of files, in numbers that SQLite can store."""

from __future__ import annotations

import os
import sqlite3
from types import SimpleNamespace
from typing import cast

from kebab_tui.domain.document import Fingerprint, fingerprint_of


def stamp(size: int = 1, mtime_ns: int = 2, ctime_ns: int = 3, inode: int = 4) -> Fingerprint:
    status = SimpleNamespace(st_size=size, st_mtime_ns=mtime_ns, st_ctime_ns=ctime_ns, st_ino=inode)
    return fingerprint_of(cast(os.stat_result, status))


def test_numbers_of_64_bits_are_taken_as_they_are() -> None:
    assert stamp(5, -1, 2**63 - 1, 2**63 - 1) == Fingerprint(5, -1, 2**63 - 1, 2**63 - 1)


def test_times_and_inode_numbers_beyond_64_bits_can_be_stored() -> None:
    far = [stamp(mtime_ns=2**63, ctime_ns=2**80), stamp(mtime_ns=-(2**70)), stamp(inode=2**64 - 1)]
    far += [stamp(inode=2**63), stamp(inode=2**100 + 1), stamp(size=2**64)]
    connection = sqlite3.connect(":memory:")
    for each in far:
        values = (each.size, each.mtime_ns, each.ctime_ns, each.inode)
        assert connection.execute("SELECT ?, ?, ?, ?", values).fetchone() == values
    connection.close()


def test_huge_inode_numbers_stay_apart() -> None:
    assert len({stamp(inode=2**63 + n) for n in range(5)} | {stamp(inode=n) for n in range(5)}) == 10
