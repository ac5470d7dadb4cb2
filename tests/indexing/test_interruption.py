"""Indexing that is cancelled, has to wait, or runs during searches."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from kebab_tui.domain.errors import StoreBusyError
from kebab_tui.domain.query import SearchQuery
from kebab_tui.indexing.report import Progress
from kebab_tui.settings.settings import IndexSettings, Settings
from kebab_tui.storage.lock import WriterLock
from kebab_tui.storage.ports import Holder
from kebab_tui.storage.sqlite.writer import StoreWriter
from kebab_tui.workspace import Callbacks
from tests.vault import Vault

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("after", [0, 1, 3, 7])
def test_a_cancelled_run_loses_nothing_and_the_next_one_completes_it(vault: Vault, after: int) -> None:
    for n in range(8):
        vault.write(f"{n}.md", f"word{n}")
    done: list[Progress] = []
    report = vault.ingest(Callbacks(progress=done.append, cancelled=lambda: len(done) > after))
    assert report.cancelled
    assert report.count("added") == after
    assert vault.rows("SELECT count(*) FROM documents") == [(after,)]
    report = vault.ingest()
    assert not report.cancelled
    assert report.count("added") == 8 - after
    assert len(vault.ids()) == 8


def test_a_cancel_after_renames_leaves_names_right_and_the_next_run_completes_the_titles(
    vault: Vault,
) -> None:
    for n in range(4):
        vault.write(f"old{n}.md", f"```\ncode {n}\n```")
    vault.ingest()
    before = vault.ids()
    for n in range(4):
        vault.move(f"old{n}.md", f"new{n}.md")
    answers = iter([False])  # not before the folder is looked at, but before the first file
    assert vault.ingest(Callbacks(cancelled=lambda: next(answers, True))).cancelled
    assert vault.ids() == {path.replace("old", "new"): doc for path, doc in before.items()}
    vault.ingest()
    assert vault.find("title:old") == []
    assert len(vault.find("title:new")) == 4


def test_commits_on_the_way_are_found_before_the_end(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kebab_tui.indexing.ingest._COMMIT_CHUNKS", 2)
    for n in range(6):
        vault.write(f"{n}.md", f"alpha {n}")
    seen: list[int] = []

    def look(progress: Progress) -> None:
        if progress.done:
            seen.append(int(str(vault.rows("SELECT count(*) FROM chunks")[0][0])))

    vault.ingest(Callbacks(progress=look))
    assert seen == [0, 2, 2, 4, 4, 6]


def test_the_second_of_two_writers_waits_and_says_for_whom(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    vault.ingest()
    lock = WriterLock(vault.files.lock)
    lock.acquire("kebab watch", 0, lambda _: None)
    told: list[Holder | None] = []

    def waiting(holder: Holder | None) -> None:
        told.append(holder)
        lock.release()

    vault.write("b.md", "beta")
    assert vault.ingest(Callbacks(waiting=waiting)).count("added") == 1
    (holder,) = told
    assert holder is not None
    assert (holder.pid, holder.command) == (os.getpid(), "kebab watch")


def test_a_writer_that_waits_too_long_names_the_one_who_writes(vault: Vault) -> None:
    lock = WriterLock(vault.files.lock)
    lock.acquire("kebab watch", 0, lambda _: None)
    hasty = vault.opened(Settings(index=IndexSettings(lock_timeout_s=0.0)))
    with pytest.raises(StoreBusyError, match=f"pid {os.getpid()}.*kebab watch"):
        hasty.ingest([str(vault.root)], Callbacks())
    lock.release()


def test_searches_go_on_while_notes_are_written(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kebab_tui.indexing.ingest._COMMIT_CHUNKS", 5)
    monkeypatch.setattr(
        "kebab_tui.storage.sqlite.write_session.StoreWriter", partial(StoreWriter, bulk_chunks=3)
    )
    workspace = vault.opened(Settings())
    vault.write("first.md", "alpha first")
    workspace.ingest([str(vault.root)], Callbacks())
    over, errors, answers = threading.Event(), [], []

    def reader() -> None:
        try:
            while not over.is_set():
                response = vault.workspace.search(SearchQuery("alpha", k=200))
                texts = {hit.text for hit in response.hits}
                assert "alpha first" in texts
                assert len(texts) == response.total_matches, "one moment of the corpus"
                answers.append(response.corpus_revision)
        except Exception as error:  # noqa: BLE001 - whatever a thread meets is this test's finding
            errors.append(error)

    threads = [threading.Thread(target=reader) for _ in range(2)]
    for thread in threads:
        thread.start()
    for turn in range(4):
        for n in range(25):
            vault.write(f"{n}.md", f"alpha {n} in turn {turn}")
        workspace.ingest([str(vault.root)], Callbacks())
    over.set()
    for thread in threads:
        thread.join()
    workspace.close()
    assert errors == []
    assert len(set(answers)) > 2, "readers saw the corpus grow"


_INGEST = """
import sys
from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Callbacks; from kebab_tui.workspace import Workspace
report = Workspace(Settings(), sys.argv[1]).ingest([sys.argv[2]], Callbacks())
print(report.count("added"), report.count("failed"))
"""


def test_two_processes_that_ingest_at_once_both_succeed_and_share_the_work(vault: Vault) -> None:
    for n in range(60):
        vault.write(f"{n}.md", f"# Note {n}\n\nalpha {n}")
    argv = [sys.executable, "-c", _INGEST, str(vault.data), str(vault.root)]
    environ = {"PYTHONPATH": str(Path(__file__).parents[2])}
    pipe = subprocess.PIPE
    both = [subprocess.Popen(argv, stdout=pipe, stderr=pipe, text=True, env=environ) for _ in range(2)]
    answers = [child.communicate(timeout=60) for child in both]
    assert sorted(answers) == [("0 0\n", ""), ("60 0\n", "")]
    assert len(vault.find("alpha")) == 60
    assert not vault.orphans()
