"""Page checksums: a read returns what was written, to the last bit, or reports damage."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kebab_tui.domain.errors import StoreDamagedError, StoreReadOnlyError, StoreTooNewError
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite import schema
from kebab_tui.storage.sqlite.checksum import _HEADER, PageChecksums
from kebab_tui.storage.sqlite.health import check_index
from kebab_tui.workspace import Callbacks
from tests.vault import Vault

pytestmark = pytest.mark.slow

_NOTES = 40


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    made = Vault(tmp_path)
    for n in range(_NOTES):
        made.write(f"{n:02}.md", f"# Note {n}\n\nalpha {n} " + " ".join(f"w{n}x{k}" for k in range(150)))
    made.ingest()
    made.workspace.close()
    yield made
    made.workspace.close()


def database(vault: Vault) -> Path:
    return vault.data / "kebab.sqlite"


def seal(vault: Vault) -> Path:
    return vault.data / "kebab.seal"


def sums(vault: Vault) -> bytes:
    """The sums of the pages, without the header."""
    return seal(vault).read_bytes()[_HEADER.size :]


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[random.Random(3).randrange(len(content))] ^= 4
    path.write_bytes(content)


def zeroed(path: Path) -> None:
    with open(path, "r+b") as handle:
        handle.seek(3 * 16_384)
        handle.write(bytes(4096))


def cut_short(path: Path) -> None:
    os.truncate(path, os.path.getsize(path) - 16_384)


def grown(path: Path) -> None:
    with open(path, "ab") as handle:
        handle.write(bytes(16_384))


def emptied(path: Path) -> None:
    os.truncate(path, 0)


Harm = Callable[[Path], None]
HARMS = pytest.mark.parametrize("harm", [flipped, zeroed, cut_short, grown, emptied])


@HARMS
def test_damage_is_reported_before_any_result(vault: Vault, harm: Harm) -> None:
    harm(database(vault))
    with pytest.raises(StoreDamagedError, match="index corrupted"):
        vault.find("alpha")


@HARMS
def test_an_open_reader_reports_it_too(vault: Vault, harm: Harm) -> None:
    assert len(vault.find("alpha")) == _NOTES
    harm(database(vault))
    with pytest.raises(StoreDamagedError):
        vault.find("alpha")


@HARMS
def test_the_next_ingest_reads_the_notes_again(vault: Vault, harm: Harm) -> None:
    harm(database(vault))
    assert vault.ingest().healed
    assert len(vault.find("alpha")) == _NOTES
    PageChecksums(DataFolder(str(vault.data))).check_pages()


def test_a_copy_of_the_data_folder_passes(vault: Vault, tmp_path: Path) -> None:
    away = tmp_path / "away"
    shutil.copytree(vault.data, away, copy_function=shutil.copyfile)  # with another time
    shutil.rmtree(vault.data)
    away.rename(vault.data)
    assert len(vault.find("alpha")) == _NOTES


def test_updated_sums_equal_recomputed_ones(vault: Vault) -> None:
    dice = random.Random(1)
    for _ in range(5):
        vault.write(f"{dice.randrange(_NOTES):02}.md", f"beta {dice.random()} " * dice.randrange(900))
        if dice.random() < 0.5:
            (vault.root / f"{dice.randrange(_NOTES):02}.md").unlink(missing_ok=True)
        vault.ingest()
        kept = sums(vault)
        folder = PageChecksums(DataFolder(str(vault.data)))
        folder.remove()
        folder.drop()
        folder.write(None, (1, 1))
        assert sums(vault) == kept


def test_a_restarted_log_is_not_taken_for_all_changes(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kebab_tui.storage.sqlite.connection._CHECKPOINT_PAGES", 1)
    for n in range(_NOTES):
        vault.write(f"{n:02}.md", f"gamma {n} " * 200)
    vault.ingest()
    PageChecksums(DataFolder(str(vault.data))).check_pages()
    vault.write("00.md", "delta")
    vault.ingest()
    PageChecksums(DataFolder(str(vault.data))).check_pages()


def test_a_run_without_changes_restores_the_seal(vault: Vault) -> None:
    before = os.stat(seal(vault)), seal(vault).read_bytes()
    with vault.workspace._parts.session("nothing", Callbacks()):
        assert not seal(vault).exists(), "a writer that is killed now leaves none"
    after = os.stat(seal(vault)), seal(vault).read_bytes()
    assert (before[0].st_ino, before[1]) == (after[0].st_ino, after[1])
    assert not list(vault.data.glob("kebab.seal.*"))


def test_a_reader_that_needs_older_pages_leaves_the_database_without_a_seal(vault: Vault) -> None:
    with vault.workspace._parts.index.reader.snapshot():
        vault.write("new.md", "epsilon")
        vault.ingest()
    assert not seal(vault).exists()
    assert vault.find("epsilon") == ["new.md"]
    vault.write("new.md", "zeta")
    vault.ingest()
    PageChecksums(DataFolder(str(vault.data))).check_pages()
    assert seal(vault).exists()


@pytest.mark.parametrize("content", [b"", b"KEBABSL2", b"x" * 100], ids=["empty", "cut", "other"])
def test_an_unreadable_seal_is_ignored(vault: Vault, content: bytes) -> None:
    seal(vault).write_bytes(content)
    assert len(vault.find("alpha")) == _NOTES


def test_a_seal_with_damaged_sums_is_ignored(vault: Vault) -> None:
    flipped(seal(vault))
    os.utime(database(vault))
    assert len(vault.find("alpha")) == _NOTES


def test_a_database_of_a_newer_version_is_not_reported_as_damaged(vault: Vault) -> None:
    with sqlite3.connect(database(vault)) as connection:
        connection.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
    connection.close()
    with pytest.raises(StoreTooNewError):
        vault.find("alpha")
    with pytest.raises(StoreTooNewError):
        vault.ingest()


@pytest.mark.parametrize("harm", [flipped, cut_short])
@pytest.mark.parametrize("writes", [False, True], ids=["nothing", "a note"])
def test_damage_under_a_writer_is_found_by_the_next_reader(vault: Vault, harm: Harm, writes: bool) -> None:
    with vault.workspace._parts.session("a long job", Callbacks()) as session:
        if writes:
            session.writer.set_made_by("somebody else")
        harm(database(vault))
    vault.workspace.close()
    with pytest.raises(StoreDamagedError):
        vault.find("alpha")
    assert vault.ingest().healed
    assert len(vault.find("alpha")) == _NOTES


def test_a_writer_that_only_touched_the_file_leaves_no_damage(vault: Vault) -> None:
    with vault.workspace._parts.session("a long job", Callbacks()):
        os.utime(database(vault))
    PageChecksums(DataFolder(str(vault.data))).check_pages()
    assert is_sound(vault)


def test_doctor_checks_every_page_whatever_the_time(vault: Vault) -> None:
    then = os.stat(database(vault))
    with sqlite3.connect(database(vault)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    content = bytearray(database(vault).read_bytes())
    place = content.index(b"w7x77")
    content[place] ^= 1
    database(vault).write_bytes(content)
    os.utime(database(vault), ns=(then.st_atime_ns, then.st_mtime_ns))
    found = {finding.check: finding for finding in check_index(DataFolder(str(vault.data)), "")}
    assert found["pages"].level == "problem"
    assert (vault.data / "suspect").exists()
    assert vault.ingest().healed


def test_doctor_keeps_the_seal_of_an_intact_index(vault: Vault) -> None:
    before = seal(vault).read_bytes()
    assert all(finding.level != "problem" for finding in check_index(DataFolder(str(vault.data)), ""))
    assert seal(vault).read_bytes() == before


def test_checking_pages_drops_no_lock_of_a_connection(vault: Vault) -> None:
    """Were it dropped, the other process would take itself for the last one and remove the log."""
    vault.find("alpha")  # a connection, from now on
    with vault.workspace._parts.index.reader.snapshot():
        vault.write("new.md", "epsilon")
        vault.ingest()
    folder = PageChecksums(DataFolder(str(vault.data)))
    folder.write(None, (1, 1))
    folder.check_pages()
    other = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT 1 FROM chunks'); c.close()"
    )
    subprocess.run([sys.executable, "-c", other, str(database(vault))], check=True)
    assert (vault.data / "kebab.sqlite-wal").exists()


# No false alarm: the index is sound, only its seal is not of it


def is_sound(vault: Vault) -> bool:
    """Nothing is set aside, now or by the next run."""
    vault.workspace.close()
    assert vault.find("alpha")
    report = vault.ingest()
    PageChecksums(DataFolder(str(vault.data))).check_pages()
    return report.healed == "" and not (vault.data / "suspect").exists()


def test_the_log_of_a_linked_database_lies_beside_the_database(vault: Vault, tmp_path: Path) -> None:
    os.rename(database(vault), tmp_path / "elsewhere.sqlite")
    os.symlink(tmp_path / "elsewhere.sqlite", database(vault))
    vault.write("00.md", "alpha gamma")
    vault.ingest()
    assert is_sound(vault)


def test_a_log_of_others_that_a_check_folded_in_is_no_damage(vault: Vault) -> None:
    writing = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1]); "
        "c.execute(\"UPDATE documents SET title = 'other' WHERE path = '03.md'\"); c.commit(); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", writing, str(database(vault))], check=False)
    (vault.data / "writer.lock").write_text('{"pid": 1}')
    assert is_sound(vault)


@pytest.mark.parametrize("statement", ["VACUUM", "ANALYZE"])
def test_a_database_that_another_program_vacuumed_is_not_damaged(vault: Vault, statement: str) -> None:
    connection = sqlite3.connect(database(vault))
    connection.execute(statement)
    connection.close()
    assert is_sound(vault)


def test_a_database_restored_without_its_seal_is_not_damaged(vault: Vault) -> None:
    older = database(vault).read_bytes()
    vault.write("00.md", "alpha gamma")
    vault.ingest()
    vault.workspace.close()
    database(vault).write_bytes(older)
    assert is_sound(vault)
    assert vault.find("gamma") == ["00.md"], "the run brought it up to date"


def test_pages_written_past_the_log_are_summed_again(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "kebab_tui.storage.sqlite.checksum._log_of", lambda database: f"{database}-no-such-log"
    )
    vault.write("00.md", "alpha gamma")
    vault.ingest()
    monkeypatch.undo()
    assert is_sound(vault)


def test_a_folder_that_cannot_be_written_is_an_error(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("kebab_tui.storage.sqlite.checksum.os.replace", refuse)
    with pytest.raises(StoreReadOnlyError, match="cannot write to the data folder"):
        vault.ingest()
    found = {finding.check: finding.level for finding in check_index(DataFolder(str(vault.data)), "")}
    assert found["full text"] == "warning"


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no list of open files")
def test_a_deleted_database_uses_no_disk_space(vault: Vault) -> None:
    flipped(database(vault))
    assert vault.ingest().healed
    for aside in vault.data.glob("*.damaged-*"):
        aside.unlink()
    vault.write("00.md", "alpha gamma")
    vault.ingest()
    vault.workspace.close()
    held = [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if alive(name)]
    assert not [name for name in held if str(vault.data) in name and name.endswith("(deleted)")]


def alive(name: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{name}")
