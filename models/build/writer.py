"""ONNX graphs written node by node: constants, nodes, and the names that join them. Knows no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

OPSET, IR = 20, 9


class Writer:
    """Nodes and constants in the order they are written; each step returns the name of its output."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}

    def constant(self, name: str, value: NDArray[Any]) -> str:
        from onnx import numpy_helper  # the product's tests go without the `model` extra

        self._constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def integers(self, *values: int) -> str:
        return self.constant("ints_" + "_".join(map(str, values)), np.array(values, np.int64))

    def number(self, name: str, value: float) -> str:
        return self.constant(name, np.array(value, np.float32))

    def add(self, operator: str, inputs: Sequence[str], output: str, **attributes: object) -> str:
        self.add_many(operator, inputs, (output,), **attributes)
        return output

    def add_many(self, operator: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: object) -> None:
        from onnx import helper

        self._nodes.append(helper.make_node(operator, inputs, outputs, name=outputs[0], **attributes))

    def finished(self, inputs: Sequence[str], outputs: Mapping[str, Sequence[str | int]]) -> bytes:
        """The graph as a file, checked: int64 inputs [batch, seq], float outputs of the shapes given."""
        from onnx import TensorProto, checker, helper

        sockets = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "seq"]) for name in inputs]
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes) for name, sizes in outputs.items()]
        graph = helper.make_graph(self._nodes, "sentence-encoder", sockets, results, list(self._constants.values()))
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR, producer_name="kebab")
        checker.check_model(model)
        file: bytes = model.SerializeToString()
        return file
