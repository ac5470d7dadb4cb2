"""The doctor finds errors and names a fix that works."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kebab_tui.formats.registry import FORMATS
from kebab_tui.storage.lock import WriterLock
from kebab_tui.storage.ports import Finding
from kebab_tui.storage.sqlite import schema
from kebab_tui.storage.sqlite.health import check_index
from kebab_tui.workspace import Callbacks
from tests.vault import Vault


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    made = Vault(tmp_path)
    for n in range(30):
        made.write(f"{n:02}.md", f"# Note {n}\n\nalpha {n} " + f"word{n} " * 200)
    made.ingest()
    yield made
    made.workspace.close()


def findings(vault: Vault) -> dict[str, Finding]:
    """The findings of the storage checks; `kebab doctor` has more."""
    chunker = vault.workspace._parts.recipe.chunker
    return {finding.check: finding for finding in check_index(vault.files, chunker)}


def unwell(vault: Vault) -> dict[str, str]:
    return {check: finding.level for check, finding in findings(vault).items() if finding.level != "ok"}


def change(vault: Vault, *statements: str) -> None:
    (vault.data / "kebab.seal").unlink(missing_ok=True)  # it would tell at once
    connection = sqlite3.connect(vault.data / "kebab.sqlite", isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def fold_log(vault: Vault) -> None:
    """No process has the database open, and the log is folded in."""
    vault.workspace.close()
    change(vault, "PRAGMA wal_checkpoint(TRUNCATE)")


def test_an_intact_index_has_no_problem(vault: Vault) -> None:
    assert unwell(vault) == {}
    assert not any(finding.fix for finding in findings(vault).values())


def test_the_checks_change_nothing(vault: Vault) -> None:
    before = vault.everything()
    findings(vault)
    assert vault.everything() == before


@pytest.mark.parametrize(
    ("harm", "check"),
    [
        ("DELETE FROM chunks_fts_docsize WHERE id IN (1, 2)", "row parity"),
        ("INSERT INTO chunks_fts_docsize VALUES (9999, x'01010101')", "row parity"),
        ("UPDATE chunks_fts_data SET block = zeroblob(length(block)) WHERE id > 10", "full text"),
        ("DELETE FROM chunks_fts_data WHERE id = (SELECT max(id) FROM chunks_fts_data)", "full text"),
        ("UPDATE names_fts_data SET block = zeroblob(length(block)) WHERE id > 10", "full text"),
    ],
)
def test_full_text_with_missing_rows_is_found_and_rebuilt(vault: Vault, harm: str, check: str) -> None:
    change(vault, harm)
    found = findings(vault)[check]
    assert found.level == "problem"
    assert "kebab index --rebuild-fts" in found.fix
    vault.workspace.rebuild_full_text(Callbacks())
    assert unwell(vault) == {}
    assert len(vault.find("alpha")) == 30


def test_text_that_differs_from_its_index_is_found(vault: Vault) -> None:
    change(vault, "DROP TRIGGER chunks_au", "UPDATE chunks SET text = 'something else' WHERE id = 3")
    assert unwell(vault) == {"full text": "problem"}
    vault.workspace.rebuild_full_text(Callbacks())
    assert unwell(vault) == {}
    change(vault, "DROP TRIGGER note_names_au", "UPDATE note_names SET names = 'other' WHERE id = 3")
    assert unwell(vault) == {"full text": "problem"}
    vault.workspace.rebuild_full_text(Callbacks())
    assert unwell(vault) == {}
    change(vault, "UPDATE note_names SET names = 'yet another' WHERE id = 3")
    change(vault, "UPDATE chunks SET text = 'again' WHERE id = 3")
    assert unwell(vault) == {}, "the triggers are back as well"


def test_orphan_rows_are_found_and_the_fix_works(vault: Vault) -> None:
    change(vault, "PRAGMA foreign_keys = OFF", "DELETE FROM documents WHERE path = '03.md'")
    found = findings(vault)["orphans"]
    assert (found.level, "chunks" in found.detail) == ("problem", True)
    assert "kebab ingest" in found.fix
    vault.ingest()
    assert unwell(vault) == {}
    assert len(vault.find("alpha")) == 30


def test_damaged_pages_are_found_and_the_fix_works(vault: Vault) -> None:
    fold_log(vault)
    ((root, size),) = vault.rows(
        "SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = 'words'"
    )
    with open(vault.data / "kebab.sqlite", "r+b") as handle:
        handle.seek((int(str(root)) - 1) * int(str(size)))
        handle.write(b"\xff" * int(str(size)))
    found = [finding for finding in findings(vault).values() if finding.level == "problem"]
    assert found
    assert all("kebab ingest" in finding.fix or "rebuild" in finding.fix for finding in found)
    vault.ingest()
    assert unwell(vault) == {}


def test_a_file_that_is_no_database_is_reported(vault: Vault) -> None:
    fold_log(vault)
    (vault.data / "kebab.sqlite").write_bytes(b"not a database at all " * 500)
    found = findings(vault)["database"]
    assert found.level == "problem"
    assert "kebab ingest" in found.fix


def test_a_missing_folder_of_notes_is_a_warning(vault: Vault) -> None:
    os.rename(vault.root, f"{vault.root}.away")
    found = findings(vault)["source notes"]
    assert (found.level, "kebab source remove notes" in found.fix) == ("warning", True)


def test_failed_files_are_counted(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    change(vault, "UPDATE documents SET state = 'failed', reason = 'permission denied' WHERE path < '03'")
    found = findings(vault)["notes"]
    assert (found.level, "3 of 30" in found.detail) == ("warning", True)
    assert "--state failed" in found.fix


def test_a_disk_that_fills_up_is_a_problem(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1 << 30, 1 << 30, 50 << 20))
    found = findings(vault)["disk"]
    assert (found.level, bool(found.fix)) == ("problem", True)


def test_another_parser_or_tokenizer_is_a_finding(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(FORMATS, "markdown", replace(FORMATS["markdown"], version=99))
        assert unwell(vault) == {"index version": "warning"}
        assert findings(vault)["index version"].detail.startswith("30 of 30 files")
    with monkeypatch.context() as patch:
        patch.setattr(schema, "GRAMS_VERSION", 99)
        assert findings(vault)["index version"].level == "warning"


def test_a_running_writer_is_named_and_the_full_text_not_checked(vault: Vault) -> None:
    lock = WriterLock(vault.files.lock)
    lock.acquire("kebab watch", 0, lambda _: None)
    found = findings(vault)
    assert f"pid {os.getpid()} (kebab watch" in found["lock"].detail
    assert (found["full text"].level, found["full text"].detail) == (
        "warning",
        "not checked: the index is in use",
    )
    lock.release()


def test_a_missing_index_is_reported(tmp_path: Path) -> None:
    empty = Vault(tmp_path)
    found = findings(empty)
    assert found["database"].level == "problem"
    assert "kebab ingest FOLDER" in found["database"].fix
    assert not empty.data.exists(), "looking makes no folder"


def test_a_newer_schema_is_reported(vault: Vault) -> None:
    vault.workspace.close()
    change(vault, f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
    assert "newer version" in findings(vault)["database"].detail


def test_the_size_of_the_database_counts_what_is_still_in_its_log(vault: Vault) -> None:
    size = findings(vault)["database"].detail
    fold_log(vault)
    assert size.partition(", ")[2] != "0 kB"
    assert (vault.data / "kebab.sqlite").stat().st_size > 50_000
    assert int(size.split()[-2]) >= 50
