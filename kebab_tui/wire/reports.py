"""Reports of wire v1: what an ingest did, what the doctor found, how the index is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict

from kebab_tui.doctor import IndexStatus, Pending, VectorState
from kebab_tui.evaluation.measure import QuestionSet
from kebab_tui.evaluation.summary import (
    Comparison,
    Difference,
    MetricChange,
    ModeComparison,
    ModeSummary,
    Report,
    Summary,
)
from kebab_tui.indexing.embed import EmbeddingReport
from kebab_tui.indexing.lookup import Inspection
from kebab_tui.indexing.report import OUTCOMES, IngestReport, NoteChange, SourceReport
from kebab_tui.search.why_not import WhyNot
from kebab_tui.storage.lock import Holder
from kebab_tui.storage.sqlite.catalogue import IndexRun
from kebab_tui.storage.sqlite.health import Finding
from kebab_tui.wire.encode import Json, chunk, document, notice, source, timestamp


def ingest_report(report: IngestReport, vectors: EmbeddingReport | Pending | None) -> Json:
    """`vectors`: what was made of them, or only what is pending; None where no model can be used."""
    return {
        "schema_version": "ingest_report.v1",
        **{outcome: report.count(outcome) for outcome in OUTCOMES},
        "chunks": {
            "added": report.chunks_added,
            "removed": report.chunks_removed,
            "kept": report.chunks_kept,
        },
        "corpus_revision": report.corpus_revision,
        "vectors": None if vectors is None else _vectors_made(vectors),
        "seconds": round(report.seconds, 3),
        "cancelled": report.cancelled,
        "healed": report.healed,
        "sources": [_source_report(source) for source in report.sources],
    }


def _vectors_made(vectors: EmbeddingReport | Pending) -> Json:
    if isinstance(vectors, Pending):
        return {"embedded": 0, "pending": vectors.texts, "seconds": 0.0, "cancelled": False, "not_saved": ""}
    return asdict(vectors) | {"seconds": round(vectors.seconds, 3)}


def _source_report(report: SourceReport) -> Json:
    return {
        "source_id": report.source,
        "root": report.root,
        "paused": report.paused,
        "problems": list(report.problems),
        **{outcome: report.counts.get(outcome, 0) for outcome in OUTCOMES},
        "files": [asdict(file) for file in report.files],
    }


def doctor(findings: Iterable[Finding]) -> Json:
    checks = [asdict(finding) for finding in findings]
    return {
        "schema_version": "doctor.v1",
        "ok": all(check["level"] != "problem" for check in checks),
        "checks": checks,
    }


def why_not(verdict: WhyNot) -> Json:
    return {"schema_version": "why_not.v1", **asdict(verdict)}


def inspection(found: Inspection) -> Json:
    return {
        "schema_version": "inspection.v1",
        "document": document(found.document),
        "root": found.root,
        "file_state": found.file_state,
        "chunks": [chunk(item, found.document.path) for item in found.chunks],
    }


def index_status(status: IndexStatus) -> Json:
    figures = status.figures
    return {
        "schema_version": "index_status.v1",
        "database": status.database,
        "database_bytes": status.database_bytes,
        "corpus_revision": figures.corpus_revision,
        "schema": figures.schema_version,
        "lexical": {"present": figures.lexical_version, "expected": status.expected_lexical_version},
        "vector": _vectors(status.vectors),
        "documents": figures.documents,
        "failed": figures.failed,
        "skipped": figures.skipped,
        "chunks": figures.chunks,
        "words": figures.words,
        "sources": [source(item) for item in status.sources],
        "runs": [_run(run) for run in status.runs],
        "writer": None if status.holder is None else _holder(status.holder),
    }


def _vectors(state: VectorState) -> Json:
    """`expected` is what the model would make; `present` is empty while it has made nothing."""
    return {
        "model": state.model,
        "problem": state.problem,
        "present": state.version if state.made else "",
        "expected": state.version,
        "dims": state.dims,
        "passages": state.total,
        "made": state.made,
        "pending": state.pending,
        "indexed": state.indexed,
        "file": {"state": state.file, "detail": state.file_detail, "bytes": state.file_bytes},
    }


def _run(run: IndexRun) -> Json:
    return {
        "kind": run.kind,
        "started_at": timestamp(run.started_ns),
        "finished_at": timestamp(run.finished_ns),
        "report": run.report,
    }


def _holder(holder: Holder) -> Json:
    return {"pid": holder.pid, "command": holder.command, "since": timestamp(int(holder.since * 1e9))}


# `eval_report.v1`: what an evaluation found, mode by mode, and how it compares with another run.

_PLACES = 6


def eval_report(report: Report, comparison: Comparison | None = None) -> Json:
    run = report.run
    return {
        "schema_version": "eval_report.v1",
        "set": _set(run.set),
        "depth": run.depth,
        "version": run.version,
        "settings": run.settings,
        "modes": {found.mode: _mode(found) for found in report.modes},
        "notices": [notice(item) for item in report.notices],
        "comparison": None if comparison is None else _comparison(comparison),
    }


def _set(asked: QuestionSet) -> Json:
    return {
        "kind": asked.kind,
        "name": asked.name,
        "split": asked.split or None,
        "digest": asked.digest,
        "queries": asked.queries,
        "documents": asked.documents,
    }


def _mode(found: ModeSummary) -> Json:
    return {
        "index_version": found.index_version,
        **_summary(found.all),
        "by_lang": _group(found.by_lang),
        "by_probe": _group(found.by_probe),
    }


def _group(summaries: Mapping[str, Summary]) -> Json:
    return {name: _summary(summary) for name, summary in summaries.items()}


def _summary(summary: Summary) -> Json:
    """The metrics stand beside the keys: `modes.lexical["ndcg@10"]`."""
    against = summary.against
    return {
        "queries": summary.queries,
        **{name: round(mean, _PLACES) for name, mean in summary.means.items()},
        "ci": {
            name: [round(low, _PLACES), round(high, _PLACES)]
            for name, (low, high) in summary.intervals.items()
        },
        "versus_lexical": None if against is None else {name: _difference(d) for name, d in against.items()},
    }


def _difference(found: Difference) -> Json:
    return {
        "mean": round(found.mean, _PLACES),
        "p": round(found.p, _PLACES),
        "wins": found.wins,
        "losses": found.losses,
        "draws": found.draws,
    }


def _comparison(comparison: Comparison) -> Json:
    return {
        "same_set": comparison.same_set,
        "modes": {found.mode: _compared_mode(found) for found in comparison.modes},
    }


def _compared_mode(found: ModeComparison) -> Json:
    return {
        "counts": found.counts,
        "ndcg@10": _difference(found.difference),
        "unmatched": found.unmatched,
        "queries": [_change(change) for change in found.changes],
    }


def _change(change: MetricChange) -> Json:
    return {
        "id": change.id,
        "query": change.query,
        "lang": change.lang,
        "outcome": change.outcome,
        "before": round(change.before, _PLACES),
        "now": round(change.now, _PLACES),
    }


# What `kebab watch` tells, in wire v1: one object for each note that changed.


def watch_event(change: NoteChange, latency_ms: int | None) -> Json:
    """`latency_ms`: from saving to being found; None where nobody was waiting for it."""
    return {
        "schema_version": "watch_event.v1",
        "at": timestamp(change.committed_ns),
        "outcome": change.outcome,
        "source_id": change.source,
        "path": change.path,
        "detail": change.detail,
        "chunks": {
            "added": change.chunks_added,
            "removed": change.chunks_removed,
            "kept": change.chunks_kept,
        },
        "corpus_revision": change.revision,
        "latency_ms": latency_ms,
    }
