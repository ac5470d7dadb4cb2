"""What the door offers without an index works without one, and opens none."""

from __future__ import annotations

from pathlib import Path

from kebab_tui import rules
from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Workspace


def test_what_needs_no_index_is_offered_by_the_door_and_makes_no_folder(tmp_path: Path) -> None:
    door = Workspace(Settings(), str(tmp_path / "data"))
    assert door.parse("rust tag:x").chips == rules.parse("rust tag:x").chips
    assert door.remove_chip("rust tag:x", door.parse("rust tag:x").chips[0]) == "rust"
    assert door.instant("2026-01") == rules.instant("2026-01") and door.instant("soon") is None
    assert door.marks("Indexes of all kinds", "index") == ((0, 7),)
    assert door.decode(b"one\r\ntwo\n") == ("one", "two")
    assert not (tmp_path / "data").exists()
