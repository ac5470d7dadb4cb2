"""A file that takes too long to read, or is being read when a stop is asked for."""

from __future__ import annotations

import os
from itertools import count

import pytest

from kebab_tui.domain.change import MarkNote
from kebab_tui.domain.checkpoint import Checkpoint
from kebab_tui.domain.document import Block, Source
from kebab_tui.domain.ids import SourceId
from kebab_tui.files.walk import FoundFile, PathScanner, WalkRules, walk
from kebab_tui.formats import markdown
from kebab_tui.indexing.ingest import Ingest
from kebab_tui.indexing.path_queue import PathQueue
from kebab_tui.indexing.pipeline import FileTarget, Patience, Recipe, change_of
from kebab_tui.indexing.session import open_session
from kebab_tui.indexing.watched_folders import WatchedFolders
from kebab_tui.storage.ports import KnownFile
from kebab_tui.workspace import Callbacks
from tests.vault import Vault, files, index_in

HUGE = "*.md\n" + "".join(f"[{n}]?\n" for n in range(500))
LONG = "# h\n\ntext\n\n" * 20_000


@pytest.fixture
def slow_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """CPU time goes by at each look at it: a short note has used up little, a long one all it had."""
    ticks = count()
    monkeypatch.setattr("kebab_tui.domain.checkpoint.thread_time", lambda: next(ticks) * 0.1)


def reasons(vault: Vault) -> dict[str, tuple[str, str]]:
    rows = vault.rows("SELECT path, state, reason FROM documents ORDER BY path")
    return {str(path): (str(state), str(reason)) for path, state, reason in rows}


@pytest.mark.usefixtures("slow_clock")
def test_a_file_over_its_budget_is_a_failed_document_and_stops_no_other(vault: Vault) -> None:
    for name in ("a", "c"):
        vault.write(f"{name}.md", f"# {name}\n\nalpha\n")
    vault.write("b.md", LONG)
    vault.write("d.txt", "text\n\n" * 500_000)
    report = vault.ingest()
    assert {file.path: file.outcome for file in files(report)} == {
        "a.md": "added",
        "b.md": "failed",
        "c.md": "added",
        "d.txt": "failed",
    }
    assert vault.find("alpha") == ["a.md", "c.md"]
    assert reasons(vault)["b.md"] == ("failed", "took too long: more than 5.2 s of CPU time")


def test_it_is_tried_again_by_the_next_run(vault: Vault, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue("slow_clock")
    vault.write("b.md", LONG)
    assert vault.outcomes() == {"b.md": "failed"}
    request.getfixturevalue("monkeypatch").undo()
    assert vault.outcomes() == {"b.md": "changed"}
    assert vault.find("text") == ["b.md"]


def test_a_process_that_goes_on_tries_it_again_only_when_it_has_changed(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, slow_clock: None
) -> None:
    vault.write("b.md", LONG)
    read: list[str] = []

    def scan(lines: list[str], start: int, checkpoint: Checkpoint) -> tuple[Block, ...]:
        read.append(lines[0])
        while True:
            checkpoint()

    monkeypatch.setattr(markdown, "scan_markdown", scan)
    patience, known = Patience(), None

    def look() -> MarkNote | None:
        (found,) = (step for step in walk(str(vault.root), WalkRules()) if isinstance(step, FoundFile))
        place = FileTarget(SourceId("notes"), str(vault.root), found.path, known)
        change = change_of(found, place, Recipe(), set(), patience)
        assert change is None or isinstance(change, MarkNote)
        return change

    first = look()
    assert first is not None
    document = first.document
    known = KnownFile(document.doc_id, document.fingerprint, "", "", "failed", document.reason, 0)
    assert look() is None
    assert read == ["# h"]
    vault.write("b.md", "# other\n" + LONG)
    look()
    assert read == ["# h", "# other"]


def test_a_stop_within_a_file_keeps_what_was_read_before(vault: Vault) -> None:
    vault.write("a.md", "alpha\n")
    vault.write("b.md", LONG)
    done: list[str] = []
    asked = count()

    def stopping() -> bool:
        return bool(done) and next(asked) > 10  # in the midst of the long one

    report = vault.ingest(
        Callbacks(progress=lambda at: done.append(at.path) if at.path else None, stopping=stopping)
    )
    assert report.cancelled
    assert done == ["a.md"]
    assert vault.rows("SELECT path, state FROM documents") == [("a.md", "ok")]
    assert vault.orphans() == []
    assert vault.outcomes() == {"b.md": "added"}


def test_a_stop_while_the_folder_is_walked_takes_no_note_for_missing(vault: Vault) -> None:
    for name in range(5):
        vault.write(f"{name}.md", "alpha\n")
    vault.ingest()
    before = vault.everything()
    os.unlink(vault.root / "4.md")
    asked = count()
    assert vault.ingest(Callbacks(stopping=lambda: next(asked) >= 3)).cancelled
    assert vault.everything() == before
    assert vault.outcomes() == {"4.md": "removed"}


def test_a_stop_is_heeded_while_a_huge_ignore_file_is_matched(vault: Vault) -> None:
    """Also where it leaves out every note, so that the walk finds none."""
    vault.write("a.md", "alpha\n")
    vault.write(".gitignore", HUGE)
    asked = count()
    assert vault.ingest(Callbacks(stopping=lambda: next(asked) >= 50)).cancelled
    assert next(asked) < 100


def test_a_stop_is_heeded_in_a_tree_without_a_note(vault: Vault) -> None:
    for name in range(100):
        (vault.root / f"folder {name}").mkdir()
    asked = count()
    assert vault.ingest(Callbacks(stopping=lambda: next(asked) >= 20)).cancelled
    assert next(asked) < 60


def test_a_stop_is_heeded_while_a_huge_ignore_file_is_matched_for_one_note(vault: Vault) -> None:
    vault.write("a.md", "alpha\n")
    vault.ingest()
    before = vault.everything()
    vault.write(".gitignore", HUGE)
    asked = count()
    callbacks = Callbacks(stopping=lambda: next(asked) >= 50)
    (source,) = vault.workspace.sources()
    with open_session(index_in(str(vault.data)), "test", 0, lambda _: None) as session:
        scanner = PathScanner(source.root, WalkRules(), Checkpoint(stopping=callbacks.stopping))
        Ingest(session.writer, session.reader, Recipe(), callbacks).paths(source, scanner, [b"a.md"])
    assert next(asked) < 100
    assert vault.everything() == before


def test_a_stop_is_heeded_while_watches_are_set(vault: Vault) -> None:
    (vault.root / "folder").mkdir()
    vault.write(".gitignore", HUGE)
    asked = count()
    watched = WatchedFolders(PathQueue(), lambda: next(asked) >= 50)
    try:
        watched.follow([Source(SourceId("notes"), "notes", str(vault.root))])
    finally:
        watched.stop()
    assert 50 < next(asked) < 100
