"""The model of an index, its encoder and its vectors, ready for a search or the reason why not.

Opens model and vectors at the first semantic query and keeps them open. A missing or broken part becomes
a notice, and keyword search continues. Also lists, checks and compares models (`ModelService`), and keeps
the id of the selected model in a file beside the database: if the database is lost, its vectors are
recreated for the same model.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kebab_tui import own_files
from kebab_tui.domain.errors import ModelError, NotIndexedError, VectorError
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.text import embedded_text
from kebab_tui.search.ports import Semantics

if TYPE_CHECKING:
    from kebab_tui.embedding.card import ModelCard
    from kebab_tui.embedding.encoder import Encoder
    from kebab_tui.embedding.model_folders import ListedModel
    from kebab_tui.search.ports import VectorIndex
    from kebab_tui.storage.ports import FollowedVectors, Index, PendingCount, Writer

FILE_NAME = "model.txt"
RUN_KIND = "embed"
"""Kind of the recorded runs that created vectors."""
_MOST_BYTES = 4_096
_SAMPLE = 12
"""Passages to embed for an estimate of the total time."""


class _OpenModel(NamedTuple):
    card: ModelCard
    follower: FollowedVectors
    semantics: Semantics


class OpenVectors(NamedTuple):
    """The vectors of the selected model. `model`: its fingerprint."""

    searched: VectorIndex
    model: str
    dims: int


class VectorSearch:
    """Implements `search.ports.SemanticsSource`."""

    def __init__(self, index: Index, threads: int, main: VectorSearch | None = None) -> None:
        """`main`: that of another index, whose model is used here, too."""
        self._main = main
        self._index = index
        self._reader = index.reader
        self._threads = threads
        self._opening = threading.Lock()
        self._card: ModelCard | None = None
        self._card_stamp = (0, 0, 0)
        self._encoder: Encoder | None = None
        self._follower: FollowedVectors | None = None
        self._followed = ""
        self._opened: _OpenModel | None = None
        """What the last search used."""

    def __call__(self) -> Semantics | Notice:
        try:
            card = self.card()
            opened = self._opened
            if opened is None or opened.card != card:
                encoder = self._encoder_of(card)
                follower = self._follower_of(card, encoder)
                if follower is None:
                    return Notice("no_vectors", "No semantic index yet: run `kebab index --embed`.")
                encoder.open()
                knows_hangul = card.answers("\uac00")
                semantics = Semantics(encoder, follower.index, card.vector_version, knows_hangul, card.floor)
                opened = self._opened = _OpenModel(card, follower, semantics)
            opened.follower.catch_up()
        except (ModelError, VectorError) as error:  # errors of the database are raised
            return Notice("no_model", f"{error.message}.", "warning")
        return opened.semantics

    def knows_word(self, word: str, begun: bool) -> bool:
        """Whether the selected model has a word in its vocabulary; loads no model."""
        from kebab_tui.embedding.pieces import knows_word

        try:
            return knows_word(self.card(), word, begun)
        except ModelError:
            return False

    def vectors(self) -> OpenVectors:
        """The vectors without the model, which takes longer to open; raises ModelError if there are none."""
        card = self.card()
        with self._opening:
            if self._follower is None or self._followed != card.fingerprint:
                if not self._has_vectors(card):
                    raise ModelError("no vectors yet", "run `kebab index --embed`")
                follower = self.new_follower(card)
                follower.open()
                self.close()
                self._follower, self._followed = follower, card.fingerprint
            self._follower.catch_up()
            return OpenVectors(self._follower.index, card.fingerprint, card.dims)

    def open_by_steps(self) -> Iterator[None]:
        """Open model and vectors, step by step; does nothing while there are no vectors."""
        card = self.card()
        if self._has_vectors(card):
            import numpy  # noqa: F401 -- a separate step: it takes as long as the next one

            yield
            encoder = self._encoder_of(card)
            encoder.open()
            yield
            self._follower_of(card, encoder)
            yield

    def card(self) -> ModelCard:
        """The card of the selected model; read again if its file changed."""
        if self._main is not None:
            return self._main.card()
        from kebab_tui.embedding.card import CARD

        chosen = self.chosen()
        known = self._card
        if (
            known is None
            or known.model_id != chosen
            or own_files.stamp_of(os.path.join(known.folder, CARD)) != self._card_stamp
        ):
            from kebab_tui.embedding.model_folders import ModelCatalogue

            self._card = known = ModelCatalogue(self._index.folder).find(chosen)
            self._card_stamp = own_files.stamp_of(os.path.join(known.folder, CARD))
        return known

    def chosen(self) -> str:
        """The id of the selected model, which may be missing."""
        if self._main is not None:
            return self._main.chosen()
        from kebab_tui.embedding.model_folders import BUNDLED_MODEL

        with self._reader.catalogue() as catalogue:
            model = catalogue.model()
        return model or selected_model(self._index.folder) or BUNDLED_MODEL

    def choose(self, writer: Writer, model: str) -> None:
        """Select another model."""
        writer.use_model(model)
        save_selected_model(self._index.folder, model)

    def restore_choice(self, writer: Writer) -> None:
        """Synchronize the database and the copy of its selected model: either may be lost."""
        if self._main is not None:
            return
        with self._reader.catalogue() as catalogue:
            known = catalogue.model()
        if known is not None:
            save_selected_model(self._index.folder, known)
        elif model := selected_model(self._index.folder):
            writer.use_model(model)

    def encoder(self) -> Encoder:
        """The encoder; checks the files of the model at its first use."""
        return self._encoder_of(self.card())

    def save(self) -> str:
        """Write the vector file; returns why it failed. The caller owns the writer's lock."""
        follower = self.new_follower(self.card(), may_save=True)
        follower.open()
        return follower.close()

    def discard_file(self) -> None:
        """Remove the vector file; it can be rebuilt from the database."""
        from kebab_tui.vectors.file import discard
        from kebab_tui.vectors.sync import FILE_NAME

        path = os.path.join(self._index.folder, FILE_NAME)
        try:
            discard(path)
        except OSError as error:
            raise VectorError(
                f"cannot remove {path}: {error.strerror}",
                "remove it yourself; searches read the vectors from the database meanwhile",
            ) from error

    def new_follower(self, card: ModelCard, *, may_save: bool = False) -> FollowedVectors:
        """The vectors of a model, not opened yet."""
        return self._index.vector_index(card.fingerprint, card.dims, may_save=may_save)

    def close(self) -> None:
        if self._follower is not None:
            self._follower.close()
            self._follower = self._opened = None

    def _encoder_of(self, card: ModelCard) -> Encoder:
        from kebab_tui.embedding.encoder import Encoder

        if self._main is not None:
            return self._main._encoder_of(card)
        with self._opening:
            if self._encoder is None or self._encoder.card != card:
                self._encoder = Encoder(card, self._threads)
            return self._encoder

    def _follower_of(self, card: ModelCard, encoder: Encoder) -> FollowedVectors | None:
        """Open vectors of the model; None, without loading FAISS, while there are none.

        Opens the model at the same time: each of the two leaves a processor idle half of the time.
        """
        with self._opening:
            if self._follower is not None and self._followed == card.fingerprint:
                return self._follower
            if not self._has_vectors(card):
                return None
            from concurrent.futures import ThreadPoolExecutor

            follower = self.new_follower(card)
            with ThreadPoolExecutor(1, "model") as beside:
                beside.submit(encoder.open)  # the next `open` raises the same error
                follower.open()
            self.close()
            self._follower, self._followed = follower, card.fingerprint
            return follower

    def counts(self, card: ModelCard, *, fully: bool = False) -> tuple[PendingCount, int]:
        """What has no vector yet, and the number of all chunks. `fully`: looks at each of them."""
        with self._reader.vectors(card.fingerprint) as source:
            pending = source.pending_count(fully=fully)
            if fully:
                with self._reader.catalogue() as catalogue:
                    return pending, catalogue.figures().chunks
            with self._reader.snapshot() as snapshot:  # the full text knows its size, unless it is damaged
                return pending, max(snapshot.collection().chunks, pending.chunks)

    def damaged(self) -> int:
        """The number of chunks whose vector in the database is damaged."""
        card = self.card()
        follower = self.new_follower(card)
        with self._reader.catalogue():
            follower.open()
            missing, total = self.counts(card, fully=True)
        return total - missing.chunks - follower.index.count

    def _has_vectors(self, card: ModelCard) -> bool:
        with self._reader.vectors(card.fingerprint) as source:
            return next(source.all(), None) is not None


def selected_model(folder: str) -> str:
    """The id of the selected model; empty if none was selected or the file is unreadable."""
    try:
        lines = own_files.read(os.path.join(folder, FILE_NAME), _MOST_BYTES).decode().splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    return lines[0].strip() if lines else ""


def save_selected_model(folder: str, model: str) -> None:
    """Replace the file atomically; a failure is ignored, because the database has the id, too."""
    if selected_model(folder) == model:
        return
    with contextlib.suppress(OSError):
        own_files.replace(os.path.join(folder, FILE_NAME), f"{model}\n".encode())


class ModelInfo(NamedTuple):
    """A model and its use in this index. `vectors`: number of its vectors."""

    listed: ListedModel
    used: bool
    vectors: int


class Switch(NamedTuple):
    """The cost of switching to another model.

    `pending`: texts without a vector of it; `total`: chunks of the index; `seconds`: estimate from a few
    texts, 0 if none is pending.
    """

    model: str
    before: str
    pending: int
    total: int
    seconds: float


class ModelService:
    def __init__(self, index: Index, semantics: VectorSearch, threads: int) -> None:
        from kebab_tui.embedding.model_folders import ModelCatalogue

        self._catalogue = ModelCatalogue(index.folder)
        self._reader = index.reader
        self._semantics = semantics
        self._threads = threads

    def all(self) -> list[ModelInfo]:
        """Every model, including a selected model that is missing."""
        from kebab_tui.embedding.model_folders import ListedModel

        used = self.used()
        found = []
        for listed in self._catalogue.list_models():
            vectors = 0
            with contextlib.suppress(NotIndexedError):
                if listed.card is not None:
                    with self._reader.vectors(listed.card.fingerprint) as source:
                        vectors = source.count().used
            found.append(ModelInfo(listed, listed.model_id == used, vectors))
        if not any(model.used for model in found):
            missing = ListedModel(used, bundled=False, card=None, problem="the model is missing")
            found.append(ModelInfo(missing, True, 0))
        return found

    def get(self, name: str) -> ModelInfo:
        """A model by its id, even if its card is broken."""
        for model in self.all():
            if model.listed.model_id == name:
                return model
        self._catalogue.find(name)  # suggests similar names
        raise ModelError(f"unknown model: {name!r}")

    def find(self, name: str) -> ModelCard:
        return self._catalogue.find(name)

    def used(self) -> str:
        from kebab_tui.embedding.model_folders import BUNDLED_MODEL

        try:
            return self._semantics.chosen()
        except NotIndexedError:
            return BUNDLED_MODEL

    def problems(self, model: ModelInfo) -> list[str]:
        """Problems of a model: verifies all its files, then a sample of its output."""
        from kebab_tui.embedding.integrity import verify
        from kebab_tui.embedding.model_folders import probe

        card = model.listed.card
        if card is None:
            return [model.listed.problem]
        if problems := verify(card):
            return problems
        try:
            probe(card)
        except ModelError as error:
            return [error.message]
        return []

    def add(self, folder: str) -> ModelInfo:
        return self.get(self._catalogue.add(folder).model_id)

    def cost(self, name: str) -> Switch:
        """Open the model, which checks its files, and measure it on pending texts."""
        from kebab_tui.embedding.encoder import Encoder

        card = self.find(name)
        encoder = Encoder(card, self._threads)
        encoder.open()
        pending = total = 0
        texts: list[str] = []
        with (
            contextlib.suppress(NotIndexedError),
            self._reader.catalogue() as catalogue,
            self._reader.vectors(card.fingerprint) as source,
        ):
            found = source.pending(_SAMPLE)
            texts = [embedded_text(text.title, text.heading_path, text.text) for text in found]
            pending, total = source.pending_count().texts, catalogue.figures().chunks
        start = time.perf_counter()
        for _ in encoder.passages(texts):
            pass
        seconds = (time.perf_counter() - start) / len(texts) if texts else 0.0
        return Switch(name, self.used(), pending, total, pending * seconds)
