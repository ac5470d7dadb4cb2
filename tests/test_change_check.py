"""Files are read again only if they may have changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kebab_tui.own_files import ChangeCheck


class Beats:
    """A check that runs ten times a second on a clock that the test drives."""

    def __init__(self, *paths: Path) -> None:
        self.now = 1000.0
        self.check = ChangeCheck(*map(str, paths), clock=lambda: self.now)

    def news(self, count: int = 1) -> int:
        """How many of the next checks return True."""
        found = 0
        for _ in range(count):
            self.now += 0.1
            found += self.check.may_have_changed()
        return found


def write(path: Path) -> None:
    path.write_text("more than before")


def write_in_place(path: Path) -> None:
    path.write_text("X")
    os.utime(path, ns=(1, 2))


def replace(path: Path) -> None:
    status = path.stat()
    scratch = path.with_name("scratch")
    scratch.write_text("Y")
    os.utime(scratch, ns=(status.st_atime_ns, status.st_mtime_ns))
    os.replace(scratch, path)


@pytest.mark.parametrize("change", [write, write_in_place, replace, Path.unlink])
def test_every_change_is_seen_at_the_next_check_and_nothing_else(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    beats = Beats(tmp_path / "other", path)
    assert beats.news() == 1, "nobody has read it yet"
    beats.news(50)
    assert beats.news(100) == 0
    change(path)
    assert beats.news() == 1
    beats.news(50)
    assert beats.news(100) == 0
    (tmp_path / "other").touch()
    assert beats.news() == 1


def test_a_second_change_within_a_tick_of_the_file_system_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    beats = Beats(path)
    beats.news(50)
    write_in_place(path)
    assert beats.news(3) == 3
    write_in_place(path)  # leaves the same stamp
    assert beats.news() == 1


@pytest.mark.parametrize("day", [-86_400, 86_400])
def test_a_clock_that_jumps_hides_no_change(tmp_path: Path, day: int) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    beats = Beats(path)
    beats.news(50)
    stamp = path.stat().st_mtime + day
    os.utime(path, (stamp, stamp))
    assert beats.news() == 1
