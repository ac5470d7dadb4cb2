"""What a run says: means with their intervals, by language and by probe, each mode against words alone.

Computes and prints nothing else; the figures of single queries stay in the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.query import SEARCH_MODES, SearchMode
from kebab_tui.evaluation.golden import QUERY_LANGUAGES, QueryLanguage
from kebab_tui.evaluation.measure import FOUND, HEADLINE, EvalRun, ModeRun, QueryResult

# What a mean is worth: a bootstrap interval around it, and a paired test between two.
#
# Resamples queries, which is what differs from one set to the next. Always the same dice:
# the same figures give the same answer. Knows nothing of metrics.

RESAMPLES = 2_000
PERMUTATIONS = 10_000
SIGNIFICANT = 0.05
_SEED = 20_240_229
_INTERVAL = (2.5, 97.5)
_BLOCK = 1_000_000
"""How many dice are thrown at once: bounds the memory, not the result."""
_SAME_SCORE = 1e-12

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Difference:
    """How paired values differ: `mean` is second minus first, `p` the chance of as much by luck alone."""

    mean: float
    p: float
    wins: int
    losses: int
    draws: int


def intervals(values: Mapping[str, Sequence[float]]) -> dict[str, Interval]:
    """The 95 % interval of each mean, by percentiles of resampled means; all from the same draws."""
    import numpy as np  # here: a search never pays for it

    if not values or not next(iter(values.values())):
        return {}
    table = np.array(list(values.values()), dtype=np.float64)
    dice = np.random.RandomState(_SEED)  # its stream is frozen; the newer generators may change theirs
    count = table.shape[1]
    means = np.empty((RESAMPLES, table.shape[0]))
    for resample in range(RESAMPLES):
        means[resample] = table[:, dice.randint(0, count, count)].mean(axis=1)
    low, high = np.percentile(means, _INTERVAL, axis=0)
    return {name: (float(low[i]), float(high[i])) for i, name in enumerate(values)}


def difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """A paired randomisation test, two-sided: would swapping sides at random do as much?"""
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


BASELINE: SearchMode = "lexical"


@dataclass(frozen=True, slots=True)
class Summary:
    """The means of some queries; `against` compares each with the same queries by words alone."""

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
    """The report of a run; what deserves a warning joins the notices."""
    baseline = run.modes.get(BASELINE)
    modes = tuple(
        _mode_summary(mode, run.modes[mode], None if mode == BASELINE else baseline)
        for mode in SEARCH_MODES
        if mode in run.modes
    )
    return Report(run, modes, (*notices, *_warnings(modes)))


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


def _warnings(modes: Sequence[ModeSummary]) -> Iterator[Notice]:
    """Meaning is there to help: where it hurts, and not by chance, the reader should know."""
    for found in modes:
        if found.mode != "hybrid":
            continue
        groups = {"": found.all} if len(found.by_lang) < 2 else {"": found.all, **found.by_lang}
        for lang, summary in groups.items():
            change = summary.against[HEADLINE] if summary.against else None
            if change and change.mean < 0 and change.p < SIGNIFICANT:
                whose = f" for queries in {lang}" if lang else ""
                text = (
                    f"hybrid is worse than lexical here{whose}: {HEADLINE} {change.mean:+.4f}, "
                    f"p {change.p:.4f}; `search.mode = lexical` suits these notes better"
                )
                yield Notice("hybrid_worse", text, "warning")


# Two runs side by side, query by query: what got better, what got worse, what is lost.
#
# Compares the modes that both runs have, and the queries that both asked in the same
# words. A regression is a loss that a reader notices: found among the first ten before,
# not any more.

Outcome = Literal["regression", "loss", "win", "draw"]
OUTCOMES: tuple[Outcome, ...] = ("regression", "loss", "win", "draw")
_EQUAL = 1e-9


@dataclass(frozen=True, slots=True)
class MetricChange:
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
    changes: tuple[MetricChange, ...]
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
    pairs = list(_pairs(before, now))
    if not pairs:
        raise UsageError(f"the runs asked no {mode} query in common", "compare runs of the same questions")
    changes = sorted((_change(a, b) for a, b in pairs), key=lambda change: (change.gain, change.id))
    worth = difference([change.before for change in changes], [change.now for change in changes])
    asked = len(before.answers) + len(now.answers)
    return ModeComparison(mode, tuple(changes), worth, asked - 2 * len(pairs))


def _pairs(before: ModeRun, now: ModeRun) -> Iterator[tuple[QueryResult, QueryResult]]:
    known = {(answer.id, answer.query): answer for answer in before.answers}
    for answer in now.answers:
        if (was := known.get((answer.id, answer.query))) is not None:
            yield was, answer


def _change(before: QueryResult, now: QueryResult) -> MetricChange:
    was, is_now = before.metrics[HEADLINE], now.metrics[HEADLINE]
    return MetricChange(now.id, now.query, now.lang, _outcome(before, now), was, is_now)


def _outcome(before: QueryResult, now: QueryResult) -> Outcome:
    gain = now.metrics[HEADLINE] - before.metrics[HEADLINE]
    if before.metrics[FOUND] and not now.metrics[FOUND]:
        return "regression"
    if abs(gain) <= _EQUAL:
        return "draw"
    return "win" if gain > 0 else "loss"
