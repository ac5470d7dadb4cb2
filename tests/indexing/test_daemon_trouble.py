"""The indexing process with a full disk, a read-only index or unreadable notes."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kebab_tui.domain.errors import (
    ModelError,
    StoreError,
    StoreReadOnlyError,
    UnreadableFileError,
    VectorError,
)
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.query import SearchQuery
from kebab_tui.indexing.callbacks import Callbacks
from kebab_tui.indexing.embed import EmbeddingReport
from kebab_tui.storage.lock import WriterLock
from kebab_tui.storage.ports import Writer
from kebab_tui.storage.requests import RequestFolder
from kebab_tui.storage.sqlite import connection as connections
from kebab_tui.storage.sqlite.batch import Batch
from tests.disks import fill, remount, small_disk
from tests.indexing.keeping import Kept, failed_notes, found, keeping, until
from tests.vault import Vault

pytestmark = pytest.mark.slow


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A data folder of four megabytes."""
    with small_disk(tmp_path / "data", 4) as disk:
        yield disk


def test_a_full_disk_is_reported_and_overcome(tmp_path: Path, small: Path) -> None:
    vault = Vault(tmp_path)
    vault.write("a.md", "alpha")
    with keeping(vault) as kept:
        filler = fill(small)
        for n in range(40):
            vault.write(f"{n}.md", f"word{n} " * 600)

        until(lambda: kept.error_code() == "disk_full")
        assert vault.find("alpha") == ["a.md"], "searching goes on"
        os.remove(filler)
        until(lambda: len(vault.ids()) == 41)
        until(lambda: kept.error_code() == "")
        kept.settled()
    vault.workspace.close()


class Refused:
    """What a bad disk answers, however often it is asked."""

    def __init__(self, error: StoreError) -> None:
        self._error = error
        self.count = 0

    def __call__(self, *_: object, **__: object) -> Any:
        self.count += 1
        raise self._error


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (sqlite3.SQLITE_FULL, "disk_full"),
        (sqlite3.SQLITE_READONLY, "readonly"),
        (sqlite3.SQLITE_IOERR_WRITE, "disk_fault"),
    ],
)
def test_a_disk_that_cannot_be_written_for_a_while_is_reported_and_overcome(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, code: int, told: str
) -> None:
    """Also while the indexer gives way to another process, and cannot begin to write again."""
    error = sqlite3.OperationalError("bad disk")
    error.sqlite_errorcode = code

    refused = Refused(connections.translate(error, vault.files.database))
    monkeypatch.setattr("kebab_tui.indexing.daemon._RETRY_S", 0.05)
    vault.write("a.md", "alpha")
    with keeping(vault) as kept:
        with monkeypatch.context() as patch:
            patch.setattr("kebab_tui.storage.sqlite.write_session._open_writer", refused)
            patch.setattr(Batch, "finish", lambda *_: refused())
            vault.write("b.md", "beta")
            until(lambda: kept.error_code() == told)
            assert vault.find("alpha") == ["a.md"], "searching goes on"
            with RequestFolder(vault.files.root).wanting():
                until(lambda: WriterLock(vault.files.lock).holder() is None)
            tried = refused.count
            until(lambda: refused.count > tried)
        until(lambda: found(vault, "beta") == ["b.md"])
        until(lambda: kept.error_code() == "")
        kept.settled()


def test_data_that_cannot_be_written_ends_a_daemon_with_the_reason(tmp_path: Path, small: Path) -> None:
    vault = Vault(tmp_path)
    vault.write("a.md", "alpha")
    vault.ingest()
    vault.workspace.close()
    remount(small, "ro")
    kept = Kept(vault)
    kept.start()
    until(lambda: not kept.is_running)
    assert isinstance(kept.error, StoreReadOnlyError)
    assert "searching still works" in kept.error.hint
    kept.stop()
    assert vault.find("alpha") == ["a.md"]
    vault.workspace.close()


def test_a_note_that_cannot_be_read_is_counted_and_read_when_it_can_be(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests may run as root, whom no permission stops."""
    from kebab_tui.files.read import read_file

    refusing = True

    def refused(root: str, path: str, limits: Any) -> Any:
        if refusing and path == "a.md":
            raise UnreadableFileError("permission denied")
        return read_file(root, path, limits)

    monkeypatch.setattr("kebab_tui.indexing.pipeline.read_file", refused)
    vault.write("a.md", "alpha")
    with keeping(vault) as kept:
        until(lambda: failed_notes(vault) == ["a.md"])
        until(lambda: (live := kept.live()) is not None and live.failed == 1)
        refusing = False
        os.chmod(vault.root / "a.md", 0o600)
        until(lambda: found(vault, "alpha") == ["a.md"])
        until(lambda: (live := kept.live()) is not None and live.failed == 0)


def test_a_folder_that_cannot_be_listed_keeps_its_notes_and_is_tried_again(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.write("sub/a.md", "alpha")
    vault.write("b.md", "beta")
    vault.ingest()
    real, refusing = os.scandir, True

    def scandir(path: Any) -> Any:
        if refusing and str(path).rstrip("/").endswith("/sub"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)

    def said() -> str:
        live = vault.workspace.live()
        return live.folders[0].reason if live else ""

    with keeping(vault):
        vault.write("b.md", "gamma")
        until(lambda: vault.find("gamma") == ["b.md"])
        assert vault.find("alpha") == ["sub/a.md"]
        until(lambda: said() == "cannot be read: sub; retried periodically")
        with open(vault.root / "sub/a.md", "w") as handle:
            handle.write("alpha and delta")
        refusing = False
        until(lambda: vault.find("delta") == ["sub/a.md"])
        until(lambda: said() == "")


class BrokenVectors:
    """A model that cannot be opened."""

    asked = 0

    def make(self, writer: Writer, callbacks: Callbacks) -> EmbeddingReport:
        self.asked += 1
        raise ModelError("the model is not there")

    def save(self) -> None:
        raise AssertionError("nothing was made")

    def prefer(self, rows: tuple[ChunkRow, ...]) -> None:
        """All come in their order."""

    def unload(self) -> None:
        """Nothing is held."""


def test_without_a_model_notes_are_kept_in_step_by_words(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    vectors = BrokenVectors()
    with keeping(vault, vectors) as kept:
        until(lambda: (live := kept.live()) is not None and live.error is not None)
        vault.write("b.md", "beta")
        until(lambda: vault.find("beta") == ["b.md"])
        kept.settled()
    assert vectors.asked < 10, "it is asked again only when notes have changed"


class UnsavedVectors:
    """A model with nothing to read, and a disk that takes no file of vectors at first."""

    saved = 0

    def make(self, writer: Writer, callbacks: Callbacks) -> EmbeddingReport:
        return EmbeddingReport(1, 0, 0.0, cancelled=False)

    def save(self) -> None:
        self.saved += 1
        if self.saved < 3:
            raise VectorError("the vector index could not be saved: No space left on device")

    def prefer(self, rows: tuple[ChunkRow, ...]) -> None:
        """All come in their order."""

    def unload(self) -> None:
        """Nothing is held."""


def test_a_file_of_vectors_that_could_not_be_written_is_said_and_written_later(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kebab_tui.indexing.schedule.SAVE_AFTER_S", 0.0)
    monkeypatch.setattr("kebab_tui.indexing.schedule.SAVES_APART_S", 0.3)
    vault.write("a.md", "alpha")
    vectors = UnsavedVectors()
    with keeping(vault, vectors) as kept:
        until(lambda: any(state.error and "No space left" in state.error.message for state in kept.states))
        until(lambda: vectors.saved == 3 and kept.error_code() == "")
    assert vectors.saved == 3, "once it is written it is written"


class SlowVectors:
    """A model that is never done; it remembers how often it was told to stop."""

    cut = 0

    def make(self, writer: Writer, callbacks: Callbacks) -> EmbeddingReport:
        until(callbacks.cancelled)
        self.cut += 1
        return EmbeddingReport(0, 1, 0.0, cancelled=True)

    def save(self) -> None:
        raise AssertionError("nothing was made")

    def prefer(self, rows: tuple[ChunkRow, ...]) -> None:
        """All come in their order."""

    def unload(self) -> None:
        """Nothing is held."""


def test_a_saved_note_and_another_writer_come_before_vectors(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    vectors = SlowVectors()
    with keeping(vault, vectors):
        for n in range(5):
            vault.write("a.md", f"word{n}")
            until(partial(_finds, vault, f"word{n}"))
        assert vault.workspace.ingest([], Callbacks()).count("failed") == 0
    assert vectors.cut >= 5


def test_what_is_asked_for_comes_before_vectors(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    vectors = SlowVectors()
    with keeping(vault, vectors):
        before = vectors.cut
        vault.workspace.request_rescan()
        until(lambda: vectors.cut > before)


def test_the_passages_on_the_screen_reach_the_model(vault: Vault) -> None:
    class Asked(SlowVectors):
        rows: tuple[ChunkRow, ...] = ()

        def prefer(self, rows: tuple[ChunkRow, ...]) -> None:
            self.rows = rows

    vault.write("a.md", "alpha")
    vectors = Asked()
    with keeping(vault, vectors):
        until(partial(_finds, vault, "alpha"))
        hits = vault.workspace.search(SearchQuery("alpha", "lexical")).hits
        vault.workspace.embed_first(hits)
        until(lambda: vectors.rows == tuple(hit.row for hit in hits))


def _finds(vault: Vault, word: str) -> bool:
    return vault.find(word) == ["a.md"]


def test_vectors_follow_a_saved_note_and_known_text_is_not_read_again(vault: Vault) -> None:
    """With the bundled model."""
    long = "alpha stays " + "word " * 300
    vault.write("a.md", f"# Apples\n\n{long}\n\n# Pears\n\nbeta goes\n")
    made = "SELECT count(*) FROM chunks WHERE embed_hash IN (SELECT text_hash FROM embeddings)"
    with keeping(vault) as bare:
        vectors = bare.workspace._parts.worker_config("test").vectors
    with keeping(vault, vectors) as kept:
        until(lambda: vault.rows(made) == [(2,)])
        before = set(vault.rows("SELECT text_hash, vector FROM embeddings"))
        vault.write("a.md", f"# Apples\n\n{long}\n\n# Plums\n\ngamma comes\n")
        until(lambda: vault.find("gamma") == ["a.md"])
        until(lambda: vault.rows("SELECT count(*) FROM embeddings") == [(3,)])
        assert before < set(vault.rows("SELECT text_hash, vector FROM embeddings"))
        vault.write("a.md", f"# Apples\n\n{long}\n\n# Pears\n\nbeta goes\n")
        until(lambda: vault.find("beta") == ["a.md"])
        kept.settled()
        assert set(vault.rows("SELECT text_hash, vector FROM embeddings")) > before
    assert (vault.data / "vectors.kebabvec").exists()


def test_an_unmounted_disk_takes_no_note_with_it_even_when_asked_to_look(tmp_path: Path) -> None:
    vault, disk = Vault(tmp_path), tmp_path / "disk"
    disk.mkdir()
    (disk / "a.md").write_text("alpha")
    mount = ["mount", "--bind", str(disk), str(vault.root)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        with keeping(vault) as kept:
            subprocess.run(["umount", "-l", str(vault.root)], check=True)
            vault.write("only-in-the-empty-folder.md", "beta")
            vault.workspace.request_rescan()
            until(lambda: vault.workspace.sources()[0].state == "paused")
            assert vault.find("alpha") == ["a.md"] and not vault.find("beta")
            (disk / "b.md").write_text("gamma")
            subprocess.run(mount, check=True)
            until(lambda: vault.find("gamma") == ["b.md"])
            kept.settled()
    finally:
        subprocess.run(["umount", "-l", str(vault.root)], capture_output=True, check=False)
    vault.workspace.close()
