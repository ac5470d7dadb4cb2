"""The meaning half of a workspace: which model, its encoder, its vectors, kept in step.

Opens nothing before somebody asks by meaning, then keeps what it opened. Whatever is
missing or broken becomes a notice: search by words goes on.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from kebab_tui.domain.errors import KebabError, ModelError
from kebab_tui.domain.hit import Notice
from kebab_tui.search.ports import Semantics

if TYPE_CHECKING:
    from kebab_tui.embedding.card import ModelCard
    from kebab_tui.embedding.encoder import Encoder
    from kebab_tui.store.folder import DataFolder
    from kebab_tui.store.reader import StoreReader
    from kebab_tui.vectors.follower import VectorFollower


class SemanticHalf:
    """Implements `search.ports.SemanticsSource`."""

    def __init__(self, folder: DataFolder, reader: StoreReader, threads: int) -> None:
        self._folder = folder
        self._reader = reader
        self._threads = threads
        self._opening = threading.Lock()
        self._encoder: Encoder | None = None
        self._follower: VectorFollower | None = None
        self._followed = ""

    def __call__(self) -> Semantics | Notice:
        try:
            card = self.card()
            follower = self.follower()
        except ModelError as error:
            return Notice("no_model", f"{error.message}: searched by words only.", "warning")
        follower.catch_up()
        if follower.index.count == 0:
            return Notice("no_vectors", "No vectors yet, `kebab index --embed` makes them: words only.")
        encoder = self.encoder()
        try:
            encoder.open()
        except KebabError as error:
            return Notice("no_model", f"{error.message}: searched by words only.", "warning")
        knows_hangul = card.answers("\uac00")
        return Semantics(encoder, follower.index, card.vector_version, knows_hangul)

    def card(self) -> ModelCard:
        """The model that this index uses."""
        from kebab_tui.embedding.catalogue import BUNDLED_MODEL, Catalogue

        with self._reader.catalogue() as catalogue:
            chosen = catalogue.model()
        return Catalogue(self._folder.root).find(chosen or BUNDLED_MODEL)

    def encoder(self) -> Encoder:
        """The model, its files unchecked until first use; another one when the index changed models."""
        from kebab_tui.embedding.encoder import Encoder

        card = self.card()
        with self._opening:
            if self._encoder is None or self._encoder.card != card:
                self._encoder = Encoder(card, self._threads)
            return self._encoder

    def follower(self) -> VectorFollower:
        """The vectors of the index's model, opened."""
        from kebab_tui.vectors.follower import VectorFollower

        card = self.card()
        with self._opening:
            if self._follower is None or self._followed != card.fingerprint:
                follower = VectorFollower(
                    self._reader, self._folder.root, card.fingerprint, card.dims, may_save=lambda: False
                )
                follower.open()
                self._follower, self._followed = follower, card.fingerprint
            return self._follower

    def save(self) -> str:
        """Write the vectors' file, for whoever holds the writer's lock; a reason when that fails."""
        from kebab_tui.vectors.follower import VectorFollower

        card = self.card()
        follower = VectorFollower(
            self._reader, self._folder.root, card.fingerprint, card.dims, may_save=lambda: True
        )
        follower.open()
        return follower.close()

    def close(self) -> None:
        if self._follower is not None:
            self._follower.close()
            self._follower = None
