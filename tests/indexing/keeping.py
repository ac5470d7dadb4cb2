"""A watched vault: a real indexing process in a thread, real files, real events.

No fixed sleeps: tests wait for a visible result.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kebab_tui.domain.errors import NotIndexedError
from kebab_tui.domain.query import SearchFilters
from kebab_tui.indexing.daemon import IndexDaemon
from kebab_tui.indexing.embed import BackgroundEmbedding
from kebab_tui.indexing.report import NoteChange
from kebab_tui.indexing.status import LiveState
from kebab_tui.indexing.worker import WorkerConfig
from kebab_tui.settings.settings import Settings
from kebab_tui.storage.ports import Holder
from kebab_tui.workspace import Callbacks, WatchCallbacks
from tests.vault import Rows, Vault

PATIENCE_S = 120.0
_DOCUMENTS = (
    "SELECT path, title, type, lang, flags, content_hash, state, reason FROM documents ORDER BY raw_path"
)
_CHUNKS = (
    "SELECT d.path, c.ordinal, c.kind, c.line_first, c.line_last, c.heading_path, c.text, c.title "
    "FROM chunks c JOIN documents d USING (doc_id) ORDER BY d.raw_path, c.ordinal"
)


def until(seen: Callable[[], object], what: str = "") -> None:
    """Wait for a condition; fail with its name after a long time."""
    deadline, pause = time.monotonic() + PATIENCE_S, 0.005
    while not seen():
        assert time.monotonic() < deadline, what or "it did not happen in time"
        time.sleep(pause)
        pause = min(2 * pause, 0.04)  # to look is work, too


class Kept:
    """A daemon over a vault, with its reported `changes`."""

    def __init__(
        self, vault: Vault, vectors: BackgroundEmbedding | None = None, *folders: str, once: bool = False
    ) -> None:
        self.vault = vault
        self.changes: list[NoteChange] = []
        self.states: list[LiveState] = []
        self.followed: list[Holder | None] = []
        self.error: BaseException | None = None
        self._stop = threading.Event()
        self._sentinels = 0
        self._folders = folders or (str(vault.root),)
        self.workspace = vault.opened(Settings())
        parts = self.workspace._parts
        self.config = WorkerConfig(parts.index, parts.recipe, vectors=vectors, once=once)
        callbacks = WatchCallbacks(
            self._stop.is_set, self.changes.append, self.states.append, self.followed.append
        )
        self.daemon = IndexDaemon(self.config, callbacks)
        self._thread = threading.Thread(target=self._run, name="daemon")

    def start(self) -> None:
        self._thread.start()

    def ask_to_stop(self) -> None:
        self._stop.set()

    def stop(self) -> None:
        self.ask_to_stop()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        self.workspace.close()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        try:
            self.daemon.run(self._folders)
        except BaseException as error:  # noqa: BLE001 - the test checks it
            self.error = error

    def live(self) -> LiveState | None:
        return self.vault.workspace.live()

    def error_code(self) -> str:
        """What kind of trouble there is; empty for none."""
        live = self.live()
        return live.error.code if live and live.error else ""

    def is_keeping(self) -> bool:
        """Whether the first scan is over."""
        live = self.live()
        return live is not None and live.phase.kind != "reading" and live.pending == 0 and self._is_read()

    def _is_read(self) -> bool:
        sources = self.vault.workspace.sources()
        return bool(sources) and all(source.state == "indexed" for source in sources)

    def outcomes(self) -> list[tuple[str, str]]:
        return [(change.outcome, change.path) for change in self.changes]

    def settled(self) -> None:
        """Wait until everything that happened so far is in the index, and the index is the folder's."""
        self._sentinels += 1
        name = f"zz-sentinel-{self._sentinels}.md"
        self.vault.write(name, f"sentinel {self._sentinels}")
        until(lambda: name in self.vault.ids(), f"{name} is not indexed")
        os.remove(self.vault.root / name)
        until(lambda: name not in self.vault.ids(), f"{name} does not go")
        until(self.is_true, "the index is not the folder's")

    def is_true(self) -> bool:
        """Whether the index is what a fresh one of the same folder would be."""
        fresh = Vault(self._scratch(), Settings())
        try:
            fresh.root = self.vault.root
            fresh.ingest()
            return all(fresh.rows(rows) == self.vault.rows(rows) for rows in (_DOCUMENTS, _CHUNKS)) and not (
                self.vault.orphans()
            )
        finally:
            fresh.workspace.close()
            shutil.rmtree(fresh.data.parent)

    def _scratch(self) -> Path:
        place = self.vault.data.parent / f"fresh-{time.monotonic_ns()}"
        place.mkdir()
        return place

    def chunk_rows(self, path: str) -> dict[str, int]:
        """The text of each passage of a note with the row that it must keep."""
        found = self.vault.rows(
            "SELECT c.text, c.id FROM chunks c JOIN documents d USING (doc_id) WHERE d.path = ?", path
        )
        return {str(text): int(str(row)) for text, row in found}


@contextmanager
def keeping(vault: Vault, vectors: BackgroundEmbedding | None = None, *folders: str) -> Iterator[Kept]:
    """A daemon that has scanned everything once."""
    kept = Kept(vault, vectors, *folders)
    kept.start()
    try:
        until(kept.is_keeping, "the daemon does not start")
        yield kept
    finally:
        kept.stop()
    assert kept.error is None, kept.error


def citations_are_true(vault: Vault) -> bool:
    """Whether every passage is the lines that it cites."""
    rows: Rows = vault.rows(
        "SELECT d.raw_path, c.line_first, c.line_last, c.text FROM chunks c JOIN documents d USING (doc_id)"
    )
    for raw_path, first, last, text in rows:
        assert isinstance(raw_path, bytes) and isinstance(first, int) and isinstance(last, int)
        lines = (vault.root / os.fsdecode(raw_path)).read_text().split("\n")
        if "\n".join(lines[first - 1 : last]) != text:
            return False
    return True


def found(vault: Vault, text: str) -> list[str]:
    """The same as `find`, also before there is anything to find."""
    try:
        return vault.find(text)
    except NotIndexedError:
        return []


def failed_notes(vault: Vault) -> list[str]:
    return [note.path for note in vault.workspace.documents(SearchFilters(), states=("failed",))[0]]


def ingest_elsewhere(vault: Vault) -> None:
    """What `kebab ingest` does in another process, over the same data."""
    other = vault.opened(Settings())
    other.ingest([], Callbacks())
    other.close()
