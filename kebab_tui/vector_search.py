"""The meaning half of a workspace: which model, its encoder, its vectors, kept in step.

Opens nothing before somebody asks by meaning, then keeps what it opened. Whatever is
missing or broken becomes a notice: search by words goes on.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kebab_tui import own_files
from kebab_tui.domain.errors import ModelError, NotIndexedError, VectorError
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.text import embedded_text
from kebab_tui.search.ports import Semantics

if TYPE_CHECKING:
    from kebab_tui.embedding.card import ModelCard
    from kebab_tui.embedding.encoder import Encoder
    from kebab_tui.embedding.model_folders import ListedModel
    from kebab_tui.storage.lock import DataFolder
    from kebab_tui.storage.sqlite.reader import StoreReader
    from kebab_tui.storage.sqlite.writer import Writer
    from kebab_tui.vectors.sync import VectorFollower


# The models an index can use: which there are, which one answers, what another would cost.
#
# Looks, checks and copies; which model is used is written by the workspace, whose lock it
# takes. Works without an index too: then the bundled model is the one that will be used.

_MEASURED = 12
"""Passages that are read to say how long all of them will take."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model as this index sees it. `vectors`: how many it has made for it."""

    listed: ListedModel
    used: bool
    vectors: int


@dataclass(frozen=True, slots=True)
class Switch:
    """What using another model costs.

    `pending`: texts that it has yet to read; `total`: passages of the index; `seconds`:
    measured on a few texts, 0 when none is pending.
    """

    model: str
    before: str
    pending: int
    total: int
    seconds: float


class ModelService:
    def __init__(
        self, folder: DataFolder, reader: StoreReader, semantics: VectorSearch, threads: int
    ) -> None:
        from kebab_tui.embedding.model_folders import ModelCatalogue

        self._catalogue = ModelCatalogue(folder.root)
        self._reader = reader
        self._semantics = semantics
        self._threads = threads

    def all(self) -> list[ModelInfo]:
        """Every model; one that is used but gone is listed with that problem."""
        used = self.used()
        found = [self._shelved(listed, used) for listed in self._catalogue.list_models()]
        if not any(model.used for model in found):
            found.append(self._gone(used))
        return found

    def get(self, name: str) -> ModelInfo:
        """One model by its id, also when its card is broken."""
        for model in self.all():
            if model.listed.model_id == name:
                return model
        self._catalogue.find(name)  # knows the nearest name
        raise ModelError(f"there is no model {name!r}")

    def find(self, name: str) -> ModelCard:
        return self._catalogue.find(name)

    def used(self) -> str:
        from kebab_tui.embedding.model_folders import BUNDLED_MODEL

        try:
            return self._semantics.chosen()
        except NotIndexedError:
            return BUNDLED_MODEL

    def problems(self, model: ModelInfo) -> list[str]:
        """What is wrong with a model: its files, read to their last byte, or what it gives."""
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
        """Open the model, which checks its files, and measure it on texts that it has yet to read."""
        from kebab_tui.embedding.encoder import Encoder

        card = self.find(name)
        encoder = Encoder(card, self._threads)
        encoder.open()
        pending, total, texts = self._unread(card)
        seconds = pending * _seconds_each(encoder, texts) if texts else 0.0
        return Switch(name, self.used(), pending, total, seconds)

    def _unread(self, card: ModelCard) -> tuple[int, int, list[str]]:
        try:
            with self._reader.catalogue() as catalogue, self._reader.vectors(card.fingerprint) as source:
                found = source.pending(_MEASURED)
                texts = [embedded_text(text.title, text.heading_path, text.text) for text in found]
                return source.pending_texts(), catalogue.figures().chunks, texts
        except NotIndexedError:
            return 0, 0, []

    def _shelved(self, listed: ListedModel, used: str) -> ModelInfo:
        return ModelInfo(listed, listed.model_id == used, self._vectors(listed.card))

    def _vectors(self, card: ModelCard | None) -> int:
        if card is None:
            return 0
        try:
            with self._reader.vectors(card.fingerprint) as source:
                return source.used_count()
        except NotIndexedError:
            return 0

    def _gone(self, name: str) -> ModelInfo:
        from kebab_tui.embedding.model_folders import ListedModel

        return ModelInfo(ListedModel(name, bundled=False, card=None, problem="it is not there"), True, 0)


def _seconds_each(encoder: Encoder, texts: Sequence[str]) -> float:
    start = time.perf_counter()
    for _ in encoder.passages(texts):
        pass
    return (time.perf_counter() - start) / len(texts)


# Which model was chosen, written down beside the database: an index that is lost is made anew for it.
#
# The database decides as long as it says anything. Without this copy, notes that were read
# by a model of one's own would come back with the bundled one, and nobody would be told.

FILE_NAME = "model.txt"
_MOST_BYTES = 4_096


def selected_model(folder: str) -> str:
    """The id of the model; empty when none was ever chosen, or the file cannot be read."""
    try:
        lines = own_files.read(os.path.join(folder, FILE_NAME), _MOST_BYTES).decode().splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    return lines[0].strip() if lines else ""


def save_selected_model(folder: str, model: str) -> None:
    """Write it down as a whole or not at all; where that fails, the database still knows it."""
    if selected_model(folder) == model:
        return
    with contextlib.suppress(OSError):
        own_files.replace(os.path.join(folder, FILE_NAME), f"{model}\n".encode())


RUN_KIND = "embed"
"""The kind under which the catalogue keeps the runs that made vectors."""
_NO_STAMP = (0, 0, 0)


class VectorSearch:
    """Implements `search.ports.SemanticsSource`."""

    def __init__(self, folder: DataFolder, reader: StoreReader, threads: int) -> None:
        self._folder = folder
        self._reader = reader
        self._threads = threads
        self._opening = threading.Lock()
        self._card: ModelCard | None = None
        self._card_stamp = _NO_STAMP
        self._encoder: Encoder | None = None
        self._follower: VectorFollower | None = None
        self._followed = ""

    def __call__(self) -> Semantics | Notice:
        try:
            card = self.card()
            encoder = self._encoder_of(card)
            follower = self._follower_of(card, encoder)
            if follower is None:
                return Notice("no_vectors", "No vectors yet: `kebab index --embed` makes them.")
            follower.catch_up()
            encoder.open()
        except (ModelError, VectorError) as error:  # anything wrong with the store itself is not ours
            return Notice("no_model", f"{error.message}.", "warning")
        knows_hangul = card.answers("\uac00")
        return Semantics(encoder, follower.index, card.vector_version, knows_hangul, card.floor)

    def open_by_steps(self) -> Iterator[None]:
        """Open what a question by meaning needs, a bit at each step; nothing while there are no vectors."""
        card = self.card()
        if self._has_vectors(card):
            import numpy  # noqa: F401 -- a step of its own: it takes as long as the next one

            yield
            encoder = self._encoder_of(card)
            encoder.open()
            yield
            self._follower_of(card, encoder)
            yield

    def card(self) -> ModelCard:
        """The model that this index uses. Its card is read again when its file has changed."""
        chosen = self.chosen()
        known = self._card
        if known is None or known.model_id != chosen or _stamp(known) != self._card_stamp:
            from kebab_tui.embedding.model_folders import ModelCatalogue

            self._card = known = ModelCatalogue(self._folder.root).find(chosen)
            self._card_stamp = _stamp(known)
        return known

    def chosen(self) -> str:
        """The id of the model that this index uses, whether or not there is one of that name."""
        from kebab_tui.embedding.model_folders import BUNDLED_MODEL

        with self._reader.catalogue() as catalogue:
            model = catalogue.model()
        return model or selected_model(self._folder.root) or BUNDLED_MODEL

    def choose(self, writer: Writer, model: str) -> None:
        """Use another model from now on."""
        writer.use_model(model)
        save_selected_model(self._folder.root, model)

    def restore_choice(self, writer: Writer) -> None:
        """Bring the database and the copy of its choice in step: either may have been lost."""
        with self._reader.catalogue() as catalogue:
            known = catalogue.model()
        if known is not None:
            save_selected_model(self._folder.root, known)
        elif model := selected_model(self._folder.root):
            writer.use_model(model)

    def encoder(self) -> Encoder:
        """The model, its files unchecked until first use."""
        return self._encoder_of(self.card())

    def save(self) -> str:
        """Write the vectors' file, for whoever holds the writer's lock; a reason when that fails."""
        follower = self.new_follower(self.card(), may_save=True)
        follower.open()
        return follower.close()

    def discard_file(self) -> None:
        """Forget the vectors' file; it is made anew from the database."""
        from kebab_tui.vectors.file import discard
        from kebab_tui.vectors.sync import FILE_NAME

        path = os.path.join(self._folder.root, FILE_NAME)
        try:
            discard(path)
        except OSError as error:
            raise VectorError(
                f"cannot remove {path}: {error.strerror}",
                "remove it by hand; searches take the vectors from the database meanwhile",
            ) from error

    def new_follower(self, card: ModelCard, *, may_save: bool = False) -> VectorFollower:
        """The vectors of a model, yet to be opened."""
        from kebab_tui.vectors.sync import VectorFollower

        return VectorFollower(
            self._reader, self._folder.root, card.fingerprint, card.dims, may_save=lambda: may_save
        )

    def close(self) -> None:
        if self._follower is not None:
            self._follower.close()
            self._follower = None

    def _encoder_of(self, card: ModelCard) -> Encoder:
        """Another one when the index changed models."""
        from kebab_tui.embedding.encoder import Encoder

        with self._opening:
            if self._encoder is None or self._encoder.card != card:
                self._encoder = Encoder(card, self._threads)
            return self._encoder

    def _follower_of(self, card: ModelCard, encoder: Encoder) -> VectorFollower | None:
        """The vectors of the index's model, opened; None, and no engine loaded, while there are none.

        The model is opened meanwhile: each of the two leaves a processor idle for half of its time.
        """
        with self._opening:
            if self._follower is not None and self._followed == card.fingerprint:
                return self._follower
            if not self._has_vectors(card):
                return None
            from concurrent.futures import ThreadPoolExecutor

            follower = self.new_follower(card)
            with ThreadPoolExecutor(1, "model") as beside:
                beside.submit(encoder.open)  # an error is told again by whoever opens it next
                follower.open()
            self.close()
            self._follower, self._followed = follower, card.fingerprint
            return follower

    def counts(self, card: ModelCard) -> tuple[int, int]:
        """Passages without a vector, and all of them."""
        with self._reader.catalogue() as catalogue, self._reader.vectors(card.fingerprint) as source:
            return source.pending_count(), catalogue.figures().chunks

    def damaged(self) -> int:
        """How many passages have a vector in the database that cannot be used."""
        card = self.card()
        follower = self.new_follower(card)
        with self._reader.catalogue():
            follower.open()
            missing, total = self.counts(card)
        return total - missing - follower.index.count

    def _has_vectors(self, card: ModelCard) -> bool:
        with self._reader.vectors(card.fingerprint) as source:
            return next(source.all(), None) is not None


def _stamp(card: ModelCard) -> tuple[int, int, int]:
    from kebab_tui.embedding.card import CARD

    try:
        status = os.stat(os.path.join(card.folder, CARD))
    except OSError:
        return _NO_STAMP
    return status.st_ino, status.st_size, status.st_mtime_ns
