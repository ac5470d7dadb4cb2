"""Reports of wire v1: what an ingest did, what the doctor found, why a hit ranks where it does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from kebab_tui.indexing.inspection import Inspection
from kebab_tui.indexing.report import OUTCOMES, IngestReport, SourceReport
from kebab_tui.search.explanation import ExplainedHit, LexicalExplanation
from kebab_tui.search.why_not import WhyNot
from kebab_tui.store.catalogue import Run
from kebab_tui.store.health import Finding
from kebab_tui.store.lock import Holder
from kebab_tui.wire.encode import Json, chunk, document, source, timestamp
from kebab_tui.workspace import Status


def ingest_report(report: IngestReport) -> Json:
    return {
        "schema_version": "ingest_report.v1",
        **{outcome: report.count(outcome) for outcome in OUTCOMES},
        "chunks": {
            "added": report.chunks_added,
            "removed": report.chunks_removed,
            "kept": report.chunks_kept,
        },
        "corpus_revision": report.corpus_revision,
        "seconds": round(report.seconds, 3),
        "cancelled": report.cancelled,
        "healed": report.healed,
        "sources": [_source_report(source) for source in report.sources],
    }


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


def explanation(explained: ExplainedHit) -> Json:
    lexical = explained.lexical
    return {"lexical": None if lexical is None else lexical_explanation(lexical)}


def lexical_explanation(explanation: LexicalExplanation) -> Json:
    """The only place of the wire where a raw bm25 appears, named as such."""
    return {
        "bm25": explanation.bm25,
        "score": explanation.score,
        "length": explanation.length,
        "average_length": explanation.average_length,
        "chunks": explanation.chunks,
        "length_norm": explanation.length_norm,
        "weights": asdict(explanation.weights),
        "terms": [
            {
                "term": term.label,
                "tf": asdict(term.counts),
                "weighted_tf": term.weighted_count,
                "df": term.frequency,
                "idf": term.idf,
                "contribution": term.contribution,
            }
            for term in explanation.terms
        ],
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


def index_status(status: Status) -> Json:
    figures = status.figures
    return {
        "schema_version": "index_status.v1",
        "database": status.database,
        "database_bytes": status.database_bytes,
        "corpus_revision": figures.corpus_revision,
        "schema": figures.schema_version,
        "lexical": {"present": figures.lexical_version, "expected": status.expected_lexical_version},
        "vector": None,
        "documents": figures.documents,
        "failed": figures.failed,
        "skipped": figures.skipped,
        "chunks": figures.chunks,
        "words": figures.words,
        "sources": [source(item) for item in status.sources],
        "runs": [_run(run) for run in status.runs],
        "writer": None if status.holder is None else _holder(status.holder),
    }


def _run(run: Run) -> Json:
    return {
        "kind": run.kind,
        "started_at": timestamp(run.started_ns),
        "finished_at": timestamp(run.finished_ns),
        "report": run.report,
    }


def _holder(holder: Holder) -> Json:
    return {"pid": holder.pid, "command": holder.command, "since": timestamp(int(holder.since * 1e9))}
