"""Reports of wire v1: what an ingest did, what the doctor found, how the index is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from kebab_tui.doctor import IndexStatus, Pending, VectorState
from kebab_tui.indexing.embed import EmbeddingReport
from kebab_tui.indexing.lookup import Inspection
from kebab_tui.indexing.report import OUTCOMES, IngestReport, SourceReport
from kebab_tui.search.why_not import WhyNot
from kebab_tui.storage.lock import Holder
from kebab_tui.storage.sqlite.catalogue import IndexRun
from kebab_tui.storage.sqlite.health import Finding
from kebab_tui.wire.encode import Json, chunk, document, source, timestamp


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
