"""Who is asked what in an evaluation.

A golden file is asked of the present index. A BEIR folder's documents become notes in an
index of their own, below the data folder, where the next evaluation finds them again:
same settings, same reading, same search as for any folder of notes.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kebab_tui.cli.interrupt import Interrupt
from kebab_tui.cli.output import field, say
from kebab_tui.cli.progress import progress_bar, tell_waiting
from kebab_tui.cli.terminal import detect
from kebab_tui.domain.errors import StoreReadOnlyError
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.query import SearchFilters, SearchMode
from kebab_tui.evaluation.measuring import Task
from kebab_tui.evaluation.runs import QuestionSet
from kebab_tui.workspace import Callbacks, Workspace

if TYPE_CHECKING:
    from kebab_tui.cli.context import Invocation
    from kebab_tui.domain.chunk import Chunk
    from kebab_tui.domain.document import Document
    from kebab_tui.evaluation.beir import BeirSet
    from kebab_tui.evaluation.beir_notes import CorpusNotes
    from kebab_tui.workspace import IngestReport, Progress

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
    from kebab_tui.evaluation.golden import golden_digest, read_golden
    from kebab_tui.evaluation.places import placed

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


def beir_job(invocation: Invocation, folder: str, split: str, limit: int | None) -> Job:
    """The questions of a BEIR folder, and its documents as notes of an index of their own."""
    from kebab_tui.evaluation.beir import read_beir

    found = read_beir(folder, split)
    workspace, notes, notices = _indexed(invocation, found)
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
        notices = (*notices, Notice("unanswerable", text))
    return Job(workspace, asked, [Task(question, notes.ranking) for question in questions], notices)


def _indexed(invocation: Invocation, found: BeirSet) -> tuple[Workspace, CorpusNotes, tuple[Notice, ...]]:
    from msgspec.structs import replace

    from kebab_tui.evaluation.beir_notes import FOLDER_FORMAT

    place = os.path.join(invocation.data_dir, _FOLDER, f"{found.corpus_digest}-{FOLDER_FORMAT}")
    index = os.path.join(place, "index")
    notes = _written(os.path.join(place, "corpus"), found)
    workspace = Workspace(replace(invocation.settings, data_dir=index, sources=()), index)
    report = _ingested(workspace, notes.folder)
    lost = report.count("failed") + report.count("skipped")
    text = f"{lost} of the documents could not be indexed"
    return workspace, notes, (Notice("not_indexed", text, "warning"),) if lost else ()


def _written(folder: str, found: BeirSet) -> CorpusNotes:
    from kebab_tui.evaluation.beir_notes import corpus_notes

    try:
        return corpus_notes(folder, found.documents())
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        raise StoreReadOnlyError(
            f"cannot write the corpus to {folder}: {error.strerror}", "name another folder with --data-dir"
        ) from None


def _ingested(workspace: Workspace, folder: str) -> IngestReport:
    with progress_bar(quiet=False) as show, Interrupt() as interrupt:

        def watch(progress: Progress) -> None:
            interrupt.work_began()
            show(progress)

        callbacks = Callbacks(watch, interrupt.requested, tell_waiting)
        report = workspace.ingest([folder], callbacks)
        if not report.cancelled and (embed_all := getattr(workspace, "embed_all", None)):
            embed_all(callbacks)
    if report.cancelled:
        raise KeyboardInterrupt
    if report.chunks_added:
        say(f"indexed {field(folder)} in {report.seconds:.1f} s")
    return report


@contextmanager
def query_bar(queries: int) -> Iterator[Callable[[SearchMode, int], None]]:
    """Give what shows how many queries were asked: one bar for each mode, on a terminal only."""
    if not detect(sys.stderr, os.environ).tty:
        yield lambda _mode, _done: None
        return
    from rich.console import Console
    from rich.progress import Progress as Screen

    bars: dict[str, int] = {}
    with Screen(console=Console(stderr=True), transient=True) as screen:

        def show(mode: SearchMode, done: int) -> None:
            if mode not in bars:
                bars[mode] = screen.add_task(mode, total=queries)
            screen.update(bars[mode], completed=done)  # type: ignore[arg-type]

        yield show
