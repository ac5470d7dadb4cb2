"""An evaluation for people: modes side by side. A table with bars on a terminal, plain columns in a pipe.

The pipe gets one line for each group and metric, so that `grep ndcg` answers a question.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kebab_tui.cli.output import aligned, detect, field, write

if TYPE_CHECKING:
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

_OF_LANGUAGES = ("ndcg@10", "recall@10", "mrr@10", "hit@1", "hit@5")
_OF_PROBES = ("ndcg@10", "hit@5")
"""What is shown of a part of the queries; all of them together get every metric."""
_BAR = 10
_EIGHTHS = " ▏▎▍▌▋▊▉"
_MOST_CHANGES = 20


def print_report(report: Report) -> None:
    terminal = detect(sys.stdout, os.environ)
    if terminal.tty:
        _print_table(report, colour=terminal.colour, width=terminal.width)
        return
    write(heading(report.run.set))
    for line in aligned(list(_rows(report)), right=_numbers(report)):
        write(line)


def heading(asked: QuestionSet) -> str:
    split = f" ({asked.split})" if asked.split else ""
    return field(f"{asked.name}{split}: {asked.queries:,} queries, {asked.documents:,} documents")


def _groups(found: ModeSummary) -> Iterator[tuple[str, Summary, Sequence[str]]]:
    """All queries, then each language and each probe where there are several; with their metrics."""
    yield "all", found.all, list(found.all.means)
    for by, metrics in ((found.by_lang, _OF_LANGUAGES), (found.by_probe, _OF_PROBES)):
        if len(by) > 1:
            yield from ((name, summary, metrics) for name, summary in by.items())


def _rows(report: Report) -> Iterator[tuple[str, ...]]:
    yield ("queries", "n", "metric", *(title for found in report.modes for title in _titles(found)))
    for name, metric, summaries in _figures(report):
        cells = (cell for summary in summaries for cell in _cells(summary, metric))
        yield (field(name), f"{summaries[0].queries}", metric, *cells)


def _figures(report: Report) -> Iterator[tuple[str, str, list[Summary]]]:
    """Each group and metric, with the summary of every mode."""
    for modes in zip(*map(_groups, report.modes), strict=True):  # all modes were asked the same
        name, _, metrics = modes[0]
        for metric in metrics:
            yield name, metric, [summary for _, summary, _ in modes]


def _titles(found: ModeSummary) -> tuple[str, ...]:
    return (found.mode, "95 %", *(("+/-", "p") if found.all.against else ()))


def _numbers(report: Report) -> list[int]:
    columns = 3 + sum(len(_titles(found)) for found in report.modes)
    return [place for place in range(columns) if place not in (0, 2)]


def _cells(summary: Summary, metric: str) -> tuple[str, ...]:
    low, high = summary.intervals[metric]
    cells = (f"{summary.means[metric]:.4f}", f"{low:.3f}-{high:.3f}")
    return (*cells, *_against(summary.against[metric])) if summary.against else cells


def _against(change: Difference) -> tuple[str, str]:
    return f"{change.mean:+.4f}", f"{change.p:.4f}"


def _print_table(report: Report, *, colour: bool, width: int) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(heading(report.run.set)), title_justify="left", box=None, pad_edge=False)
    for title in ("queries", "metric", *(found.mode for found in report.modes)):
        table.add_column(title, no_wrap=title in ("queries", "metric"))
    before = ""
    for name, metric, summaries in _figures(report):
        if before and name != before:
            table.add_row()
        label = f"{field(name)} ({summaries[0].queries})" if name != before else ""
        table.add_row(Text(label), metric, *(Text(_barred(summary, metric)) for summary in summaries))
        before = name
    Console(no_color=not colour, highlight=False, width=width).print(table)


def _barred(summary: Summary, metric: str) -> str:
    """`0.561 █████▋     ±0.035  +0.049 p 0.0001`."""
    low, high = summary.intervals[metric]
    text = f"{summary.means[metric]:.3f} {bar(summary.means[metric])} ±{(high - low) / 2:.3f}"
    if summary.against:
        change, chance = _against(summary.against[metric])
        text += f"  {change} p {chance}"
    return text


def bar(share: float) -> str:
    """A bar of fixed width, exact to an eighth of a cell."""
    filled = round(share * _BAR * 8)
    cells = "█" * (filled // 8) + _EIGHTHS[filled % 8].strip()
    return cells.ljust(_BAR)


def comparison_lines(comparison: Comparison) -> Iterator[str]:
    """What changed, mode by mode, the greatest losses first."""
    if not comparison.same_set:
        yield "the two runs were not asked the same questions of the same documents"
    for found in comparison.modes:
        yield ""
        yield _sums(found)
        changed = [change for change in found.changes if change.outcome != "draw"]
        half = _MOST_CHANGES // 2
        shown = changed if len(changed) <= _MOST_CHANGES else [*changed[:half], *changed[-half:]]
        if shown:
            yield from aligned([_change_cells(change) for change in shown], right=(1, 2, 3))
        if len(shown) < len(changed):
            yield f"… and {len(changed) - len(shown)} between these; --json lists all"


def _sums(found: ModeComparison) -> str:
    counts = ", ".join(f"{count} {outcome}" for outcome, count in found.counts.items())
    change, chance = _against(found.difference)
    unmatched = f" · {found.unmatched} not in both" if found.unmatched else ""
    return f"{found.mode}: {counts} · ndcg@10 {change}, p {chance}{unmatched}"


def _change_cells(change: MetricChange) -> tuple[str, ...]:
    figures = (f"{change.gain:+.3f}", f"{change.before:.3f}", f"{change.now:.3f}")
    return (change.outcome, *figures, field(change.id), field(change.query))
