"""The process that is killed: one real ingest over a vault that changes under it.

    python -m tests.torture.victim DATA NOTES POINT STEPS SEED

Exit status 0 says that the point was not reached.
"""

from __future__ import annotations

import random
import sys

from kebab_tui.indexing.report import Progress
from kebab_tui.settings.model import IndexSettings, Settings
from kebab_tui.workspace import Callbacks, Workspace
from tests.torture.edits import Editor
from tests.torture.points import POINTS, Fuse

SETTINGS = Settings(index=IndexSettings(bulk_chunks=6))
COMMIT_CHUNKS = 12


def main(data: str, notes: str, point: str, steps: int, seed: int) -> None:
    import kebab_tui.indexing.ingest as ingest

    ingest._COMMIT_CHUNKS = COMMIT_CHUNKS
    editor, dice = Editor(notes, seed), random.Random(seed)

    def meddle(_: Progress) -> None:
        if dice.random() < 0.3:
            editor.change()

    workspace = Workspace(SETTINGS, data)
    next(known for known in POINTS if known.name == point).arm(Fuse(steps))
    workspace.ingest([notes], Callbacks(progress=meddle))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
