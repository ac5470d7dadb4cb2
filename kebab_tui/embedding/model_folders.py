"""Which models there are: the bundled one, and the user's in the data folder.

    <package>/_models/<id>/     bundled, in an installed wheel
    <checkout>/models/<id>/     bundled, in a source checkout
    <data folder>/models/<id>/  added with `add`

A broken card is listed with its problem and hides no other model. Downloads nothing,
removes nothing, and never changes a bundled model.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from kebab_tui import own_files
from kebab_tui.domain.errors import ModelError
from kebab_tui.embedding.card import CARD, ModelCard, card_text, read_card
from kebab_tui.embedding.encoder import Encoder
from kebab_tui.embedding.integrity import require, sha256_of, verify

BUNDLED_MODEL = "kebab-ko-en"
_PAPERS = ("LICENSE", "LICENSE.txt", "NOTICE", "README.md")
_PROBES = ("port conflict", "포트 충돌", "word " * 10_000)
"""Two lengths, two scripts, and a text that is cut at the most tokens the card allows."""


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model folder; `card` is None where it cannot be read, and `problem` says why."""

    model_id: str
    bundled: bool
    card: ModelCard | None
    problem: str = ""


def bundled_root() -> str:
    """The folder of the bundled models: inside the package, or beside it in a checkout."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    inside = os.path.join(package, "_models")
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(package), "models")


class ModelCatalogue:
    """The models that one data folder can use."""

    def __init__(self, data_folder: str, bundled: str | None = None) -> None:
        self._bundled = bundled_root() if bundled is None else bundled
        self._own = os.path.join(data_folder, "models")

    def list_models(self) -> list[ListedModel]:
        """All models, the bundled first, then by id."""
        return [_listed(folder, root == self._bundled) for root, folder in self._folders()]

    def find(self, name: str) -> ModelCard:
        """The card of the model with this id; its files are not checked yet."""
        known = [os.path.basename(folder) for _, folder in self._folders()]
        for _, folder in self._folders():
            if os.path.basename(folder) == name:
                return _named_like_its_folder(read_card(folder))
        raise ModelError(f"there is no model {name!r}", _nearest(name, known))

    def add(self, folder: str) -> ModelCard:
        """Copy a model into the data folder, once its copy is checked and has answered a probe."""
        card = read_card(folder, unsigned=True)
        try:
            card = _signed(card)
            require(card, verify(card))
            return self._same(card) if self._is_known(card.model_id) else self._taken_in(card)
        except OSError as error:
            reason = error.strerror or str(error)
            raise ModelError(f"cannot add {folder}: {error.filename}: {reason}") from error

    def _taken_in(self, card: ModelCard) -> ModelCard:
        target = os.path.join(self._own, card.model_id)
        with _scratch(self._own) as scratch, _told_of(card.folder, scratch):
            probe(_copied(card, scratch))
            os.rename(scratch, target)
        return replace(card, folder=target)

    def _same(self, card: ModelCard) -> ModelCard:
        """The model of that id, if it is the one to be added; refuses another one."""
        present = self.find(card.model_id)
        if card.fingerprint == present.fingerprint:
            return present
        raise ModelError(
            f"there is another model {card.model_id} already, in {present.folder}",
            f"write another id into {os.path.join(card.folder, CARD)}",
        )

    def _is_known(self, model_id: str) -> bool:
        return any(os.path.basename(folder) == model_id for _, folder in self._folders())

    def _folders(self) -> Iterator[tuple[str, str]]:
        for root in (self._bundled, self._own):
            with suppress(OSError):
                for name in sorted(os.listdir(root)):
                    if not name.startswith(".") and os.path.isfile(os.path.join(root, name, CARD)):
                        yield root, os.path.join(root, name)


def probe(card: ModelCard) -> None:
    """Open the model and embed a few texts; raises ModelError when graph, tokenizer and card do not fit."""
    from kebab_tui.embedding.tokenizer import require_the_same_pieces  # an engine

    encoder = Encoder(card)
    encoder.open()
    require_the_same_pieces(card)
    for text in _PROBES:
        encoder.query(text)
    for _ in encoder.passages(_PROBES):
        pass


def _listed(folder: str, bundled: bool) -> ListedModel:
    name = os.path.basename(folder)
    try:
        return ListedModel(name, bundled, _named_like_its_folder(read_card(folder)))
    except ModelError as error:
        return ListedModel(name, bundled, None, error.message)


def _named_like_its_folder(card: ModelCard) -> ModelCard:
    name = os.path.basename(card.folder)
    if card.model_id != name:
        raise ModelError(
            f"{os.path.join(card.folder, CARD)}: the id is {card.model_id}, the folder's name {name}",
            "rename the folder, or copy the model with `kebab model add`",
        )
    return card


def _nearest(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1)
    return f"did you mean {near[0]}?" if near else "known here: " + (", ".join(known) or "none")


@contextmanager
def _scratch(parent: str) -> Iterator[str]:
    """A new folder beside the target; gone afterwards, unless it was renamed."""
    import shutil  # these two take 2 ms, for which no search should wait
    import tempfile

    own_files.make_folder(parent)
    folder = tempfile.mkdtemp(prefix=".adding-", dir=parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _told_of(folder: str, scratch: str) -> Iterator[None]:
    """What is wrong with the copy is wrong with the folder that the user knows."""
    try:
        yield
    except ModelError as error:
        told = (text.replace(scratch, folder) for text in (error.message, error.hint))
        raise ModelError(*told) from error


def _signed(card: ModelCard) -> ModelCard:
    """The card with the checksums that it lacked."""
    return replace(
        card,
        onnx_sha256=card.onnx_sha256 or _checksum(card.onnx),
        tokenizer_sha256=card.tokenizer_sha256 or _checksum(card.tokenizer),
    )


def _checksum(path: str) -> str:
    """The file's checksum; of a missing file that of nothing, for `verify` to find."""
    try:
        return sha256_of(path)
    except FileNotFoundError:
        return "0" * 64


def _copied(card: ModelCard, folder: str) -> ModelCard:
    """The model in another folder; opening it there checks the copy."""
    for name in card.checksums:
        _copy(os.path.join(card.folder, name), os.path.join(folder, name))
    for name in _PAPERS:
        with suppress(FileNotFoundError):
            _copy(os.path.join(card.folder, name), os.path.join(folder, name))
    with open(os.path.join(folder, CARD), "w", encoding="utf-8") as file:
        file.write(card_text(card))
    return replace(card, folder=folder)


def _copy(source: str, target: str) -> None:
    from shutil import copyfileobj

    with open(source, "rb") as original, open(target, "wb") as copy:
        copyfileobj(original, copy, 1 << 20)
        copy.flush()
        os.fsync(copy.fileno())
