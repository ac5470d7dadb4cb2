"""Reading ends early when it takes too long, or on a stop request."""

from __future__ import annotations

import pytest

from kebab_tui.domain import checkpoint as module
from kebab_tui.domain.checkpoint import UNLIMITED, Checkpoint, ReadingStopped, TookTooLongError


def test_it_lets_pass_until_the_time_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(module, "thread_time", lambda: now)
    checkpoint = Checkpoint(5.5)
    now = 105.5
    checkpoint()
    now = 105.6
    with pytest.raises(TookTooLongError, match=r"took too long: more than 5\.5 s of CPU time"):
        checkpoint()


def test_it_stops_when_asked_to() -> None:
    answers = iter([False, True])
    checkpoint = Checkpoint(stopping=lambda: next(answers))
    checkpoint()
    with pytest.raises(ReadingStopped):
        checkpoint()


def test_without_a_limit_it_always_lets_pass() -> None:
    UNLIMITED()
