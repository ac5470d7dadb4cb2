"""While notes change all the time, no citation is untrue, and afterwards the index equals a fresh one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.torture.churn import Churned, Plan, churn
from tests.torture.models import REAL, TINY

SECONDS = float(os.environ.get("CHURN_SECONDS", "75"))


def _assert_sound(found: Churned) -> None:
    assert found.tally.unequal == []
    assert found.complaints == []
    assert found.tally.equal > 0
    assert found.compared["vectors"] > 0


@pytest.mark.slow
def test_citations_are_true_while_notes_change(tmp_path: Path) -> None:
    _assert_sound(churn(Plan(150, 2026, TINY, operations=60, pause_s=0.02), str(tmp_path)))


@pytest.mark.more
def test_citations_are_true_while_thousands_of_notes_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """CHURN_SECONDS says for how long; `python -m tests.torture.churn` is the same without pytest."""
    found = churn(Plan(2_000, 2026, REAL, seconds=SECONDS, verifiers=2), str(tmp_path))
    with capsys.disabled():
        print(*found.lines(), sep="\n")
    _assert_sound(found)
