"""The graph writer on a body small enough to check by hand; needs the `model` dependency group."""

from __future__ import annotations

import numpy as np
import pytest

from models.build import embeddings, graph
from models.build.minilm import Floats, Shape
from models.build.vocabulary import Vocabulary

pytest.importorskip("onnx", reason="the `model` dependency group is not installed")
ort = pytest.importorskip("onnxruntime")

SHAPE = Shape(width=16, layers=2, heads=4, epsilon=1e-12)


@pytest.fixture(scope="module")
def weights() -> dict[str, Floats]:
    draw = np.random.default_rng(5)
    wide = 4 * SHAPE.width

    def table(*sizes: int) -> Floats:
        return (draw.normal(size=sizes) * 0.3).astype(np.float32)

    found = {
        "embeddings.position_embeddings.weight": table(32, SHAPE.width),
        "embeddings.token_type_embeddings.weight": table(2, SHAPE.width),
    }
    norms = ["embeddings"]
    for layer in range(SHAPE.layers):
        prefix = f"encoder.layer.{layer}."
        for part in (
            "attention.self.query",
            "attention.self.key",
            "attention.self.value",
            "attention.output.dense",
        ):
            found[f"{prefix}{part}.weight"], found[f"{prefix}{part}.bias"] = table(16, 16), table(16)
        found[f"{prefix}intermediate.dense.weight"], found[f"{prefix}intermediate.dense.bias"] = (
            table(wide, 16),
            table(wide),
        )
        found[f"{prefix}output.dense.weight"], found[f"{prefix}output.dense.bias"] = (
            table(16, wide),
            table(16),
        )
        norms += [f"{prefix}attention.output", f"{prefix}output"]
    for part in norms:
        found[f"{part}.LayerNorm.weight"], found[f"{part}.LayerNorm.bias"] = table(16) + 1, table(16)
    return found


def run(model: bytes, ids: list[list[int]], mask: list[list[int]]) -> Floats:
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    feed = {"input_ids": np.array(ids, np.int64), "attention_mask": np.array(mask, np.int64)}
    vectors: Floats = session.run(None, feed)[0]
    return vectors


def rows(count: int) -> Floats:
    return np.random.default_rng(6).normal(size=(count, SHAPE.width)).astype(np.float32)


def test_vectors_have_unit_length_and_padding_changes_nothing(weights: dict[str, Floats]) -> None:
    model = graph.encoder(SHAPE, weights, embeddings.PlainTable(rows(10)), "float32")
    alone = run(model, [[1, 2, 3]], [[1, 1, 1]])
    padded = run(model, [[1, 2, 3, 0, 0], [4, 5, 6, 7, 8]], [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    assert padded[0] == pytest.approx(alone[0], abs=1e-5)
    assert np.linalg.norm(padded, axis=1) == pytest.approx(1, abs=1e-5)


def test_int8_stays_near_float32(weights: dict[str, Floats]) -> None:
    ids, mask = [[1, 2, 3, 4, 5, 6]], [[1] * 6]
    table = embeddings.PlainTable(rows(10))
    exact, small = (
        run(graph.encoder(SHAPE, weights, table, precision), ids, mask) for precision in graph.PRECISIONS
    )
    assert float(exact[0] @ small[0]) > 0.99


def test_a_bilingual_table_gives_english_ids_their_own_rows(
    weights: dict[str, Floats], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embeddings, "HANGUL_RANK", SHAPE.width)
    table = rows(60)
    # ids 0-9 are English, 10-69 Hangul; the last ten share rows with the ten before them
    shared = np.concatenate([np.arange(60), np.arange(50, 60)]).astype(np.int32)
    vocabulary = Vocabulary(
        {str(index): index for index in range(70)}, 10, shared, np.zeros((50, 1), np.float32)
    )
    bilingual = graph.encoder(SHAPE, weights, embeddings.BilingualTable(vocabulary, table), "float32")
    plain = graph.encoder(SHAPE, weights, embeddings.PlainTable(table), "float32")
    ids, mask = [[1, 5, 9, 20, 31, 55]], [[1] * 6]
    assert float(run(bilingual, ids, mask)[0] @ run(plain, ids, mask)[0]) > 0.999
    assert run(bilingual, [[1, 65]], [[1, 1]]) == pytest.approx(run(bilingual, [[1, 55]], [[1, 1]]))
