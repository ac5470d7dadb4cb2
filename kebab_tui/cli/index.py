"""`kebab ingest`: brings the index up to date and reports what that meant.

A file that cannot be read is part of the report, not a failure of the verb; a folder
that was named and is none is one.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING

import click

from kebab_tui.cli.edge import EXIT_INTERRUPTED, Invocation, pass_invocation, shared_options
from kebab_tui.cli.output import Style, detect, field, plural, say, write, write_json
from kebab_tui.cli.progress import Interrupt, ingest_watched, tell_notice, tell_waiting
from kebab_tui.domain.errors import ModelError, NotIndexedError, StoreDamagedError, UsageError
from kebab_tui.workspace import Callbacks, WatchCallbacks, Workspace

if TYPE_CHECKING:
    from kebab_tui.doctor import IndexStatus, Pending, VectorState
    from kebab_tui.indexing.embed import EmbeddingReport
    from kebab_tui.indexing.report import IngestReport, NoteChange, SourceReport
    from kebab_tui.indexing.status import FolderState, LiveState, WatchSummary
    from kebab_tui.storage.lock import Holder
    from kebab_tui.storage.sqlite.catalogue import IndexRun
    from kebab_tui.storage.sqlite.health import Finding


_MOST_NAMED = 20


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(readable=False), metavar="[FOLDER…]")
@click.option("--json", "as_json", is_flag=True, help="The report as an ingest_report.v1 object.")
@click.option("--quiet", is_flag=True, help="No progress, and only what went wrong.")
@click.option("--wait", is_flag=True, help="Also make the vectors, with which notes are found by meaning.")
@shared_options
@pass_invocation
def ingest_command(
    invocation: Invocation, folders: tuple[str, ...], as_json: bool, quiet: bool, wait: bool
) -> int:
    """Bring the index up to date with the notes of every FOLDER.

    A new folder becomes a source. Without one, all known sources are looked at. Only
    what changed is read; ctrl+c and SIGTERM stop it and lose nothing. Notes are
    found by words from then on; --wait stays until they are found by meaning too.
    """
    if "" in folders:
        raise UsageError("a folder has an empty name", "is a variable of your shell not set?")
    vectors: EmbeddingReport | Pending | None = None
    trouble: ModelError | None = None
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        report = ingest_watched(workspace, folders, quiet=quiet)
        _tell(report, as_json=as_json, quiet=quiet)
        try:
            vectors = _vectors(workspace, wait=wait and not report.cancelled, quiet=quiet)
        except ModelError as error:
            trouble = error
        except StoreDamagedError:  # in pages that unchanged notes do not touch: the next session mends it
            workspace.close()
            report = ingest_watched(workspace, folders, quiet=quiet)
            _tell(report, as_json=as_json, quiet=quiet)
            vectors = _vectors(workspace, wait=wait and not report.cancelled, quiet=quiet)
    if as_json:
        from kebab_tui.wire.reports import ingest_report

        write_json(ingest_report(report, vectors))
    if trouble is not None:
        raise trouble  # only now: the notes are indexed, and their report is out
    if report.cancelled:
        say("cancelled; what was done is kept, the next ingest goes on from there")
    cut_short = report.cancelled or getattr(vectors, "cancelled", False)
    return EXIT_INTERRUPTED if cut_short else 0


def _vectors(workspace: Workspace, *, wait: bool, quiet: bool) -> EmbeddingReport | Pending | None:
    """Make what is missing, or only say what that is."""
    from kebab_tui.cli.progress import embed_watched, pending_told

    return embed_watched(workspace, quiet=quiet) if wait else pending_told(workspace, quiet=quiet)


def _tell(report: IngestReport, *, as_json: bool, quiet: bool) -> None:
    if report.healed:
        say(f"the index was damaged; it was set aside ({field(report.healed)}) and rebuilt from your notes")
    if report.read_error:
        say("warning: the disk gave a read error; the index was read again and is sound")
    if not as_json:
        for line in report_lines(report, quiet=quiet):
            write(line)


def report_lines(report: IngestReport, *, quiet: bool) -> Iterator[str]:
    """One line for each source, below it what went wrong there, and the sums."""
    for source in report.sources:
        troubles = list(_troubles(source))
        if troubles or not quiet:
            yield f"{field(source.source)}: {'paused' if source.paused else _counts(source)}"
        yield from troubles
    if not quiet:
        changed = f"{report.chunks_added:,} added, {report.chunks_removed:,} removed"
        yield f"passages: {changed}, {report.chunks_kept:,} kept · {report.seconds:.1f} s"


def _counts(source: SourceReport) -> str:
    found = [f"{count:,} {outcome}" for outcome, count in sorted(source.counts.items()) if count]
    return ", ".join(found) or "no notes"


def _troubles(source: SourceReport) -> Iterator[str]:
    if source.paused:
        yield f"  {field(source.paused)}; what was indexed before stays"
    for problem in source.problems:
        yield f"  not looked at: {field(problem)}"
    failed = [file for file in source.files if file.outcome == "failed"]
    for file in failed[:_MOST_NAMED]:
        yield f"  failed: {field(file.path)}: {field(file.detail)}"
    if len(failed) > _MOST_NAMED:
        more = plural(len(failed) - _MOST_NAMED, "more file")
        yield f"  failed: {more}, see `kebab list --state failed`"


# `kebab index`: the state of the index, its vectors made, its parts rebuilt from the stored passages.


@click.command()
@click.option("--embed", is_flag=True, help="Make the vectors that passages still lack.")
@click.option("--rebuild-fts", is_flag=True, help="Build the full text anew from the stored passages.")
@click.option("--rebuild-vectors", is_flag=True, help="Build the file of vectors anew from the stored ones.")
@click.option("--status", is_flag=True, help="Show sizes, versions and the last runs.")
@click.option("--json", "as_json", is_flag=True, help="The status, afterwards, as an index_status.v1 object.")
@shared_options
@pass_invocation
def index_command(invocation: Invocation, /, as_json: bool, **wanted: bool) -> int:
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
        from kebab_tui.cli.progress import embed_watched

        return _vectors_line, embed_watched(workspace, quiet=False).cancelled
    start = time.perf_counter()
    if verb == "rebuild_fts":
        workspace.rebuild_full_text(Callbacks(waiting=tell_waiting, notice=tell_notice))
    elif dropped := workspace.rebuild_vectors(Callbacks(waiting=tell_waiting, notice=tell_notice)):
        say(f"some were damaged: {plural(dropped, 'vector')} dropped, `kebab index --embed` makes them anew")
    say(f"rebuilt in {time.perf_counter() - start:.1f} s")
    return (_full_text if verb == "rebuild_fts" else _vectors_line), False


def _full_text(status: IndexStatus) -> str:
    return f"full text: {plural(status.figures.chunks, 'passage')}"


def _vectors_line(status: IndexStatus) -> str:
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
    yield _vectors_line(status)
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


# `kebab watch`: keeps the index in step with the folders, and says what changes, until it is stopped.
#
# Runs in a terminal or under a service manager. One line of stdout for each note that
# changed; what is worth knowing besides goes to stderr.

_SEEN_LIVE_NS = 60_000_000_000
"""A note that was saved longer ago was not waited for: there is no time to tell."""


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(readable=False), metavar="[FOLDER…]")
@click.option("--json", "as_json", is_flag=True, help="Each change as a watch_event.v1 object on one line.")
@click.option("--quiet", is_flag=True, help="Only the changes, and what goes wrong.")
@shared_options
@pass_invocation
def watch_command(invocation: Invocation, folders: tuple[str, ...], as_json: bool, quiet: bool) -> int:
    """Keep the index up to date with the notes of every FOLDER and of all known sources.

    A new folder becomes a source. Every change is one line: the time, what happened, the
    note, its passages added, removed and kept, and the time from saving to being found.
    ctrl+c stops; nothing is lost, also not by a kill. While another process keeps watch
    over the same index, this one waits and takes over when that ends.
    """
    if "" in folders:
        raise UsageError("a folder has an empty name", "is a variable of your shell not set?")
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace, Interrupt() as interrupt:
        interrupt.work_began()
        if not (folders or invocation.settings.sources or workspace.sources()):
            raise UsageError(
                "there is no folder to watch yet", "run `kebab watch FOLDER` with the folder of your notes"
            )
        narrator = _Narrator(quiet=quiet)
        callbacks = WatchCallbacks(
            interrupt.asked, _json_told if as_json else _line_told, narrator.state, narrator.following
        )
        summary = workspace.watch(folders, callbacks, "kebab watch")
    if not quiet:
        say(_summed(summary))
    return 0


class _Narrator:
    """Says on stderr what is different from last time."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._said: dict[str, tuple[str, str]] = {}
        self._error = ""

    def state(self, state: LiveState) -> None:
        for folder in state.folders:
            said = (folder.kind, folder.reason)
            if self._said.get(folder.root) != said:
                self._said[folder.root] = said
                if folder.kind != "live" or not self._quiet:
                    say(_watching(folder))
        error = state.error.message if state.error else ""
        if error != self._error:
            self._error = error
            say(f"cannot go on: {field(error)}; trying again" if error else "goes on again")

    def following(self, holder: Holder | None) -> None:
        if not self._quiet:
            who = field(str(holder)) if holder else "another process"
            say(f"following {who}, which writes the index; takes over when that ends")


def _watching(folder: FolderState) -> str:
    name, reason = f"{field(folder.source)} ({field(folder.root)})", field(folder.reason)
    match folder.kind:
        case "live":
            return f"watching {name}: {plural(folder.directories, 'folder')}"
        case "paused":
            return f"paused {name}: {reason}"
    return f"watching {name}, {folder.kind}: {reason}"


def _line_told(change: NoteChange) -> None:
    clock = time.strftime("%H:%M:%S", time.localtime(change.committed_ns / 1e9))
    passages = f"+{change.chunks_added} -{change.chunks_removed} ={change.chunks_kept}"
    waited = _waited_ms(change)
    time_taken = "" if waited is None else f"{waited} ms"
    write(
        f"{clock}  {change.outcome:<8} {field(change.path)}"
        f"{_detail(change)}  {passages}  {time_taken}".rstrip()
    )
    _flush()


def _detail(change: NoteChange) -> str:
    return f" ({field(change.detail)})" if change.detail else ""


def _json_told(change: NoteChange) -> None:
    from kebab_tui.wire.reports import watch_event

    write_json(watch_event(change, _waited_ms(change)))
    _flush()


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()  # whoever reads a pipe wants each line when it is news


def _waited_ms(change: NoteChange) -> int | None:
    """From saving to being found; None for a note that is gone, or was saved before anybody watched."""
    if change.saved_ns is None or not 0 <= change.committed_ns - change.saved_ns < _SEEN_LIVE_NS:
        return None
    return (change.committed_ns - change.saved_ns) // 1_000_000


def _summed(summary: WatchSummary) -> str:
    counted = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(summary.counts.items()))
    passages = f"{summary.chunks_added:,} passages added, {summary.chunks_removed:,} removed"
    return f"watched for {_duration(summary.seconds)}: {counted or 'no changes'}; {passages}"


def _duration(seconds: float) -> str:
    from kebab_tui.cli.progress import duration

    return duration(seconds)


# `kebab doctor`: shows every finding as it is made, each with its fix. Repairs nothing.

EXIT_UNHEALTHY = 3


@click.command()
@click.option("--json", "as_json", is_flag=True, help="As a doctor.v1 object.")
@shared_options
@pass_invocation
def doctor_command(invocation: Invocation, as_json: bool) -> int:
    """Check that everything is sound, and say how to mend it.

    Ends with 0 when all is well (warnings allowed) and 3 when there is a problem.
    """
    found: list[Finding] = []
    style = Style(detect(sys.stdout, os.environ))
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        for finding in workspace.doctor():
            found.append(finding)
            if not as_json:
                _show(finding, style)
    if as_json:
        from kebab_tui.wire.reports import doctor

        write_json(doctor(found))
    return EXIT_UNHEALTHY if any(finding.level == "problem" for finding in found) else 0


def _show(finding: Finding, style: Style) -> None:
    line = f"{finding.level:<7}  {field(finding.check)}: {field(finding.detail)}"
    write(line if finding.level == "ok" else style.strong(line))
    if finding.fix:
        write(f"         {field(finding.fix)}")
