"""A damaged database costs the user nothing but time."""

from __future__ import annotations

import hashlib
import os
import random
import sqlite3
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kebab_tui.domain.errors import DiskFaultError, StoreDamagedError
from kebab_tui.domain.query import SearchQuery
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite import recovery
from kebab_tui.storage.sqlite.batch import Batch
from kebab_tui.workspace import Callbacks
from tests.vault import Vault

pytestmark = pytest.mark.slow

Harm = Callable[[Path], None]


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    """Two sources and enough text for a good many pages."""
    made = Vault(tmp_path)
    for n in range(40):
        made.write(f"{n:02}.md", f"# Note {n}\n\nalpha {n} " + " ".join(f"w{n}x{k}" for k in range(150)))
    other = tmp_path / "other"
    other.mkdir()
    (other / "o.md").write_text("omega")
    made.workspace.ingest([str(made.root), str(other)], Callbacks())
    made.workspace.close()
    _fold_log(made)
    (made.data / "kebab.seal").unlink()  # what is found without it
    yield made
    made.workspace.close()


def _fold_log(vault: Vault) -> None:
    connection = sqlite3.connect(vault.data / "kebab.sqlite")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def page_size(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[16:18], "big")


def harm_page(path: Path, number: int) -> None:
    size = page_size(path)
    overwrite(path, (number - 1) * size, b"\xff" * size)


def overwrite(path: Path, offset: int, content: bytes) -> None:
    with open(path, "r+b") as handle:
        handle.seek(offset)
        handle.write(content)


def truncated(path: Path) -> None:
    os.truncate(path, os.path.getsize(path) // 2)


def garbage(path: Path) -> None:
    path.write_bytes(os.urandom(20_000))


def empty_header(path: Path) -> None:
    overwrite(path, 0, b"\0" * 100)


def zeroed_pages(path: Path) -> None:
    size = os.path.getsize(path)
    overwrite(path, page_size(path), b"\0" * (size - page_size(path)))


def lost_schema(path: Path) -> None:
    overwrite(path, 100, b"\x0d\0\0\0\0\x10\0\0")  # the first page's list of tables is empty


def another_page_size(path: Path) -> None:
    overwrite(path, 16, b"\x02\0" if page_size(path) != 512 else b"\x10\0")


def page_of_meta(path: Path) -> None:
    connection = sqlite3.connect(path)
    (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'meta'").fetchone()
    connection.close()
    harm_page(path, root)


HARMS = [truncated, garbage, empty_header, zeroed_pages, lost_schema, another_page_size, page_of_meta]


@pytest.mark.parametrize("harm", HARMS)
def test_an_ingest_sets_a_damaged_database_aside_and_rebuilds_from_the_notes(
    vault: Vault, harm: Harm
) -> None:
    harm(vault.data / "kebab.sqlite")
    broken = (vault.data / "kebab.sqlite").read_bytes()
    report = vault.workspace.ingest([], Callbacks())
    assert Path(report.healed).read_bytes() == broken
    assert {source.source_id for source in vault.workspace.sources()} == {"notes", "other"}
    assert report.count("added") == 41
    assert len(vault.find("alpha")) == 40
    assert vault.find("omega") == ["o.md"]
    assert not vault.orphans()


@pytest.mark.parametrize("harm", HARMS)
def test_a_search_reports_a_fix_that_works(vault: Vault, harm: Harm) -> None:
    harm(vault.data / "kebab.sqlite")
    try:
        vault.find("alpha")
    except StoreDamagedError as error:
        assert "kebab ingest" in error.hint  # noqa: PT017 - SQLite notices most damage, not all
    vault.workspace.ingest([], Callbacks())
    assert len(vault.find("alpha")) == 40


def pages_of(path: Path, table: str) -> list[int]:
    """The page on which looking anything up in a table or an index begins."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchall()
    connection.close()
    return [row for (row,) in rows]


@pytest.mark.parametrize("table", ["chunks", "chunks_fts_data", "chunks_by_document", "facets"])
def test_damage_that_a_search_met_is_repaired_although_the_folder_is_unchanged(
    vault: Vault, table: str
) -> None:
    path = vault.data / "kebab.sqlite"
    for page in pages_of(path, table):
        harm_page(path, page)
    met = False
    for query in ("alpha", "alpha tag:x", "w3x7", "w20x1"):
        try:
            vault.workspace.search(SearchQuery(query, k=100))
        except StoreDamagedError:
            met = True
    assert met
    assert recovery.is_suspect(vault.files)
    vault.workspace.close()
    vault.workspace.ingest([], Callbacks())
    assert len(vault.find("alpha")) == 40
    assert vault.find("w20x1") == ["20.md"]
    assert all(
        finding.level == "ok"
        for finding in vault.workspace.doctor()
        if finding.check not in {"disk", "vectors"}
    )


def test_drifted_full_text_is_rebuilt_after_a_kill_without_reading_a_note(vault: Vault) -> None:
    connection = sqlite3.connect(vault.data / "kebab.sqlite")
    connection.execute("DELETE FROM chunks_fts_docsize WHERE id < 10")
    connection.commit()
    connection.close()
    (vault.data / "writer.lock").write_text('{"pid": 1}')  # as a killed writer leaves it
    report = vault.workspace.ingest([], Callbacks())
    assert report.healed == ""
    assert report.count("unchanged") == 41
    assert not vault.orphans()


def test_orphan_rows_are_found_after_a_kill(vault: Vault) -> None:
    connection = sqlite3.connect(vault.data / "kebab.sqlite")
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("DELETE FROM documents WHERE path = '00.md'")
    connection.commit()
    connection.close()
    (vault.data / "writer.lock").write_text('{"pid": 1}')
    assert vault.workspace.ingest([], Callbacks()).healed
    assert not vault.orphans()
    assert len(vault.find("alpha")) == 40


def test_damage_during_an_ingest_is_repaired_in_the_same_run(vault: Vault) -> None:
    path = vault.data / "kebab.sqlite"
    for page in pages_of(path, "chunks"):
        harm_page(path, page)
    vault.write("new.md", "alpha new")
    report = vault.ingest()
    assert report.healed
    assert len(vault.find("alpha")) == 41
    assert vault.find("omega") == ["o.md"]


def test_setting_aside_overwrites_no_file(tmp_path: Path) -> None:
    folder = DataFolder(str(tmp_path))
    places = []
    for content in ("one", "two", "three"):
        Path(folder.database).write_text(content)
        Path(folder.database + "-wal").write_text(content + " log")
        places.append(recovery.set_aside(folder))
    assert [Path(place).read_text() for place in places] == ["one", "two", "three"]
    assert [Path(place + "-wal").read_text() for place in places] == ["one log", "two log", "three log"]
    assert not os.path.exists(folder.database)


def test_a_kill_while_setting_aside_leaves_no_log_for_the_new_database(
    vault: Vault,
) -> None:
    """Between the two renames: the database has gone, its log has not."""
    vault.write("00.md", "the log says this")
    with vault.workspace._parts.index.reader.snapshot():  # keeps the log from being folded in
        vault.ingest()
    assert os.path.getsize(vault.data / "kebab.sqlite-wal") > 0
    os.rename(vault.data / "kebab.sqlite", vault.data / "kebab.sqlite.damaged-x")
    vault.write("00.md", "alpha and the note says that")
    vault.workspace.close()
    vault.workspace.ingest([], Callbacks())
    assert len(vault.find("alpha")) == 40
    assert vault.find("log") == []
    assert not vault.orphans()


def test_a_flipped_bit_in_a_text_is_reported_and_repaired_not_shown(vault: Vault) -> None:
    vault.write("a.md", "the harbour is open")
    vault.ingest()
    with sqlite3.connect(vault.data / "kebab.sqlite") as connection:
        connection.execute("DROP TRIGGER chunks_au")
        connection.execute("UPDATE chunks SET text = replace(text, 'open', 'shut')")
    connection.close()
    with pytest.raises(StoreDamagedError, match="the text of a passage was altered"):
        vault.find("harbour")
    assert vault.ingest().healed
    assert vault.find("open") == ["a.md"] and not vault.find("shut")


class OneBadRead:
    """Answers one statement, the `at`th of all connections, as SQLite does when the disk fails to read."""

    def __init__(self, patch: pytest.MonkeyPatch, at: int) -> None:
        self.count, self.at = 0, at
        connect = sqlite3.connect
        outer = self

        class Faulty(sqlite3.Connection):
            def execute(self, *arguments: Any) -> sqlite3.Cursor:
                outer.count += 1
                if outer.count == outer.at:
                    error = sqlite3.DatabaseError("database disk image is malformed")
                    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
                    raise error
                return super().execute(*arguments)

        patch.setattr(
            sqlite3, "connect", lambda *args, **kwargs: connect(*args, **{"factory": Faulty, **kwargs})
        )


def give_vectors(vault: Vault, count: int) -> dict[bytes, bytes]:
    """Vectors of unit length under the names of texts, those of the notes among them."""
    names = [row[0] for row in vault.rows("SELECT DISTINCT embed_hash FROM chunks")]
    names += [hashlib.md5(b"%d" % n).digest() for n in range(count - len(names))]
    made: dict[bytes, bytes] = {}
    dice = random.Random(7)
    for name in names:
        assert isinstance(name, bytes)
        direction = [dice.gauss(0, 1) for _ in range(64)]
        length = sum(x * x for x in direction) ** 0.5
        made[name] = struct.pack("<64e", *(x / length for x in direction))
    with sqlite3.connect(vault.data / "kebab.sqlite") as connection:
        connection.executemany("INSERT INTO embeddings VALUES (?, 'a model', ?, 1)", made.items())
    connection.close()
    return made


def kept_vectors(vault: Vault) -> dict[bytes, bytes]:
    return dict(vault.rows("SELECT text_hash, vector FROM embeddings"))  # type: ignore[arg-type]


def test_one_failed_read_discards_nothing(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    made = give_vectors(vault, 50)
    with monkeypatch.context() as patch:
        statements = OneBadRead(patch, at=0)
        vault.write("00.md", "alpha once")
        vault.workspace.ingest([], Callbacks())
        vault.workspace.close()
    met = 0
    for at in range(1, statements.count, max(1, statements.count // 12)):
        vault.write("00.md", f"alpha {at} turn{at}")
        with monkeypatch.context() as patch:
            bad_read = OneBadRead(patch, at)
            report = vault.workspace.ingest([], Callbacks())
            bad_read.at = 0
        assert report.healed == "", f"statement {at}"
        assert vault.find(f"turn{at}") == ["00.md"]
        met += report.read_error
        vault.workspace.close()
    assert met > 3
    assert kept_vectors(vault) == made
    assert not list(vault.data.glob("*damaged*")) and not vault.orphans()


def test_a_disk_that_keeps_failing_is_an_error_and_the_index_stays(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.write("new.md", "alpha new")
    with monkeypatch.context() as patch:
        patch.setattr(Batch, "finish", lambda *_: (_ for _ in ()).throw(StoreDamagedError("malformed")))
        with pytest.raises(DiskFaultError, match="the index is intact") as fault:
            vault.ingest()
    assert "check the disk" in fault.value.hint
    assert vault.ingest().read_error is False
    assert len(vault.find("alpha")) == 41
    assert not list(vault.data.glob("*damaged*"))


def test_readable_vectors_outlive_the_database(vault: Vault) -> None:
    made = give_vectors(vault, 2_000)
    path = vault.data / "kebab.sqlite"
    _fold_log(vault)
    content, size = path.read_bytes(), page_size(path)
    one_of_many = made[sorted(made)[1_000]]
    harm_page(path, content.index(one_of_many) // size + 1)
    flipped = sorted(made)[10]
    at = content.index(made[flipped])
    overwrite(path, at + 1, bytes([content[at + 1] ^ 0x40]))
    for page in pages_of(path, "chunks"):
        harm_page(path, page)
    recovery.mark_suspect(vault.files)
    assert vault.workspace.ingest([], Callbacks()).healed
    kept = kept_vectors(vault)
    assert kept.items() <= made.items(), "what is left is as it was"
    assert flipped not in kept
    assert len(made) - len(kept) <= size // len(one_of_many) + 1, "one page was lost, and one vector"
    assert len(vault.find("alpha")) == 40
