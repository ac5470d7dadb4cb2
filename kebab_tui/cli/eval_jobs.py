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

from kebab_tui.cli.embedding import embed_watched
from kebab_tui.cli.output import field, say
from kebab_tui.cli.progress import ingest_watched
from kebab_tui.cli.terminal import detect
from kebab_tui.domain.errors import ModelError, StoreReadOnlyError
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.query import SearchFilters, SearchMode
from kebab_tui.evaluation.measure import QuestionSet, Task
from kebab_tui.workspace import Workspace

if TYPE_CHECKING:
    from kebab_tui.cli.context import Invocation
    from kebab_tui.domain.document import Chunk, Document
    from kebab_tui.evaluation.beir import BeirSet, CorpusNotes

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
