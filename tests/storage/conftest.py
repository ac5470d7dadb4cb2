from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from kebab_tui.search.ports import FieldWeights
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.connection import open_reader
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.writer import StoreWriter
from tests.notes import a_source


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    return DataFolder(str(tmp_path))


@pytest.fixture
def writer(folder: DataFolder) -> Iterator[StoreWriter]:
    made = StoreWriter(folder, bulk_chunks=20)
    made.save_sources([a_source()])
    yield made
    made.close()


@pytest.fixture
def reader(folder: DataFolder, writer: StoreWriter) -> Iterator[StoreReader]:
    made = StoreReader(folder, FieldWeights())
    yield made
    made.close()


@pytest.fixture
def database(folder: DataFolder, writer: StoreWriter) -> Iterator[sqlite3.Connection]:
    connection = open_reader(folder.database)
    yield connection
    connection.close()
