"""What is done about vectors while one holds the writer's lock: made, remade, their file written.

Reads nothing that a model has read before. The vectors' file is only a cache: where it is
not written, searches make its contents from the database.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from kebab_tui.domain.errors import VectorError
from kebab_tui.indexing.callbacks import Callbacks
from kebab_tui.indexing.embedding_job import EmbeddingJob, EmbeddingReport
from kebab_tui.semantics.half import SemanticHalf
from kebab_tui.semantics.health import RUN_KIND, damaged_vectors
from kebab_tui.store.reader import StoreReader
from kebab_tui.store.writer import Writer

if TYPE_CHECKING:
    from kebab_tui.embedding.card import ModelCard


def embed(
    semantics: SemanticHalf, writer: Writer, reader: StoreReader, callbacks: Callbacks
) -> EmbeddingReport:
    """Give every passage that has none its vector. Who cancels does not wait for the file."""
    semantics.restore_choice(writer)
    card, started = semantics.card(), time.time_ns()
    report = EmbeddingJob(
        writer, reader, semantics.encoder(), card.fingerprint, callbacks.embedding, callbacks.cancelled
    ).run()
    if report.embedded:
        writer.record_run(RUN_KIND, started, remembered(card, report))
    if not report.cancelled:
        semantics.save()
    return report


def use(semantics: SemanticHalf, writer: Writer, model: str) -> None:
    """Answer with another model from now on; what it has read before counts again."""
    semantics.choose(writer, model)
    semantics.discard_file()
    semantics.save()


def rebuild(semantics: SemanticHalf, writer: Writer, reader: StoreReader) -> int:
    """Make the file anew; gives how many vectors were dropped because some were damaged in the store."""
    dropped = 0
    if damaged_vectors(semantics, reader):  # the store drops a model's vectors only as a whole
        dropped = writer.forget_vectors(semantics.card().fingerprint)
    semantics.discard_file()
    if trouble := semantics.save():
        raise VectorError(trouble, "searches take the vectors from the database meanwhile")
    return dropped


def remembered(card: ModelCard, report: EmbeddingReport) -> str:
    """The next estimate is made of it."""
    return json.dumps(
        {
            "model": card.fingerprint,
            "embedded": report.embedded,
            "pending": report.pending,
            "seconds": round(report.seconds, 3),
            "cancelled": report.cancelled,
        }
    )
