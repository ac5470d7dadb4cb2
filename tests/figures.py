"""Printed numbers: whether they are true to the digits shown, and whether they add up."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal


def add_up(parts: Sequence[str | Decimal], total: str | Decimal) -> bool:
    """Whether printed parts, added up and rounded, are the printed sum."""
    unit = Decimal(1).scaleb(-_places(total))
    return abs(sum(map(Decimal, parts)) - Decimal(total)) * 2 <= unit


def is_true(number: str | Decimal, value: float) -> bool:
    """Whether a value reads so at the digits shown."""
    return str(number) == f"{value:.{_places(number)}f}"


def _places(number: str | Decimal) -> int:
    return len(str(number).partition(".")[2])
