"""Prints evaluation reports: a table with bars on a terminal, one line per group and metric in a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from kebab_tui.cli.output import aligned, detect, field, write
from kebab_tui.evaluation.measure import QuestionSet
from kebab_tui.evaluation.summary import Comparison, Difference, Report, Summary

_OF_LANGUAGES = ("ndcg@10", "recall@10", "mrr@10", "hit@1", "hit@5")
_OF_PROBES = ("ndcg@10", "hit@5")
"""The metrics of a part of the queries; the whole set gets every metric."""
_BAR = 10
_EIGHTHS = " ▏▎▍▌▋▊▉"
_MOST_CHANGES = 20


def print_report(report: Report) -> None:
    terminal = detect(sys.stdout, os.environ)
    if terminal.tty:
        _print_table(report, colour=terminal.colour, width=terminal.width)
        return
    write(_heading(report.run.set))
    header = ["queries", "n", "metric"]
    for found in report.modes:
        header += [found.mode, "95 %", *(("+/-", "p") if found.all.against else ())]
    rows = [header]
    for name, metric, summaries in _figures(report):
        row = [field(name), f"{summaries[0].queries}", metric]
        for summary in summaries:
            low, high = summary.intervals[metric]
            row += [f"{summary.means[metric]:.4f}", f"{low:.3f}-{high:.3f}"]
            if summary.against:
                row += _against(summary.against[metric])
        rows.append(row)
    for line in aligned(rows, right=[column for column in range(len(header)) if column not in (0, 2)]):
        write(line)


def _heading(asked: QuestionSet) -> str:
    split = f" ({asked.split})" if asked.split else ""
    return field(f"{asked.name}{split}: {asked.queries:,} queries, {asked.documents:,} documents")


def _figures(report: Report) -> Iterator[tuple[str, str, list[Summary]]]:
    """Group, metric, and the summary of every mode: all queries, then each language and each probe."""
    groups: list[tuple[str, Sequence[str], list[Summary]]] = []
    first = report.modes[0]  # every mode has the same groups
    groups.append(("all", list(first.all.means), [found.all for found in report.modes]))
    if len(first.by_lang) > 1:
        groups += [(n, _OF_LANGUAGES, [found.by_lang[n] for found in report.modes]) for n in first.by_lang]
    if len(first.by_probe) > 1:
        groups += [(n, _OF_PROBES, [found.by_probe[n] for found in report.modes]) for n in first.by_probe]
    for name, metrics, summaries in groups:
        for metric in metrics:
            yield name, metric, summaries


def _against(change: Difference) -> tuple[str, str]:
    return f"{change.mean:+.4f}", f"{change.p:.4f}"


def _print_table(report: Report, *, colour: bool, width: int) -> None:
    """Cells such as `0.561 █████▋     ±0.035  +0.0490 p 0.0001`."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(_heading(report.run.set)), title_justify="left", box=None, pad_edge=False)
    for title in ("queries", "metric", *(found.mode for found in report.modes)):
        table.add_column(title, no_wrap=title in ("queries", "metric"))
    before = ""
    for name, metric, summaries in _figures(report):
        if before and name != before:
            table.add_row()
        cells = []
        for summary in summaries:
            low, high = summary.intervals[metric]
            eighths = round(summary.means[metric] * _BAR * 8)
            bar = ("█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()).ljust(_BAR)
            text = f"{summary.means[metric]:.3f} {bar} ±{(high - low) / 2:.3f}"
            if summary.against:
                change, chance = _against(summary.against[metric])
                text += f"  {change} p {chance}"
            cells.append(Text(text))
        label = f"{field(name)} ({summaries[0].queries})" if name != before else ""
        table.add_row(Text(label), metric, *cells)
        before = name
    Console(no_color=not colour, highlight=False, width=width).print(table)


def comparison_lines(comparison: Comparison) -> Iterator[str]:
    """The changes in each mode, the greatest losses first."""
    if not comparison.same_set:
        yield "the two runs have different questions or documents"
    for found in comparison.modes:
        counts = ", ".join(f"{count} {outcome}" for outcome, count in found.counts.items())
        change, chance = _against(found.difference)
        unmatched = f" · {found.unmatched} not in both" if found.unmatched else ""
        yield ""
        yield f"{found.mode}: {counts} · ndcg@10 {change}, p {chance}{unmatched}"
        rows = [
            (
                one.outcome,
                f"{one.gain:+.3f}",
                f"{one.before:.3f}",
                f"{one.now:.3f}",
                field(one.id),
                field(one.query),
            )
            for one in found.changes
            if one.outcome != "draw"
        ]
        half = _MOST_CHANGES // 2
        shown = rows if len(rows) <= _MOST_CHANGES else [*rows[:half], *rows[-half:]]
        if shown:
            yield from aligned(shown, right=(1, 2, 3))
        if len(shown) < len(rows):
            yield f"… and {len(rows) - len(shown)} between these; --json lists all"
