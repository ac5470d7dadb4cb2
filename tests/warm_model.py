"""A model is opened and probed once for each state of its files, by all tests of one worker together.

Both read tens of megabytes, while most tests ask what is done with the answers. Files that are
written again, harmed or replaced are opened and probed anew: their change times tell.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

import pytest

from kebab_tui.embedding import encoder, model_folders
from kebab_tui.embedding.card import ModelCard

_OPEN_AT_ONCE = 16
_Stamps = tuple[tuple[int, ...], ...]
_T = TypeVar("_T")


def _once_for_each_state(work: Callable[[ModelCard], _T]) -> Callable[[ModelCard], _T]:
    @lru_cache(_OPEN_AT_ONCE)
    def done(card: ModelCard, stamps: _Stamps) -> _T:
        return work(card)

    def asked(card: ModelCard) -> _T:
        return done(card, stamps) if (stamps := _stamps(card)) else work(card)

    return asked


def _stamps(card: ModelCard) -> _Stamps:
    """Empty where a file is missing: then the error is made anew."""
    try:
        found = [os.stat(os.path.join(card.folder, name)) for name in card.checksums]
    except OSError:
        return ()
    return tuple(
        (file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns, file.st_ctime_ns) for file in found
    )


_COLD = encoder._load_model, model_folders.probe
_WARM = _once_for_each_state(encoder._load_model), _once_for_each_state(model_folders.probe)


def use_warm_model(monkeypatch: pytest.MonkeyPatch) -> None:
    _use(monkeypatch, *_WARM)


def use_cold_model(monkeypatch: pytest.MonkeyPatch) -> None:
    _use(monkeypatch, *_COLD)


def _use(monkeypatch: pytest.MonkeyPatch, load_model: object, probe: object) -> None:
    monkeypatch.setattr(encoder, "_load_model", load_model)
    monkeypatch.setattr(model_folders, "probe", probe)
