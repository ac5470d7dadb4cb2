"""Three ways to multiply by weights inside a graph: exactly, in 8 bits by the range of the moment, and in 8 bits by
ranges measured beforehand.

The last is what ships. A fixed range for each channel follows the few channels that are far larger than the others,
and it makes a text's vector the same whatever texts share its batch; a range of the moment does neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from models.build import quantisation
from models.build.minilm import Floats
from models.build.writer import Writer

ZERO = 128  # of uint8, so that ranges are symmetric
INPUT_SHARE = 0.9  # how much of a channel's size the input's scale takes; the weights' scale takes the rest


class Products(Protocol):
    """Writes `inputs @ weight` for weights that share their inputs; returns the outputs' names, in order."""

    def write(self, writer: Writer, inputs: str, weights: Mapping[str, Floats]) -> list[str]: ...


class Exact:
    """float32; remembers what was multiplied, so that its range can be measured."""

    def __init__(self) -> None:
        self.inputs: list[str] = []

    def write(self, writer: Writer, inputs: str, weights: Mapping[str, Floats]) -> list[str]:
        self.inputs.append(inputs)
        return [
            writer.add("MatMul", [inputs, writer.constant(f"{name}_weight", weight)], f"{name}_product")
            for name, weight in weights.items()
        ]


class OfTheMoment:
    """Inputs in uint8 by their range in each batch, found at run time."""

    def write(self, writer: Writer, inputs: str, weights: Mapping[str, Floats]) -> list[str]:
        values, scale, zero = (f"{inputs}_{part}" for part in ("uint8", "scale", "zero"))
        writer.add_many("DynamicQuantizeLinear", [inputs], (values, scale, zero))
        products = []
        for name, weight in weights.items():
            small = quantisation.by_column(weight)
            whole = _whole_product(writer, name, small, values, zero)
            both = writer.add("Mul", [scale, writer.constant(f"{name}_scale", small.scale[0])], f"{name}_scales")
            products.append(writer.add("Mul", [whole, both], f"{name}_product"))
        return products


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Inputs in uint8 by `ranges`: the largest magnitude of each channel of each input."""

    ranges: Mapping[str, Floats]

    def write(self, writer: Writer, inputs: str, weights: Mapping[str, Floats]) -> list[str]:
        scale = channel_scales(self.ranges[inputs], list(weights.values()))
        levelled = writer.add("Mul", [inputs, writer.constant(f"{inputs}_levels", 1 / scale)], f"{inputs}_levelled")
        zero = writer.constant("uint8_zero", np.array(ZERO, np.uint8))
        values = writer.add("QuantizeLinear", [levelled, writer.number("uint8_step", 1), zero], f"{inputs}_uint8")
        products = []
        for name, weight in weights.items():
            small = quantisation.by_column(weight * scale[:, None])
            whole = _whole_product(writer, name, small, values, zero)
            weight_scale = writer.constant(f"{name}_scale", small.scale[0])
            products.append(writer.add("Mul", [whole, weight_scale], f"{name}_product"))
        return products


def channel_scales(largest: Floats, weights: Sequence[Floats]) -> Floats:
    """What one step of an int8 input means in each channel, so that no channel leaves -127..127."""
    inputs = np.maximum(largest, 1e-5)
    outputs = np.maximum(np.max([np.abs(weight).max(axis=1) for weight in weights], axis=0), 1e-5)
    shares = inputs**INPUT_SHARE / outputs ** (1 - INPUT_SHARE)
    scales: Floats = (shares * (inputs / shares).max() / quantisation.LARGEST).astype(np.float32)
    return scales


def _whole_product(writer: Writer, name: str, weight: quantisation.Quantised, values: str, zero: str) -> str:
    weight_name = writer.constant(f"{name}_weight", weight.values)
    weight_zero = writer.constant(f"{name}_weight_zero", np.zeros(weight.values.shape[1], np.int8))
    whole = writer.add("MatMulInteger", [values, weight_name, zero, weight_zero], f"{name}_whole")
    return writer.add("Cast", [whole], f"{name}_float", to=1)
