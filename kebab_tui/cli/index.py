"""The commands that write or check the index: `ingest`, `index`, `watch` and `doctor`.

A file that cannot be read is part of the report and does not fail the command; a missing folder does. `watch`
prints one line for each changed note on stdout, everything else on stderr. `doctor` repairs nothing.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING

import click

from kebab_tui.cli.command import command, option
from kebab_tui.cli.edge import EXIT_INTERRUPTED, Invocation, pass_invocation, shared_options
from kebab_tui.cli.folder_size import YES_HELP, confirmed_size
from kebab_tui.cli.interrupt import Interrupt
from kebab_tui.cli.output import Style, detect, field, notify, plural, write, write_json
from kebab_tui.cli.progress import (
    embed_with_progress,
    ingest_with_progress,
    print_notice,
    print_waiting,
    progress_bars,
    report_pending,
)
from kebab_tui.domain.document import OtherFiles
from kebab_tui.domain.errors import ModelError, NotIndexedError, StoreDamagedError, UsageError
from kebab_tui.domain.text import duration
from kebab_tui.workspace import Callbacks, WatchCallbacks, Workspace

if TYPE_CHECKING:
    from kebab_tui.doctor import IndexStatus, Pending
    from kebab_tui.indexing.embed import EmbeddingReport
    from kebab_tui.indexing.report import IngestReport, NoteChange
    from kebab_tui.indexing.status import LiveState
    from kebab_tui.storage.ports import CopyProgress, Finding, Holder

EXIT_UNHEALTHY = 3
_MOST_NAMED = 20
_COPYING = "Copying"
_SEEN_LIVE_NS = 60_000_000_000
"""A note saved longer ago than this was changed before the watch began; it has no latency."""


@command(
    examples=(
        ("kebab ingest ~/notes", "add a folder, or update it"),
        ("kebab ingest", "update all sources"),
        ("kebab ingest --wait", "also compute the vectors"),
    )
)
@click.argument("folders", nargs=-1, type=click.Path(readable=False), metavar="[FOLDER…]")
@option("--wait", is_flag=True, help="Also compute the vectors for semantic search.")
@option("--json", "as_json", is_flag=True, help="Print the report as an ingest_report.v1 object.")
@option("-q", "--quiet", is_flag=True, help="Print only errors.")
@option("--yes", is_flag=True, help=YES_HELP)
@shared_options
@pass_invocation
def ingest_command(
    invocation: Invocation, folders: tuple[str, ...], as_json: bool, quiet: bool, wait: bool, yes: bool
) -> int:
    """Update the index from the notes of every FOLDER.

    A new folder becomes a source; a very large one, and the home folder, only after a question.
    Without FOLDER, all sources are updated. Only changed notes are read; Ctrl+C and SIGTERM
    stop safely. Keyword search then finds the notes; --wait also computes the vectors for
    semantic search.
    """
    _refuse_empty(folders)
    vectors: EmbeddingReport | Pending | None = None
    model_error: ModelError | None = None
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        if not all(confirmed_size(workspace, folder, yes=yes) for folder in folders):
            notify("nothing was indexed")
            return 1
        for last_try in (False, True):
            report = ingest_with_progress(workspace, folders, quiet=quiet)
            if report.healed:
                aside = field(report.healed)
                notify(f"the index was damaged; it was set aside ({aside}) and rebuilt from your notes")
            if report.read_error:
                notify("warning: read error on the disk; the index was read again and is intact")
            for line in () if as_json else report_lines(report, quiet=quiet):
                write(line)
            make = embed_with_progress if wait and not report.cancelled else report_pending
            try:
                vectors = make(workspace, quiet=quiet)
                break
            except ModelError as error:
                model_error = error
                break
            except StoreDamagedError:  # in pages that the ingest did not read: the next session repairs it
                if last_try:
                    raise
                workspace.close()
    if as_json:
        from kebab_tui.wire.reports import ingest_report

        write_json(ingest_report(report, vectors))
    if model_error is not None:
        raise model_error  # after the report, because the notes are indexed
    if report.cancelled:
        notify("cancelled; finished work is kept, and the next `kebab ingest` continues from there")
    cut_short = report.cancelled or getattr(vectors, "cancelled", False)
    return EXIT_INTERRUPTED if cut_short else 0


def _refuse_empty(folders: tuple[str, ...]) -> None:
    if "" in folders:
        raise UsageError("a folder has an empty name", "is a shell variable unset?")


def report_lines(report: IngestReport, *, quiet: bool) -> Iterator[str]:
    """One line for each source, its errors below, and the totals."""
    for source in report.sources:
        errors = []
        if source.paused:
            errors.append(f"  {field(source.paused)}; its notes stay in the index")
        errors += [f"  not read: {field(problem)}" for problem in source.problems]
        failed = [file for file in source.files if file.outcome == "failed"]
        errors += [f"  failed: {field(file.path)}: {field(file.detail)}" for file in failed[:_MOST_NAMED]]
        if len(failed) > _MOST_NAMED:
            more = plural(len(failed) - _MOST_NAMED, "more file")
            errors.append(f"  failed: {more}, see `kebab list --state failed`")
        if errors or not quiet:
            counts = (f"{count:,} {outcome}" for outcome, count in sorted(source.counts.items()) if count)
            kinds = ", ".join(Workspace.note_extensions())
            nothing = f"no notes in {field(source.root)} (files that end in {kinds})"
            result = "paused" if source.paused else ", ".join(counts) or nothing
            other = f"; {field(str(source.other_files))}" if source.other_files.count else ""
            yield f"{field(source.source)}: {result}{other}"
        yield from errors
    if not quiet:
        changed = f"{report.chunks_added:,} added, {report.chunks_removed:,} removed"
        yield f"passages: {changed}, {report.chunks_kept:,} kept · {report.seconds:.1f} s"


@command(
    examples=(
        ("kebab index --status", "sizes, versions, sources, the last runs"),
        ("kebab index --embed", "complete the semantic index"),
        ("kebab index --copy-to postgresql://notes.example/kebab", "publish it for a team"),
    )
)
@option("--embed", is_flag=True, help="Compute the missing vectors.")
@option("--rebuild-fts", is_flag=True, help="Rebuild the full-text index from the stored passages.")
@option("--rebuild-vectors", is_flag=True, help="Rebuild the vector file from the stored vectors.")
@option("--status", is_flag=True, help="Show sizes, versions and the last runs.")
@option("--json", "as_json", is_flag=True, help="Print the resulting status as an index_status.v1 object.")
@option(
    "--copy-to",
    metavar="URL",
    group=_COPYING,
    help="Copy the index to PostgreSQL, for others to search; private notes stay here.",
)
@option("--shards", multiple=True, metavar="URL", group=_COPYING, help="A further server; repeat for each.")
@option(
    "--grant",
    "grants",
    multiple=True,
    metavar="ROLE[:SOURCE]",
    group=_COPYING,
    help="A role of the servers that may read everything, or one source; repeatable.",
)
@option(
    "--hnsw", is_flag=True, group=_COPYING,
    help="Search by meaning approximately, as very large copies do anyway.",
)  # fmt: skip
@shared_options
@pass_invocation
def index_command(
    invocation: Invocation,
    /,
    as_json: bool,
    copy_to: str | None,
    shards: tuple[str, ...],
    grants: tuple[str, ...],
    hnsw: bool,
    **wanted: bool,
) -> int:
    """Show, complete or rebuild the index. Does one thing at a time.

    --embed computes the vector of every passage that has none, the latest notes first;
    Ctrl+C stops at once and keeps finished vectors. --copy-to publishes a copy of the index on a server
    (docs/shared-index.md); an interrupted copy goes on where it stopped.
    """
    chosen = [name for name, given in wanted.items() if given] + ["copy_to"] * (copy_to is not None)
    if len(chosen) != 1:
        raise UsageError(
            "specify one of --status, --embed, --copy-to, --rebuild-fts and --rebuild-vectors",
            "`kebab index --status` changes nothing",
        )
    if copy_to is None and (shards or grants or hnsw):
        raise UsageError("--shards, --grant and --hnsw belong to --copy-to", "name a server: --copy-to URL")
    if copy_to is not None:
        return _copy(invocation, copy_to, shards, grants, hnsw=hnsw, as_json=as_json)
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        cancelled = _run_index_verb(workspace, chosen[0])
        status = workspace.status()
    if as_json:
        from kebab_tui.wire.reports import index_status

        write_json(index_status(status))
    elif chosen[0] == "status":
        for line in _status_lines(status):
            write(line)
    elif chosen[0] == "rebuild_fts":
        write(f"full text: {plural(status.figures.chunks, 'passage')}")
    else:
        write(_vectors_line(status))
    return EXIT_INTERRUPTED if cancelled else 0


def _copy(
    invocation: Invocation,
    url: str,
    shards: tuple[str, ...],
    grants: tuple[str, ...],
    *,
    hnsw: bool,
    as_json: bool,
) -> int:
    with (
        closing(Workspace(invocation.settings, invocation.data_dir)) as workspace,
        progress_bars(quiet=as_json) as show,
        Interrupt() as interrupt,
    ):

        def watch(progress: CopyProgress) -> None:
            interrupt.work_began()
            show("copy", progress.done, progress.total, "parts")

        found = workspace.publish(
            url, shards=shards, grants=grants, hnsw=hnsw, progress=watch, cancelled=interrupt.requested
        )
    if found is None:
        notify("cancelled; the same command goes on from there")
        return EXIT_INTERRUPTED
    if as_json:
        from kebab_tui.wire.reports import copy_report

        write_json(copy_report(found))
        return 0
    where = f"{field(found.location)}" + (
        f" and {plural(found.shards - 1, 'more server')}" if found.shards > 1 else ""
    )
    what = f"revision {found.revision}: {plural(found.notes, 'note')}, {plural(found.passages, 'passage')}"
    if found.unchanged:
        write(f"{where} has it already; {what}")
    else:
        write(f"copied to {where}; {what} · {found.seconds:.1f} s")
    if found.private:
        write(f"left out: {plural(found.private, 'note')}, private or not to be read now")
    return 0


def _run_index_verb(workspace: Workspace, verb: str) -> bool:
    """Whether the user cancelled it."""
    if verb == "status":
        return False
    if not (workspace.has_index or workspace.sources()):  # do not create an empty index
        raise NotIndexedError(
            "nothing has been indexed yet", "run `kebab ingest FOLDER` with the folder of your notes"
        )
    if verb == "embed":
        return embed_with_progress(workspace, quiet=False).cancelled
    start = time.perf_counter()
    callbacks = Callbacks(waiting=print_waiting, notice=print_notice)
    if verb == "rebuild_fts":
        workspace.rebuild_full_text(callbacks)
    elif dropped := workspace.rebuild_vectors(callbacks):
        notify(f"dropped {plural(dropped, 'damaged vector')}; `kebab index --embed` makes new ones")
    notify(f"rebuilt in {time.perf_counter() - start:.1f} s")
    return False


def _vectors_line(status: IndexStatus) -> str:
    vectors = status.vectors
    if vectors.problem:
        return f"vectors: none, {field(vectors.problem)}"
    share = 100 * vectors.made // vectors.total if vectors.total else 100
    rest = f", {vectors.pending:,} to go: run `kebab index --embed`" if vectors.pending else ""
    if vectors.outdated:
        rest += f"; {plural(vectors.outdated, 'text')} of an earlier version: run `kebab index --embed`"
    return f"vectors: {vectors.made:,} of {plural(vectors.total, 'passage')} ({share} %){rest}"


def _status_lines(status: IndexStatus) -> Iterator[str]:
    figures, vectors = status.figures, status.vectors
    yield f"database: {field(status.database)} ({plural(status.database_bytes, 'byte')})"
    other = f"; {field(str(status.other_files))}" if status.other_files.count else ""
    yield f"notes: {figures.documents:,} ({figures.failed:,} failed, {figures.skipped:,} skipped){other}"
    if status.upgrading is not None:
        done, total = status.upgrading
        advice = "" if status.holder else "; run `kebab ingest`"
        yield f"upgrading: {done:,} of {plural(total, 'note')}{advice}"
    yield f"passages: {figures.chunks:,}"
    yield f"words: {figures.words:,}"
    yield f"revision: {figures.corpus_revision}, schema {figures.schema_version}"
    present, expected = figures.lexical_version, status.expected_lexical_version
    is_right = present == expected or not figures.documents  # an empty index has no readers yet
    verdict = "as expected" if is_right else f"expected {expected}: run `kebab ingest`"
    yield f"lexical: {present}, {verdict}"
    yield f"model: {field(vectors.model)}" + (f", {vectors.dims} dimensions" if vectors.dims else "")
    yield f"vector: {vectors.version or field(vectors.problem)}"
    yield _vectors_line(status)
    if not vectors.problem:
        yield f"vector file: {vectors.file}, {field(vectors.file_detail)}"
    yield f"writing now: {field(str(status.holder)) if status.holder else 'no process'}"
    for source in status.sources:
        numbers = f"{plural(source.documents, 'note')}, {plural(source.chunks, 'passage')}"
        yield f"source {field(source.source_id)}: {source.state}, {numbers}, {field(source.root)}"
    for run in status.runs:
        start = datetime.fromtimestamp(run.started_ns / 1e9).isoformat(" ", "seconds")  # noqa: DTZ006 - local
        counts = ", ".join(
            f"{count:,} {name}" for name, count in run.report.items() if type(count) is int and count
        )
        seconds = (run.finished_ns - run.started_ns) / 1e9
        cancelled = ", cancelled" if run.report.get("cancelled") else ""
        yield f"run: {start} {field(run.kind)}, {seconds:.1f} s: {counts or 'nothing to do'}{cancelled}"


@command(examples=(("kebab watch ~/notes", "add a folder, and follow its changes"),))
@click.argument("folders", nargs=-1, type=click.Path(readable=False), metavar="[FOLDER…]")
@option("--json", "as_json", is_flag=True, help="Print each change as a watch_event.v1 object on one line.")
@option("-q", "--quiet", is_flag=True, help="Print only changes and errors.")
@option("--yes", is_flag=True, help=YES_HELP)
@shared_options
@pass_invocation
def watch_command(
    invocation: Invocation, folders: tuple[str, ...], as_json: bool, quiet: bool, yes: bool
) -> int:
    """Update the index continuously from every FOLDER and all known sources.

    A new folder becomes a source. Prints a line for each change: the time, the event, the
    note, its passages added, removed and kept, and the time from saving to being found.
    You can kill it at any time without losing data. If another process watches the same
    index, this one waits and takes over when the other ends.
    """
    _refuse_empty(folders)
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace, Interrupt() as interrupt:
        interrupt.work_began()
        if not all(confirmed_size(workspace, folder, yes=yes) for folder in folders):
            notify("nothing was indexed")
            return 1
        if not (folders or invocation.settings.sources or workspace.sources()):
            raise UsageError(
                "no folder to watch yet", "run `kebab watch FOLDER` with the folder of your notes"
            )
        reporter = _WatchReporter(quiet=quiet, as_json=as_json)
        callbacks = WatchCallbacks(
            interrupt.asked, reporter.change, reporter.state, reporter.following, interrupt.then
        )
        summary = workspace.watch(folders, callbacks, "kebab watch")
    if not quiet:
        counted = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(summary.counts.items()))
        passages = f"{plural(summary.chunks_added, 'passage')} added, {summary.chunks_removed:,} removed"
        notify(f"watched for {duration(summary.seconds)}: {counted or 'no changes'}; {passages}")
    return 0


class _WatchReporter:
    """Prints changes of notes, and changes of the state of the watch."""

    def __init__(self, *, quiet: bool, as_json: bool) -> None:
        self._quiet = quiet
        self._as_json = as_json
        self._reported: dict[str, tuple[str, str]] = {}
        self._error = ""
        self._other_files = OtherFiles()

    def change(self, change: NoteChange) -> None:
        """One line on stdout, with the time from saving to the commit for a note saved during the watch."""
        waited_ms: int | None = None
        if change.saved_ns is not None and 0 <= change.committed_ns - change.saved_ns < _SEEN_LIVE_NS:
            waited_ms = (change.committed_ns - change.saved_ns) // 1_000_000
        if self._as_json:
            from kebab_tui.wire.reports import watch_event

            write_json(watch_event(change, waited_ms))
        else:
            clock = time.strftime("%H:%M:%S", time.localtime(change.committed_ns / 1e9))
            detail = f" ({field(change.detail)})" if change.detail else ""
            passages = f"+{change.chunks_added} -{change.chunks_removed} ={change.chunks_kept}"
            waited = "" if waited_ms is None else f"{waited_ms} ms"
            line = f"{clock}  {change.outcome:<8} {field(change.path)}{detail}  {passages}  {waited}"
            write(line.rstrip())
        if sys.stdout is not None:
            sys.stdout.flush()  # a pipe gets each line at once

    def state(self, state: LiveState) -> None:
        for folder in state.folders:
            if self._reported.get(folder.root) == (folder.kind, folder.reason):
                continue
            self._reported[folder.root] = (folder.kind, folder.reason)
            name, reason = f"{field(folder.source)} ({field(folder.root)})", field(folder.reason)
            if folder.kind == "live":
                if not self._quiet:
                    notify(f"watching {name}: {plural(folder.directories, 'folder')}")
            elif folder.kind == "paused":
                notify(f"paused {name}: {reason}")
            else:
                notify(f"watching {name}, {folder.kind}: {reason}")
        if state.other_files != self._other_files:
            self._other_files = state.other_files
            if not self._quiet:
                notify(field(str(state.other_files)))
        error = state.error.message if state.error else ""
        if error != self._error:
            self._error = error
            notify(f"indexing failed: {field(error)}; retrying" if error else "indexing resumed")

    def following(self, holder: Holder | None) -> None:
        if not self._quiet:
            who = field(str(holder)) if holder else "another process"
            notify(f"following {who}, which writes the index; takes over when that ends")


@command(examples=(("kebab doctor", "check everything"),))
@option("--json", "as_json", is_flag=True, help="Print a doctor.v1 object.")
@shared_options
@pass_invocation
def doctor_command(invocation: Invocation, as_json: bool) -> int:
    """Check the index, the model and the folders, and suggest fixes.

    Exit code: 0 without problems (warnings allowed), 3 with problems.
    """
    found: list[Finding] = []
    style = Style(detect(sys.stdout, os.environ))
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        for finding in workspace.doctor():
            found.append(finding)
            if as_json:
                continue
            line = f"{finding.level:<7}  {field(finding.check)}: {field(finding.detail)}"
            write(line if finding.level == "ok" else style.strong(line))
            if finding.fix:
                write(f"         {field(finding.fix)}")
    if as_json:
        from kebab_tui.wire.reports import doctor

        write_json(doctor(found))
    return EXIT_UNHEALTHY if any(finding.level == "problem" for finding in found) else 0
