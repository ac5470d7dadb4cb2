"""Whether a model's files are the ones that its card names. Reads bytes; opens no session.

Every file is hashed each time a model opens, and no earlier result is remembered: for 44
MB that is 25 ms of processor time, and a bit that flipped under an unchanged stamp is
exactly what a remembered result would let through.
"""

from __future__ import annotations

import hashlib
import os

from kebab_tui import own_files
from kebab_tui.domain.errors import ModelError
from kebab_tui.embedding import onnx_file
from kebab_tui.embedding.card import ONNX, ModelCard

_BLOCK = 1 << 20
_IMPOSTORS = (
    (b"version https://git-lfs", "is a Git LFS pointer, not the file itself: fetch it with `git lfs pull`"),
    (b"<", "is a web page, not a model: the download went wrong"),
)


def sha256_of(path: str) -> str:
    """The checksum of a file, read in blocks."""
    digest, block = hashlib.sha256(), memoryview(bytearray(_BLOCK))
    with open(own_files.open_regular(path, follow=True), "rb", buffering=0) as file:
        while count := file.readinto(block):  # into the same memory: fresh pages cost as much as hashing
            digest.update(block[:count])
    return digest.hexdigest()


def verify(card: ModelCard) -> list[str]:
    """What is wrong with the model's files, one sentence for each; empty when nothing is."""
    problems = (_problem(card.folder, name, expected) for name, expected in card.checksums.items())
    return [problem for problem in problems if problem]


def require(card: ModelCard, problems: list[str]) -> None:
    """Raise the problems, if there are any."""
    if problems:
        raise ModelError(
            f"the model {card.model_id} cannot be used: {'; '.join(problems)}",
            f"put the right files into {card.folder}, or use another model; searching by words goes on",
        )


def _problem(folder: str, name: str, expected: str) -> str:
    path = os.path.join(folder, name)
    try:
        found = sha256_of(path)
        if found == expected:
            wrong = onnx_file.problem(path) if name == ONNX else ""
            return wrong and f"{name} {wrong}"
    except FileNotFoundError:
        return f"{name} is missing"
    except OSError as error:
        return f"{name} cannot be read: {error.strerror}"
    return f"{name} {_kind(path)} (sha256 {found[:12]}…, not {expected[:12]}…)"


def _kind(path: str) -> str:
    """Why a file is not the right one, judged by how it begins."""
    with open(path, "rb") as file:
        start = file.read(64).lstrip()
    if not start:
        return "is empty"
    damaged = "is damaged or another version"
    return next((what for mark, what in _IMPOSTORS if start.startswith(mark)), damaged)
