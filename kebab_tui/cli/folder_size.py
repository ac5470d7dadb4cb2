"""Asks before a very large folder, or the home folder, is indexed."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from kebab_tui.cli.interrupt import Interrupt
from kebab_tui.cli.output import confirmed, field, notify

if TYPE_CHECKING:
    from kebab_tui.indexing.folder_count import FolderCount
    from kebab_tui.workspace import Workspace

YES_HELP = "Index a very large folder, or the home folder, without asking."
_COUNT_S = 20.0
_SILENT_S = 2.0


def confirmed_size(workspace: Workspace, folder: str, *, yes: bool) -> bool:
    """Whether to index a folder: asks about a large new one. Raises UsageError without a terminal."""
    if yes:
        return True
    end, told = time.monotonic() + _COUNT_S, time.monotonic() + _SILENT_S
    enough = False

    def progress(count: FolderCount) -> None:
        nonlocal enough, told
        enough = not sys.stdin.isatty() and workspace.must_ask(count)
        if time.monotonic() > told:
            told = float("inf")
            notify(f"counting the notes in {field(count.root)}")

    with Interrupt() as interrupt:
        count = workspace.count_folder(
            folder, progress, lambda: enough or interrupt.requested() or time.monotonic() > end
        )
    if count is None or (count.complete and not workspace.must_ask(count)):
        return True
    return confirmed(f"index {field(str(count))}", yes=False)
