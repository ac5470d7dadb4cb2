"""`eval_report.v1`: what an evaluation found, mode by mode, and how it compares with another run."""

from __future__ import annotations

from collections.abc import Mapping

from kebab_tui.evaluation.measure import QuestionSet
from kebab_tui.evaluation.summary import (
    Comparison,
    Difference,
    MetricChange,
    ModeComparison,
    ModeSummary,
    Report,
    Summary,
)
from kebab_tui.wire.encode import Json, notice

_PLACES = 6


def eval_report(report: Report, comparison: Comparison | None = None) -> Json:
    run = report.run
    return {
        "schema_version": "eval_report.v1",
        "set": _set(run.set),
        "depth": run.depth,
        "version": run.version,
        "settings": run.settings,
        "modes": {found.mode: _mode(found) for found in report.modes},
        "notices": [notice(item) for item in report.notices],
        "comparison": None if comparison is None else _comparison(comparison),
    }


def _set(asked: QuestionSet) -> Json:
    return {
        "kind": asked.kind,
        "name": asked.name,
        "split": asked.split or None,
        "digest": asked.digest,
        "queries": asked.queries,
        "documents": asked.documents,
    }


def _mode(found: ModeSummary) -> Json:
    return {
        "index_version": found.index_version,
        **_summary(found.all),
        "by_lang": _group(found.by_lang),
        "by_probe": _group(found.by_probe),
    }


def _group(summaries: Mapping[str, Summary]) -> Json:
    return {name: _summary(summary) for name, summary in summaries.items()}


def _summary(summary: Summary) -> Json:
    """The metrics stand beside the keys: `modes.lexical["ndcg@10"]`."""
    against = summary.against
    return {
        "queries": summary.queries,
        **{name: round(mean, _PLACES) for name, mean in summary.means.items()},
        "ci": {
            name: [round(low, _PLACES), round(high, _PLACES)]
            for name, (low, high) in summary.intervals.items()
        },
        "versus_lexical": None if against is None else {name: _difference(d) for name, d in against.items()},
    }


def _difference(found: Difference) -> Json:
    return {
        "mean": round(found.mean, _PLACES),
        "p": round(found.p, _PLACES),
        "wins": found.wins,
        "losses": found.losses,
        "draws": found.draws,
    }


def _comparison(comparison: Comparison) -> Json:
    return {
        "same_set": comparison.same_set,
        "modes": {found.mode: _compared_mode(found) for found in comparison.modes},
    }


def _compared_mode(found: ModeComparison) -> Json:
    return {
        "counts": found.counts,
        "ndcg@10": _difference(found.difference),
        "unmatched": found.unmatched,
        "queries": [_change(change) for change in found.changes],
    }


def _change(change: MetricChange) -> Json:
    return {
        "id": change.id,
        "query": change.query,
        "lang": change.lang,
        "outcome": change.outcome,
        "before": round(change.before, _PLACES),
        "now": round(change.now, _PLACES),
    }
