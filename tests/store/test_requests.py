"""The small files in which other processes ask for something."""

from __future__ import annotations

import os
import time
from pathlib import Path

from kebab_tui.store.requests import RequestFolder, Rescan


def test_what_a_killed_process_half_wrote_is_swept_once_it_is_old(tmp_path: Path) -> None:
    requests = RequestFolder(str(tmp_path))
    requests.ask(Rescan(("/notes/a.md",)))
    folder = tmp_path / "requests"
    for name, age_s in ((".7-1.want", 3600), (".7-2.json", 3600), (".8-1.json", 0)):
        (folder / name).write_text("{")
        os.utime(folder / name, (time.time() - age_s,) * 2)
    assert requests.take() == [Rescan(("/notes/a.md",))]
    assert os.listdir(folder) == [".8-1.json"], "one that is being written stays"
