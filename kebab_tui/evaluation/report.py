"""What a run says: means with their intervals, by language and by probe, each mode against words alone.

Computes and prints nothing else; the figures of single queries stay in the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kebab_tui.domain.hit import Notice
from kebab_tui.domain.query import SEARCH_MODES, SearchMode
from kebab_tui.evaluation.metrics import HEADLINE
from kebab_tui.evaluation.questions import QUERY_LANGUAGES
from kebab_tui.evaluation.runs import Answer, ModeRun, Run
from kebab_tui.evaluation.significance import SIGNIFICANT, Difference, Interval, difference, intervals

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
    run: Run
    modes: tuple[ModeSummary, ...]
    notices: tuple[Notice, ...]


def reported(run: Run, notices: Sequence[Notice] = ()) -> Report:
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

    def by(key: Callable[[Answer], str], names: Sequence[str]) -> dict[str, Summary]:
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


def _summary(answers: Sequence[Answer], base: Mapping[str, Answer] | None) -> Summary:
    values = _columns(answers)
    against = None
    if base is not None and all(answer.id in base for answer in answers):
        first = _columns([base[answer.id] for answer in answers])
        against = {name: difference(first[name], values[name]) for name in values}
    means = {name: sum(column) / len(column) for name, column in values.items()}
    return Summary(len(answers), means, intervals(values), against)


def _columns(answers: Sequence[Answer]) -> dict[str, list[float]]:
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
