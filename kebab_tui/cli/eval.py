"""`kebab eval`: asks questions with known answers, in every mode, and shows how well they were answered.

Reads the command line and puts the pieces in order; what is asked of whom is `eval_jobs`,
what is printed `eval_output`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from kebab_tui import __version__
from kebab_tui.cli.context import Invocation, pass_invocation, shared_options
from kebab_tui.cli.interrupt import Interrupt
from kebab_tui.cli.output import field, say, write, write_json
from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.query import SEARCH_MODES, SearchMode

if TYPE_CHECKING:
    from kebab_tui.cli.eval_jobs import Job
    from kebab_tui.cli.options import Given
    from kebab_tui.domain.hit import Notice
    from kebab_tui.evaluation.measure import EvalRun
    from kebab_tui.evaluation.summary import Comparison, Report

_GOLDEN_ENDINGS = (".yaml", ".yml")
_WHAT = "`kebab eval GOLDEN.yaml`, or `kebab eval --beir FOLDER`"
_LEAST_DEPTH, _MOST_DEPTH = 10, 1000
_KEPT_SETTINGS = ("search", "chunking", "reading")
"""The settings that a ranking can depend on; none of them is a place."""


def _modes(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[SearchMode, ...]:
    names = [] if value is None else [name.strip() for name in value.split(",")]
    for name in names:
        if name not in SEARCH_MODES:
            raise click.BadParameter(f"{name!r} is none of {', '.join(SEARCH_MODES)}")
    return tuple(mode for mode in SEARCH_MODES if mode in names)


@click.command()
@click.argument("files", nargs=-1, metavar="[GOLDEN.yaml]")
@click.option("--beir", metavar="FOLDER", help="Ask the questions of a BEIR folder, of its own documents.")
@click.option("--split", metavar="NAME", help="The judgements of qrels/NAME.tsv; test without it.")
@click.option("--modes", callback=_modes, metavar="A,B", help="Only these of lexical, vector and hybrid.")
@click.option(
    "--k", "depth", type=click.IntRange(_LEAST_DEPTH, _MOST_DEPTH), default=100, metavar="N",
    help="How many places of an answer are looked at; 100 without it.",
)  # fmt: skip
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N queries.")
@click.option("--save", metavar="FILE", help="Keep the run, query by query.")
@click.option(
    "--compare", multiple=True, metavar="RUN [RUN]",
    help="What changed since a saved run, or between two, query by query.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="As an eval_report.v1 object.")
@shared_options
@pass_invocation
def command(invocation: Invocation, /, files: tuple[str, ...], **given: Any) -> int:
    """Judge the search by questions with known answers.

    GOLDEN.yaml lists queries with the notes, headings or lines that should be found in the
    present index; --beir FOLDER brings its own documents. Every mode is shown with its 95 %
    intervals and, beside lexical, with the chance that the difference is luck.
    """
    from kebab_tui.evaluation.measure import load_run, save_run
    from kebab_tui.evaluation.summary import compared, reported

    golden, saved = _told_apart(files, given)
    runs = [load_run(path) for path in saved]
    notices: Sequence[Notice] = ()
    with Interrupt():  # SIGTERM, too, removes the files that are not complete
        if len(runs) < 2:
            run, notices = _run(invocation, golden, given)
            runs.append(run)
        if given["save"] is not None:
            save_run(runs[-1], given["save"])
    _show(reported(runs[-1], notices), compared(*runs) if len(runs) == 2 else None, as_json=given["as_json"])
    return 0


def _told_apart(files: Sequence[str], given: Given) -> tuple[str | None, list[str]]:
    """The golden file, and the saved runs: the word behind `--compare RUN` may be a second one."""
    saved, golden = list(given["compare"]), list(files)
    if len(saved) == 1 and golden and not golden[0].endswith(_GOLDEN_ENDINGS):
        saved.append(golden.pop(0))
    asked = len(golden) + (given["beir"] is not None)
    if len(saved) > 2:
        raise UsageError("more than two runs to compare", "--compare takes one saved run, or two")
    if len(saved) == 2 and asked:
        raise UsageError("two saved runs leave nothing to ask", "leave one of them out, or the questions")
    if len(saved) < 2 and asked != 1:
        raise UsageError("several sets of questions" if asked else "there are no questions", _WHAT)
    if given["split"] is not None and given["beir"] is None:
        raise UsageError("--split belongs to --beir", _WHAT)
    return (golden[0] if golden else None), saved


def _run(invocation: Invocation, golden: str | None, given: Given) -> tuple[EvalRun, list[Notice]]:
    from kebab_tui.cli import eval_jobs

    if golden is not None:
        job = eval_jobs.golden_job(invocation, golden, given["limit"])
    else:
        vectors = given["modes"] != ("lexical",)
        split = given["split"] or "test"
        job = eval_jobs.beir_job(invocation, given["beir"], split, given["limit"], vectors=vectors)
    with closing(job.workspace):
        return _asked(job, given)


def _asked(job: Job, given: Given) -> tuple[EvalRun, list[Notice]]:
    from msgspec import to_builtins

    from kebab_tui.cli.eval_jobs import query_bar
    from kebab_tui.evaluation.measure import EvalRun, Measuring

    start = time.perf_counter()
    with query_bar(len(job.tasks)) as show:
        measuring = Measuring(job.workspace.search, given["depth"], show, list(job.notices))
        modes = measuring.modes(job.tasks, given["modes"] or SEARCH_MODES, insist=bool(given["modes"]))
    say(f"asked {len(job.tasks):,} × {', '.join(modes)} in {time.perf_counter() - start:.1f} s")
    settings = to_builtins(job.workspace.settings)
    kept = {part: settings[part] for part in _KEPT_SETTINGS}
    run = EvalRun(version=__version__, set=job.set, depth=given["depth"], settings=kept, modes=modes)
    return run, measuring.notices


def _show(report: Report, comparison: Comparison | None, *, as_json: bool) -> None:
    if as_json:
        from kebab_tui.wire.reports import eval_report

        write_json(eval_report(report, comparison))
    else:
        from kebab_tui.cli.eval_output import comparison_lines, print_report

        print_report(report)
        for line in comparison_lines(comparison) if comparison else ():
            write(line)
    for notice in report.notices:
        say(f"{'warning: ' if notice.level == 'warning' else ''}{field(notice.text)}")
