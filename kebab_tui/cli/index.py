"""`kebab index`: the state of the index, its vectors made, its parts rebuilt from the stored passages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING

import click

from kebab_tui.cli.context import Invocation, pass_invocation, shared_options
from kebab_tui.cli.edge import EXIT_INTERRUPTED
from kebab_tui.cli.output import field, plural, say, write, write_json
from kebab_tui.cli.progress import tell_notice, tell_waiting
from kebab_tui.domain.errors import NotIndexedError, UsageError
from kebab_tui.workspace import Callbacks, Workspace

if TYPE_CHECKING:
    from kebab_tui.doctor import IndexStatus, VectorState
    from kebab_tui.storage.sqlite.catalogue import IndexRun


@click.command()
@click.option("--embed", is_flag=True, help="Make the vectors that passages still lack.")
@click.option("--rebuild-fts", is_flag=True, help="Build the full text anew from the stored passages.")
@click.option("--rebuild-vectors", is_flag=True, help="Build the file of vectors anew from the stored ones.")
@click.option("--status", is_flag=True, help="Show sizes, versions and the last runs.")
@click.option("--json", "as_json", is_flag=True, help="The status, afterwards, as an index_status.v1 object.")
@shared_options
@pass_invocation
def command(invocation: Invocation, /, as_json: bool, **wanted: bool) -> int:
    """Show, complete or rebuild the index. Does one thing at a time.

    --embed reads every passage that has no vector yet, the latest notes first; ctrl+c
    stops at once and keeps what was made.
    """
    chosen = [name for name, given in wanted.items() if given]
    if len(chosen) != 1:
        raise UsageError(
            "index needs one of --status, --embed, --rebuild-fts and --rebuild-vectors",
            "`kebab index --status` changes nothing",
        )
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        told, cancelled = _done(workspace, chosen[0])
        found = workspace.status()
    if as_json:
        from kebab_tui.wire.reports import index_status

        write_json(index_status(found))
    else:
        for line in [told(found)] if told else _lines(found):
            write(line)
    return EXIT_INTERRUPTED if cancelled else 0


def _done(workspace: Workspace, verb: str) -> tuple[Callable[[IndexStatus], str] | None, bool]:
    """Do what was asked; gives what is told of the index afterwards, and whether it was cut short."""
    if verb == "status":
        return None, False
    if not (workspace.has_index or workspace.sources()):  # none may leave an empty index where there was none
        raise NotIndexedError(
            "nothing has been indexed yet", "run `kebab ingest FOLDER` with the folder of your notes"
        )
    if verb == "embed":
        from kebab_tui.cli.embedding import embed_watched

        return _vectors, embed_watched(workspace, quiet=False).cancelled
    start = time.perf_counter()
    if verb == "rebuild_fts":
        workspace.rebuild_full_text(Callbacks(waiting=tell_waiting, notice=tell_notice))
    elif dropped := workspace.rebuild_vectors(Callbacks(waiting=tell_waiting, notice=tell_notice)):
        say(f"some were damaged: {plural(dropped, 'vector')} dropped, `kebab index --embed` makes them anew")
    say(f"rebuilt in {time.perf_counter() - start:.1f} s")
    return (_full_text if verb == "rebuild_fts" else _vectors), False


def _full_text(status: IndexStatus) -> str:
    return f"full text: {plural(status.figures.chunks, 'passage')}"


def _vectors(status: IndexStatus) -> str:
    vectors = status.vectors
    if vectors.problem:
        return f"vectors: none, {field(vectors.problem)}"
    share = 100 * vectors.made // vectors.total if vectors.total else 100
    rest = f", {vectors.pending:,} to go: run `kebab index --embed`" if vectors.pending else ""
    return f"vectors: {vectors.made:,} of {plural(vectors.total, 'passage')} ({share} %){rest}"


def _lines(status: IndexStatus) -> Iterator[str]:
    figures = status.figures
    yield f"database: {field(status.database)} ({plural(status.database_bytes, 'byte')})"
    yield f"notes: {figures.documents:,}, of them {figures.failed:,} failed and {figures.skipped:,} skipped"
    yield f"passages: {figures.chunks:,}"
    yield f"words: {figures.words:,}"
    yield f"revision: {figures.corpus_revision}, schema {figures.schema_version}"
    yield f"lexical: {_side(figures.lexical_version, status.expected_lexical_version)}"
    yield from _meaning(status.vectors)
    yield _vectors(status)
    if not status.vectors.problem:
        yield f"vector file: {status.vectors.file}, {field(status.vectors.file_detail)}"
    yield f"writing now: {field(str(status.holder)) if status.holder else 'nobody'}"
    for source in status.sources:
        numbers = f"{plural(source.documents, 'note')}, {plural(source.chunks, 'passage')}"
        yield f"source {field(source.source_id)}: {source.state}, {numbers}, {field(source.root)}"
    for run in status.runs:
        yield f"run: {_run(run)}"


def _meaning(vectors: VectorState) -> Iterator[str]:
    yield f"model: {field(vectors.model)}" + (f", {vectors.dims} dimensions" if vectors.dims else "")
    yield f"vector: {vectors.version or field(vectors.problem)}"


def _side(present: str, expected: str) -> str:
    if present == expected:
        return f"{present}, as expected"
    return f"{present}, expected {expected}: run `kebab ingest`"


def _run(run: IndexRun) -> str:
    began = datetime.fromtimestamp(run.started_ns / 1e9).isoformat(" ", "seconds")  # noqa: DTZ006 - for people, here
    counts = ", ".join(
        f"{count:,} {name}" for name, count in run.report.items() if type(count) is int and count
    )
    seconds = (run.finished_ns - run.started_ns) / 1e9
    cancelled = ", cancelled" if run.report.get("cancelled") else ""
    return f"{began} {field(run.kind)}, {seconds:.1f} s: {counts or 'nothing to do'}{cancelled}"
