"""`kebab eval`: asks questions with known answers, in every mode, and shows how well they were answered.

Reads the command line and puts the pieces in order; what is asked of whom is `eval_jobs`,
what is printed `eval_output`.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from kebab_tui import __version__
from kebab_tui.cli.edge import Invocation, pass_invocation, shared_options
from kebab_tui.cli.output import detect, field, say, write, write_json
from kebab_tui.cli.progress import Interrupt, embed_watched, ingest_watched
from kebab_tui.domain.errors import ModelError, StoreReadOnlyError, UsageError
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.query import SEARCH_MODES, SearchFilters, SearchMode
from kebab_tui.evaluation.measure import QuestionSet, Task
from kebab_tui.workspace import Workspace

if TYPE_CHECKING:
    from kebab_tui.cli.options import Given
    from kebab_tui.domain.document import Chunk, Document
    from kebab_tui.evaluation.beir import BeirSet, CorpusNotes
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
def eval_command(invocation: Invocation, /, files: tuple[str, ...], **given: Any) -> int:
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

    if golden is not None:
        job = golden_job(invocation, golden, given["limit"])
    else:
        vectors = given["modes"] != ("lexical",)
        split = given["split"] or "test"
        job = beir_job(invocation, given["beir"], split, given["limit"], vectors=vectors)
    with closing(job.workspace):
        return _asked(job, given)


def _asked(job: Job, given: Given) -> tuple[EvalRun, list[Notice]]:
    from msgspec import to_builtins

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


# Who is asked what in an evaluation.
#
# A golden file is asked of the present index. A BEIR folder's documents become notes in an
# index of their own, below the data folder, where the next evaluation finds them again:
# same settings, same reading, same search as for any folder of notes.

_FOLDER = "eval"
"""Below the data folder: one folder for each corpus that was ever asked."""


@dataclass(frozen=True, slots=True)
class Job:
    """The index to ask, and what to ask it."""

    workspace: Workspace
    set: QuestionSet
    tasks: Sequence[Task]
    notices: tuple[Notice, ...] = ()


def golden_job(invocation: Invocation, path: str, limit: int | None) -> Job:
    """The queries of a golden file, their expectations found in the present index."""
    from kebab_tui.evaluation.golden import golden_digest, placed, read_golden

    queries = read_golden(path)[:limit]
    workspace = Workspace(invocation.settings, invocation.data_dir)
    found, _ = workspace.documents(SearchFilters(), ("ok",))
    by_path: dict[str, list[Document]] = {}
    for document in found:
        by_path.setdefault(document.path, []).append(document)
    known = placed(path, queries, by_path, lambda note: _chunks(workspace, by_path[note]))
    asked = QuestionSet(
        kind="golden",
        name=os.path.basename(path),
        split="",
        digest=golden_digest(queries),
        queries=len(known),
        documents=len(found),
    )
    return Job(workspace, asked, [Task(query.question, query.ranking) for query in known])


def _chunks(workspace: Workspace, documents: Sequence[Document]) -> list[Chunk]:
    """The passages of the notes of one path: two folders may each have one."""
    roots = {source.source_id: os.fsencode(source.root) for source in workspace.sources()}
    paths = (os.fsdecode(os.path.join(roots[note.source], note.raw_path)) for note in documents)
    return [chunk for path in paths for chunk in workspace.inspect(path).chunks]


def beir_job(invocation: Invocation, folder: str, split: str, limit: int | None, *, vectors: bool) -> Job:
    """The questions of a BEIR folder, and its documents as notes of an index of their own."""
    from kebab_tui.evaluation.beir import read_beir

    found = read_beir(folder, split)
    workspace, notes = _corpus(invocation, found)
    notices = list(_brought_up_to_date(workspace, notes.folder, vectors=vectors))
    questions = found.questions[:limit]
    asked = QuestionSet(
        kind="beir",
        name=found.name,
        split=split,
        digest=found.digest,
        queries=len(questions),
        documents=found.document_count,
    )
    if found.unanswerable:
        text = f"{found.unanswerable} of the queries have no relevant document and were left out"
        notices.append(Notice("unanswerable", text))
    return Job(workspace, asked, [Task(question, notes.ranking) for question in questions], tuple(notices))


def _corpus(invocation: Invocation, found: BeirSet) -> tuple[Workspace, CorpusNotes]:
    """The documents as notes, and the index of their own that is to hold them."""
    from msgspec.structs import replace

    from kebab_tui.evaluation.beir import FOLDER_FORMAT

    place = os.path.join(invocation.data_dir, _FOLDER, f"{found.corpus_digest}-{FOLDER_FORMAT}")
    index = os.path.join(place, "index")
    notes = _written(os.path.join(place, "corpus"), found)
    return Workspace(replace(invocation.settings, data_dir=index, sources=()), index), notes


def _written(folder: str, found: BeirSet) -> CorpusNotes:
    from kebab_tui.evaluation.beir import corpus_notes

    try:
        return corpus_notes(folder, found.documents())
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        raise StoreReadOnlyError(
            f"cannot write the corpus to {folder}: {error.strerror}", "name another folder with --data-dir"
        ) from None


def _brought_up_to_date(workspace: Workspace, folder: str, *, vectors: bool) -> Iterator[Notice]:
    """Index what is not indexed yet; says what is missing then."""
    report = ingest_watched(workspace, [folder], quiet=False)
    cancelled = report.cancelled
    if report.chunks_added:
        say(f"indexed {field(folder)} in {report.seconds:.1f} s")
    if lost := report.count("failed") + report.count("skipped"):
        yield Notice("not_indexed", f"{lost} of the documents could not be indexed", "warning")
    if vectors and not cancelled:
        try:
            cancelled = embed_watched(workspace, quiet=False).cancelled
        except ModelError as error:
            yield Notice("no_model", error.message)
    if cancelled:
        raise KeyboardInterrupt


@contextmanager
def query_bar(queries: int) -> Iterator[Callable[[SearchMode, int], None]]:
    """Give what shows how many queries were asked: one bar for each mode."""
    with _bars() as show:
        yield lambda mode, done: show(mode, done, queries)


@contextmanager
def _bars() -> Iterator[Callable[[str, int, int], None]]:
    """Named bars on a terminal, gone when the work is done; nothing elsewhere."""
    if not detect(sys.stderr, os.environ).tty:
        yield lambda _name, _done, _total: None
        return
    from rich import progress as rich
    from rich.console import Console

    bars: dict[str, rich.TaskID] = {}
    with rich.Progress(console=Console(stderr=True), transient=True) as screen:

        def show(name: str, done: int, total: int) -> None:
            if name not in bars:
                bars[name] = screen.add_task(name, total=total)
            screen.update(bars[name], completed=done, total=total)

        yield show
