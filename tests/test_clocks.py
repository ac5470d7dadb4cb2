"""Which clock is asked for what: the one on the wall may jump by a day, so nothing waits or ages by it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kebab_tui

_PACKAGE = Path(kebab_tui.__file__).parent
_WALL_CLOCK = re.compile(r"\btime\.(time|time_ns)\b|\bdatetime\.now\b|\bdate\.today\b")
_ALLOWED = {
    "storage/postgres/publish.py": "when a copy was published, for people",
    "indexing/pipeline.py": "when a change was committed, for people",
    "indexing/status.py": "whether a file is fresh whose writer stamps it anew all the time",
    "indexing/ingest.py": "when a run began, for people",
    "workspace.py": "what `after:yesterday` means today",
    "search/engine.py": "the same",
    "search/completions.py": "the same, to complete and to correct it",
    "search/snippet.py": "the same",
    "indexing/embed.py": "when a run began, for people",
    "storage/sqlite/batch.py": "when a note was indexed, for people",
    "storage/lock.py": "since when somebody holds the lock, for people",
    "storage/sqlite/writer.py": "when a run ended and a source was added, for people",
    "files/copies.py": "how old a copy is, by the time of its folder",
    "server/view.py": "how long ago the notes were indexed, for an agent",
    "vectors/file.py": "whether another process compared the checksum a week ago; a jump costs one",
    "tui/hit_diff.py": "how long after its saving a note was shown; notices a jump",
}


def test_nothing_else_asks_the_clock_on_the_wall() -> None:
    found = {
        path.relative_to(_PACKAGE).as_posix()
        for path in _PACKAGE.rglob("*.py")
        if _WALL_CLOCK.search(path.read_text(encoding="utf-8"))
    }
    assert found - _ALLOWED.keys() == set(), "use time.monotonic, or say here what it is for"
    assert _ALLOWED.keys() - found == set(), "these do not ask it any more"


@pytest.mark.parametrize("text", ["time.time()", "clock=time.time_ns", "datetime.now,"])
def test_the_rule_sees_what_it_is_about(text: str) -> None:
    assert _WALL_CLOCK.search(text)
    assert not _WALL_CLOCK.search("time.monotonic() and time_ns = 3")
