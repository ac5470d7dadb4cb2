"""One ingest from the first folder to the report."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from kebab_tui.domain.document import Source
from kebab_tui.domain.errors import UsageError
from kebab_tui.indexing.callbacks import Callbacks
from kebab_tui.indexing.ingest import Ingest
from kebab_tui.indexing.pipeline import Recipe
from kebab_tui.indexing.report import OUTCOMES, IngestReport
from kebab_tui.indexing.session import Session


def run_ingest(
    session: Session,
    recipe: Recipe,
    callbacks: Callbacks,
    folders: Sequence[str] = (),
    healed: str = "",
    read_error: bool = False,
) -> IngestReport:
    """Bring the sources that hold `folders` up to date; all of them when none is named or all was lost."""
    started_ns, started = time.time_ns(), time.monotonic()
    healed = healed or session.healed
    sources = _chosen(session, folders, everything=bool(healed) or session.begun_anew or not folders)
    ingest = Ingest(session.writer, session.reader, recipe, callbacks, known=session.sources())
    reports = [ingest.source(source) for source in sources if not ingest.cancelled]
    totals = ingest.totals
    if not ingest.cancelled and len(sources) == len(session.sources()):
        session.writer.set_made_by(recipe.made_by)
    report = IngestReport(
        sources=tuple(reports),
        chunks_added=totals.added,
        chunks_removed=totals.removed,
        chunks_kept=totals.kept,
        corpus_revision=session.revision(),
        seconds=time.monotonic() - started,
        cancelled=ingest.cancelled,
        healed=healed,
        read_error=read_error or session.read_error,
    )
    session.writer.record_run("ingest", started_ns, _summary(report))
    session.writer.merge_full_text(callbacks.cancelled)
    return report


def _chosen(session: Session, folders: Sequence[str], everything: bool) -> list[Source]:
    for folder in folders:
        session.check(folder)  # all of them before the first becomes a source
    named = {source.source_id: source for source in map(session.source_for, folders)}
    sources = session.sources() if everything else list(named.values())
    if not sources:
        raise UsageError(
            "there is no folder to index yet", "run `kebab ingest FOLDER` with the folder of your notes"
        )
    return sources


def _summary(report: IngestReport) -> str:
    counts: dict[str, int | float | bool] = {outcome: report.count(outcome) for outcome in OUTCOMES}
    return json.dumps(counts | {"seconds": round(report.seconds, 3), "cancelled": report.cancelled})
