"""The model as it is committed: its papers are true, and Korean lands where English does."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

import numpy as np
import pytest

from models.build.encoder import Encoder
from models.build.gates import TRANSLATIONS
from models.build.vocabulary import piece_lines

pytestmark = pytest.mark.slow

SHIPPED = Path(__file__).parents[2] / "models" / "kebab-ko-en"


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder(
        (SHIPPED / "model.onnx").read_bytes(), (SHIPPED / "tokenizer.json").read_text(encoding="utf-8")
    )


def test_the_card_names_the_files_beside_it() -> None:
    card = tomllib.loads((SHIPPED / "model.toml").read_text(encoding="utf-8"))
    for name, checksum in card["sha256"].items():
        assert hashlib.sha256((SHIPPED / name).read_bytes()).hexdigest() == checksum


def test_the_pieces_are_those_of_the_tokenizer() -> None:
    pieces = piece_lines((SHIPPED / "tokenizer.json").read_text(encoding="utf-8"))
    assert (SHIPPED / "pieces.txt").read_bytes() == pieces.encode()


def test_every_licence_is_acknowledged() -> None:
    notice = (SHIPPED / "NOTICE").read_text(encoding="utf-8")
    for name in ("all-MiniLM-L6-v2", "kiwipiepy_model", "MPL-2.0", "Apache License", "LibreOffice"):
        assert name in notice


@pytest.mark.parametrize(("korean", "english", "least"), TRANSLATIONS)
def test_a_translation_is_near(encoder: Encoder, korean: str, english: str, least: float) -> None:
    first, second = encoder.encode([korean, english])
    assert first @ second >= least


def test_vectors_are_of_unit_length_whatever_the_text(encoder: Encoder) -> None:
    texts = ["", "ㅋㅋㅋ", "🍢", "한", "word " * 2000, "쿠버네티스에서 Pod를 다시 시작하는 방법"]
    vectors = encoder.encode(texts)
    assert vectors.shape == (len(texts), 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-4)
