"""What is done with a database that is none any more: set aside, never deleted."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time

from kebab_tui.domain.errors import StoreDamagedError
from kebab_tui.store.connection import translate
from kebab_tui.store.folder import DataFolder

_COMPANIONS = ("", "-wal", "-shm")


def set_aside(folder: DataFolder) -> str:
    """Move the database and its log out of the way; the caller holds the writer's lock."""
    aside = f"{folder.database}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
    for companion in _COMPANIONS:
        with contextlib.suppress(FileNotFoundError):
            os.replace(folder.database + companion, aside + companion)
    return aside


def check_after_kill(folder: DataFolder) -> None:
    """Look at every page once after a writer died; raises StoreDamagedError when one is not sound."""
    if not os.path.exists(folder.database):
        return
    connection = sqlite3.connect(folder.database, isolation_level=None)
    try:
        answer = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        raise translate(error, folder.database) from error
    finally:
        connection.close()
    if answer != ("ok",):
        raise StoreDamagedError(f"the index is damaged: {answer[0] if answer else 'no answer'}")
