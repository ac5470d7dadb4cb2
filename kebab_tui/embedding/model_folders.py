"""Lists, finds and adds models: the bundled one, and those of the user in the data folder.

    <package>/_models/<id>/     bundled, in an installed wheel
    <checkout>/models/<id>/     bundled, in a source checkout
    <data folder>/models/<id>/  added with `add`

A model with an invalid card is listed with its problem. Downloads nothing, removes nothing, and
never changes a bundled model.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from kebab_tui import own_files
from kebab_tui.domain.errors import ModelError
from kebab_tui.domain.text import did_you_mean
from kebab_tui.embedding.card import CARD, ModelCard, card_text, read_card
from kebab_tui.embedding.encoder import Encoder
from kebab_tui.embedding.integrity import require, sha256_of, verify

BUNDLED_MODEL = "kebab-ko-en"
_DOCUMENTS = ("LICENSE", "LICENSE.txt", "NOTICE", "README.md")
_PROBES = ("port conflict", "포트 충돌", "word " * 10_000)
"""Two lengths, two scripts, and a text longer than `max_tokens`."""


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model folder; `card` is None if it is invalid, and `problem` is the reason."""

    model_id: str
    bundled: bool
    card: ModelCard | None
    problem: str = ""


def bundled_root() -> str:
    """Return the folder of the bundled models: inside the package, or beside it in a checkout."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    inside = os.path.join(package, "_models")
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(package), "models")


class ModelCatalogue:
    """The models available with one data folder."""

    def __init__(self, data_folder: str, bundled: str | None = None) -> None:
        self._bundled = bundled_root() if bundled is None else bundled
        self._own = os.path.join(data_folder, "models")

    def list_models(self) -> list[ListedModel]:
        """Return all models, the bundled ones first, then by id."""
        found = []
        for root, folder in self._folders():
            name, bundled = os.path.basename(folder), root == self._bundled
            try:
                found.append(ListedModel(name, bundled, _read_named_card(folder)))
            except ModelError as error:
                found.append(ListedModel(name, bundled, None, error.message))
        return found

    def find(self, name: str) -> ModelCard:
        """Return the card of the model with this id, without checking its files."""
        names = []
        for _, folder in self._folders():
            if os.path.basename(folder) == name:
                return _read_named_card(folder)
            names.append(os.path.basename(folder))
        hint = did_you_mean(name, names) or "known models: " + (", ".join(names) or "none")
        raise ModelError(f"no such model: {name!r}", hint)

    def add(self, folder: str) -> ModelCard:
        """Copy a model into the data folder, after checking its files and probing the copy."""
        import shutil  # importing these two takes 2 ms, which searches should not pay
        import tempfile

        card = read_card(folder, unsigned=True)
        try:
            card = replace(
                card,
                onnx_sha256=card.onnx_sha256 or _checksum(card.onnx),
                tokenizer_sha256=card.tokenizer_sha256 or _checksum(card.tokenizer),
            )
            require(card, verify(card))
            if any(os.path.basename(path) == card.model_id for _, path in self._folders()):
                present = self.find(card.model_id)
                if card.fingerprint == present.fingerprint:
                    return present
                raise ModelError(
                    f"another model {card.model_id} already exists in {present.folder}",
                    f"choose another id in {os.path.join(card.folder, CARD)}",
                )
            target = os.path.join(self._own, card.model_id)
            own_files.make_folder(self._own)
            scratch = tempfile.mkdtemp(prefix=".adding-", dir=self._own)
            try:
                _copy_files(card, scratch)
                probe(replace(card, folder=scratch))
                os.rename(scratch, target)
            except ModelError as error:
                # The user knows the original, not the copy.
                texts = (text.replace(scratch, card.folder) for text in (error.message, error.hint))
                raise ModelError(*texts) from error
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
            return replace(card, folder=target)
        except OSError as error:
            reason = error.strerror or str(error)
            raise ModelError(f"cannot add {folder}: {error.filename}: {reason}") from error

    def _folders(self) -> Iterator[tuple[str, str]]:
        for root in (self._bundled, self._own):
            with suppress(OSError):
                for name in sorted(os.listdir(root)):
                    if not name.startswith(".") and os.path.isfile(os.path.join(root, name, CARD)):
                        yield root, os.path.join(root, name)


def probe(card: ModelCard) -> None:
    """Load the model and encode a few texts; raise ModelError if graph, tokenizer and card do not match."""
    from kebab_tui.embedding.tokenizer import require_same_pieces  # imports an engine

    encoder = Encoder(card)
    encoder.open()
    require_same_pieces(card)
    for text in _PROBES:
        encoder.query(text)
    for _ in encoder.passages(_PROBES):
        pass


def _read_named_card(folder: str) -> ModelCard:
    """Read a card whose id must be the name of its folder."""
    card, name = read_card(folder), os.path.basename(folder)
    if card.model_id != name:
        raise ModelError(
            f"{os.path.join(folder, CARD)}: the id {card.model_id} differs from the folder name {name}",
            "rename the folder, or copy the model with `kebab model add`",
        )
    return card


def _checksum(path: str) -> str:
    """Return the checksum of a file; of a missing file zeros, so that `verify` reports it."""
    try:
        return sha256_of(path)
    except FileNotFoundError:
        return "0" * 64


def _copy_files(card: ModelCard, folder: str) -> None:
    """Copy a model into another folder; loading it there checks the copy."""
    for name in card.checksums:
        _copy(os.path.join(card.folder, name), os.path.join(folder, name))
    for name in _DOCUMENTS:
        with suppress(FileNotFoundError):
            _copy(os.path.join(card.folder, name), os.path.join(folder, name))
    with open(os.path.join(folder, CARD), "w", encoding="utf-8") as file:
        file.write(card_text(card))


def _copy(source: str, target: str) -> None:
    from shutil import copyfileobj

    with open(source, "rb") as original, open(target, "wb") as copy:
        copyfileobj(original, copy, 1 << 20)
        copy.flush()
        os.fsync(copy.fileno())
