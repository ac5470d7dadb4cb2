"""The arithmetic of bm25."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.search.bm25 import inverse_document_frequency, length_norm, normalised, term_weight


def test_a_rare_word_tells_more_and_one_that_is_everywhere_tells_next_to_nothing() -> None:
    assert inverse_document_frequency(100, 1) == pytest.approx(math.log(99.5 / 1.5))
    assert inverse_document_frequency(100, 50) == 1e-6
    assert inverse_document_frequency(100, 100) == 1e-6
    assert inverse_document_frequency(1, 1) == 1e-6


def test_a_chunk_of_mean_length_needs_k1_occurrences_for_half_of_the_credit() -> None:
    assert length_norm(50, 50.0) == pytest.approx(1.2)
    assert length_norm(0, 50.0) == pytest.approx(1.2 * 0.25)
    assert length_norm(100, 50.0) == pytest.approx(1.2 * 1.75)


def test_more_occurrences_add_less_and_less() -> None:
    assert term_weight(2.0, 15.5, 1.2) == pytest.approx(2.0 * 15.5 * 2.2 / (15.5 + 1.2))


def test_a_word_that_is_not_there_adds_nothing_even_to_an_empty_chunk() -> None:
    assert term_weight(3.0, 0.0, 0.0) == 0.0


RAW = st.floats(-1_000, 0)


@given(RAW, RAW)
def test_a_shown_score_is_between_0_and_1_and_keeps_the_order(a: float, b: float) -> None:
    assert 0 <= normalised(a) < 1
    if a < b:
        assert normalised(a) >= normalised(b)


def test_no_match_is_no_score() -> None:
    assert normalised(-0.0) == 0.0
    assert normalised(-1.0) == 0.5
