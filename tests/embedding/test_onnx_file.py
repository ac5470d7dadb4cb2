"""Crafted and damaged models with correct checksums are rejected before onnxruntime reads them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kebab_tui.domain.errors import ModelError
from kebab_tui.embedding import integrity
from kebab_tui.embedding.card import ModelCard, read_card
from kebab_tui.embedding.encoder import Encoder
from kebab_tui.embedding.integrity import verify
from kebab_tui.embedding.model_folders import ModelCatalogue
from tests.embedding.tiny_models import (
    Tiny,
    card,
    external_tensor,
    field,
    model,
    node,
    tensor,
    tokenizer,
    value_info,
    write_tiny,
)


def crafted(folder: Path, onnx: bytes) -> ModelCard:
    """A model folder whose card has the right checksums."""
    write_tiny(folder)
    (folder / "model.onnx").write_bytes(onnx)
    (folder / "model.toml").write_text(card(onnx, tokenizer()), "utf-8")
    return read_card(str(folder))


def graph_of(nodes: list[bytes], tensors: list[bytes]) -> bytes:
    gather = node("Gather", ["table", "input_ids"], ["states"])
    inputs = [value_info("input_ids", "int64", ["batch", "seq"])]
    return model([*nodes, gather], tensors, inputs, [value_info("states", "float32", ["batch", "seq", 4])])


def as_initializer(table: bytes) -> bytes:
    return graph_of([], [table])


def as_constant(table: bytes) -> bytes:
    return graph_of([node("Constant", [], ["table"], field(5, field(1, "value") + field(5, table)))], [])


def in_a_list_of_tensors(table: bytes) -> bytes:
    return graph_of([node("Constant", [], ["table"], field(5, field(1, "values") + field(10, table)))], [])


def as_sparse_indices(table: bytes) -> bytes:
    return graph_of([], []) + field(7, field(15, field(2, table)))


def in_a_branch(table: bytes) -> bytes:
    branch = field(5, field(1, "then_branch") + field(6, field(5, table)))
    return graph_of([node("If", ["which"], ["table"], branch)], [])


def in_a_function(table: bytes) -> bytes:
    constant = node("Constant", [], ["table"], field(5, field(1, "value") + field(5, table)))
    return graph_of([], []) + field(25, field(7, constant))


def in_training(table: bytes) -> bytes:
    return graph_of([], []) + field(20, field(2, field(5, table)))


@pytest.mark.parametrize(
    "craft",
    [
        as_initializer,
        as_constant,
        in_a_list_of_tensors,
        as_sparse_indices,
        in_a_branch,
        in_a_function,
        in_training,
    ],
)
def test_a_model_that_names_another_file_is_refused_wherever_it_does(
    tmp_path: Path, craft: Callable[[bytes], bytes]
) -> None:
    (problem,) = verify(crafted(tmp_path, craft(external_tensor("table", (8, 4), "weights.bin"))))
    assert problem == "model.onnx keeps data in another file (external data), which is not supported"
    own = tensor("table", Tiny().table())
    assert verify(crafted(tmp_path, craft(own))) == []


@pytest.mark.parametrize("location", ["../../etc/passwd", "{outside}", "weights.bin", "link.bin"])
def test_the_file_that_a_model_names_is_not_opened(tmp_path: Path, location: str) -> None:
    outside = tmp_path / "outside"
    os.mkfifo(outside)  # whoever opened it would wait for ever
    folder = tmp_path / "crafted"
    folder.mkdir()
    (folder / "link.bin").symlink_to(outside)
    os.mkfifo(folder / "weights.bin")
    table = external_tensor("table", (8, 4), location.format(outside=outside))
    made = crafted(folder, as_initializer(table))
    with pytest.raises(ModelError, match="external data") as refusal:
        Encoder(made).open()
    assert "keyword search still works" in refusal.value.hint
    with pytest.raises(ModelError, match="external data"):
        ModelCatalogue(str(tmp_path / "data")).add(str(folder))


def test_a_number_written_in_too_many_bytes_hides_nothing(tmp_path: Path) -> None:
    table = external_tensor("table", (8, 4), "weights.bin")
    assert table.endswith(b"\x70\x01")
    for ending in (b"\xf0\x00\x01", b"\x70\x81\x00", b"\x70\x81\x80\x80\x80\x10"):
        assert "external" in verify(crafted(tmp_path, as_initializer(table[:-2] + ending)))[0]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_truncated_model_is_refused(tmp_path: Path, share: float) -> None:
    whole = Tiny().onnx()
    assert verify(crafted(tmp_path, whole[: int(share * len(whole))])) == [
        "model.onnx is not a model: its ONNX data is truncated or malformed"
    ]


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * 20,
        b"\x0b" * 9,
        b"\x08" + b"\xff" * 10 + b"\0",
        b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"{}",
    ],
)
def test_invalid_onnx_is_rejected(tmp_path: Path, data: bytes) -> None:
    assert (
        integrity.onnx_problem(crafted(tmp_path, data).onnx)
        == "is not a model: its ONNX data is truncated or malformed"
    )


@pytest.mark.parametrize(
    "dims", [(1 << 40, 1 << 20), (1 << 62, 4), ((1 << 64) - 1, 4), (1 << 33, 4)], ids=str
)
def test_enormous_dimensions_are_an_error_and_no_memory(tmp_path: Path, dims: tuple[int, ...]) -> None:
    small = tensor("table", np.zeros((2, 2), np.float32))
    sized = b"".join(field(1, size) for size in dims) + small[4:]
    with pytest.raises(ModelError, match="is not a model") as refusal:
        Encoder(crafted(tmp_path, as_initializer(sized))).open()
    assert "keyword search still works" in refusal.value.hint


def test_pipes_in_place_of_a_models_files_are_not_waited_for(tmp_path: Path) -> None:
    made = read_card(str(write_tiny(tmp_path)))
    (tmp_path / "model.onnx").unlink()
    os.mkfifo(tmp_path / "model.onnx")
    assert verify(made) == ["model.onnx cannot be read: not a regular file"]
    (tmp_path / "model.toml").unlink()
    os.mkfifo(tmp_path / "model.toml")
    with pytest.raises(ModelError, match="not a regular file"):
        read_card(str(tmp_path))


def test_a_model_may_consist_of_links(tmp_path: Path) -> None:
    write_tiny(tmp_path / "files")
    (tmp_path / "links").mkdir()
    for name in os.listdir(tmp_path / "files"):
        (tmp_path / "links" / name).symlink_to(tmp_path / "files" / name)
    assert verify(read_card(str(tmp_path / "links"))) == []
