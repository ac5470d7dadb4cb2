"""Two ways from token ids to vectors inside the graph: MiniLM's own table, and the bilingual one in 8 bits.

The bilingual table is two, English rows in full and Hangul rows of low rank, each token reading one of them and a row
of zeros of the other; their sum is the token's vector.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.build import quantisation
from models.build.graph import Writer
from models.build.minilm import Floats
from models.build.vocabulary import Vocabulary

HANGUL_RANK = 192


@dataclass(frozen=True, slots=True)
class PlainTable:
    """One row for each id, as floats."""

    rows: Floats

    def __call__(self, writer: Writer) -> str:
        return writer.add("Gather", [writer.constant("words", self.rows), "input_ids"], "word")


@dataclass(frozen=True, slots=True)
class BilingualTable:
    """The rows of a vocabulary, English first."""

    vocabulary: Vocabulary
    rows: Floats

    def __call__(self, writer: Writer) -> str:
        first = self.vocabulary.english
        row = self.vocabulary.rows
        english = self._looked_up(writer, "english", self.rows[:first], np.where(row < first, row + 1, 0))
        hangul, basis = quantisation.low_rank(self.rows[first:], HANGUL_RANK)
        coordinates = self._looked_up(writer, "hangul", hangul, np.where(row >= first, row - first + 1, 0))
        projected = writer.add(
            "MatMul", [coordinates, writer.constant("hangul_basis", basis)], "hangul_projected"
        )
        return writer.add("Add", [english, projected], "word")

    @staticmethod
    def _looked_up(
        writer: Writer, name: str, rows: Floats, index: np.ndarray[tuple[int, ...], np.dtype[np.int32]]
    ) -> str:
        small = quantisation.by_row(np.concatenate([np.zeros((1, rows.shape[1]), np.float32), rows]))
        chosen = writer.add(
            "Gather", [writer.constant(f"{name}_row", index.astype(np.int32)), "input_ids"], f"{name}_chosen"
        )
        values = writer.add(
            "Gather", [writer.constant(f"{name}_values", small.values), chosen], f"{name}_int8"
        )
        scale = writer.add(
            "Gather", [writer.constant(f"{name}_scales", small.scale), chosen], f"{name}_scale"
        )
        return writer.add(
            "Mul", [writer.add("Cast", [values], f"{name}_float", to=1), scale], f"{name}_vector"
        )
