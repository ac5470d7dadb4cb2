"""`kebab index`: the state of the index, and the rebuilding of its full text."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING

import click

from kebab_tui.cli.context import Invocation, pass_invocation, shared_options
from kebab_tui.cli.output import field, plural, say, write, write_json
from kebab_tui.cli.progress import tell_waiting
from kebab_tui.domain.errors import NotIndexedError, UsageError
from kebab_tui.workspace import Callbacks, Workspace

if TYPE_CHECKING:
    from kebab_tui.workspace import Run, Status


@click.command()
@click.option("--rebuild-fts", is_flag=True, help="Build the full text anew from the stored passages.")
@click.option("--status", is_flag=True, help="Show sizes, versions and the last runs.")
@click.option("--json", "as_json", is_flag=True, help="The status as an index_status.v1 object.")
@shared_options
@pass_invocation
def command(invocation: Invocation, rebuild_fts: bool, status: bool, as_json: bool) -> None:
    """Show or rebuild the index. Needs one of --status and --rebuild-fts."""
    if rebuild_fts == status:
        raise UsageError("index needs --status or --rebuild-fts", "`kebab index --status` changes nothing")
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        if rebuild_fts:
            _rebuild(workspace)
        found = workspace.status()
    if as_json:
        from kebab_tui.wire.encode_reports import index_status

        write_json(index_status(found))
    elif status:
        for line in _lines(found):
            write(line)
    else:
        write(f"full text: {plural(found.figures.chunks, 'passage')}")


def _rebuild(workspace: Workspace) -> None:
    """Refuses to make an empty index where there is none."""
    if not workspace.has_index:
        raise NotIndexedError(
            "nothing has been indexed yet", "run `kebab ingest FOLDER` with the folder of your notes"
        )
    start = time.perf_counter()
    workspace.rebuild_full_text(Callbacks(waiting=tell_waiting))
    say(f"rebuilt in {time.perf_counter() - start:.1f} s")


def _lines(status: Status) -> Iterator[str]:
    figures = status.figures
    yield f"database: {field(status.database)} ({plural(status.database_bytes, 'byte')})"
    yield f"notes: {figures.documents:,}, of them {figures.failed:,} failed and {figures.skipped:,} skipped"
    yield f"passages: {figures.chunks:,}"
    yield f"words: {figures.words:,}"
    yield f"revision: {figures.corpus_revision}, schema {figures.schema_version}"
    yield f"lexical: {_side(figures.lexical_version, status.expected_lexical_version)}"
    yield "vector: none in this version"
    yield f"writing now: {field(str(status.holder)) if status.holder else 'nobody'}"
    for source in status.sources:
        numbers = f"{plural(source.documents, 'note')}, {plural(source.chunks, 'passage')}"
        yield f"source {field(source.source_id)}: {source.state}, {numbers}, {field(source.root)}"
    for run in status.runs:
        yield f"run: {_run(run)}"


def _side(present: str, expected: str) -> str:
    if present == expected:
        return f"{present}, as expected"
    return f"{present}, expected {expected}: run `kebab ingest`"


def _run(run: Run) -> str:
    began = datetime.fromtimestamp(run.started_ns / 1e9).isoformat(" ", "seconds")  # noqa: DTZ006 - for people, here
    counts = ", ".join(
        f"{count:,} {name}" for name, count in run.report.items() if type(count) is int and count
    )
    seconds = (run.finished_ns - run.started_ns) / 1e9
    cancelled = ", cancelled" if run.report.get("cancelled") else ""
    return f"{began} {field(run.kind)}, {seconds:.1f} s: {counts or 'nothing to do'}{cancelled}"
