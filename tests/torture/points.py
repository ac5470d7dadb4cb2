"""Every point at which a victim dies: its name, the way to it, and what the victim is at meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tests.torture.fuses import Arm, after, at_random, before, from_outside, replacing, statement
from tests.torture.models import REAL, TINY

Scene = Literal["fresh", "edited", "damaged", "restored", "bad vectors"]
"""What the victim finds: nothing, an index behind its notes, a damaged one, only the list of folders,
or an index some of whose vectors are damaged."""
Job = Literal["ingest", "embed", "use model", "rebuild", "search", "watch", "rescan", "screen"]
Company = Literal["", "a writer", "a second indexer", "an indexer", "two writers"]
"""Who is there besides: one who writes now and then while the victim watches, one who waits to take
over, one who keeps watch while the victim wants to write; or two who want to write after the kill."""


@dataclass(frozen=True, slots=True)
class Point:
    """`passes`: a guess of how often the point is passed in one run. `share`: turns in each round."""

    name: str
    arm: Arm
    passes: int = 1
    scene: Scene = "edited"
    job: Job = "ingest"
    company: Company = ""
    model: str | None = None
    """Whose vectors are made; None: no vectors at all."""
    share: int = 1


_BATCH = "kebab_tui.storage.sqlite.batch:Batch"
_WRITER = "kebab_tui.storage.sqlite.writer:StoreWriter"
_LOAD = "kebab_tui.storage.sqlite.first_load"
_LOCK = "kebab_tui.storage.lock:WriterLock"
_FILE = "kebab_tui.vectors.file"
_SNAPSHOT = "kebab_tui.vectors.faiss_index:VectorSnapshot"
_INDEX = "kebab_tui.vectors.faiss_index:FaissIndex"
_HALF = "kebab_tui.vector_search:VectorSearch"
_BOARD = "kebab_tui.indexing.status:StatusPublisher"
_REQUESTS = "kebab_tui.storage.requests:RequestFolder"
_KEPT = "kebab_tui.indexing.embed:ModelEmbedding"

_INGEST = (
    Point("random time", at_random, 160),
    Point("random time, first ingest", at_random, 250, "fresh"),
    Point("random time, damaged", at_random, 250, "damaged"),
    Point("before Batch.finish", before(_BATCH, "finish"), 4),
    Point("after Batch.finish", after(_BATCH, "finish"), 4),
    Point("before the bulk load", statement("DROP TRIGGER chunks_ai", True), 2),
    Point("after the bulk load", statement("CREATE TRIGGER chunks_ai", False), 2),
    Point("trigger dropped", statement("DROP TRIGGER", False), 2),
    Point("before learning words", before("kebab_tui.storage.sqlite.vocabulary", "learn"), 3),
    Point("after learning words", after("kebab_tui.storage.sqlite.vocabulary", "learn"), 3),
    Point("before a merge", before(_WRITER, "_merge_step"), 3),
    Point("after a merge", after(_WRITER, "_merge_step"), 3),
    Point("after moves", after(_BATCH, "_move"), 1),
    Point("before COMMIT", statement("COMMIT", True), 6),
    Point("after COMMIT", statement("COMMIT", False), 6),
    Point("before COMMIT, first ingest", statement("COMMIT", True), 6, "fresh"),
    Point("after COMMIT, first ingest", statement("COMMIT", False), 6, "fresh"),
    Point("first load: left out", after(_LOAD, "leave_out"), 1, "fresh"),
    Point("first load: before it is complete", before(_LOAD, "complete"), 1, "fresh"),
    Point("first load: complete, not committed", after(_LOAD, "complete"), 1, "fresh"),
    Point("migration", statement("CREATE", False), 18, "fresh"),
    Point("sources written, not in place", replacing("sources.json", True), 1, "fresh"),
    Point("sources in place", replacing("sources.json", False), 1, "fresh"),
    Point("before restoring sources", before(_WRITER, "save_sources"), 1, "restored"),
    Point("after restoring sources", after(_WRITER, "save_sources"), 1, "restored"),
    Point("before setting aside", replacing(".damaged-", True), 2, "damaged"),
    Point("between setting aside", replacing(".damaged-", False), 2, "damaged"),
    Point("before signing the lock", before(_LOCK, "_sign"), 1),
    Point("after signing the lock", after(_LOCK, "_sign"), 1),
    Point("before the lock is let go", before(_LOCK, "release"), 1),
)


def _vectors(name: str, arm: Arm, passes: int = 1, job: Job = "embed", scene: Scene = "edited") -> Point:
    return Point(f"{job}: {name}", arm, passes, scene, job, model=TINY)


_VECTORS = (
    _vectors("random time", at_random, 250),
    _vectors("before save_vectors", before(_WRITER, "save_vectors"), 4),
    _vectors("after save_vectors", after(_WRITER, "save_vectors"), 4),
    _vectors("before COMMIT", statement("COMMIT", True), 8),
    _vectors("after COMMIT", statement("COMMIT", False), 8),
    _vectors("before tidying up", before("kebab_tui.indexing.embed:EmbeddingJob", "_forget_unused")),
    _vectors("before the file", before(_FILE, "_write_synced")),
    _vectors("between the file's parts", before(_FILE, "_write_all"), 7),
    _vectors("before the file's fsync", before("os", "fsync"), 2),
    _vectors("after the file's fsync", after("os", "fsync"), 2),
    _vectors("file written, not in place", replacing(".kebabvec", True)),
    _vectors("file in place", replacing(".kebabvec", False)),
    _vectors("after the folder's fsync", after(_FILE, "write")),
    _vectors("random time", at_random, 350, "use model"),
    _vectors("before StoreWriter.use_model", before(_WRITER, "use_model"), 1, "use model"),
    _vectors("after StoreWriter.use_model", after(_WRITER, "use_model"), 1, "use model"),
    _vectors("after the old file is gone", after(_HALF, "discard_file"), 1, "use model"),
    _vectors("after save_vectors", after(_WRITER, "save_vectors"), 4, "use model"),
    _vectors("file written, not in place", replacing(".kebabvec", True), 2, "use model"),
    _vectors("file in place", replacing(".kebabvec", False), 2, "use model"),
    _vectors("before forgetting", before(_WRITER, "delete_vectors"), 1, "rebuild", "bad vectors"),
    _vectors("after forgetting", after(_WRITER, "delete_vectors"), 1, "rebuild", "bad vectors"),
    _vectors("after the old file is gone", after(_HALF, "discard_file"), 1, "rebuild", "bad vectors"),
    _vectors("file in place", replacing(".kebabvec", False), 1, "rebuild", "bad vectors"),
    _vectors("random time", at_random, 350, "search"),
    _vectors("before compaction", before(_SNAPSHOT, "compacted"), 2, "search"),
    _vectors("after compaction", after(_SNAPSHOT, "compacted"), 2, "search"),
    _vectors("before the swap", before(_INDEX, "_swap"), 6, "search"),
    _vectors("after the swap", after(_INDEX, "_swap"), 6, "search"),
    Point("embed, real model: random time", at_random, 1500, job="embed", model=REAL),
    Point(
        "embed, real model: after save_vectors", after(_WRITER, "save_vectors"), 3, job="embed", model=REAL
    ),
    Point("embed, real model: file in place", replacing(".kebabvec", False), job="embed", model=REAL),
)


def _watch(name: str, arm: Arm, passes: int = 1, company: Company = "", scene: Scene = "edited") -> Point:
    beside = f" beside {company}" if company else ""
    return Point(f"watch{beside}: {name}", arm, passes, scene, "watch", company, TINY)


_WATCH = (
    _watch("random time", at_random, 2000),
    _watch("random time, first look", at_random, 700, scene="fresh"),
    _watch("before Batch.finish", before(_BATCH, "finish"), 5),
    _watch("after Batch.finish", after(_BATCH, "finish"), 5),
    _watch("before COMMIT", statement("COMMIT", True), 20),
    _watch("after COMMIT", statement("COMMIT", False), 20),
    _watch("before a merge", before(_WRITER, "_merge_step"), 3),
    _watch("after a merge", after(_WRITER, "_merge_step"), 3),
    _watch("before save_vectors", before(_WRITER, "save_vectors"), 6),
    _watch("after save_vectors", after(_WRITER, "save_vectors"), 6),
    _watch("before the vectors' file", before(_KEPT, "save"), 2),
    _watch("file written, not in place", replacing(".kebabvec", True), 2),
    _watch("file in place", replacing(".kebabvec", False), 2),
    _watch("live.json written, not in place", replacing("live.json", True), 6),
    _watch("live.json in place", replacing("live.json", False), 6),
    Point("watch, real model: random time", at_random, 4000, job="watch", model=REAL),
    _watch("random time", at_random, 2000, "a writer"),
    _watch("before giving way", before(_BOARD, "yielded_to"), 6, "a writer"),
    _watch("before release", before(_LOCK, "release"), 3, "a writer"),
    _watch("after release", after(_LOCK, "release"), 3, "a writer"),
    _watch("before acquire", before(_LOCK, "acquire"), 4, "a writer"),
    _watch("after acquire", after(_LOCK, "acquire"), 4, "a writer"),
    _watch("random time", at_random, 1500, "a second indexer"),
    _watch("after Batch.finish", after(_BATCH, "finish"), 3, "a second indexer"),
    _watch("after save_vectors", after(_WRITER, "save_vectors"), 3, "a second indexer"),
    _watch("live.json in place", replacing("live.json", False), 4, "a second indexer"),
)


def _asking(name: str, arm: Arm, passes: int = 1, job: Job = "ingest") -> Point:
    return Point(f"{job} beside an indexer: {name}", arm, passes, "edited", job, "an indexer", TINY)


_ASKING = (
    _asking("random time", at_random, 500),
    _asking("request written, not in place", replacing(".want", True)),
    _asking("request in place", replacing(".want", False)),
    _asking("before signing the lock", before(_LOCK, "_sign")),
    _asking("after Batch.finish", after(_BATCH, "finish"), 2),
    _asking("before release", before(_LOCK, "release")),
    _asking("request written, not in place", replacing(".json", True), 1, "rescan"),
    _asking("request in place", replacing(".json", False), 1, "rescan"),
)


def _raced(name: str, arm: Arm, passes: int = 1, job: Job = "embed") -> Point:
    return Point(f"{job} before two writers: {name}", arm, passes, "edited", job, "two writers", TINY)


_RACES = (
    _raced("random time", at_random, 250),
    _raced("after signing the lock", after(_LOCK, "_sign")),
    _raced("after COMMIT", statement("COMMIT", False), 8),
    _raced("after save_vectors", after(_WRITER, "save_vectors"), 4),
    _raced("before the lock is let go", before(_LOCK, "release"), 2),
    _raced("random time", at_random, 1500, "watch"),
)

_SCREEN = (
    Point("screen: random time", from_outside, 3500, "edited", "screen", model=TINY, share=3),
    Point("screen: random time, first start", from_outside, 3500, "fresh", "screen", model=TINY, share=2),
)

POINTS: tuple[Point, ...] = (*_INGEST, *_VECTORS, *_WATCH, *_ASKING, *_RACES, *_SCREEN)
ROUND: tuple[Point, ...] = tuple(point for point in POINTS for _ in range(point.share))
"""The points as they take turns."""


def named(name: str) -> Point:
    return next(point for point in POINTS if point.name == name)
