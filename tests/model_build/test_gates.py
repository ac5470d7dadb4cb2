"""A gate is kept only by a real number that is high enough."""

from __future__ import annotations

import math

import pytest

from models.build.gates import Gate


@pytest.mark.parametrize(
    ("measured", "kept"), [(0.9, True), (0.91, True), (0.8999, False), (math.nan, False)]
)
def test_a_gate_is_kept_from_its_least_value_on(measured: float, kept: bool) -> None:
    gate = Gate("cosine", measured, 0.9)
    assert gate.kept is kept
    assert str(gate).startswith("ok" if kept else "MISS")
