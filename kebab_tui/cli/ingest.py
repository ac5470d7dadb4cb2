"""`kebab ingest`: brings the index up to date and reports what that meant.

A file that cannot be read is part of the report, not a failure of the verb; a folder
that was named and is none is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import click

from kebab_tui.cli.context import Invocation, pass_invocation, shared_options
from kebab_tui.cli.edge import EXIT_INTERRUPTED
from kebab_tui.cli.output import field, plural, say, write, write_json
from kebab_tui.cli.progress import ingest_watched
from kebab_tui.domain.errors import ModelError, StoreDamagedError, UsageError
from kebab_tui.workspace import Workspace

if TYPE_CHECKING:
    from kebab_tui.doctor import Pending
    from kebab_tui.indexing.embed import EmbeddingReport
    from kebab_tui.indexing.report import IngestReport, SourceReport

_MOST_NAMED = 20


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(readable=False), metavar="[FOLDER…]")
@click.option("--json", "as_json", is_flag=True, help="The report as an ingest_report.v1 object.")
@click.option("--quiet", is_flag=True, help="No progress, and only what went wrong.")
@click.option("--wait", is_flag=True, help="Also make the vectors, with which notes are found by meaning.")
@shared_options
@pass_invocation
def command(invocation: Invocation, folders: tuple[str, ...], as_json: bool, quiet: bool, wait: bool) -> int:
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
    from kebab_tui.cli.embedding import embed_watched, pending_told

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
