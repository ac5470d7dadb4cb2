"""What must be true of the vectors after a kill, and after the next run has made what was missing.

The reference is a twin: the same rows, their vectors all made anew by the same model. So
every answer by meaning has to be the same to the bit, ties and all.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from unittest import mock

from kebab_tui.domain.errors import KebabError, NotIndexedError
from kebab_tui.domain.query import SearchMode, SearchQuery
from kebab_tui.domain.text import embedded_hash
from kebab_tui.embedding.encoder import Encoder
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.catalogue import StoreCatalogue
from kebab_tui.storage.sqlite.writer import StoreWriter
from kebab_tui.vectors.faiss_index import by_row
from kebab_tui.vectors.segment import decoded, rows_of
from kebab_tui.vectors.sync import VectorFollower
from kebab_tui.workspace import Callbacks, Workspace
from tests.torture.victim import SETTINGS

ASKED = ("port conflict", "충돌 해결", "install backup", "title:code connection", "network -restore", "특별")
_NEVER = (
    "the file belongs to another store",
    "the file is damaged: its checksum differs",
    "the file is damaged: its length differs",
    "the file is too short",
)
"""What a kill never makes of the file. It would be made anew by itself, so that no answer shows it."""
_MODES: tuple[SearchMode, ...] = ("hybrid", "vector")
_BLOBS = "SELECT c.id, e.vector FROM chunks c JOIN embeddings e ON e.text_hash = c.embed_hash AND e.model = ?"
_TEXTS = "SELECT title, heading_path, text, embed_hash FROM chunks ORDER BY id"


def left_behind(workspace: Workspace) -> Iterator[str]:
    """Nothing that a search by meaning uses right after the kill is stale."""
    try:
        yield from _file_untrue(workspace)
        for query in ASKED[:2]:
            workspace.search(SearchQuery(query))
    except NotIndexedError:
        return
    except KebabError as error:
        yield f"a search by meaning fails: {error.message}"


def completed(workspace: Workspace, scratch: str) -> Iterator[str]:
    """Make what is missing, once each, then compare with the twin."""
    pending = workspace.pending().texts
    with _texts_read() as read:
        report = workspace.embed(Callbacks())
    if (report.embedded, report.pending) != (pending, 0):
        yield f"{pending} vectors were missing, {report.embedded} made, {report.pending} are left"
    if len(read) != pending or len(set(read)) != pending:
        yield f"{pending} vectors were missing, {len(read)} texts were read, {len(set(read))} different"
    yield from _file_untrue(workspace)
    yield from _differing(workspace, scratch)
    if workspace.vectors().file not in ("current", "behind"):
        yield f"the vectors' file: {workspace.vectors().file_detail}"


def _file_untrue(workspace: Workspace) -> Iterator[str]:
    """Whether the index, as a process opens it now, is exactly the blobs of the database."""
    card = workspace._parts.semantics.card()
    with workspace._parts.index.reader.catalogue() as catalogue:
        follower = workspace._parts.semantics.new_follower(card)
        assert isinstance(follower, VectorFollower)
        opened = follower.open()
        assert isinstance(catalogue, StoreCatalogue)
        blobs = dict(catalogue._connection.execute(_BLOBS, (card.fingerprint,)))
        revision = catalogue.figures().corpus_revision
    sound = {row: blob for row, blob in blobs.items() if any(blob)}
    if len(sound) == len(blobs) and opened.reason in _NEVER:
        yield f"the vectors' file is of no use: {opened.reason}"
    contents = follower.index.snapshot
    stored = by_row(*decoded(rows_of(list(sound)), list(sound.values()), card.dims)[:2])
    if contents.codes_of(contents.live_rows()) != stored or follower.index.count != len(sound):
        yield "the index of vectors is not what the database holds"
    if follower.revision != revision:
        yield f"the index of vectors is of revision {follower.revision}, not {revision}"


@contextlib.contextmanager
def _texts_read() -> Iterator[list[str]]:
    read: list[str] = []
    real = Encoder.passages

    def passages(
        encoder: Encoder,
        texts: Iterable[str],
        cancelled: Callable[[], bool],
        beginnings: Mapping[str, bytes],
    ) -> Iterable[Any]:
        kept, asked = itertools.tee(texts)
        for vector in real(encoder, asked, cancelled, beginnings):
            read.append(next(kept))
            yield vector

    with mock.patch.object(Encoder, "passages", passages):
        yield read


def _differing(workspace: Workspace, scratch: str) -> Iterator[str]:
    card = workspace._parts.semantics.card()
    twin = _twin(workspace, scratch, card.fingerprint)
    ours, theirs = (_blobs(one, card.fingerprint) for one in (workspace, twin))
    if ours != theirs:
        yield f"{sum(ours.get(row) != blob for row, blob in theirs.items())} vectors are not their texts'"
    if wrong := _wrongly_named(workspace):
        yield f"{wrong} passages have the vector of another text"
    for query in ASKED:
        for mode in _MODES:
            if _answer(workspace, query, mode) != _answer(twin, query, mode):
                yield f"another {mode} answer to {query!r} than with fresh vectors"
    twin.close()


def _twin(workspace: Workspace, scratch: str, model: str) -> Workspace:
    folder = DataFolder(scratch)
    os.makedirs(scratch)
    with contextlib.suppress(FileNotFoundError):
        os.symlink(os.path.join(workspace._parts.index.folder, "models"), os.path.join(scratch, "models"))
    source, target = sqlite3.connect(workspace._parts.index.location), sqlite3.connect(folder.database)
    source.backup(target)
    source.close()
    target.close()
    writer = StoreWriter(folder)
    writer.delete_vectors(model)
    writer.close()
    twin = Workspace(SETTINGS, scratch)
    twin.embed(Callbacks())
    return twin


def _blobs(workspace: Workspace, model: str) -> dict[int, bytes]:
    with workspace._parts.index.reader.catalogue() as catalogue:
        assert isinstance(catalogue, StoreCatalogue)
        return dict(catalogue._connection.execute(_BLOBS, (model,)))


def _wrongly_named(workspace: Workspace) -> int:
    with workspace._parts.index.reader.catalogue() as catalogue:
        assert isinstance(catalogue, StoreCatalogue)
        rows = catalogue._connection.execute(_TEXTS).fetchall()
    return sum(embedded_hash(*parts) != found for *parts, found in rows)


def _answer(workspace: Workspace, query: str, mode: SearchMode) -> list[object]:
    response = workspace.search(SearchQuery(query, mode=mode, k=1000))
    told = [notice.code for notice in response.notices]
    hits = [(hit.row, hit.score, str(hit.citation), hit.retrieval) for hit in response.hits]
    return [response.mode, told, *hits]
