"""The models an index can use: which there are, which one answers, what another would cost.

Looks, checks and copies; which model is used is written by the workspace, whose lock it
takes. Works without an index too: then the bundled model is the one that will be used.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kebab_tui.domain.errors import ModelError, NotIndexedError
from kebab_tui.domain.text import embedded_text

if TYPE_CHECKING:
    from kebab_tui.embedding.card import ModelCard
    from kebab_tui.embedding.encoder import Encoder
    from kebab_tui.embedding.model_folders import ListedModel
    from kebab_tui.semantics.half import SemanticHalf
    from kebab_tui.storage.lock import DataFolder
    from kebab_tui.storage.sqlite.reader import StoreReader

_MEASURED = 12
"""Passages that are read to say how long all of them will take."""


@dataclass(frozen=True, slots=True)
class Shelved:
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


class ModelShelf:
    def __init__(
        self, folder: DataFolder, reader: StoreReader, semantics: SemanticHalf, threads: int
    ) -> None:
        from kebab_tui.embedding.model_folders import ModelCatalogue

        self._catalogue = ModelCatalogue(folder.root)
        self._reader = reader
        self._semantics = semantics
        self._threads = threads

    def all(self) -> list[Shelved]:
        """Every model; one that is used but gone is listed with that problem."""
        used = self.used()
        found = [self._shelved(listed, used) for listed in self._catalogue.list_models()]
        if not any(model.used for model in found):
            found.append(self._gone(used))
        return found

    def get(self, name: str) -> Shelved:
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

    def problems(self, model: Shelved) -> list[str]:
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

    def add(self, folder: str) -> Shelved:
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

    def _shelved(self, listed: ListedModel, used: str) -> Shelved:
        return Shelved(listed, listed.model_id == used, self._vectors(listed.card))

    def _vectors(self, card: ModelCard | None) -> int:
        if card is None:
            return 0
        try:
            with self._reader.vectors(card.fingerprint) as source:
                return source.used_count()
        except NotIndexedError:
            return 0

    def _gone(self, name: str) -> Shelved:
        from kebab_tui.embedding.model_folders import ListedModel

        return Shelved(ListedModel(name, bundled=False, card=None, problem="it is not there"), True, 0)


def _seconds_each(encoder: Encoder, texts: Sequence[str]) -> float:
    start = time.perf_counter()
    for _ in encoder.passages(texts):
        pass
    return (time.perf_counter() - start) / len(texts)
