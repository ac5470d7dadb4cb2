"""What lacks a vector is counted from the last moment at which nothing did."""

from __future__ import annotations

import random
import sqlite3

from kebab_tui.domain.change import RemoveNote
from kebab_tui.domain.ids import SourceId
from kebab_tui.search.ports import FieldWeights
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.ports import PendingCount
from kebab_tui.storage.sqlite import writer as writer_module
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.writer import StoreWriter
from tests.notes import a_note, a_source

MODEL, VECTOR = "m", bytes(4)


def embed_all(writer: StoreWriter, database: sqlite3.Connection, share: float = 1.0) -> None:
    hashes = [text for (text,) in database.execute("SELECT DISTINCT embed_hash FROM chunks")]
    writer.save_vectors(MODEL, [(text, VECTOR) for text in hashes[: round(share * len(hashes))]])
    writer.note_complete(MODEL)


def count(reader: StoreReader, *, fully: bool = False) -> PendingCount:
    with reader.vectors(MODEL) as source:
        return source.pending_count(fully=fully)


def is_known(reader: StoreReader) -> bool:
    with reader.vectors(MODEL) as source:
        return source.complete_at() is not None


def test_only_what_was_added_since_is_looked_at(
    folder: DataFolder, writer: StoreWriter, reader: StoreReader
) -> None:
    database = sqlite3.connect(folder.database)
    writer.apply([a_note(f"{number}.md", f"text {number}") for number in range(20)])
    embed_all(writer, database, 0.9)
    assert not is_known(reader) and count(reader).texts == 2
    embed_all(writer, database)
    assert is_known(reader) and count(reader) == (0, 0, 0)
    writer.apply([a_note("new.md", "a new text", "another one")])
    assert is_known(reader) and count(reader) == (2, 2, 0)
    database.execute("DELETE FROM embeddings WHERE text_hash = (SELECT min(text_hash) FROM embeddings)")
    database.commit()
    assert (count(reader).texts, count(reader, fully=True).texts) == (2, 3), "doctor counts all"
    database.close()


def test_it_is_that_of_all_passages_whatever_happens(folder: DataFolder) -> None:
    dice = random.Random(5)
    writer = StoreWriter(folder, bulk_chunks=40)
    writer.save_sources([a_source()])
    reader = StoreReader(folder, FieldWeights())
    database = sqlite3.connect(folder.database)
    known = 0
    for _ in range(300):
        path = f"{dice.randrange(12)}.md"
        match dice.randrange(12):
            case 0 | 1 | 2:
                writer.apply([a_note(path, *(f"text {dice.randrange(30)}" for _ in range(3)))])
            case 3:
                note = a_note(path, f"text {dice.randrange(30)}", title=f"title {dice.randrange(3)}")
                writer.apply([note])
            case 4:
                writer.apply([RemoveNote(a_note(path, "").document.doc_id)])
            case 5:
                texts = [f"text {number}" for number in range(60)]
                writer.apply([a_note("bulk.md", *texts[dice.randrange(20) :])])
            case 6:
                embed_all(writer, database, dice.random())
            case 7 | 8 | 9:
                embed_all(writer, database)
            case 10:
                writer.delete_vectors(MODEL if dice.randrange(4) == 0 else None)
            case _:
                writer.close(sealing=dice.random() < 0.5)
                writer = StoreWriter(folder, bulk_chunks=40)
                writer.save_sources([a_source()])
        known += is_known(reader)
        assert count(reader) == count(reader, fully=True)
    assert known > 100
    writer.remove_source(SourceId("notes"))
    assert count(reader) == count(reader, fully=True)
    database.close()
    reader.close()
    writer.close()


def test_a_later_revision_is_noted_when_many_have_followed(
    writer: StoreWriter, reader: StoreReader, database: sqlite3.Connection
) -> None:
    writer.apply([a_note("a.md", "text")])
    embed_all(writer, database)
    with reader.vectors(MODEL) as source:
        first = source.complete_at()
    embed_all(writer, database)
    with reader.vectors(MODEL) as source:
        assert source.complete_at() == first
    for _ in range(writer_module._NOTED_EVERY):
        writer.use_model(MODEL)
    embed_all(writer, database)
    with reader.vectors(MODEL) as source:
        assert source.complete_at() != first
