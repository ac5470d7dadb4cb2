"""Leader election, and other writers beside the indexing process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from kebab_tui.domain.errors import SourceError, StoreError
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.indexing import daemon
from kebab_tui.indexing.embed import EmbeddingReport
from kebab_tui.indexing.status import LiveState
from kebab_tui.settings.settings import IndexSettings, Settings
from kebab_tui.storage.lock import WriterLock
from kebab_tui.storage.ports import Holder, Writer
from kebab_tui.storage.requests import RequestFolder
from kebab_tui.storage.sqlite.connection import open_writer
from kebab_tui.workspace import Callbacks
from tests.indexing.keeping import PATIENCE_S, Kept, found, ingest_elsewhere, keeping, until
from tests.vault import Vault

pytestmark = pytest.mark.slow

ROOT = str(Path(__file__).parents[2])


@contextmanager
def another_process(vault: Vault, *folders: str) -> Iterator[subprocess.Popen[bytes]]:
    """`kebab watch` over the same data; killed at the end if it still lives."""
    argv = [sys.executable, "-m", "kebab_tui", "--data-dir", str(vault.data), "watch", *folders]
    environ = {"PATH": os.environ["PATH"], "HOME": str(vault.data), "PYTHONPATH": ROOT}
    with subprocess.Popen(argv, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def two_indexers(vault: Vault, *folders: str) -> Iterator[tuple[subprocess.Popen[bytes], Kept]]:
    """One in another process, which keeps a note, and one here that is given `folders` and follows."""
    vault.write("a.md", "alpha")
    with another_process(vault, str(vault.root)) as first:
        until(lambda: vault.data.exists() and is_held_by(vault, first.pid))
        until(lambda: (live := vault.workspace.live()) is not None and live.pid == first.pid)
        until(lambda: found(vault, "alpha") == ["a.md"])
        kept = Kept(vault, None, *folders)
        kept.start()
        try:
            until(lambda: [holder and holder.pid for holder in kept.followed] == [first.pid])
            yield first, kept
        finally:
            kept.stop()
    assert kept.error is None


def holder_of(vault: Vault) -> Holder | None:
    return WriterLock(vault.files.lock).holder()


def is_held_by(vault: Vault, pid: int) -> bool:
    holder = holder_of(vault)
    return holder is not None and holder.pid == pid


def test_another_writer_gets_its_turn_at_once_and_the_daemon_goes_on(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kebab_tui.storage.lock._SILENT_S", 60)
    vault.write("a.md", "alpha")
    told: list[Holder | None] = []
    patient = vault.opened(Settings(index=IndexSettings(lock_timeout_s=PATIENCE_S)))
    with keeping(vault) as kept:
        report = patient.ingest([], Callbacks(waiting=told.append))
        patient.close()
        assert report.count("unchanged") == 1
        assert told == [], "who waits shortly is told nothing"
        vault.write("b.md", "beta")
        until(lambda: vault.find("beta") == ["b.md"])
        kept.settled()
        assert not os.listdir(vault.data / "requests")


def test_what_happens_while_the_daemon_has_yielded_is_done_afterwards(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    with keeping(vault) as kept:
        with vault.workspace._parts.session("a long job", Callbacks()):
            vault.write("b.md", "beta")
            until(lambda: (live := kept.live()) is not None and "a long job" in live.given_way_to)
            assert vault.find("beta") == []
        until(lambda: vault.find("beta") == ["b.md"])
        until(lambda: (live := kept.live()) is not None and live.given_way_to == "")
        assert kept.followed == [], "who gives way is still the indexer"


def test_a_source_added_meanwhile_is_watched(vault: Vault, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "o.md").write_text("omega")
    with keeping(vault):
        vault.workspace.ingest([str(other)], Callbacks())
        assert vault.find("omega") == ["o.md"]
        until(lambda: (live := vault.workspace.live()) is not None and len(live.folders) == 2)
        (other / "p.md").write_text("psi")
        until(lambda: vault.find("psi") == ["p.md"])
        vault.workspace.remove_source(vault.workspace.sources()[1].source_id, Callbacks())
        until(lambda: (live := vault.workspace.live()) is not None and len(live.folders) == 1)


def test_a_second_daemon_follows_and_takes_over_when_the_first_is_killed(vault: Vault) -> None:
    with two_indexers(vault) as (first, kept):
        vault.write("b.md", "beta")
        until(lambda: vault.find("beta") == ["b.md"])
        assert kept.changes == [], "a follower writes nothing"
        first.send_signal(signal.SIGKILL)
        vault.write("c.md", "gamma")
        until(lambda: is_held_by(vault, os.getpid()))
        assert daemon._FOLLOW_S <= 0.5, "the documented two seconds are those of several looks"
        until(lambda: vault.find("gamma") == ["c.md"])
        kept.settled()
        live = vault.workspace.live()
        assert live is not None
        assert live.pid == os.getpid()


def test_a_follower_never_comes_before_the_daemon_that_yielded(vault: Vault) -> None:
    with two_indexers(vault) as (first, kept):
        for turn in range(5):
            vault.write("a.md", f"alpha {turn}")
            ingest_elsewhere(vault)
            until(lambda: is_held_by(vault, first.pid))
        assert kept.changes == []


def test_a_new_folder_given_to_a_second_daemon_becomes_a_source_of_the_first(
    vault: Vault, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "o.md").write_text("omega")
    with two_indexers(vault, str(other)) as (first, kept):
        until(lambda: found(vault, "omega") == ["o.md"])
        assert is_held_by(vault, first.pid)
        assert kept.changes == []


class EndlessEmbedding:
    """Embeds until another process wants to write."""

    has_begun = False

    def make(self, _: Writer, callbacks: Callbacks) -> EmbeddingReport:
        self.has_begun = True
        until(callbacks.cancelled)
        return EmbeddingReport(0, 1000, 1.0, cancelled=True)

    def save(self) -> None:
        """There is nothing to save."""

    def prefer(self, rows: tuple[ChunkRow, ...]) -> None:
        """All come in their order."""

    def unload(self) -> None:
        """There is no model."""


def test_a_daemon_that_watches_takes_over_from_one_that_embeds_once(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    vectors = EndlessEmbedding()
    once = Kept(vault, vectors, once=True)
    once.start()
    until(lambda: vectors.has_begun)
    with another_process(vault, str(vault.root)) as watching:
        until(lambda: not once.is_running, "the work is not left to the one that watches")
        until(lambda: is_held_by(vault, watching.pid))
        vault.write("b.md", "beta")
        until(lambda: found(vault, "beta") == ["b.md"])
    once.stop()
    assert once.error is None


def test_a_daemon_that_waits_takes_over_from_one_that_began_to_embed_once_meanwhile(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    lock = WriterLock(vault.files.lock)
    lock.acquire("a long job", 0, lambda _: None)
    once = Kept(vault, EndlessEmbedding(), once=True)
    once.start()
    until(lambda: vault.data.joinpath("live.json").exists())
    with another_process(vault, str(vault.root)) as watching:
        lock.release()
        until(lambda: not once.is_running)
        until(lambda: is_held_by(vault, watching.pid))
    once.stop()
    assert once.error is None


def test_a_folder_that_is_none_ends_a_daemon_with_the_reason(vault: Vault) -> None:
    kept = Kept(vault, None, str(vault.root / "no such"))
    kept.start()
    until(lambda: not kept.is_running)
    assert isinstance(kept.error, SourceError)
    assert vault.workspace.sources() == []
    kept.stop()


def test_the_request_of_a_killed_process_is_swept(vault: Vault) -> None:
    requests = RequestFolder(str(vault.data))
    (vault.data / "requests").mkdir(parents=True)
    (vault.data / "requests" / f"{os.getpid()}-9.want").touch()
    with requests.wanting():
        assert requests.wanted()
    assert not requests.wanted()
    assert os.listdir(vault.data / "requests") == []


def test_a_daemon_that_stops_leaves_no_files_behind(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    with keeping(vault):
        assert vault.workspace.live() is not None
    assert vault.workspace.live() is None
    assert not (vault.data / "live.json").exists()
    assert holder_of(vault) is None


@pytest.mark.parametrize("named", [True, False], ids=["named", "everything"])
def test_another_look_is_done_when_it_is_asked_for(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    monkeypatch.setattr("kebab_tui.indexing.path_queue.SETTLE_S", 3600)
    vault.write("a.md", "alpha")
    with keeping(vault) as kept:
        monkeypatch.setattr(kept.daemon._worker._queue, "add", _deaf(kept))
        vault.write("a.md", "beta")
        kept.vault.workspace.request_rescan([str(vault.root / "a.md")] if named else [])
        until(lambda: vault.find("beta") == ["a.md"])


def _deaf(kept: Kept) -> object:
    """A queue that hears only what is asked for."""
    real = kept.daemon._worker._queue.add

    def add(root: str, path: bytes, is_dir: bool = False, settle_s: float | None = None) -> None:
        if settle_s is not None:
            real(root, path, is_dir, settle_s)

    return add


_NO_REQUESTS = (
    "",
    "{",
    "[" * 100_000,
    '{"verb": "dance"}',
    '{"verb": "rescan", "paths": [1], "retry": false}',
    '{"verb": "rescan", "paths": ["\\u0000/a.md"], "retry": false}',
    '{"verb": "rescan", "paths": ["/\\ud800.md"], "retry": false}',
)


def test_a_request_that_cannot_be_read_is_removed(vault: Vault) -> None:
    with keeping(vault) as kept:
        for number, text in enumerate(_NO_REQUESTS):
            (vault.data / "requests").mkdir(exist_ok=True)
            (vault.data / "requests" / f"1-{number}.json").write_text(text)
        until(lambda: os.listdir(vault.data / "requests") == [])
        kept.settled()


def test_the_successor_of_a_killed_daemon_checks_all_pages_when_idle(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[object] = []
    monkeypatch.setattr("kebab_tui.storage.sqlite.recovery.full_check", looks.append)
    monkeypatch.setattr("kebab_tui.indexing.schedule.QUIET_S", 3600)
    with two_indexers(vault) as (first, kept):
        first.kill()
        until(kept.is_keeping)
        kept.settled()
        assert (vault.data / "suspect").exists() and not looks, "first of all the notes"
        monkeypatch.setattr("kebab_tui.indexing.schedule.QUIET_S", 0)
        until(lambda: not (vault.data / "suspect").exists())
        assert len(looks) == 1


def test_a_daemon_that_was_taken_for_dead_becomes_a_follower(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    with keeping(vault) as kept, vault.workspace._parts.session("a long job", Callbacks()):
        until(lambda: (live := kept.live()) is not None and "a long job" in live.given_way_to)
        live = replace(LiveState(os.getppid()), folders=())
        (vault.data / "live.json").write_text(json.dumps(asdict(live)))
        kept.ask_to_stop()
        until(lambda: not kept.is_running)
    assert (vault.data / "live.json").exists()


def test_a_data_folder_that_is_removed_ends_the_leader_and_the_follower(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    with another_process(vault, str(vault.root)) as first:
        until(lambda: vault.data.exists() and is_held_by(vault, first.pid))
        until(lambda: vault.workspace.live())
        kept = Kept(vault)
        kept.start()
        until(lambda: kept.followed)
        os.rename(vault.data, vault.data.with_name("away"))
        until(lambda: not kept.is_running)
        assert first.wait(PATIENCE_S) == 2
        assert isinstance(kept.error, StoreError)
        assert "was removed" in kept.error.message
        assert not vault.data.exists(), "nobody makes another one"
        kept.stop()


def test_a_damaged_index_is_set_aside_and_read_anew(vault: Vault) -> None:
    for n in range(30):
        vault.write(f"{n}.md", f"word{n} " * 200)
    vault.ingest()
    vault.workspace.close()
    open_writer(vault.files.database).close()  # the log is folded in and gone
    (vault.data / "kebab.seal").unlink(missing_ok=True)  # it would tell at once
    with open(vault.data / "kebab.sqlite", "r+b") as database:
        database.seek(16_384)
        database.write(b"\xff" * 400_000)
    (vault.data / "suspect").touch()
    with keeping(vault) as kept:
        until(lambda: len(vault.ids()) == 30)
        kept.settled()
        until(lambda: (live := kept.live()) is not None and live.error is None)
    assert "store_damaged" in {state.error.code for state in kept.states if state.error}
    assert [name for name in os.listdir(vault.data) if ".damaged-" in name]


def test_settings_declare_folders(vault: Vault, tmp_path: Path) -> None:
    from kebab_tui.settings.settings import SourceSettings

    vault.write("a.md", "alpha")
    declared = Settings(sources=(SourceSettings(path=str(vault.root)),))
    workspace = vault.opened(declared)
    charge = workspace._parts.worker_config("test")
    assert [source.root for source in charge.declared] == [str(vault.root)]
    workspace.close()
