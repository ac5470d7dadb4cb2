"""Embedding beside other writers: the lock is free while the model runs."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from kebab_tui.domain.errors import StoreBusyError, StoreError
from kebab_tui.embedding.encoder import Encoder
from kebab_tui.indexing import embed
from kebab_tui.indexing.embed import EmbeddingProgress, EmbeddingReport
from kebab_tui.indexing.worker import POLL_S
from kebab_tui.search.ports import Vector
from kebab_tui.settings.settings import IndexSettings, Settings
from kebab_tui.storage.lock import WriterLock
from kebab_tui.storage.requests import RequestFolder
from kebab_tui.workspace import Callbacks, Workspace
from tests.embedding.tiny_models import Tiny, write_tiny
from tests.indexing.keeping import PATIENCE_S, keeping, until
from tests.vault import Vault

pytestmark = pytest.mark.slow

NOTES = 6


class SlowModel:
    """Reads one text at a time, after `on_text` has been called; every vector is the same."""

    def __init__(self) -> None:
        self.read: list[str] = []
        self.on_text: Callable[[str], None] = lambda _: None

    def passages(
        self,
        encoder: Encoder,
        texts: Iterable[str],
        cancelled: Callable[[], bool] = lambda: False,
        beginnings: Mapping[str, bytes] | None = None,
    ) -> Iterator[Vector]:
        for text in texts:
            if cancelled():
                return
            last = text.rsplit("\n", 1)[-1]
            self.on_text(last)
            self.read.append(last)
            vector = np.zeros(encoder.card.dims, np.float32)
            vector[0] = 1
            yield vector


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> SlowModel:
    """Commits after each text."""
    made = SlowModel()
    monkeypatch.setattr(Encoder, "passages", lambda *given: made.passages(*given))
    monkeypatch.setattr(embed, "_ROUND", 1)
    monkeypatch.setattr(embed, "_LOCK_WAIT_S", 0.05)
    monkeypatch.setattr(embed, "_RETRY_S", 0.01)
    return made


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    """Notes whose model is a file of some kilobytes; nobody opens it here."""
    made = Vault(tmp_path, Settings(index=IndexSettings(lock_timeout_s=0.1)))
    for number in range(NOTES):
        made.write(f"{number}.md", f"text {number}")
    made.ingest()
    write_tiny(made.data / "models" / "tiny", normalise=True)
    write_tiny(made.data / "models" / "other", Tiny(dims=16), id="other", dims=16, normalise=True)
    made.workspace.use_model("tiny", Callbacks())
    yield made
    made.workspace.close()


def vectors(vault: Vault) -> int:
    return int(str(vault.rows("SELECT count(*) FROM embeddings")[0][0]))


def another(vault: Vault) -> Workspace:
    return vault.opened(vault.workspace.settings)


def test_the_lock_is_free_while_the_model_reads(vault: Vault, model: SlowModel) -> None:
    held: list[bool] = []
    model.on_text = lambda _: held.append(WriterLock(vault.files.lock).holder() is not None)
    report = vault.workspace.embed(Callbacks())
    assert (report.embedded, held) == (NOTES, [False] * NOTES)


def test_another_writer_gets_its_turn_between_two_batches(vault: Vault, model: SlowModel) -> None:
    def save(_: str) -> None:
        if len(model.read) == 2:
            vault.write("new.md", "fresh words")
            other = another(vault)
            other.ingest([], Callbacks())
            other.close()
            assert vault.find("fresh") == ["new.md"]
            assert vectors(vault) == 2

    model.on_text = save
    told: list[EmbeddingProgress] = []
    report = vault.workspace.embed(Callbacks(embedding=told.append))
    assert "fresh words" in model.read[3], "what was just saved comes first"
    assert (report.embedded, report.pending, vectors(vault)) == (NOTES + 1, 0, NOTES + 1)
    assert [(each.done, each.total) for each in told] == [
        (0, 6),
        (1, 6),
        (2, 6),
        *((n, 7) for n in range(3, 8)),
    ]


class Embedding:
    """`kebab index --embed` in a thread; stops at its third text until `go_on`."""

    def __init__(self, vault: Vault, model: SlowModel, callbacks: Callbacks | None = None) -> None:
        self.stopped, self._on = threading.Event(), threading.Event()
        self.report: EmbeddingReport | None = None
        self._model = model
        self._workspace = another(vault)
        self._callbacks = callbacks or Callbacks()
        self._thread = threading.Thread(target=self._run, name="embed")
        model.on_text = self._stop

    def _stop(self, _: str) -> None:
        if len(self._model.read) == 2 and threading.current_thread() is self._thread:
            self.stopped.set()
            assert self._on.wait(PATIENCE_S)

    def _run(self) -> None:
        self.report = self._workspace.embed(self._callbacks)

    def __enter__(self) -> Embedding:
        self._thread.start()
        assert self.stopped.wait(PATIENCE_S)
        return self

    def go_on(self) -> EmbeddingReport:
        self._on.set()
        self._thread.join(PATIENCE_S)
        assert self.report is not None
        return self.report

    def __exit__(self, *_: object) -> None:
        self._on.set()
        self._thread.join(PATIENCE_S)
        self._workspace.close()


def test_a_note_saved_meanwhile_is_indexed_by_the_daemon_and_embedded_once(
    vault: Vault, model: SlowModel
) -> None:
    with Embedding(vault, model) as embedding:
        workspace = another(vault)
        with keeping(vault, workspace._parts.worker_config("kebab watch").vectors) as kept:
            vault.write("new.md", "fresh words")
            until(lambda: vault.find("fresh") == ["new.md"], "a saved note is not indexed")
            assert (vectors(vault), len(model.read)) == (2, 2), "one process at a time makes vectors"
            report = embedding.go_on()
            assert (report.embedded, report.pending) == (NOTES + 1, 0)
            vault.write("later.md", "later words")
            until(lambda: vectors(vault) == NOTES + 2, "who watches does not go on making vectors")
            assert kept.followed == []
        workspace.close()
    assert len(model.read) == len(set(model.read)) == NOTES + 2, "a text is read twice"


_COMMAND = """
import sys
import numpy as np
from kebab_tui.embedding.encoder import Encoder
from kebab_tui.indexing import embed as embedding_job
from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Callbacks; from kebab_tui.workspace import Workspace
def passages(encoder, texts, cancelled, beginnings):
    for text in texts:
        print(text, flush=True)
        sys.stdin.readline()
        yield np.eye(1, encoder.card.dims, dtype=np.float32)[0]
Encoder.passages = passages
embedding_job._ROUND = 1
print(Workspace(Settings(), sys.argv[1]).embed(Callbacks()).embedded, flush=True)
"""


def test_a_note_is_indexed_while_another_process_makes_vectors(vault: Vault) -> None:
    argv = [sys.executable, "-c", _COMMAND, str(vault.data)]
    environ = {"PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ
    ) as command:
        assert command.stdout is not None
        command.stdout.readline()
        vault.write("new.md", "fresh words")
        vault.ingest()  # it waits for no more than 0.1 s
        assert vault.find("fresh") == ["new.md"]
        assert command.poll() is None
        told, _ = command.communicate("\n" * (NOTES + 1))
    assert told.split()[-1] == str(NOTES + 1)


def test_the_daemon_stops_embedding_for_the_command(vault: Vault, model: SlowModel) -> None:
    """And takes up what the command leaves."""
    workspace = another(vault)
    at_work, told = threading.Event(), threading.Event()

    def wait(_: str) -> None:
        at_work.set()
        assert told.wait(PATIENCE_S)
        time.sleep(2 * POLL_S)  # who watches looks in between whether another wants to write

    model.on_text = wait
    with keeping(vault, workspace._parts.worker_config("kebab watch").vectors):
        assert at_work.wait(PATIENCE_S)
        patient = vault.opened(Settings())
        made: list[EmbeddingReport] = []

        def embed() -> None:
            made.append(patient.embed(Callbacks(cancelled=lambda: vectors(vault) >= 3)))

        command = threading.Thread(target=embed)
        command.start()
        until(RequestFolder(vault.files.root).wanted)
        told.set()
        command.join(PATIENCE_S)
        patient.close()
        assert made[0].cancelled
        until(lambda: vectors(vault) == NOTES)
    workspace.close()
    assert len(model.read) == len(set(model.read)) == NOTES, "a text is read twice"


def test_two_commands_do_not_make_the_same_vectors(vault: Vault, model: SlowModel) -> None:
    with Embedding(vault, model) as embedding:
        other = another(vault)
        with pytest.raises(StoreBusyError, match="vectors are being made by pid"):
            other.embed(Callbacks())
        other.close()
        assert embedding.go_on().embedded == NOTES
    assert len(model.read) == NOTES


def test_a_command_that_waits_for_a_writer_waits_as_long_as_that_takes(
    vault: Vault, model: SlowModel
) -> None:
    told: list[object] = []
    with Embedding(vault, model, Callbacks(waiting=told.append)) as embedding:
        lock = WriterLock(vault.files.lock)
        lock.acquire("a long ingest", 0, lambda _: None)
        embedding._on.set()
        until(lambda: told)
        lock.release()
        assert embedding.go_on().embedded == NOTES
    assert len(told) == 1, "it is told once, with the holder"
    assert "a long ingest" in str(told[0])


def test_a_cancelled_command_does_not_wait_for_another_writer(vault: Vault, model: SlowModel) -> None:
    asked = threading.Event()
    with Embedding(vault, model, Callbacks(cancelled=asked.is_set)) as embedding:
        lock = WriterLock(vault.files.lock)
        lock.acquire("a long ingest", 0, lambda _: None)
        asked.set()
        report = embedding.go_on()
        lock.release()
    assert (report.embedded, report.pending, report.cancelled) == (2, NOTES - 2, True)
    assert vectors(vault) == 2
    assert vault.workspace.embed(Callbacks()).embedded == NOTES - 2


def test_another_model_chosen_meanwhile_is_the_one_that_is_used(vault: Vault, model: SlowModel) -> None:
    with Embedding(vault, model) as embedding:
        vault.workspace.use_model("other", Callbacks())
        report = embedding.go_on()
    assert (report.embedded, report.pending, report.cancelled) == (3 + NOTES, 0, False)
    counts = vault.rows("SELECT count(*) FROM embeddings GROUP BY model ORDER BY 1")
    assert counts == [(3,), (NOTES,)]


def test_a_data_folder_that_is_removed_meanwhile_is_not_made_anew(vault: Vault, model: SlowModel) -> None:
    aside = vault.data.with_name("aside")
    error: list[StoreError] = []

    def embed() -> None:
        try:
            command.embed(Callbacks())
        except StoreError as raised:
            error.append(raised)

    def take_away(_: str) -> None:
        if len(model.read) == 2:
            vault.data.rename(aside)

    model.on_text = take_away
    command = another(vault)
    embed()
    assert "was removed" in error[0].message
    assert not vault.data.exists()
    command.close()
    aside.rename(vault.data)
    model.on_text = lambda _: None
    assert vault.workspace.embed(Callbacks()).pending == 0


def test_the_file_of_vectors_is_written_in_the_end(vault: Vault, model: SlowModel) -> None:
    assert vault.workspace.embed(Callbacks(cancelled=lambda: len(model.read) >= 2)).cancelled
    assert vault.workspace.vectors().file == "none"
    vault.workspace.embed(Callbacks())
    assert vault.workspace.vectors().file == "current"
