"""A note that is saved while its folder is watched, whatever program saves it."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from kebab_tui.indexing.ingest import Ingest
from kebab_tui.indexing.worker import IndexWorker
from kebab_tui.storage.sqlite.catalogue import StoreCatalogue
from tests.indexing.editors import EDITORS, Save, emacs, removed_and_written, vim
from tests.indexing.keeping import Kept, citations_are_true, keeping, until
from tests.vault import Vault

pytestmark = pytest.mark.slow

LONG = "alpha stays " + "word " * 300
BEFORE = f"# Apples\n\n{LONG}\n\n# Pears\n\nbeta goes\n"
AFTER = f"# Apples\n\n{LONG}\n\n# Plums\n\ngamma comes\n"


@pytest.fixture
def kept(vault: Vault) -> Iterator[Kept]:
    vault.write("a.md", BEFORE)
    vault.write("sub/b.md", "# Bees\n\nhoney\n")
    with keeping(vault) as made:
        yield made


@pytest.mark.parametrize("save", EDITORS, ids=lambda save: save.__name__)
def test_a_saved_note_is_found_as_it_is_now_and_keeps_what_did_not_change(
    vault: Vault, kept: Kept, save: Save
) -> None:
    ids, rows = vault.ids(), kept.chunk_rows("a.md")
    save(vault.root / "a.md", AFTER)
    until(lambda: vault.find("gamma") == ["a.md"])
    kept.settled()
    assert (vault.find("alpha"), vault.find("beta")) == (["a.md"], [])
    assert vault.ids() == ids
    after = kept.chunk_rows("a.md")
    (same,) = rows.keys() & after.keys()
    assert "alpha stays" in same
    assert after[same] == rows[same], "a passage that did not change keeps its row"
    assert citations_are_true(vault)
    outcomes = {outcome for outcome, path in kept.outcomes() if path == "a.md"}
    assert outcomes == {"added", "changed"}


@pytest.mark.parametrize("save", [vim, emacs, removed_and_written], ids=lambda save: save.__name__)
def test_a_note_is_never_missing_because_an_editor_renames(vault: Vault, kept: Kept, save: Save) -> None:
    over, missing, looks = threading.Event(), [], 0

    def look() -> None:
        nonlocal looks
        while not over.is_set():
            looks += 1
            if vault.find("alpha") != ["a.md"]:
                missing.append(looks)

    reader = threading.Thread(target=look)
    reader.start()
    try:
        for turn in range(4):
            save(vault.root / "a.md", f"{AFTER}\nturn{turn}\n")
            until(partial(_finds, vault, f"turn{turn}"))
    finally:
        over.set()
        reader.join()
    assert missing == []
    assert looks > 50


def _finds(vault: Vault, word: str) -> bool:
    return vault.find(word) == ["a.md"]


def test_an_edit_that_keeps_size_and_time_is_seen(vault: Vault, kept: Kept) -> None:
    path = vault.root / "a.md"
    stamp = os.stat(path)
    path.write_text(BEFORE.replace("beta", "zeta"))
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert os.stat(path).st_size == stamp.st_size
    until(lambda: vault.find("zeta") == ["a.md"])
    kept.settled()


def test_a_note_that_never_rests_is_read_every_other_second_and_right_at_the_end(
    vault: Vault, kept: Kept
) -> None:
    """Hundreds of writes a second, for as long as it takes until three of them were found on the way."""
    turn = 0
    while len(seen := {change.revision for change in kept.changes if change.path == "a.md"}) < 3:
        turn += 1
        assert turn < 100_000, seen
        vault.write("a.md", f"{BEFORE}\nturn{turn}\n")
        time.sleep(0.002)
    until(lambda: vault.find(f"turn{turn}") == ["a.md"])
    kept.settled()
    assert len([change for change in kept.changes if change.path == "a.md"]) < turn / 10


@pytest.mark.program
@pytest.mark.parametrize("editor", ["vim", "emacs"])
def test_a_real_editor(vault: Vault, kept: Kept, editor: str) -> None:
    if shutil.which(editor) is None:
        pytest.skip(f"{editor} is not installed")
    path = str(vault.root / "a.md")
    replace = '(while (search-forward "beta" nil t) (replace-match "gamma"))'
    argv = {
        "vim": ["vim", "-es", "-u", "NONE", "-c", "%s/beta/gamma/", "-c", "wq", path],
        "emacs": ["emacs", "--batch", path, "--eval", replace, "-f", "save-buffer"],
    }[editor]
    subprocess.run(argv, check=True, capture_output=True, timeout=60)
    until(lambda: vault.find("gamma") == ["a.md"])
    kept.settled()
    assert set(vault.ids()) == {"a.md", "sub/b.md"}


def test_what_was_rewritten_is_merged_away_when_it_is_quiet(
    vault: Vault, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kebab_tui.indexing.schedule.QUIET_S", 3600)
    monkeypatch.setattr("kebab_tui.storage.sqlite.writer._MERGE_ROWS", 1)
    gone = partial(vault.rows, "SELECT value FROM meta WHERE key = 'gone_from_full_text'")
    vault.write("a.md", "another form")
    until(gone)
    monkeypatch.setattr("kebab_tui.indexing.schedule.QUIET_S", 0)
    until(lambda: not gone())
    kept.settled()
    assert (vault.find("form"), vault.find("alpha")) == (["a.md"], [])


def test_a_saved_note_is_indexed_without_counting_all_notes(
    vault: Vault, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting = Counted(StoreCatalogue.makers)
    monkeypatch.setattr(StoreCatalogue, "makers", counting.method())
    vault.write("a.md", AFTER)
    until(lambda: vault.find("gamma") == ["a.md"])
    os.remove(vault.root / "a.md")
    until(lambda: vault.find("gamma") == [])
    assert counting.calls == 0


@pytest.mark.program
def test_sed_in_place(vault: Vault, kept: Kept) -> None:
    subprocess.run(["sed", "-i", "s/beta/gamma/", str(vault.root / "a.md")], check=True)
    until(lambda: vault.find("gamma") == ["a.md"])
    kept.settled()


@pytest.mark.parametrize(("jump_h", "asleep_h"), [(-24, 0), (24, 0), (-5, 3), (5, 3)])
def test_a_clock_that_jumps_delays_nothing_and_loses_nothing(
    vault: Vault, kept: Kept, monkeypatch: pytest.MonkeyPatch, jump_h: int, asleep_h: int
) -> None:
    whole, steps = Counted(Ingest.source), Counted(IndexWorker._step)
    monkeypatch.setattr(Ingest, "source", whole.method())
    monkeypatch.setattr(IndexWorker, "_step", steps.method())
    now, now_ns, began = time.time, time.time_ns, time.monotonic()
    monkeypatch.setattr(time, "time", lambda: now() + jump_h * 3600)
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + jump_h * 3600 * 10**9)
    since_boot = time.clock_gettime
    monkeypatch.setattr(time, "clock_gettime", lambda clock: since_boot(clock) + asleep_h * 3600)
    vim(vault.root / "a.md", AFTER)
    os.remove(vault.root / "sub" / "b.md")
    until(lambda: vault.find("gamma") == ["a.md"] and vault.find("honey") == [])
    assert kept.live() is not None
    vault.write("c.md", "# Figs\n\nfrom tomorrow\n")
    tomorrow = now() + 86_400
    os.utime(vault.root / "c.md", (tomorrow, tomorrow))
    until(lambda: vault.find("tomorrow") == ["c.md"])
    until(lambda: whole.calls >= bool(asleep_h))
    assert whole.calls == bool(asleep_h), "all is looked at once after a sleep, and never for a jump"
    kept.settled()
    assert steps.calls < 100 + 20 * (time.monotonic() - began), "it rests in between"


class Counted:
    """How often a method is called."""

    def __init__(self, original: Callable[..., Any]) -> None:
        self._original = original
        self.calls = 0

    def method(self) -> Callable[..., Any]:
        def counted(*given: Any) -> Any:
            self.calls += 1
            return self._original(*given)

        return counted
