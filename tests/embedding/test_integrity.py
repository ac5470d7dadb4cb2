from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from kebab_tui.domain.errors import ModelError
from kebab_tui.embedding.card import ModelCard, read_card
from kebab_tui.embedding.encoder import Encoder
from kebab_tui.embedding.integrity import verify
from tests.embedding.tiny_models import write_tiny, write_with_pieces


@pytest.fixture
def tiny(tmp_path: Path) -> ModelCard:
    return read_card(str(write_tiny(tmp_path)))


def test_the_files_that_the_card_names_are_fine(tiny: ModelCard) -> None:
    assert verify(tiny) == []


def test_one_flipped_bit_is_found_wherever_it_is(tmp_path: Path) -> None:
    tiny = read_card(str(write_with_pieces(tmp_path)))
    dice = random.Random(3)
    for path in (Path(tiny.onnx), Path(tiny.tokenizer), Path(tiny.pieces)):
        sound = path.read_bytes()
        for _ in range(20):
            place, bit = dice.randrange(len(sound)), dice.randrange(8)
            path.write_bytes(sound[:place] + bytes([sound[place] ^ 1 << bit]) + sound[place + 1 :])
            (problem,) = verify(tiny)
            assert path.name in problem
        path.write_bytes(sound)


def test_a_bit_that_flips_under_an_unchanged_stamp_is_found(tiny: ModelCard) -> None:
    Encoder(tiny).open()
    path = Path(tiny.onnx)
    before = path.stat()
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ModelError, match="damaged"):
        Encoder(tiny).open()


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "is empty"),
        (b"\n <!DOCTYPE html><html>", "is a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "Git LFS pointer"),
        (b"\0" * 4096, "is damaged or another version"),
    ],
)
def test_a_wrong_file_is_described(tiny: ModelCard, data: bytes, what: str) -> None:
    Path(tiny.onnx).write_bytes(data)
    (problem,) = verify(tiny)
    assert what in problem
    assert "model.onnx" in problem


def test_a_truncated_file_is_found(tiny: ModelCard) -> None:
    data = Path(tiny.onnx).read_bytes()
    Path(tiny.onnx).write_bytes(data[: len(data) // 2])
    assert len(verify(tiny)) == 1


def test_every_missing_file_is_named(tmp_path: Path) -> None:
    tiny = read_card(str(write_with_pieces(tmp_path)))
    for path in (tiny.onnx, tiny.tokenizer, tiny.pieces):
        Path(path).unlink()
    assert verify(tiny) == ["model.onnx is missing", "tokenizer.json is missing", "pieces.txt is missing"]
    with pytest.raises(ModelError, match=r"pieces\.txt is missing"):
        Encoder(tiny).open()


def test_pieces_that_the_card_does_not_name_are_no_part_of_the_model(tiny: ModelCard) -> None:
    Path(tiny.pieces).write_bytes(b"\xff")
    assert verify(tiny) == []
    Encoder(tiny).open()


def test_a_folder_instead_of_a_file_is_a_problem(tiny: ModelCard) -> None:
    Path(tiny.onnx).unlink()
    Path(tiny.onnx).mkdir()
    (problem,) = verify(tiny)
    assert "cannot be read" in problem


def test_no_session_opens_before_the_files_are_checked(
    tiny: ModelCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kebab_tui.embedding.runtime import ort as onnxruntime

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a session was opened")

    monkeypatch.setattr(onnxruntime, "InferenceSession", refuse)
    Path(tiny.tokenizer).write_bytes(b"{}")
    with pytest.raises(ModelError, match=r"the model tiny cannot be used: tokenizer\.json is damaged"):
        Encoder(tiny).open()


def test_the_bundled_model_is_the_one_its_card_names(real_card: ModelCard) -> None:
    assert verify(real_card) == []
