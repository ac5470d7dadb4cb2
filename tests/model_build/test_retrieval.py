"""The yardstick itself: chunks lose nothing, and nDCG is what the textbook says."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from models.build.minilm import Floats
from models.build.retrieval import RetrievalSet, chunks, measure, ndcg


def test_chunks_hold_every_word_and_keep_the_size() -> None:
    text = "\n".join(f"line {index} " + "word " * (index % 40) for index in range(200))
    pieces = chunks(text, 300)
    assert all(len(piece) <= 300 for piece in pieces)
    assert " ".join(pieces).split() == text.split()


def test_a_text_without_spaces_is_still_cut() -> None:
    assert [len(piece) for piece in chunks("가" * 700, 300)] == [300, 300, 100]


def test_ndcg_by_hand() -> None:
    assert ndcg(["a", "b"], {"a": 1}) == 1
    assert ndcg(["b", "a"], {"a": 1}) == pytest.approx(1 / math.log2(3))
    assert ndcg(["b", "a"], {"a": 2, "b": 1}) == pytest.approx(
        (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))
    )
    assert ndcg(["x"], {}) == 0


class Letters:
    """Counts letters: enough to tell documents apart."""

    def encode(self, texts: Sequence[str]) -> Floats:
        counts = np.array([[text.count(letter) for letter in "abc"] for text in texts], np.float32)
        vectors: Floats = counts / np.linalg.norm(counts, axis=1, keepdims=True)
        return vectors


def test_a_document_is_as_good_as_its_best_chunk() -> None:
    documents = {"long": "a" * 1200 + "\n" + "b" * 1200, "near": "abab", "other": "c"}
    test = RetrievalSet(documents, {"q": "b"}, {"test": {"q": {"long": 1}}})
    assert measure(Letters(), test) == {"test": 1.0}
