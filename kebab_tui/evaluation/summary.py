"""Summaries of a run and comparisons of two runs, with intervals and significance tests.

A summary has the mean of each metric with its bootstrap interval, by language and by probe, and compares
each mode with `lexical`. A comparison pairs the queries of two runs by id and text. The random numbers are
fixed: the same input gives the same result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.query import SEARCH_MODES, SearchMode
from kebab_tui.evaluation.golden import QUERY_LANGUAGES, QueryLanguage
from kebab_tui.evaluation.measure import FOUND, HEADLINE, EvalRun, ModeRun, QueryResult

BASELINE: SearchMode = "lexical"
RESAMPLES = 2_000
PERMUTATIONS = 10_000
SIGNIFICANT = 0.05
_SEED = 20_240_229
_INTERVAL = (2.5, 97.5)
_BLOCK = 1_000_000
"""Random numbers per step; limits the memory, does not change the result."""
_SAME_SCORE = 1e-12
_EQUAL = 1e-9

Interval = tuple[float, float]
Outcome = Literal["regression", "loss", "win", "draw"]
OUTCOMES: tuple[Outcome, ...] = ("regression", "loss", "win", "draw")
"""A regression is a query that was found in the first ten hits before, and is not any more."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of paired values: `mean` is second minus first, `p` the two-sided p-value."""

    mean: float
    p: float
    wins: int
    losses: int
    draws: int


@dataclass(frozen=True, slots=True)
class Summary:
    """The means of some queries; `against` compares them with lexical search."""

    queries: int
    means: Mapping[str, float]
    intervals: Mapping[str, Interval]
    against: Mapping[str, Difference] | None


@dataclass(frozen=True, slots=True)
class ModeSummary:
    mode: SearchMode
    index_version: str
    all: Summary
    by_lang: Mapping[str, Summary]
    by_probe: Mapping[str, Summary]


@dataclass(frozen=True, slots=True)
class Report:
    run: EvalRun
    modes: tuple[ModeSummary, ...]
    notices: tuple[Notice, ...]


def reported(run: EvalRun, notices: Sequence[Notice] = ()) -> Report:
    """The report of a run, with a warning if hybrid is significantly worse than lexical."""
    baseline = run.modes.get(BASELINE)
    modes = tuple(
        _mode_summary(mode, run.modes[mode], None if mode == BASELINE else baseline)
        for mode in SEARCH_MODES
        if mode in run.modes
    )
    warnings = []
    for found in modes:
        groups = {"": found.all} if len(found.by_lang) < 2 else {"": found.all, **found.by_lang}
        for lang, summary in groups.items() if found.mode == "hybrid" else ():
            change = summary.against[HEADLINE] if summary.against else None
            if change and change.mean < 0 and change.p < SIGNIFICANT:
                whose = f" for queries in {lang}" if lang else ""
                text = (
                    f"hybrid is worse than lexical here{whose}: {HEADLINE} {change.mean:+.4f}, "
                    f"p {change.p:.4f}; set `search.mode = lexical` for these notes"
                )
                warnings.append(Notice("hybrid_worse", text, "warning"))
    return Report(run, modes, (*notices, *warnings))


def _mode_summary(mode: SearchMode, found: ModeRun, baseline: ModeRun | None) -> ModeSummary:
    base = None if baseline is None else {answer.id: answer for answer in baseline.answers}

    def by(key: Callable[[QueryResult], str], names: Sequence[str]) -> dict[str, Summary]:
        groups = {name: [answer for answer in found.answers if key(answer) == name] for name in names}
        return {name: _summary(answers, base) for name, answers in groups.items() if answers}

    probes = list(dict.fromkeys(answer.probe for answer in found.answers if answer.probe))
    return ModeSummary(
        mode=mode,
        index_version=found.index_version,
        all=_summary(found.answers, base),
        by_lang=by(lambda answer: answer.lang, QUERY_LANGUAGES),
        by_probe=by(lambda answer: answer.probe, probes),
    )


def _summary(answers: Sequence[QueryResult], base: Mapping[str, QueryResult] | None) -> Summary:
    values = _columns(answers)
    against = None
    if base is not None and all(answer.id in base for answer in answers):
        first = _columns([base[answer.id] for answer in answers])
        against = {name: difference(first[name], values[name]) for name in values}
    means = {name: sum(column) / len(column) for name, column in values.items()}
    return Summary(len(answers), means, intervals(values), against)


def _columns(answers: Sequence[QueryResult]) -> dict[str, list[float]]:
    return {name: [answer.metrics[name] for answer in answers] for name in answers[0].metrics}


@dataclass(frozen=True, slots=True)
class MetricChange:
    """One query's headline metric in both runs."""

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
    """`changes`: the greatest loss first."""

    mode: SearchMode
    changes: tuple[MetricChange, ...]
    difference: Difference
    unmatched: int
    """Queries of only one run, or with different texts."""

    @property
    def counts(self) -> dict[Outcome, int]:
        found = Counter(change.outcome for change in self.changes)
        return {outcome: found[outcome] for outcome in OUTCOMES}


@dataclass(frozen=True, slots=True)
class Comparison:
    modes: tuple[ModeComparison, ...]
    same_set: bool
    """Whether both runs have the same questions and documents."""


def compared(before: EvalRun, now: EvalRun) -> Comparison:
    shared = [mode for mode in now.modes if mode in before.modes]
    if not shared:
        raise UsageError(
            f"the runs have no mode in common: {', '.join(before.modes)} and {', '.join(now.modes)}",
            "run one of them again with --modes",
        )
    modes = tuple(_compared_mode(mode, before.modes[mode], now.modes[mode]) for mode in shared)
    return Comparison(modes, before.set.digest == now.set.digest)


def _compared_mode(mode: SearchMode, before: ModeRun, now: ModeRun) -> ModeComparison:
    known = {(answer.id, answer.query): answer for answer in before.answers}
    changes = []
    for answer in now.answers:
        if (old := known.get((answer.id, answer.query))) is None:
            continue
        was, is_now = old.metrics[HEADLINE], answer.metrics[HEADLINE]
        outcome: Outcome = "win" if is_now > was else "loss"
        if old.metrics[FOUND] and not answer.metrics[FOUND]:
            outcome = "regression"
        elif abs(is_now - was) <= _EQUAL:
            outcome = "draw"
        changes.append(MetricChange(answer.id, answer.query, answer.lang, outcome, was, is_now))
    if not changes:
        raise UsageError(f"the runs have no {mode} query in common", "compare runs of the same questions")
    changes.sort(key=lambda change: (change.gain, change.id))
    total = difference([change.before for change in changes], [change.now for change in changes])
    unmatched = len(before.answers) + len(now.answers) - 2 * len(changes)
    return ModeComparison(mode, tuple(changes), total, unmatched)


def intervals(values: Mapping[str, Sequence[float]]) -> dict[str, Interval]:
    """The 95 % bootstrap interval of each mean, by resampling queries."""
    import numpy as np  # only here: a search must not import numpy

    if not values or not next(iter(values.values())):
        return {}
    table = np.array(list(values.values()), dtype=np.float64)
    dice = np.random.RandomState(_SEED)  # its stream never changes, unlike that of newer generators
    count = table.shape[1]
    means = np.empty((RESAMPLES, table.shape[0]))
    for resample in range(RESAMPLES):
        means[resample] = table[:, dice.randint(0, count, count)].mean(axis=1)
    low, high = np.percentile(means, _INTERVAL, axis=0)
    return {name: (float(low[i]), float(high[i])) for i, name in enumerate(values)}


def difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """A two-sided paired randomisation test."""
    import numpy as np

    changes = np.array(second, dtype=np.float64) - np.array(first, dtype=np.float64)
    moved = changes[np.abs(changes) > _SAME_SCORE]
    wins = int((moved > 0).sum())
    counts = (wins, len(moved) - wins, len(changes) - len(moved))
    if not len(moved):
        return Difference(0.0, 1.0, *counts)
    dice = np.random.RandomState(_SEED)
    seen, extreme, least = 0, 0, abs(moved.sum()) - _SAME_SCORE
    while seen < PERMUTATIONS:
        rows = min(PERMUTATIONS - seen, max(1, _BLOCK // len(moved)))
        signs = dice.randint(0, 2, (rows, len(moved)), dtype=np.int8) * 2 - 1
        extreme += int((np.abs(signs @ moved) >= least).sum())
        seen += rows
    return Difference(float(changes.mean()), (extreme + 1) / (PERMUTATIONS + 1), *counts)
