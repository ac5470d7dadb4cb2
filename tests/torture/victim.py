"""The process that is killed: real work on an index whose notes change under it.

    python -m tests.torture.victim DATA NOTES POINT STEPS SEED

Exit status 0 says that the point was not reached. Asked to stop by the end of its
standard input, or when its job is done.
"""

from __future__ import annotations

import os
import random
import sys
import threading
from collections.abc import Callable, Sequence

from kebab_tui.domain.query import SearchQuery
from kebab_tui.indexing.report import Progress
from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Callbacks, WatchCallbacks, Workspace
from tests.torture.edits import Editor
from tests.torture.fuses import Fuse
from tests.torture.models import OTHER
from tests.torture.points import Job, named

SETTINGS = Settings()
_BULK_CHUNKS = 6
SAMPLED = 1
"""Of so few vectors, samples would be all, and hide what replaying them had got wrong."""
_COMMIT_CHUNKS = 12
_LOADED_FILES = 3
_COMMIT_VECTORS = 5


def main(data: str, notes: str, name: str, steps: int, seed: int) -> None:
    point = named(name)
    take_small_steps()
    _refuse_to_read_twice()
    editor = Editor(notes, seed) if point.company != "an indexer" else None
    workspace = Workspace(SETTINGS, data)
    point.arm(Fuse(steps))
    _JOBS[point.job](workspace, notes, _meddling(editor, seed))


def take_small_steps() -> None:
    """What takes thousands of notes or minutes of rest in earnest happens here within a second."""
    from kebab_tui.indexing import embed, ingest, schedule
    from kebab_tui.storage.sqlite import first_load, writer
    from kebab_tui.vectors import faiss_index

    writer.StoreWriter.__init__.__defaults__ = (_BULK_CHUNKS,)
    ingest._COMMIT_CHUNKS = _COMMIT_CHUNKS
    first_load._FEWEST_FILES = _LOADED_FILES
    embed._ROUND = _COMMIT_VECTORS
    schedule.SAVE_AFTER_S, schedule.SAVES_APART_S, schedule.UNLOAD_AFTER_S = 0.1, 0.3, 0.6
    schedule.QUIET_S = 0.2
    writer._MERGE_ROWS, writer._MERGE_SHARE, writer._MERGE_PAGES = 1, 1_000, 1
    faiss_index._SAMPLED = SAMPLED
    faiss_index._DELETED_MOST = faiss_index._DELTA_MOST = 3
    faiss_index._DELETED_SHARE = faiss_index._DELTA_SHARE = 100


def _refuse_to_read_twice() -> None:
    """A text that has its vector already is never given to the model again."""
    from kebab_tui.storage.sqlite.writer import StoreWriter

    real = StoreWriter.save_vectors

    def save(writer: StoreWriter, model: str, vectors: Sequence[tuple[bytes, bytes]]) -> int:
        count = "SELECT count(*) FROM embeddings WHERE model = ? AND text_hash = ?"
        for text_hash, _ in vectors:
            known = writer._connection.execute(count, (model, text_hash)).fetchone()
            assert known == (0,), "a vector is made twice"
        return real(writer, model, vectors)

    StoreWriter.save_vectors = save  # type: ignore[method-assign,assignment]


def _meddling(editor: Editor | None, seed: int) -> Callbacks:
    """Somebody edits while the notes are read."""
    dice = random.Random(seed)

    def meddle(_: Progress) -> None:
        if editor is not None and dice.random() < 0.3:
            editor.change()

    return Callbacks(progress=meddle)


def _ingest(workspace: Workspace, notes: str, callbacks: Callbacks) -> None:
    workspace.ingest([notes], callbacks)


def _embed(workspace: Workspace, notes: str, callbacks: Callbacks) -> None:
    workspace.ingest([notes], callbacks)
    workspace.embed(callbacks)


def _use_model(workspace: Workspace, notes: str, callbacks: Callbacks) -> None:
    workspace.ingest([notes], callbacks)
    workspace.use_model(OTHER, callbacks)
    workspace.embed(callbacks)


def _rebuild(workspace: Workspace, notes: str, callbacks: Callbacks) -> None:
    workspace.rebuild_vectors(callbacks)
    workspace.embed(callbacks)


def _search(workspace: Workspace, notes: str, callbacks: Callbacks) -> None:
    """One process that writes and searches in turns: its index of vectors is put in order meanwhile."""
    for _ in range(4):
        workspace.search(SearchQuery("port conflict"))
        workspace.ingest([notes], callbacks)
        workspace.embed(callbacks)
        workspace.search(SearchQuery("port conflict"))
    workspace.close()


def _watch(workspace: Workspace, notes: str, _: Callbacks) -> None:
    workspace.watch([notes], WatchCallbacks(_input_has_ended()), "kebab watch")
    workspace.close()


def _rescan(workspace: Workspace, notes: str, _: Callbacks) -> None:
    workspace.request_rescan([notes], retry=True)


def _input_has_ended() -> Callable[[], bool]:
    ended = threading.Event()

    def read() -> None:
        while os.read(0, 4096):
            pass
        ended.set()

    threading.Thread(target=read, daemon=True).start()
    return ended.is_set


_JOBS: dict[Job, Callable[[Workspace, str, Callbacks], None]] = {
    "ingest": _ingest,
    "embed": _embed,
    "use model": _use_model,
    "rebuild": _rebuild,
    "search": _search,
    "watch": _watch,
    "rescan": _rescan,
}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
