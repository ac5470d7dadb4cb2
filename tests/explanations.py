"""Trees of explanations, checked by formulas of their own and by the numbers that are printed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from kebab_tui.search.explanation import Explanation, PrintedLine
from tests.figures import add_up

Numbers = Sequence[float]

FORMULAS: dict[str, Callable[[Numbers], float]] = {
    "first": lambda of: of[0],
    "sum": math.fsum,
    "product": math.prod,
    "quotient": lambda of: of[0] / of[1] if of[1] else 0.0,
    "at least 0": lambda of: of[0] if of[0] > 0 else 0.0,
    "parts": lambda of: 0.65 * of[0] + 0.35 * of[1],
    "weighted sum": lambda of: math.fsum(of[at] * of[at + 1] for at in range(0, len(of), 2)),
    "reciprocal rank": lambda of: of[2] / (of[0] + of[1]),
    "saturation": lambda of: of[0] / (1 + of[0]),
    "bm25 term": lambda of: of[0] * of[1] * 2.2 / (of[1] + of[2]) if of[1] else 0.0,
    "idf": lambda of: max(math.log((of[0] - of[1] + 0.5) / (of[1] + 0.5)), 1e-6),
    "length norm": lambda of: 1.2 * (0.25 + 0.75 * of[0] / of[1]),
}
"""As `explanation.v1.json` describes them."""


def nodes(tree: Explanation) -> Iterator[Explanation]:
    yield tree
    for child in tree.children:
        yield from nodes(child)


def assert_follows(tree: Explanation) -> None:
    """Every value follows from those of the children."""
    for node in nodes(tree):
        if node.formula == "given":
            assert node.children == ()
        else:
            expected = FORMULAS[node.formula]([child.value for child in node.children])
            assert node.value == pytest.approx(expected, rel=1e-9, abs=1e-12), node


def as_tree(value: Any) -> Explanation:
    """A tree read from JSON."""
    children = tuple(map(as_tree, value["children"]))
    return Explanation(value["value"], value["label"], value["formula"], children, value["note"])


ARITHMETIC = re.compile(r"(?:(?:bm25|cosine) )?[\d.()+/× ]+|[\d.× ]+(?:bm25|cosine) [\d./]+")


def assert_lines_add_up(lines: Sequence[PrintedLine]) -> None:
    """Every printed number follows from the printed numbers that it is made of."""
    norm = 0.0
    for place, line in enumerate(lines):
        off = 1.01 * 10 ** -min(len(line.value.partition(".")[2]), 4)
        parts = []
        for part in lines[place + 1 :]:
            if part.depth <= line.depth:
                break
            if part.depth == line.depth + 1 and part.share:
                parts.append(part.value)
        if parts:
            assert add_up(parts, line.value), line
        if term := re.search(r"^tf (.*), idf ([\d.]+) in \d+ of \d+ passages", line.how):
            tf = sum(float(count) * float(weight) for count, weight in
                     re.findall(r"(\d+) \w+ × ([\d.]+)", term[1]))  # fmt: skip
            adds = float(term[2]) * tf * 2.2 / (tf + norm) if tf else 0.0
            assert float(line.value) == pytest.approx(adds, abs=2e-4), line
        elif found := re.match(r"idf × tf × 2\.2/\(tf\+([\d.]+)\), (\d+) tokens, ([\d.]+) on av", line.how):
            norm = float(found[1])
            assert norm == pytest.approx(1.2 * (0.25 + 0.75 * float(found[2]) / float(found[3])), abs=1e-4)
        elif ARITHMETIC.fullmatch(computation := line.how.partition(", ")[0]):
            numbers = re.sub(r"bm25|cosine", "", computation).replace("×", "*")
            assert float(line.value) == pytest.approx(eval(numbers), abs=2 * off), line
