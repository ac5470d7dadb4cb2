"""What `kebab watch` tells, in wire v1: one object for each note that changed."""

from __future__ import annotations

from kebab_tui.indexing.report import NoteChange
from kebab_tui.wire.encode import Json, timestamp


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
