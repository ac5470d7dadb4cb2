"""The meaning half of a workspace: which model, its encoder, its vectors, kept in step.

Opens nothing before somebody asks by meaning, then keeps what it opened. Whatever is
missing or broken becomes a notice: search by words goes on.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kebab_tui.domain.errors import ModelError, VectorError
from kebab_tui.domain.hit import Notice
from kebab_tui.search.ports import Semantics
from kebab_tui.semantics.choice import remember, remembered

if TYPE_CHECKING:
    from kebab_tui.embedding.card import ModelCard
    from kebab_tui.embedding.encoder import Encoder
    from kebab_tui.storage.lock import DataFolder
    from kebab_tui.storage.sqlite.reader import StoreReader
    from kebab_tui.storage.sqlite.writer import Writer
    from kebab_tui.vectors.sync import VectorFollower


RUN_KIND = "embed"
"""The kind under which the catalogue keeps the runs that made vectors."""
_NO_STAMP = (0, 0, 0)


class SemanticHalf:
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
        return model or remembered(self._folder.root) or BUNDLED_MODEL

    def choose(self, writer: Writer, model: str) -> None:
        """Use another model from now on."""
        writer.use_model(model)
        remember(self._folder.root, model)

    def restore_choice(self, writer: Writer) -> None:
        """Bring the database and the copy of its choice in step: either may have been lost."""
        with self._reader.catalogue() as catalogue:
            known = catalogue.model()
        if known is not None:
            remember(self._folder.root, known)
        elif model := remembered(self._folder.root):
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
