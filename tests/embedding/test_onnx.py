from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kebab_tui.domain.errors import ModelError
from kebab_tui.embedding.card import ModelCard, read_card
from kebab_tui.embedding.encoder import Encoder
from kebab_tui.embedding.integrity import sha256_of
from kebab_tui.embedding.model_folders import probe
from tests.embedding.tiny_models import WORDS, Tiny, card, tokenizer, write_tiny

PORT, CONFLICT = WORDS.index("port"), WORDS.index("conflict")


def made(folder: Path, tiny: Tiny | None = None, **changed: Any) -> ModelCard:
    return read_card(str(write_tiny(folder, tiny, **changed)))


def signed(folder: Path, *, onnx: bytes | None = None, tokens: str | None = None) -> ModelCard:
    """A model whose card has the checksums of any files, so that the engines must reject them."""
    (folder / "model.onnx").write_bytes(Tiny().onnx() if onnx is None else onnx)
    (folder / "tokenizer.json").write_text(tokenizer() if tokens is None else tokens, "utf-8")
    (folder / "model.toml").write_text(card(), "utf-8")
    bare = read_card(str(folder), unsigned=True)
    return replace(bare, onnx_sha256=sha256_of(bare.onnx), tokenizer_sha256=sha256_of(bare.tokenizer))


def unit(vector: NDArray[np.float32]) -> list[float]:
    return [float(value) for value in vector / np.linalg.norm(vector)]


def test_mean_pooling_averages_the_token_states(tmp_path: Path) -> None:
    table = Tiny().table()
    vector = Encoder(made(tmp_path, pooling="mean")).query("port conflict")
    assert vector.tolist() == pytest.approx(unit((table[PORT] + table[CONFLICT]) / 2), abs=1e-6)


def test_cls_pooling_takes_the_first_state(tmp_path: Path) -> None:
    vector = Encoder(made(tmp_path, pooling="cls")).query("port conflict")
    assert vector.tolist() == pytest.approx(unit(Tiny().table()[PORT]), abs=1e-6)


def test_without_pooling_the_graphs_own_vector_is_taken(tmp_path: Path) -> None:
    table = Tiny().table()
    vector = Encoder(made(tmp_path, Tiny(pooled=True))).query("port conflict")
    assert vector.tolist() == pytest.approx(unit((table[PORT] + table[CONFLICT]) / 2), abs=1e-6)


@pytest.mark.parametrize(
    "inputs",
    [
        ("input_ids",),
        ("input_ids", "attention_mask"),
        ("input_ids", "token_type_ids"),
        ("input_ids", "attention_mask", "token_type_ids"),
    ],
)
@pytest.mark.parametrize("integer", ["int64", "int32"])
def test_a_graph_takes_any_of_the_usual_inputs(tmp_path: Path, inputs: tuple[str, ...], integer: str) -> None:
    plain = Encoder(made(tmp_path / "plain")).query("port")
    vector = Encoder(made(tmp_path / "tiny", Tiny(inputs=inputs, integer=integer))).query("port")
    assert vector.tolist() == plain.tolist()


def test_another_input_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has an unsupported input: tokens"):
        Encoder(made(tmp_path, Tiny(inputs=("tokens",)))).open()


def test_inputs_that_are_no_integers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has an unsupported input: pixels"):
        Encoder(made(tmp_path, Tiny(inputs=("input_ids", "pixels")))).open()


def test_a_graph_of_other_dimensions_than_its_card_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="returns vectors of 5 dimensions; its card says 4") as told:
        Encoder(made(tmp_path, Tiny(dims=5), dims=4)).open()
    assert "write dims = 5 in its card" in told.value.hint


@pytest.mark.parametrize(("pooled", "pooling"), [(True, "mean"), (True, "cls"), (False, "none")])
def test_a_pooling_that_does_not_fit_the_output_is_refused(
    tmp_path: Path, pooled: bool, pooling: str
) -> None:
    with pytest.raises(ModelError, match=f'no float output for pooling = "{pooling}"') as refusal:
        Encoder(made(tmp_path, Tiny(pooled=pooled), pooling=pooling)).open()
    assert "rank 3" in refusal.value.hint


def test_a_vector_that_is_not_a_number_is_refused(tmp_path: Path) -> None:
    encoder = Encoder(made(tmp_path, Tiny(nan_at=CONFLICT)))
    assert np.isfinite(encoder.query("port")).all()
    with pytest.raises(ModelError, match="NaN or infinity"):
        encoder.query("port conflict")
    with pytest.raises(ModelError, match="NaN or infinity"):
        list(encoder.passages(["port", "conflict"]))


def test_a_vector_of_zeros_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="zeros"):
        Encoder(made(tmp_path, Tiny(zero=True))).query("port")


def test_a_graph_that_does_not_normalise_although_its_card_says_so_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="instead of 1") as refusal:
        Encoder(made(tmp_path, normalise=False)).query("port")
    assert "normalise = true" in refusal.value.hint


def test_a_tokenizer_that_knows_more_than_the_graph_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="failed on 2 tokens"):
        probe(made(tmp_path, Tiny(known=2)))


@pytest.mark.parametrize("onnx", [b"", b"<html>", b"\x08\x07" * 100, Tiny().onnx()[:-9], b"\0" * 5000])
def test_bytes_that_are_no_graph_are_refused(
    tmp_path: Path, onnx: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ModelError, match="is not a model"):
        Encoder(signed(tmp_path, onnx=onnx)).open()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("tokens", ["", "{}", "<html>", tokenizer().replace("Whitespace", "Nothing")])
def test_text_that_is_no_tokenizer_is_refused(
    tmp_path: Path, tokens: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ModelError, match="is not a tokenizer"):
        Encoder(signed(tmp_path, tokens=tokens)).open()
    assert capfd.readouterr().err == ""


def test_a_tokenizer_that_fails_on_a_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="failed on a text"):
        Encoder(signed(tmp_path, tokens=tokenizer().replace('"[UNK]": 0, ', ""))).query("unheard of")


_OPTIMISED = """
import sys
from kebab_tui.embedding.card import read_card
from kebab_tui.embedding.encoder import Encoder
from kebab_tui.domain.errors import ModelError
assert False, "assertions are on"
for folder in sys.argv[1:]:
    try:
        Encoder(read_card(folder)).query("port conflict")
    except ModelError as error:
        print(error)
"""


def test_bad_vectors_are_refused_without_assertions_too(tmp_path: Path) -> None:
    folders = [
        write_tiny(tmp_path / "nan", Tiny(nan_at=CONFLICT)),
        write_tiny(tmp_path / "dims", Tiny(dims=5), dims=4),
    ]
    argv = [sys.executable, "-O", "-c", _OPTIMISED, *map(str, folders)]
    done = subprocess.run(
        argv, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=True, timeout=60
    )
    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["infinity", "4"]
    assert done.stderr == ""
