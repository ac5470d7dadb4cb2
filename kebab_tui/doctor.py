"""How the meaning half is: its model, its vectors, their file. Finds and counts, never repairs.

Beside `store.health`, which knows the database and no model. A passage counts as pending
while the index's model has made no vector of its text.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kebab_tui.domain.errors import KebabError, ModelError
from kebab_tui.storage.sqlite.health import Finding
from kebab_tui.vector_search import RUN_KIND

if TYPE_CHECKING:
    from kebab_tui.domain.document import Source
    from kebab_tui.embedding.card import ModelCard
    from kebab_tui.storage.lock import DataFolder, Holder
    from kebab_tui.storage.sqlite.catalogue import Figures, IndexRun
    from kebab_tui.storage.sqlite.reader import StoreReader
    from kebab_tui.vector_search import VectorSearch
    from kebab_tui.workspace import Engine


FileState = Literal["none", "current", "behind", "unusable"]

_RUNS_LOOKED_AT = 100
_ENOUGH_TO_JUDGE = 20
"""A run over fewer passages says more of opening the model than of reading."""
_EMBED = "run `kebab index --embed`"
_REBUILD = "run `kebab index --rebuild-vectors`"


@dataclass(frozen=True, slots=True)
class Pending:
    """What has no vector yet: in passages, and in texts, of which several passages may have the same.

    `seconds`: how long they take, as far as an earlier run of this model tells.
    """

    passages: int
    texts: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class VectorState:
    """The vectors of the model that this index uses; without a readable card nothing more is known."""

    model: str
    problem: str
    version: str = ""
    dims: int = 0
    total: int = 0
    pending: int = 0
    indexed: int = 0
    """How many passages a search finds by meaning: all that are not pending, unless a vector is damaged."""
    file: FileState = "none"
    file_detail: str = ""
    file_bytes: int = 0

    @property
    def made(self) -> int:
        return self.total - self.pending


def pending(semantics: VectorSearch, reader: StoreReader) -> Pending:
    card = semantics.card()
    with reader.vectors(card.fingerprint) as source:
        passages, texts = source.pending_count(), source.pending_texts()
        rate = _last_rate(reader, card)
    return Pending(passages, texts, texts / rate if rate else None)


def vector_state(semantics: VectorSearch, reader: StoreReader, folder: DataFolder) -> VectorState:
    model = semantics.chosen()
    try:
        card = semantics.card()
    except ModelError as error:
        return VectorState(model, error.message)
    follower = semantics.new_follower(card)
    with reader.catalogue():  # one moment for both: a writer may be at work
        opened = follower.open()
        missing, total = semantics.counts(card)
    file, detail = _file_state(opened.how, opened.reason, _file_bytes(folder))
    return VectorState(
        model=model,
        problem="",
        version=card.vector_version,
        dims=card.dims,
        total=total,
        pending=missing,
        indexed=follower.index.count,
        file=file,
        file_detail=detail,
        file_bytes=_file_bytes(folder),
    )


def examine_semantics(semantics: VectorSearch, reader: StoreReader, folder: DataFolder) -> Iterator[Finding]:
    """The model, then the vectors; silent where there is no index: the store's part has said so."""
    try:
        yield _model(semantics)
        state = vector_state(semantics, reader, folder)
    except KebabError:
        return
    if state.problem:
        return
    yield _coverage(state)
    if state.made:
        yield _parity(state)
        yield _file(state)


def _model(semantics: VectorSearch) -> Finding:
    from kebab_tui.embedding.integrity import require, verify
    from kebab_tui.embedding.model_folders import BUNDLED_MODEL, probe

    chosen = semantics.chosen()
    another = "" if chosen == BUNDLED_MODEL else f", or run `kebab model use {BUNDLED_MODEL}`"
    try:
        card = semantics.card()
        require(card, verify(card))
        probe(card)
    except ModelError as error:
        return Finding("model", "problem", error.message, f"{error.hint or 'mend the model'}{another}")
    return Finding("model", "ok", f"{card.model_id}: the files are the ones its card names, and it answers")


def _coverage(state: VectorState) -> Finding:
    if not state.pending:
        return Finding("vectors", "ok", f"{state.version}: all {state.total} passages have one")
    share = 100 * state.made // state.total
    detail = f"{state.pending} of {state.total} passages have none yet ({share} % have): found by words only"
    return Finding("vectors", "warning", detail, _EMBED)


def _parity(state: VectorState) -> Finding:
    damaged = state.made - state.indexed
    if damaged:
        detail = f"{state.made} in the database, {state.indexed} in the index: {damaged} are damaged"
        return Finding("vector parity", "problem", detail, f"{_REBUILD}, then `kebab index --embed`")
    return Finding("vector parity", "ok", f"{state.made} vectors, in the database and in the index")


def _file(state: VectorState) -> Finding:
    if state.file == "unusable":
        detail = f"{state.file_detail}: every search makes the vectors anew from the database"
        return Finding("vector file", "warning", detail, _REBUILD)
    return Finding("vector file", "ok", state.file_detail)


def _last_rate(reader: StoreReader, card: ModelCard) -> float | None:
    """Passages a second in the latest run of this model that was long enough to tell."""
    with reader.catalogue() as catalogue:
        for run in catalogue.runs(_RUNS_LOOKED_AT):
            told = run.report
            if run.kind != RUN_KIND or told["model"] != card.fingerprint:
                continue
            if told["embedded"] >= _ENOUGH_TO_JUDGE and told["seconds"]:
                return float(told["embedded"] / told["seconds"])
    return None


def _file_state(how: str, reason: str, size: int) -> tuple[FileState, str]:
    if not size:
        return "none", "there is none yet: searches take the vectors from the database"
    if how == "rebuilt":
        return "unusable", reason
    if how == "replayed":
        return "behind", f"{reason}; searches replay the rest"
    return "current", "header and checksum are sound"


def _file_bytes(folder: DataFolder) -> int:
    from kebab_tui.vectors.sync import FILE_NAME

    try:
        return os.path.getsize(os.path.join(folder.root, FILE_NAME))
    except OSError:
        return 0


# The index at a glance: sizes, versions, folders, past runs, who writes. Counts, judges nothing.

_RUNS = 5


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """What can be known without looking at a single note."""

    figures: Figures
    expected_lexical_version: str
    vectors: VectorState
    sources: list[Source]
    runs: list[IndexRun]
    database: str
    database_bytes: int
    holder: Holder | None


def index_status(parts: Engine, folder: DataFolder) -> IndexStatus:
    """All of one moment of the index."""
    from kebab_tui.storage.lock import WriterLock
    from kebab_tui.storage.sqlite import schema

    with parts.reader.catalogue() as catalogue:
        return IndexStatus(
            figures=catalogue.figures(),
            expected_lexical_version=schema.lexical_version(schema.fts_signature(), parts.recipe.made_by),
            vectors=vector_state(parts.semantics, parts.reader, folder),
            sources=catalogue.sources(),
            runs=catalogue.runs(_RUNS),
            database=folder.database,
            database_bytes=folder.database_bytes(),
            holder=WriterLock(folder.lock).holder(),
        )
