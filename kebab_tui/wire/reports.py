"""Encodes reports as objects of wire v1: ingest, doctor, index status, inspection, evaluation, watch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from kebab_tui.doctor import IndexStatus, Pending
from kebab_tui.domain.document import OtherFiles
from kebab_tui.domain.pages import page_count
from kebab_tui.evaluation.summary import Comparison, Difference, Report, Summary
from kebab_tui.indexing.embed import EmbeddingReport
from kebab_tui.indexing.lookup import Inspection
from kebab_tui.indexing.report import OUTCOMES, IngestReport, NoteChange
from kebab_tui.search.why_not import WhyNot
from kebab_tui.storage.ports import Finding, Published
from kebab_tui.wire.encode import Json, chunk, document, hit_comparison, notice, source, timestamp

_DIGITS = 6


def ingest_report(report: IngestReport, vectors: EmbeddingReport | Pending | None) -> Json:
    """`vectors`: the result of embedding, or the number of missing vectors; None without a usable model."""
    made: Json | None = None
    if isinstance(vectors, Pending):
        made = {"embedded": 0, "pending": vectors.texts, "seconds": 0.0, "cancelled": False, "not_saved": ""}
    elif vectors is not None:
        made = asdict(vectors) | {"seconds": round(vectors.seconds, 3)}
    return {
        "schema_version": "ingest_report.v1",
        **{outcome: report.count(outcome) for outcome in OUTCOMES},
        "chunks": {
            "added": report.chunks_added,
            "removed": report.chunks_removed,
            "kept": report.chunks_kept,
        },
        "corpus_revision": report.corpus_revision,
        "vectors": made,
        "seconds": round(report.seconds, 3),
        "cancelled": report.cancelled,
        "healed": report.healed,
        "sources": [
            {
                "source_id": found.source,
                "root": found.root,
                "paused": found.paused,
                "problems": list(found.problems),
                "other_files": _other_files(found.other_files),
                **{outcome: found.counts.get(outcome, 0) for outcome in OUTCOMES},
                "files": [asdict(file) for file in found.files],
            }
            for found in report.sources
        ],
    }


def copy_report(found: Published) -> Json:
    return {"schema_version": "copy_report.v1", **asdict(found), "seconds": round(found.seconds, 3)}


def _other_files(found: OtherFiles) -> Json:
    return {"count": found.count, "types": dict(found.types)}


def doctor(findings: Iterable[Finding]) -> Json:
    checks = [asdict(finding) for finding in findings]
    return {
        "schema_version": "doctor.v1",
        "ok": all(check["level"] != "problem" for check in checks),
        "checks": checks,
    }


def why_not(verdict: WhyNot) -> Json:
    passage, first = verdict.passage, verdict.first
    return {
        "schema_version": "why_not.v1",
        **{name: getattr(verdict, name) for name in ("path", "stage", "detail", "advice", "rank", "score")},
        "headline": passage.headline if passage else "",
        "citation": str(passage.hit.citation) if passage else None,
        "chunk_id": passage.hit.chunk_id if passage else None,
        "first": str(first.hit.citation) if first else None,
        "comparison": hit_comparison(verdict.comparison) if verdict.comparison else None,
    }


def inspection(found: Inspection) -> Json:
    return {
        "schema_version": "inspection.v1",
        "document": document(found.document, found.location),
        "root": found.version.place if found.version else found.root,
        "version": found.version.label if found.version else "",
        "file_state": found.file_state,
        "page_count": page_count(found.document.facets),
        "chunks": [chunk(item, found.document, found.location, found.version) for item in found.chunks],
    }


def index_status(status: IndexStatus) -> Json:
    """`vector.expected`: the version that the model makes; `vector.present` is empty without vectors."""
    figures, vectors, holder = status.figures, status.vectors, status.holder
    upgrading = None
    if status.upgrading is not None:
        upgrading = {"done": status.upgrading[0], "total": status.upgrading[1]}
    return {
        "schema_version": "index_status.v1",
        "database": status.database,
        "database_bytes": status.database_bytes,
        "corpus_revision": figures.corpus_revision,
        "schema": figures.schema_version,
        "lexical": {"present": figures.lexical_version, "expected": status.expected_lexical_version},
        "vector": {
            "model": vectors.model,
            "problem": vectors.problem,
            "present": vectors.version if vectors.made else "",
            "expected": vectors.version,
            "dims": vectors.dims,
            "passages": vectors.total,
            "made": vectors.made,
            "pending": vectors.pending,
            "outdated": vectors.outdated,
            "indexed": vectors.indexed,
            "file": {"state": vectors.file, "detail": vectors.file_detail, "bytes": vectors.file_bytes},
        },
        "upgrading": upgrading,
        "documents": figures.documents,
        "failed": figures.failed,
        "skipped": figures.skipped,
        "other_files": _other_files(status.other_files),
        "chunks": figures.chunks,
        "words": figures.words,
        "sources": [
            source(item, score) for item, score in zip(status.sources, status.source_scores, strict=True)
        ],
        "runs": [
            {
                "kind": run.kind,
                "started_at": timestamp(run.started_ns),
                "finished_at": timestamp(run.finished_ns),
                "report": run.report,
            }
            for run in status.runs
        ],
        "writer": None
        if holder is None
        else {"pid": holder.pid, "command": holder.command, "since": timestamp(int(holder.since * 1e9))},
    }


def eval_report(report: Report, comparison: Comparison | None = None) -> Json:
    run, asked = report.run, report.run.set
    return {
        "schema_version": "eval_report.v1",
        "set": {
            "kind": asked.kind,
            "name": asked.name,
            "split": asked.split or None,
            "digest": asked.digest,
            "queries": asked.queries,
            "documents": asked.documents,
        },
        "depth": run.depth,
        "version": run.version,
        "settings": run.settings,
        "modes": {
            found.mode: {
                "index_version": found.index_version,
                **_summary(found.all),
                "by_lang": {name: _summary(part) for name, part in found.by_lang.items()},
                "by_probe": {name: _summary(part) for name, part in found.by_probe.items()},
            }
            for found in report.modes
        },
        "notices": [notice(item) for item in report.notices],
        "comparison": None if comparison is None else _comparison(comparison),
    }


def _summary(summary: Summary) -> Json:
    """The metrics are keys beside the others: `modes.lexical["ndcg@10"]`."""
    against = summary.against
    return {
        "queries": summary.queries,
        **{name: round(mean, _DIGITS) for name, mean in summary.means.items()},
        "ci": {
            name: [round(low, _DIGITS), round(high, _DIGITS)]
            for name, (low, high) in summary.intervals.items()
        },
        "versus_lexical": None if against is None else {name: _difference(d) for name, d in against.items()},
    }


def _difference(found: Difference) -> Json:
    return {
        "mean": round(found.mean, _DIGITS),
        "p": round(found.p, _DIGITS),
        "wins": found.wins,
        "losses": found.losses,
        "draws": found.draws,
    }


def _comparison(comparison: Comparison) -> Json:
    return {
        "same_set": comparison.same_set,
        "modes": {
            found.mode: {
                "counts": found.counts,
                "ndcg@10": _difference(found.difference),
                "unmatched": found.unmatched,
                "queries": [
                    {
                        "id": change.id,
                        "query": change.query,
                        "lang": change.lang,
                        "outcome": change.outcome,
                        "before": round(change.before, _DIGITS),
                        "now": round(change.now, _DIGITS),
                    }
                    for change in found.changes
                ],
            }
            for found in comparison.modes
        },
    }


def watch_event(change: NoteChange, latency_ms: int | None) -> Json:
    """`latency_ms`: from saving to the commit; None for a note saved before the watch began."""
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
