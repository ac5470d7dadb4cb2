"""Notes whose vectors a test chooses, in a real store and a real FAISS index, behind a fake encoder.

Every passage is given its cosine with the one query vector there is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from kebab_tui.domain.change import RemoveNote, SaveNote
from kebab_tui.domain.document import Document
from kebab_tui.domain.hit import Notice, SearchResponse
from kebab_tui.domain.query import SearchQuery
from kebab_tui.domain.text import embedded_hash
from kebab_tui.search.engine import SearchEngine, SearchOptions
from kebab_tui.search.explanation import ExplainedResponse
from kebab_tui.search.limits import HybridOptions
from kebab_tui.search.ports import FieldWeights, NearestSentence, Semantics, Vector
from kebab_tui.search.why_not import WhyNot
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.writer import StoreWriter
from kebab_tui.vectors.sync import VectorFollower
from tests.notes import a_note, a_source

DIMS = 8
MODEL = "chosen"
FLOOR = 0.3
NOW = datetime(2026, 6, 1, tzinfo=UTC)


def at_cosine(cosine: float) -> Vector:
    """A vector of unit norm that has this cosine with the query's."""
    vector = np.zeros(DIMS, np.float32)
    vector[0], vector[1] = cosine, math.sqrt(1 - cosine * cosine)
    return vector


@dataclass
class ChosenEncoder:
    """Every query is the same vector; what was asked is remembered."""

    asked: list[str] = field(default_factory=list)
    knows: bool = True

    def query(self, text: str) -> Vector:
        self.asked.append(text)
        return at_cosine(1.0)

    def understands(self, text: str) -> bool:
        return self.knows and any(map(str.isalnum, text))

    def parts(self, text: str) -> list[tuple[int, int]]:
        """Each line, the heading with the first."""
        ends = [at + 1 for at, letter in enumerate(text) if letter == "\n"][1:]
        return list(pairwise([0, *ends, len(text)]))

    def nearest_sentence(self, text: str, query_vector: Vector) -> NearestSentence | None:
        return None


class Chosen:
    """Add passages with their cosines, then ask."""

    def __init__(self, place: Path, options: HybridOptions | None = None) -> None:
        self.folder = DataFolder(str(place))
        self.writer = StoreWriter(self.folder)
        self.writer.save_sources([a_source()])
        self.reader = StoreReader(self.folder, FieldWeights())
        self.encoder = ChosenEncoder()
        self.follower = VectorFollower(self.reader, str(place), MODEL, DIMS, may_save=lambda: False)
        self.follower.open()
        self.semantics: Semantics | Notice = self.ready(knows_hangul=True)
        self.engine = SearchEngine(
            self.reader,
            lambda _: "same",
            SearchOptions(hybrid=options or HybridOptions()),
            lambda: self.semantics,
            lambda: NOW,
        )

    def ready(self, *, knows_hangul: bool) -> Semantics:
        return Semantics(self.encoder, self.follower.index, "vec-chosen-8-00000000", knows_hangul, FLOOR)

    def close(self) -> None:
        self.follower.close()
        self.reader.close()
        self.writer.close()

    def add(
        self,
        path: str,
        passages: Mapping[str, float | None],
        tags: tuple[str, ...] = (),
        *,
        names: Mapping[str, str] | None = None,
        mtime_ns: int = 1_000,
    ) -> Document:
        """A note whose passages have these cosines; None is a passage that no model has read yet."""
        note = a_note(path, *passages, tags=tags, names=names, mtime_ns=mtime_ns)
        self.writer.apply([note])
        self.read(note, passages)
        return note.document

    def add_parts(self, path: str, text: str, cosines: Sequence[float]) -> None:
        """A note with one long passage whose parts have these cosines."""
        note = a_note(path, text)
        self.writer.apply([note])
        blob = np.stack([at_cosine(cosine) for cosine in cosines]).astype("f2").tobytes()
        self.writer.save_vectors(MODEL, [(embedded_hash(note.document.title, "Heading", text), blob)])
        self.follower.catch_up()

    def read(self, note: SaveNote, passages: Mapping[str, float | None]) -> None:
        vectors = [
            (embedded_hash(note.document.title, "Heading", text), at_cosine(cosine).astype("f2").tobytes())
            for text, cosine in passages.items()
            if cosine is not None
        ]
        self.writer.save_vectors(MODEL, vectors)
        self.follower.catch_up()

    def remove_behind_the_index(self, document: Document) -> None:
        self.writer.apply([RemoveNote(document.doc_id)])

    def ask(self, text: str, **query: Any) -> SearchResponse:
        return self.engine.search(SearchQuery(text, **query))

    def explain(self, text: str, **query: Any) -> ExplainedResponse:
        return self.engine.explain(SearchQuery(text, **query))

    def why_not(self, text: str, document: Document, **query: Any) -> WhyNot:
        return self.engine.why_not(SearchQuery(text, **query), document)

    def texts(self, text: str, **query: Any) -> list[str]:
        return [hit.text for hit in self.ask(text, **query).hits]

    @contextmanager
    def statements(self) -> Iterator[list[str]]:
        """Every statement that this thread's reading connection runs meanwhile."""
        seen: list[str] = []
        with self.reader.catalogue() as catalogue:
            connection = catalogue._connection
        connection.set_trace_callback(seen.append)
        yield seen
        connection.set_trace_callback(None)


def codes(response: SearchResponse) -> list[str]:
    return [notice.code for notice in response.notices]
