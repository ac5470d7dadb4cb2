"""How long the lexical index takes to build, against tantivy on one thread, and how large it gets.

python -m tests.benchmarks.bench_lexical_index FOLDER
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from unittest import mock

from kebab_tui.domain.change import SaveNote
from kebab_tui.domain.document import Source
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.writer import StoreWriter
from tests.benchmarks.measuring import Figure, machine, median, notes_of, report

_BATCH_CHUNKS = 8_000
_ROUNDS = 3


def load_store(notes: Sequence[SaveNote], root: str) -> str:
    """Write all notes as an ingest does, in batches; gives the database's path."""
    folder = DataFolder(root)
    writer = StoreWriter(folder)
    writer.save_sources([Source(notes[0].document.source, "bench", root)])
    batch: list[SaveNote] = []
    size = 0
    for note in notes:
        batch.append(note)
        size += len(note.passages)
        if size >= _BATCH_CHUNKS:
            writer.apply(batch)
            batch, size = [], 0
    writer.apply(batch)
    writer.close()
    return folder.database


def load_tantivy(notes: Sequence[SaveNote], root: str) -> None:
    import tantivy

    builder = tantivy.SchemaBuilder()
    for name in ("chunk_id", "title", "heading", "text"):
        builder.add_text_field(name, stored=True, tokenizer_name="raw" if name == "chunk_id" else "en_stem")
    index = tantivy.Index(builder.build(), path=root)
    writer = index.writer(heap_size=128 << 20, num_threads=1)
    for note in notes:
        for ordinal, passage in enumerate(note.passages):
            writer.add_document(
                tantivy.Document(
                    chunk_id=f"{note.document.doc_id}{ordinal}",
                    title=note.document.title,
                    heading=passage.heading_path,
                    text=passage.text,
                )
            )
    writer.commit()
    writer.wait_merging_threads()


def _in_scratch(load: Callable[[Sequence[SaveNote], str], object], notes: Sequence[SaveNote]) -> float:
    """Processor seconds: both sides work on one thread, and other work on the machine does not count."""
    with tempfile.TemporaryDirectory() as root:
        start = time.process_time()
        load(notes, root)
        return time.process_time() - start


def _database_bytes(notes: Sequence[SaveNote]) -> int:
    with tempfile.TemporaryDirectory() as root:
        return os.path.getsize(load_store(notes, root))


def measure(notes: Sequence[SaveNote]) -> list[Figure]:
    text = sum(len(passage.text.encode()) for note in notes for passage in note.passages)
    ours, without_words, theirs = [], [], []
    for _ in range(_ROUNDS):
        theirs.append(_in_scratch(load_tantivy, notes))
        ours.append(_in_scratch(load_store, notes))
        with mock.patch("kebab_tui.storage.sqlite.vocabulary.learn"):
            without_words.append(_in_scratch(load_store, notes))
    reference = median(theirs)
    return [
        Figure("chunks", sum(len(note.passages) for note in notes), ""),
        Figure("tantivy, one thread", reference, "s"),
        Figure(
            "kebab without the unfinished-word index / tantivy", median(without_words) / reference, "x", 1.5
        ),
        Figure("kebab with the unfinished-word index / tantivy", median(ours) / reference, "x", 3.0),
        Figure("database / text", _database_bytes(notes) / text, "x", 2.2),
    ]


if __name__ == "__main__":
    print(machine())
    report("bulk lexical index", measure(notes_of(sys.argv[1], 100_000)))
