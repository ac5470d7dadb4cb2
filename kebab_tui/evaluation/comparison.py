"""Two runs side by side, query by query: what got better, what got worse, what is lost.

Compares the modes that both runs have, and the queries that both asked in the same
words. A regression is a loss that a reader notices: found among the first ten before,
not any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.query import SearchMode
from kebab_tui.evaluation.metrics import FOUND, HEADLINE
from kebab_tui.evaluation.questions import QueryLanguage
from kebab_tui.evaluation.runs import Answer, ModeRun, Run
from kebab_tui.evaluation.significance import Difference, difference

Outcome = Literal["regression", "loss", "win", "draw"]
OUTCOMES: tuple[Outcome, ...] = ("regression", "loss", "win", "draw")
_EQUAL = 1e-9


@dataclass(frozen=True, slots=True)
class Change:
    """One query's headline metric, before and now."""

    id: str
    query: str
    lang: QueryLanguage
    outcome: Outcome
    before: float
    now: float

    @property
    def gain(self) -> float:
        return self.now - self.before


@dataclass(frozen=True, slots=True)
class ModeComparison:
    """`changes` begin with the greatest loss."""

    mode: SearchMode
    changes: tuple[Change, ...]
    difference: Difference
    unmatched: int
    """Queries that only one of the runs asked, or that they worded differently."""

    @property
    def counts(self) -> dict[Outcome, int]:
        found = Counter(change.outcome for change in self.changes)
        return {outcome: found[outcome] for outcome in OUTCOMES}


@dataclass(frozen=True, slots=True)
class Comparison:
    modes: tuple[ModeComparison, ...]
    same_set: bool
    """Whether both runs were asked the same of the same."""


def compared(before: Run, now: Run) -> Comparison:
    shared = [mode for mode in now.modes if mode in before.modes]
    if not shared:
        raise UsageError(
            f"the runs have no mode in common: {', '.join(before.modes)} and {', '.join(now.modes)}",
            "run one of them again with --modes",
        )
    modes = tuple(_compared_mode(mode, before.modes[mode], now.modes[mode]) for mode in shared)
    return Comparison(modes, before.set.digest == now.set.digest)


def _compared_mode(mode: SearchMode, before: ModeRun, now: ModeRun) -> ModeComparison:
    pairs = list(_pairs(before, now))
    if not pairs:
        raise UsageError(f"the runs asked no {mode} query in common", "compare runs of the same questions")
    changes = sorted((_change(a, b) for a, b in pairs), key=lambda change: (change.gain, change.id))
    worth = difference([change.before for change in changes], [change.now for change in changes])
    asked = len(before.answers) + len(now.answers)
    return ModeComparison(mode, tuple(changes), worth, asked - 2 * len(pairs))


def _pairs(before: ModeRun, now: ModeRun) -> Iterator[tuple[Answer, Answer]]:
    known = {(answer.id, answer.query): answer for answer in before.answers}
    for answer in now.answers:
        if (was := known.get((answer.id, answer.query))) is not None:
            yield was, answer


def _change(before: Answer, now: Answer) -> Change:
    was, is_now = before.metrics[HEADLINE], now.metrics[HEADLINE]
    return Change(now.id, now.query, now.lang, _outcome(before, now), was, is_now)


def _outcome(before: Answer, now: Answer) -> Outcome:
    gain = now.metrics[HEADLINE] - before.metrics[HEADLINE]
    if before.metrics[FOUND] and not now.metrics[FOUND]:
        return "regression"
    if abs(gain) <= _EQUAL:
        return "draw"
    return "win" if gain > 0 else "loss"
