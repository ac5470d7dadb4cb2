"""A writer killed anywhere leaves a sound store, and the next ingest completes its work.

One kill at each named point; `python -m tests.torture 200` goes on from there.
"""

from __future__ import annotations

import pytest

from tests.torture.harness import Score, one
from tests.torture.points import POINTS, Point


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_nothing_is_lost_by_a_kill(point: Point) -> None:
    score = Score()
    one(point, seed=2026, score=score)
    assert score.complaints == []
    assert score.kills == 1 or point.name.startswith("random time"), "the point was never reached"
