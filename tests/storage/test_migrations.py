"""The migration to the present schema."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from kebab_tui.domain.errors import NotIndexedError, StoreTooNewError
from kebab_tui.storage.sqlite import schema
from kebab_tui.storage.sqlite.connection import open_reader, open_writer


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "kebab.sqlite")


def shape(path: str) -> list[tuple[str, str]]:
    connection = sqlite3.connect(path)
    rows = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name"
    ).fetchall()
    connection.close()
    return rows


def test_a_new_database_gets_the_present_schema_and_our_mark(path: str) -> None:
    connection = open_writer(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (schema.SCHEMA_VERSION,)
    assert connection.execute("PRAGMA application_id").fetchone() == (schema.APPLICATION_ID,)
    connection.close()


def test_opening_again_changes_nothing(path: str) -> None:
    open_writer(path).close()
    before = shape(path)
    open_writer(path).close()
    assert shape(path) == before


def test_a_failed_step_is_rolled_back_and_repeated(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(schema, "UPDATE_TRIGGER", "CREATE TRIGGER broken AFTER nonsense")
        with pytest.raises(Exception, match="near"):
            open_writer(path)
    assert not any(name == "chunks" for name, _ in shape(path))
    open_writer(path).close()
    assert any(name == "chunks_au" for name, _ in shape(path))


def test_a_reader_of_a_half_made_database_asks_for_an_ingest(path: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
    connection.close()
    with pytest.raises(NotIndexedError):
        open_reader(path)
    open_writer(path).close()
    open_reader(path).close()


@pytest.mark.parametrize("opened", [open_reader, open_writer])
def test_a_newer_schema_is_rejected_and_unchanged(
    path: str, opened: Callable[[str], sqlite3.Connection]
) -> None:
    open_writer(path).close()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
    connection.close()
    before = Path(path).read_bytes()
    with pytest.raises(StoreTooNewError, match="newer version") as refused:
        opened(path)
    assert "--data-dir" in refused.value.hint
    assert Path(path).read_bytes() == before


def test_every_statement_of_the_schema_is_executed(path: str) -> None:
    open_writer(path).close()
    names = {name for name, _ in shape(path)}
    for line in schema.TABLES.splitlines():
        if line.startswith(("CREATE TABLE", "CREATE INDEX")):
            assert line.split()[2].partition("(")[0] in names
