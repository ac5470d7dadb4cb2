"""`kebab eval`: measures search quality against a set of known answers.

A golden file is asked of the present index. The documents of a BEIR folder become notes in a separate index
below the data folder, which later evaluations reuse.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import click

from kebab_tui import __version__
from kebab_tui.cli.command import command, option
from kebab_tui.cli.edge import Invocation, pass_invocation, shared_options
from kebab_tui.cli.interrupt import Interrupt
from kebab_tui.cli.options import Given
from kebab_tui.cli.output import field, notify, write, write_json
from kebab_tui.cli.progress import embed_with_progress, ingest_with_progress, progress_bars
from kebab_tui.domain.document import Chunk, Document
from kebab_tui.domain.errors import FilterError, ModelError, StoreReadOnlyError, UsageError
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.query import SEARCH_MODES, SearchFilters, SearchMode
from kebab_tui.evaluation.measure import EvalRun, Measuring, QuestionSet, Task, load_run, save_run
from kebab_tui.workspace import Workspace

_GOLDEN_ENDINGS = (".yaml", ".yml")
_EXAMPLES = (
    ("kebab eval golden.yaml", "measure the present index"),
    ("kebab eval golden.yaml --save new.json --compare old.json", "compare with an earlier run"),
)
_USAGE = "`kebab eval GOLDEN.yaml`, or `kebab eval --beir FOLDER`"
_LEAST_DEPTH, _MOST_DEPTH = 10, 1000
_KEPT_SETTINGS = ("search", "chunking", "reading")
"""The settings that a ranking depends on; none of them holds a path."""
_FOLDER = "eval"
"""Below the data folder: one folder for each corpus."""


def _modes(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[SearchMode, ...]:
    names = [] if value is None else [name.strip() for name in value.split(",")]
    for name in names:
        if name not in SEARCH_MODES:
            raise click.BadParameter(f"invalid mode {name!r}; expected {', '.join(SEARCH_MODES)}")
    return tuple(mode for mode in SEARCH_MODES if mode in names)


@command(examples=_EXAMPLES)
@click.argument("files", nargs=-1, metavar="[GOLDEN.yaml]")
@option("--beir", metavar="FOLDER", help="Use the questions and the documents of a BEIR folder.")
@option("--split", metavar="NAME", help="Use the judgements in qrels/NAME.tsv (default: test).")
@option("--modes", callback=_modes, metavar="A,B", help="Only these modes: lexical, vector, hybrid.")
@option(
    "--k", "depth", type=click.IntRange(_LEAST_DEPTH, _MOST_DEPTH), default=100, metavar="N",
    help="Number of hits to measure for each query, from 10 to 1,000 (default: 100).",
)  # fmt: skip
@option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N queries.")
@option("--save", metavar="FILE", help="Save the results of every query.")
@option(
    "--compare", multiple=True, metavar="RUN [RUN]",
    help="Compare with a saved run, or two saved runs, query by query.",
)  # fmt: skip
@option("--json", "as_json", is_flag=True, help="Print an eval_report.v1 object.")
@shared_options
@pass_invocation
def eval_command(invocation: Invocation, /, files: tuple[str, ...], **given: Any) -> int:
    """Measure search quality against a set of known answers.

    GOLDEN.yaml lists queries with the notes, headings or lines that the index should find;
    --beir FOLDER has its own documents. Prints every mode with 95 % intervals and, for modes
    other than lexical, the difference from lexical with its p-value.
    """
    from kebab_tui.evaluation.summary import compared, reported

    golden, saved = _split_arguments(files, given)
    runs = [load_run(path) for path in saved]
    notices: Sequence[Notice] = ()
    with Interrupt():  # so that SIGTERM also removes incomplete files
        if len(runs) < 2:
            run, notices = _run(invocation, golden, given)
            runs.append(run)
        if given["save"] is not None:
            save_run(runs[-1], given["save"])
    report, comparison = reported(runs[-1], notices), compared(*runs) if len(runs) == 2 else None
    if given["as_json"]:
        from kebab_tui.wire.reports import eval_report

        write_json(eval_report(report, comparison))
    else:
        from kebab_tui.cli.eval_output import comparison_lines, print_report

        print_report(report)
        for line in comparison_lines(comparison) if comparison else ():
            write(line)
    for notice in report.notices:
        notify(f"{'warning: ' if notice.level == 'warning' else ''}{field(notice.text)}")
    return 0


def _split_arguments(files: Sequence[str], given: Given) -> tuple[str | None, list[str]]:
    """The golden file and the saved runs; the argument after `--compare RUN` may be a second run."""
    saved, golden = list(given["compare"]), list(files)
    if len(saved) == 1 and golden and not golden[0].endswith(_GOLDEN_ENDINGS):
        saved.append(golden.pop(0))
    asked = len(golden) + (given["beir"] is not None)
    if len(saved) > 2:
        raise UsageError("more than two runs to compare", "--compare takes one saved run, or two")
    if len(saved) == 2 and asked:
        raise UsageError("two saved runs and a set of questions", "use one of them")
    if len(saved) < 2 and asked != 1:
        raise UsageError("more than one set of questions" if asked else "there are no questions", _USAGE)
    if given["split"] is not None and given["beir"] is None:
        raise UsageError("--split needs --beir", _USAGE)
    return (golden[0] if golden else None), saved


def _run(invocation: Invocation, golden: str | None, given: Given) -> tuple[EvalRun, list[Notice]]:
    from msgspec import to_builtins

    if golden is not None:
        job = golden_job(invocation, golden, given["limit"])
    else:
        vectors = given["modes"] != ("lexical",)
        split = given["split"] or "test"
        job = beir_job(invocation, given["beir"], split, given["limit"], vectors=vectors)
    with closing(job.workspace):
        start = time.perf_counter()
        with progress_bars() as show:
            measuring = Measuring(
                job.workspace.search,
                given["depth"],
                lambda mode, done: show(mode, done, len(job.tasks), ""),
                list(job.notices),
            )
            modes = measuring.modes(job.tasks, given["modes"] or SEARCH_MODES, insist=bool(given["modes"]))
        notify(f"asked {len(job.tasks):,} × {', '.join(modes)} in {time.perf_counter() - start:.1f} s")
        settings = to_builtins(job.workspace.settings)
    kept = {part: settings[part] for part in _KEPT_SETTINGS}
    old_names = {"rerank": "second_look"}  # kept by eval_report.v1
    kept["search"] = {old_names.get(key, key): value for key, value in kept["search"].items()}
    run = EvalRun(version=__version__, set=job.set, depth=given["depth"], settings=kept, modes=modes)
    return run, measuring.notices


@dataclass(frozen=True, slots=True)
class EvalJob:
    """The index and the questions."""

    workspace: Workspace
    set: QuestionSet
    tasks: Sequence[Task]
    notices: tuple[Notice, ...] = ()


def golden_job(invocation: Invocation, path: str, limit: int | None) -> EvalJob:
    """The queries of a golden file for the present index."""
    from kebab_tui.evaluation.golden import golden_digest, placed, read_golden

    queries = read_golden(path)[:limit]
    workspace = Workspace(invocation.settings, invocation.data_dir)
    for query in queries:
        if (error := workspace.parse(query.text).error) is not None:
            raise FilterError(f"{path}: {query.id}: {error.message}", error.hint)
    found, _ = workspace.documents(SearchFilters(), ("ok",))
    by_path: dict[str, list[Document]] = {}
    for document in found:
        by_path.setdefault(document.path, []).append(document)
    roots = {source.source_id: os.fsencode(source.root) for source in workspace.sources()}

    def chunks(note: str) -> list[Chunk]:
        """The passages of the notes with one path; several folders may have one."""
        files = (os.path.join(roots[one.source], one.raw_path) for one in by_path[note])
        return [chunk for file in files for chunk in workspace.inspect(os.fsdecode(file)).chunks]

    known = placed(path, queries, by_path, chunks)
    asked = QuestionSet(
        kind="golden",
        name=os.path.basename(path),
        split="",
        digest=golden_digest(queries),
        queries=len(known),
        documents=len(found),
    )
    return EvalJob(workspace, asked, [Task(query.question, query.ranking) for query in known])


def beir_job(invocation: Invocation, folder: str, split: str, limit: int | None, *, vectors: bool) -> EvalJob:
    """The questions of a BEIR folder, with its documents in a separate index."""
    from msgspec.structs import replace

    from kebab_tui.evaluation.beir import FOLDER_FORMAT, corpus_notes, read_beir

    found = read_beir(folder, split)
    base = os.path.join(invocation.data_dir, _FOLDER, f"{found.corpus_digest}-{FOLDER_FORMAT}")
    index, corpus = os.path.join(base, "index"), os.path.join(base, "corpus")
    try:
        notes = corpus_notes(corpus, found.documents())
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        raise StoreReadOnlyError(
            f"cannot write the corpus to {corpus}: {error.strerror}", "name another folder with --data-dir"
        ) from None
    local = replace(invocation.settings.index, url="")
    workspace = Workspace(replace(invocation.settings, data_dir=index, index=local, sources=()), index)
    notices = list(_update_index(workspace, notes.folder, vectors=vectors))
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
    return EvalJob(
        workspace, asked, [Task(question, notes.ranking) for question in questions], tuple(notices)
    )


def _update_index(workspace: Workspace, folder: str, *, vectors: bool) -> Iterator[Notice]:
    """Index the folder; yield a notice for everything that could not be indexed."""
    report = ingest_with_progress(workspace, [folder], quiet=False)
    cancelled = report.cancelled
    if report.chunks_added:
        notify(f"indexed {field(folder)} in {report.seconds:.1f} s")
    if lost := report.count("failed") + report.count("skipped"):
        yield Notice("not_indexed", f"{lost} of the documents could not be indexed", "warning")
    if vectors and not cancelled:
        try:
            cancelled = embed_with_progress(workspace, quiet=False).cancelled
        except ModelError as error:
            yield Notice("no_model", error.message)
    if cancelled:
        raise KeyboardInterrupt
