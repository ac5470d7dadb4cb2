"""Index statistics and checks of the model, the vectors and their file. Counts and reports, never repairs.

`Index.check` checks the store. A chunk is pending while the selected model has no vector of its
text.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kebab_tui.domain.errors import KebabError, ModelError
from kebab_tui.storage.ports import Finding
from kebab_tui.vector_search import RUN_KIND

if TYPE_CHECKING:
    from kebab_tui.domain.document import OtherFiles, Source
    from kebab_tui.engines import Engine
    from kebab_tui.storage.ports import Figures, Holder, Index, IndexRun, Reader
    from kebab_tui.vector_search import VectorSearch
    from kebab_tui.workspace import Workspace

FileState = Literal["none", "current", "behind", "unusable"]

_MOST_RUNS = 100
_MIN_TEXTS = 20
"""A run over fewer texts measures the start of the model rather than its speed."""
_LISTED_RUNS = 5
_COMPARED = 5
_EMBED = "run `kebab index --embed`"
_REBUILD = "run `kebab index --rebuild-vectors`"


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """Statistics that need no access to notes."""

    figures: Figures
    expected_lexical_version: str
    vectors: VectorState
    sources: list[Source]
    source_scores: list[float]
    runs: list[IndexRun]
    database: str
    database_bytes: int
    holder: Holder | None
    upgrading: tuple[int, int] | None
    """How many notes the present version has read, and of how many; None if all."""
    other_files: OtherFiles


@dataclass(frozen=True, slots=True)
class Pending:
    """Chunks without a vector, and their distinct texts.

    `seconds`: estimate from an earlier run of this model; None if there was none. `outdated`: texts
    with a vector of an earlier version; the model reads only the rest of long ones.
    """

    passages: int
    texts: int
    seconds: float | None
    outdated: int = 0


@dataclass(frozen=True, slots=True)
class VectorState:
    """The vectors of the selected model. With a `problem`, only the model is known."""

    model: str
    problem: str
    version: str = ""
    dims: int = 0
    total: int = 0
    pending: int = 0
    outdated: int = 0
    """Texts with a vector of an earlier version, whose rest may not be read."""
    indexed: int = 0
    """Chunks that semantic search can find: all that are not pending, unless a vector is damaged."""
    file: FileState = "none"
    file_detail: str = ""
    file_bytes: int = 0

    @property
    def made(self) -> int:
        return self.total - self.pending


def index_status(engine: Engine) -> IndexStatus:
    """All from one snapshot of the index."""
    from kebab_tui.formats import registry

    index = engine.index
    with index.reader.catalogue() as catalogue:
        return IndexStatus(
            figures=catalogue.figures(),
            expected_lexical_version=index.version(engine.recipe.all_made_by),
            vectors=vector_state(engine.semantics, index),
            sources=(sources := catalogue.sources()),
            source_scores=[rated(source) for source in sources],
            runs=catalogue.runs(_LISTED_RUNS),
            database=index.location,
            database_bytes=index.size(),
            holder=index.lease("write").holder(),
            upgrading=registry.upgrade_of(catalogue.makers(), engine.recipe.chunker),
            other_files=catalogue.other_files(),
        )


def rated(source: Source) -> float:
    """The score of a source from 0 to 10, by its present state."""
    from kebab_tui.files.git import has_remote
    from kebab_tui.search.libraries import source_score

    return source_score(source, has_remote=has_remote(source.root))


def pending(semantics: VectorSearch, reader: Reader) -> Pending:
    card = semantics.card()
    with reader.vectors(card.fingerprint) as source:
        passages, texts, outdated = source.pending_count()
    with reader.catalogue() as catalogue:
        for run in catalogue.runs(_MOST_RUNS):
            report = run.report
            if run.kind != RUN_KIND or report["model"] != card.fingerprint:
                continue
            if report["embedded"] >= _MIN_TEXTS and report["seconds"]:
                seconds = texts * float(report["seconds"] / report["embedded"])
                return Pending(passages, texts, seconds, outdated)
    return Pending(passages, texts, None, outdated)


def vector_state(semantics: VectorSearch, index: Index, *, fully: bool = False) -> VectorState:
    """`fully`: compare the checksum of the vector file even if it was found valid before."""
    from kebab_tui.vectors.sync import FILE_NAME

    model = semantics.chosen()
    try:
        card = semantics.card()
    except ModelError as error:
        return VectorState(model, error.message)
    follower = semantics.new_follower(card)
    with index.reader.catalogue():  # one snapshot for both: another process may write
        opened = follower.open(fully=fully)
        counts, total = semantics.counts(card, fully=fully)
    size = 0
    with contextlib.suppress(OSError):
        size = os.path.getsize(os.path.join(index.folder, FILE_NAME))
    file: FileState = "current"
    detail = "header and checksum are valid"
    if not size:
        file, detail = "none", "none yet: searches read the vectors from the database"
    elif opened.how == "rebuilt":
        file, detail = "unusable", opened.reason
    elif opened.how == "replayed":
        file, detail = "behind", f"{opened.reason}; searches replay the rest"
    return VectorState(
        model=model,
        problem="",
        version=card.vector_version,
        dims=card.dims,
        total=total,
        pending=counts.chunks,
        outdated=counts.outdated,
        indexed=follower.index.count,
        file=file,
        file_detail=detail,
        file_bytes=size,
    )


def check_vectors(semantics: VectorSearch, index: Index) -> Iterator[Finding]:
    """Check the model, then the vectors. Silent without an index: the check of the database reports that."""
    try:
        yield _model(semantics)
        state = vector_state(semantics, index, fully=True)
    except KebabError:
        return
    if state.problem:
        return
    if state.pending:
        share = 100 * state.made // state.total
        detail = (
            f"{share} % ready; {state.pending} of {state.total} passages have no vector and are found by "
            "keyword only"
        )
        yield Finding("vectors", "warning", detail, _EMBED)
    elif state.outdated:
        detail = (
            f"{state.outdated} texts have a vector of an earlier version, which covers only their beginning"
        )
        yield Finding("vectors", "warning", detail, _EMBED)
    else:
        yield Finding("vectors", "ok", f"{state.version}: all {state.total} passages have one")
    if not state.made:
        return
    if damaged := state.made - state.indexed:
        detail = f"{state.made} in the database, {state.indexed} in the index: {damaged} are damaged"
        yield Finding("vector parity", "problem", detail, f"{_REBUILD}, then `kebab index --embed`")
    else:
        yield Finding("vector parity", "ok", f"{state.made} vectors, in the database and in the index")
    if state.file == "unusable":
        detail = f"{state.file_detail}: every search rebuilds the vectors from the database"
        yield Finding("vector file", "warning", detail, _REBUILD)
    else:
        yield Finding("vector file", "ok", state.file_detail)


def check_same_answers(shared: Workspace, local: Workspace) -> Iterator[Finding]:
    """Compare five answers of a shared index with those of a local one of the same revision, if there is
    one."""
    from kebab_tui.domain.query import SearchQuery

    try:
        ours, theirs = (one.status().figures for one in (local, shared))
        same = ("corpus_revision", "documents", "chunks", "lexical_version")
        if any(getattr(ours, name) != getattr(theirs, name) for name in same):
            return
        titles = [note.document.title for note in shared.find("", _COMPARED)]
        for text in titles:
            query = SearchQuery(text, "lexical", exact=True)
            answers = [
                [(hit.row, hit.score, hit.rank) for hit in one.search(query).hits] for one in (local, shared)
            ]
            if answers[0] != answers[1]:
                detail = f"{text!r} gives other hits or scores than the local index of the same revision"
                yield Finding("same answers", "problem", detail, "publish again: `kebab index --copy-to`")
                return
    except KebabError:
        return
    yield Finding("same answers", "ok", f"{len(titles)} queries answer as the local index does")


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
        return Finding("model", "problem", error.message, f"{error.hint or 'repair the model'}{another}")
    return Finding("model", "ok", f"{card.model_id}: the files match the model card, and the model works")
