"""A BERT sentence encoder as an ONNX graph, written node by node: embeddings, body, mean pooling, unit norm.

Inputs are int64 `input_ids` and `attention_mask` [batch, seq]; the output is float `sentence_embedding` [batch, width].
Standard operators only, so any ONNX Runtime opens it. Knows nothing of training or of languages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from models.build.minilm import Floats, Shape
from models.build.products import Products
from models.build.writer import Writer

MASKED = -1e4  # added to the attention of padding


class Embeddings(Protocol):
    """Writes the nodes from `input_ids` to one vector for each token, and returns their output's name."""

    def __call__(self, writer: Writer) -> str: ...


def encoder(
    shape: Shape,
    weights: Mapping[str, Floats],
    embeddings: Embeddings,
    products: Products,
    watched: Sequence[str] = (),
) -> bytes:
    """The whole encoder: the body's weights under any token embeddings. Watched names become outputs too."""
    writer = Writer()
    hidden = _embedded(writer, shape, weights, embeddings(writer))
    mask = writer.add("Cast", ["attention_mask"], "mask", to=1)
    bias = _attention_bias(writer, mask)
    for layer in range(shape.layers):
        hidden = _Layer(writer, shape, weights, products, layer).write(hidden, bias)
    _pooled(writer, hidden, mask)
    outputs: dict[str, Sequence[str | int]] = {"sentence_embedding": ["batch", shape.width]}
    outputs |= {name: ["batch", "seq", f"{name}_width"] for name in watched}
    return writer.finished(["input_ids", "attention_mask"], outputs)


def _embedded(writer: Writer, shape: Shape, weights: Mapping[str, Floats], words: str) -> str:
    # Texts come one at a time, so the embedding of "first text" is added to every position once and for all.
    positions = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    table = writer.constant("positions", positions)
    length = writer.add("Shape", ["input_ids"], "length", start=1)
    used = writer.add("Slice", [table, writer.integers(0), length, writer.integers(0)], "used_positions")
    return _normalised(writer, shape, weights, "embeddings", writer.add("Add", [words, used], "placed"), "hidden_0")


def _attention_bias(writer: Writer, mask: str) -> str:
    over_heads = writer.add("Unsqueeze", [mask, writer.integers(1, 2)], "mask_over_heads")
    padding = writer.add("Sub", [writer.number("one", 1), over_heads], "padding")
    return writer.add("Mul", [padding, writer.number("masked", MASKED)], "attention_bias")


@dataclass(frozen=True, slots=True)
class _Layer:
    """One layer of the body."""

    writer: Writer
    shape: Shape
    weights: Mapping[str, Floats]
    products: Products
    number: int

    @property
    def _name(self) -> str:
        return f"layer{self.number}"

    @property
    def _prefix(self) -> str:
        return f"encoder.layer.{self.number}."

    def write(self, hidden: str, bias: str) -> str:
        # Attention's 1/sqrt(d) goes into the query's weights, so that no score has to be scaled.
        scales = {"query": (self.shape.width // self.shape.heads) ** -0.5, "key": 1.0, "value": 1.0}
        projected = self._dense(hidden, {f"attention.self.{part}": scale for part, scale in scales.items()})
        mixed = self._one(self._attention(projected, bias), "attention.output.dense")
        attended = self._normalised("attention.output", [mixed, hidden], f"{self._name}_attended")
        wide = self.writer.add("Gelu", [self._one(attended, "intermediate.dense")], f"{self._name}_gelu")
        return self._normalised("output", [self._one(wide, "output.dense"), attended], f"hidden_{self.number + 1}")

    def _one(self, inputs: str, part: str) -> str:
        return self._dense(inputs, {part: 1.0})[0]

    def _dense(self, inputs: str, parts: Mapping[str, float]) -> list[str]:
        """`inputs @ weight + bias` for each part, times its scale."""
        names = {f"{self._name}_{part}": part for part in parts}
        weights = {
            name: (self.weights[f"{self._prefix}{part}.weight"] * np.float32(parts[part])).T
            for name, part in names.items()
        }
        products = self.products.write(self.writer, inputs, weights)
        return [
            self.writer.add("Add", [product, self._bias(name, part, parts[part])], name)
            for product, (name, part) in zip(products, names.items(), strict=True)
        ]

    def _bias(self, name: str, part: str, scale: float) -> str:
        return self.writer.constant(f"{name}_bias", self.weights[f"{self._prefix}{part}.bias"] * np.float32(scale))

    def _attention(self, projected: Sequence[str], bias: str) -> str:
        writer, name = self.writer, self._name
        split = writer.integers(0, 0, self.shape.heads, self.shape.width // self.shape.heads)

        def by_head(part: str, order: Sequence[int]) -> str:
            apart = writer.add("Reshape", [part, split], f"{part}_split")
            return writer.add("Transpose", [apart], f"{part}_heads", perm=order)

        query, key, value = projected
        query, key, value = by_head(query, [0, 2, 1, 3]), by_head(key, [0, 2, 3, 1]), by_head(value, [0, 2, 1, 3])
        scores = writer.add("Add", [writer.add("MatMul", [query, key], f"{name}_products"), bias], f"{name}_scores")
        shares = writer.add("Softmax", [scores], f"{name}_shares", axis=-1)
        context = writer.add("MatMul", [shares, value], f"{name}_by_head")
        together = writer.add("Transpose", [context], f"{name}_together", perm=[0, 2, 1, 3])
        return writer.add("Reshape", [together, writer.integers(0, 0, self.shape.width)], f"{name}_context")

    def _normalised(self, part: str, summands: Sequence[str], output: str) -> str:
        total = self.writer.add("Add", summands, f"{output}_sum")
        return _normalised(self.writer, self.shape, self.weights, f"{self._prefix}{part}", total, output)


def _normalised(
    writer: Writer, shape: Shape, weights: Mapping[str, Floats], part: str, inputs: str, output: str
) -> str:
    scale = writer.constant(f"{output}_norm_scale", weights[f"{part}.LayerNorm.weight"])
    bias = writer.constant(f"{output}_norm_bias", weights[f"{part}.LayerNorm.bias"])
    return writer.add("LayerNormalization", [inputs, scale, bias], output, epsilon=shape.epsilon, axis=-1)


def _pooled(writer: Writer, hidden: str, mask: str) -> None:
    """The mean over real tokens, then unit length; an empty text gives zeros, not NaN."""
    column = writer.add("Unsqueeze", [mask, writer.integers(-1)], "mask_column")
    kept = writer.add("Mul", [hidden, column], "kept")
    total = writer.add("ReduceSum", [kept, writer.integers(1)], "total", keepdims=0)
    count = writer.add("ReduceSum", [mask, writer.integers(1)], "count", keepdims=1)
    mean = writer.add("Div", [total, writer.add("Max", [count, writer.number("least", 1e-9)], "divisor")], "mean")
    length = writer.add("ReduceL2", [mean, writer.integers(-1)], "length_of_mean", keepdims=1)
    writer.add(
        "Div", [mean, writer.add("Max", [length, writer.number("shortest", 1e-12)], "norm")], "sentence_embedding"
    )
