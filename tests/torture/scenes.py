"""What a victim finds when it starts: notes, an index, models, and what may be wrong with them."""

from __future__ import annotations

import os
import sqlite3

from kebab_tui.domain.document import Source
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.writer import StoreWriter
from kebab_tui.workspace import Callbacks, Workspace
from tests.torture.edits import Editor
from tests.torture.models import REAL, TINY, write_models
from tests.torture.points import Point
from tests.torture.victim import SETTINGS

_NOTES, _NOTES_REALLY_READ = 14, 6
_CHANGES = 8


def set_scene(point: Point, notes: str, data: str, seed: int) -> None:
    os.mkdir(notes)
    editor = Editor(notes, seed)
    editor.fill(_NOTES_REALLY_READ if point.model == REAL else _NOTES)
    if point.model == TINY:
        write_models(data)
    if point.scene == "fresh":
        _choose_model(point, data)
        return
    index(notes, data, point.model)
    add_another_source(notes, data)
    for _ in range(_CHANGES):
        editor.change()
    _harm(point, data)


def index(notes: str, data: str, model: str | None) -> None:
    workspace = Workspace(SETTINGS, data)
    workspace.ingest([notes], Callbacks())
    if model is not None:
        if model != REAL:
            workspace.use_model(model, Callbacks())
        workspace.embed(Callbacks())
    workspace.close()


def add_another_source(notes: str, data: str) -> None:
    """An empty folder that must not be forgotten."""
    other = notes + "-other"
    os.mkdir(other)
    workspace = Workspace(SETTINGS, data)
    workspace.add_source(Source(workspace.new_source_id(other), "other", other), Callbacks())
    workspace.close()


def fold_log_in(data: str) -> None:
    """After the last reader: then the log is folded into the database and gone, and that is sealed."""
    StoreWriter(DataFolder(data)).close()


def harm_vectors(database: str) -> None:
    """Zeros where some vectors were."""
    connection = sqlite3.connect(database)
    connection.execute("UPDATE embeddings SET vector = zeroblob(length(vector)) WHERE hex(text_hash) < '4'")
    connection.commit()
    connection.close()


def _choose_model(point: Point, data: str) -> None:
    """Before the first note; the index is empty and knows nothing else."""
    if point.model:
        workspace = Workspace(SETTINGS, data)
        workspace.use_model(point.model, Callbacks())
        workspace.close()


def _harm(point: Point, data: str) -> None:
    database = DataFolder(data).database
    fold_log_in(data)
    if point.scene == "damaged":
        os.truncate(database, os.path.getsize(database) // 2)
        with open(database + "-wal", "wb") as log:
            log.write(b"a log of nothing")
    elif point.scene == "restored":
        os.remove(database)
    elif point.scene == "bad vectors":
        os.remove(DataFolder(data).seal)  # which would tell
        harm_vectors(database)
