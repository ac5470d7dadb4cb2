"""The indexing behind the screen, as a process of its own.

    python -m kebab_tui.tui.indexer DATA_FOLDER CONFIG FOLDER…

Indexing is Python at work: in the screen's process it would take turns with every key.
Tells its progress as lines of JSON on stdout; ends at a file boundary on SIGTERM, and
loses nothing when it is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kebab_tui.domain.errors import KebabError

if TYPE_CHECKING:
    from kebab_tui.workspace import EmbeddingProgress, Holder, Progress


def main(argv: Sequence[str]) -> int:
    """Bring the folders, or all sources, up to date; then give every passage its vector."""
    from kebab_tui.settings.loading import load_settings
    from kebab_tui.workspace import Callbacks, Workspace

    data_folder, config, *folders = argv
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with contextlib.suppress(OSError, AttributeError):
        os.nice(10)
    callbacks = Callbacks(_reading, stop.is_set, _waiting, _embedding)
    try:
        workspace = Workspace(
            load_settings(config or None, os.environ, {"data_dir": data_folder}), data_folder
        )
        report = workspace.ingest(folders, callbacks)
        _tell(state="indexed", failed=report.count("failed"), healed=report.healed)
        if not stop.is_set():
            workspace.embed(callbacks)
        workspace.close()
    except KebabError as error:
        _tell(state="error", code=error.code, message=error.message, hint=error.hint)
        return error.exit_code
    _tell(state="done")
    return 0


def _reading(progress: Progress) -> None:
    if progress.total and (progress.done % 25 == 0 or progress.done == progress.total):
        _tell(state="reading", done=progress.done, total=progress.total, source=progress.source)


def _embedding(progress: EmbeddingProgress) -> None:
    _tell(state="embedding", done=progress.done, total=progress.total, rate=round(progress.rate, 1))


def _waiting(holder: Holder | None) -> None:
    _tell(state="waiting", holder=str(holder or "another process"))


def _tell(**facts: str | int | float) -> None:
    # Nobody listens any more when the screen was killed: that is no reason to stop indexing.
    with contextlib.suppress(OSError):
        sys.stdout.write(json.dumps(facts) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
