"""A BERT sentence encoder as an ONNX graph, written node by node: embeddings, body, mean pooling, unit norm.

Inputs are int64 `input_ids` and `attention_mask` [batch, seq]; the output is float `sentence_embedding` [batch, width].
Standard operators only, so any ONNX Runtime opens it. Knows nothing of training or of languages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from models.build import quantisation
from models.build.minilm import Floats, Shape

Precision = Literal["float32", "int8"]
PRECISIONS: tuple[Precision, ...] = ("float32", "int8")
OPSET, IR = 20, 9
MASKED = -1e4  # added to the attention of padding


class Writer:
    """Nodes and constants in the order they are written; each step returns the name of its output."""

    def __init__(self, precision: Precision) -> None:
        self._precision = precision
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}
        self._quantised_inputs: dict[str, tuple[str, str, str]] = {}

    def constant(self, name: str, value: NDArray[Any]) -> str:
        from onnx import numpy_helper

        self._constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def integers(self, *values: int) -> str:
        return self.constant("ints_" + "_".join(map(str, values)), np.array(values, np.int64))

    def number(self, name: str, value: float) -> str:
        return self.constant(name, np.array(value, np.float32))

    def add(self, operator: str, inputs: Sequence[str], output: str, **attributes: object) -> str:
        self.add_many(operator, inputs, (output,), **attributes)
        return output

    def add_many(
        self, operator: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: object
    ) -> None:
        from onnx import helper

        self._nodes.append(helper.make_node(operator, inputs, outputs, name=outputs[0], **attributes))

    def linear(self, inputs: str, weight: Floats, bias: Floats, name: str) -> str:
        """`inputs @ weight + bias`, in the writer's precision."""
        product = (
            self._int8_product(inputs, weight, name)
            if self._precision == "int8"
            else self.add("MatMul", [inputs, self.constant(f"{name}_weight", weight)], f"{name}_product")
        )
        return self.add("Add", [product, self.constant(f"{name}_bias", bias)], name)

    def _int8_product(self, inputs: str, weight: Floats, name: str) -> str:
        """Weights are int8 per channel, inputs uint8 by their own range at run time."""
        if inputs not in self._quantised_inputs:
            outputs = (f"{inputs}_uint8", f"{inputs}_scale", f"{inputs}_zero")
            self.add_many("DynamicQuantizeLinear", [inputs], outputs)
            self._quantised_inputs[inputs] = outputs
        values, scale, zero = self._quantised_inputs[inputs]
        small = quantisation.by_column(weight)
        weight_name = self.constant(f"{name}_weight", small.values)
        weight_zero = self.constant(f"{name}_weight_zero", np.zeros(weight.shape[1], np.int8))
        weight_scale = self.constant(f"{name}_weight_scale", small.scale[0])
        whole = self.add("MatMulInteger", [values, weight_name, zero, weight_zero], f"{name}_whole")
        both_scales = self.add("Mul", [scale, weight_scale], f"{name}_scale")
        return self.add(
            "Mul", [self.add("Cast", [whole], f"{name}_float", to=1), both_scales], f"{name}_product"
        )

    def finished(self, width: int) -> bytes:
        """The graph as a file, checked."""
        from onnx import TensorProto, checker, helper

        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "seq"])
            for name in ("input_ids", "attention_mask")
        ]
        output = helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", width])
        graph = helper.make_graph(
            self._nodes, "sentence-encoder", inputs, [output], list(self._constants.values())
        )
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR, producer_name="kebab")
        checker.check_model(model)
        file: bytes = model.SerializeToString()
        return file


class Embeddings(Protocol):
    """Writes the nodes from `input_ids` to one vector for each token, and returns their output's name."""

    def __call__(self, writer: Writer) -> str: ...


def encoder(
    shape: Shape, weights: Mapping[str, Floats], embeddings: Embeddings, precision: Precision
) -> bytes:
    """The whole encoder: the body's weights under any token embeddings."""
    writer = Writer(precision)
    hidden = _embedded(writer, shape, weights, embeddings(writer))
    mask = writer.add("Cast", ["attention_mask"], "mask", to=1)
    bias = _attention_bias(writer, mask)
    for layer in range(shape.layers):
        hidden = _layer(writer, shape, weights, layer, hidden, bias)
    _pooled(writer, hidden, mask)
    return writer.finished(shape.width)


def _embedded(writer: Writer, shape: Shape, weights: Mapping[str, Floats], words: str) -> str:
    # Texts come one at a time, so the embedding of "first text" is added to every position once and for all.
    positions = (
        weights["embeddings.position_embeddings.weight"]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    table = writer.constant("positions", positions)
    length = writer.add("Shape", ["input_ids"], "length", start=1)
    used = writer.add("Slice", [table, writer.integers(0), length, writer.integers(0)], "used_positions")
    return _normalised(
        writer, shape, weights, "embeddings", writer.add("Add", [words, used], "placed"), "hidden_0"
    )


def _attention_bias(writer: Writer, mask: str) -> str:
    over_heads = writer.add("Unsqueeze", [mask, writer.integers(1, 2)], "mask_over_heads")
    padding = writer.add("Sub", [writer.number("one", 1), over_heads], "padding")
    return writer.add("Mul", [padding, writer.number("masked", MASKED)], "attention_bias")


def _layer(
    writer: Writer, shape: Shape, weights: Mapping[str, Floats], layer: int, hidden: str, bias: str
) -> str:
    name, prefix = f"layer{layer}", f"encoder.layer.{layer}."

    def dense(inputs: str, part: str, output: str, scale: float = 1) -> str:
        weight, offset = weights[f"{prefix}{part}.weight"] * scale, weights[f"{prefix}{part}.bias"] * scale
        return writer.linear(inputs, weight.T, offset, f"{name}_{output}")

    # Attention's 1/sqrt(d) goes into the query's weights, so that no score has to be scaled.
    query = dense(hidden, "attention.self.query", "query", scale=(shape.width // shape.heads) ** -0.5)
    key, value = (dense(hidden, f"attention.self.{part}", part) for part in ("key", "value"))
    mixed = dense(
        _attention(writer, shape, name, (query, key, value), bias), "attention.output.dense", "mixed"
    )
    added = writer.add("Add", [mixed, hidden], f"{name}_attended_sum")
    attended = _normalised(writer, shape, weights, f"{prefix}attention.output", added, f"{name}_attended")
    wide = writer.add("Gelu", [dense(attended, "intermediate.dense", "wide")], f"{name}_gelu")
    added = writer.add("Add", [dense(wide, "output.dense", "narrow"), attended], f"{name}_sum")
    return _normalised(writer, shape, weights, f"{prefix}output", added, f"hidden_{layer + 1}")


def _attention(writer: Writer, shape: Shape, name: str, projected: tuple[str, str, str], bias: str) -> str:
    split = writer.integers(0, 0, shape.heads, shape.width // shape.heads)

    def by_head(part: str, order: Sequence[int]) -> str:
        apart = writer.add("Reshape", [part, split], f"{part}_split")
        return writer.add("Transpose", [apart], f"{part}_heads", perm=order)

    query, key, value = projected
    query, key, value = by_head(query, [0, 2, 1, 3]), by_head(key, [0, 2, 3, 1]), by_head(value, [0, 2, 1, 3])
    scores = writer.add(
        "Add", [writer.add("MatMul", [query, key], f"{name}_products"), bias], f"{name}_scores"
    )
    shares = writer.add("Softmax", [scores], f"{name}_shares", axis=-1)
    context = writer.add("MatMul", [shares, value], f"{name}_by_head")
    together = writer.add("Transpose", [context], f"{name}_together", perm=[0, 2, 1, 3])
    return writer.add("Reshape", [together, writer.integers(0, 0, shape.width)], f"{name}_context")


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
    mean = writer.add(
        "Div", [total, writer.add("Max", [count, writer.number("least", 1e-9)], "divisor")], "mean"
    )
    length = writer.add("ReduceL2", [mean, writer.integers(-1)], "length_of_mean", keepdims=1)
    writer.add(
        "Div",
        [mean, writer.add("Max", [length, writer.number("shortest", 1e-12)], "norm")],
        "sentence_embedding",
    )
